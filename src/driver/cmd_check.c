/* cmd_check: what is wrong with specifications, up to the descriptor tree; needs no cuDNN and no
 * GPU. A .plan is checked against a target instead. */
#include "driver/driver.h"

int cmd_check_plan(struct session *s, const struct options *o, const char *path);

static bool is_plan(const char *path)
{
    size_t n = strlen(path);
    return n > 5 && strcmp(path + n - 5, ".plan") == 0;
}

static void check_spec(struct session *s, const struct options *o, const char *path,
                       const struct target *t)
{
    struct module *m = driver_module(s, o, path, t);
    struct compiled c;
    for (size_t k = 0; m && k < m->graphs.n; k++) pipeline_lower(s, m->graphs.at[k], &c);
}

int cmd_check(struct session *s, const struct options *o)
{
    if (o->operands.n == 0) {
        diag(s, DIAG_usage, NO_SPAN, "at least one FILE is needed");
        return 0;
    }
    struct target t, *target = NULL;
    struct gpu_search search = driver_search(o);
    int status = 0;
    struct junit report = {.tests = 0};
    for (size_t i = 0; i < o->operands.n; i++) {
        const char *path = o->operands.at[i];
        int one = 0;
        s->n_errors = 0; /* a file's warnings do not depend on the files before it */
        if (is_plan(path)) {
            one = cmd_check_plan(s, o, path);
            if (one > status) status = one;
        } else {
            if (!target) {
                if (!target_load(s, o->target ? o->target : "nvidia-h200", &search, &t)) break;
                target = &t;
            }
            check_spec(s, o, path, target);
        }
        if (o->junit) junit_case(s, &report, path, one);
        diag_flush(s, stderr);
    }
    if (o->junit && report.tests == o->operands.n) junit_write(s, &report, o->junit);
    buf_fini(&report.cases);
    return status;
}
