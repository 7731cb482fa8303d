/* cmd_verify: runs a plan on this machine's GPU, on random inputs, and judges what it computed by
 * the reference.
 *
 * Invariant: what is judged is the plan's own bytes; the specification that says what is right is
 * the one that the plan holds. */
#include "driver/driver.h"

/* True when every output was found right. */
static bool verify(struct session *s, struct tune_device *d, const struct plan_step *step,
                   const struct tune_job *j, uint64_t seed)
{
    struct tune_pick pick = {.engine = step->engine,
                             .knobs = step->knobs,
                             .workspace_bytes = step->workspace_bytes,
                             .plan_bytes = (int64_t)step->plan_bytes};
    struct tune_check check = {.verdict = CHECK_WRONG};
    sha256_hex(step->plan, step->plan_bytes, pick.plan);
    enum run_status st = d->begin(d->self, j, seed);
    if (st == RUN_OK) st = d->load(d->self, 0, &pick, step->plan, step->plan_bytes);
    if (st == RUN_OK) st = d->check(d->self, s->arena, 0, &check);
    printf("%s: ", j->title);
    if (st != RUN_OK) {
        printf("not run: %s\n", d->why(d->self));
        return false;
    }
    d->unload(d->self, 0);
    printf("%s: largest error %.3g of its bound%s%s%s%s\n", check_words[check.verdict], check.error,
           check.scope ? ", of " : "", check.scope ? check.scope : "", check.note ? "; " : "",
           check.note ? check.note : "");
    return check.verdict == CHECK_PASSED;
}

int cmd_verify(struct session *s, const struct options *o)
{
    struct gpu_search search = driver_search(o);
    struct plan p;
    char *bytes;
    size_t n, wrong = 0;
    if (o->operands.n != 1) {
        diag(s, DIAG_usage, NO_SPAN, "one FILE.plan is needed, got %zu", o->operands.n);
        return 0;
    }
    if (!file_read(s, o->operands.at[0], &bytes, &n) ||
        !plan_decode(s, s->arena, o->operands.at[0], bytes, n, &p))
        return 0;
    struct module *m = driver_plan_module(s, &p);
    struct tune_device *d = m ? tune_device_open(s, &search, driver_judge) : NULL;
    for (size_t i = 0; d && i < p.graphs.n; i++)
        for (size_t k = 0; k < p.graphs.at[i].variants.n; k++) {
            const struct plan_variant *v = &p.graphs.at[i].variants.at[k];
            const struct graph *g = driver_graph(m, p.graphs.at[i].name, v->name);
            struct compiled c = {0};
            bool lowered = g && pipeline_lower(s, g, &c);
            if (!lowered || c.kernels.n != v->steps.n) {
                printf("%s%s%s: not run: %s\n", p.graphs.at[i].name, *v->name ? " " : "", v->name,
                       !g         ? "the source in the plan does not have it"
                       : !lowered ? "the source in the plan is refused"
                                  : "this fgc cuts it into other kernels");
                wrong++;
                continue;
            }
            for (size_t t = 0; t < v->steps.n; t++) {
                struct tune_job j;
                job_of(s, o->operands.at[0], &c.kernels.at[t], &j);
                wrong += !verify(s, d, &v->steps.at[t], &j, (uint64_t)o->seed.value);
            }
        }
    if (d) d->close(d->self);
    return wrong > 0;
}
