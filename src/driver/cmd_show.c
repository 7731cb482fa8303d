/* cmd_show: prints what a plan holds; and, for `fgc check`, whether it fits a target. */
#include "driver/driver.h"

#include <errno.h>
#include <inttypes.h>

/* Reads no more than the first bytes, so a later format and a damaged file have an answer too. */
static void show_versions(struct session *s, const char *path)
{
    char head[512];
    FILE *f = strcmp(path, "-") == 0 ? stdin : fopen(path, "rb");
    size_t n = f ? fread(head, 1, sizeof head, f) : 0;
    struct plan_versions v;
    if (!f || ferror(f))
        diag(s, DIAG_file, NO_SPAN, "cannot read '%s': %s", path, strerror(errno));
    else if (!plan_peek(s->arena, head, n, &v))
        diag(s, DIAG_plan, NO_SPAN, "'%s': not a plan of fgc", path);
    else
        printf("fgc %s, cuDNN %" PRId64 ".%" PRId64 ".%" PRId64 "%s%s, format %" PRId64 "\n", v.fgc,
               v.cudnn / 10000, v.cudnn / 100 % 100, v.cudnn % 100, *v.nvrtc ? ", NVRTC " : "",
               v.nvrtc, v.format);
    if (f && f != stdin) fclose(f);
}

int cmd_show(struct session *s, const struct options *o)
{
    struct plan p;
    if (o->operands.n != 1) {
        diag(s, DIAG_usage, NO_SPAN, "one FILE.plan is needed, got %zu", o->operands.n);
        return 0;
    }
    if (o->version_only) {
        show_versions(s, o->operands.at[0]);
        return 0;
    }
    if (!driver_plan(s, o->operands.at[0], &p)) return 0;
    struct buf b = {0};
    if (o->json)
        plan_show_json(&p, &b);
    else
        plan_show(&p, &b);
    fwrite(b.at, 1, b.n, stdout);
    buf_fini(&b);
    return 0;
}

int cmd_check_plan(struct session *s, const struct options *o, const char *path);
int cmd_check_plan(struct session *s, const struct options *o, const char *path)
{
    static const char *const words[] = {[PLAN_RUNS] = "runs",
                                        [PLAN_REBUILD_ADVISED] = "runs, but a rebuild is advised",
                                        [PLAN_REFUSED] = "refused"};
    struct plan p;
    struct target t;
    struct gpu_probe probe = {.cudnn_version = 0};
    struct gpu_search search = driver_search(o);
    if (!driver_plan(s, path, &p) ||
        !target_load(s, o->target ? o->target : "nvidia-h200", &search, &t))
        return 0;
    /* A description says nothing of the cuDNN and the driver beside the GPU. */
    if (t.host && !gpu_probe(s, &search, true, &probe)) return 0;
    struct buf b = {0};
    enum plan_fit fit = plan_check(&p, &t, probe.cudnn_version, probe.driver_version, &b);
    printf("%s on %s: %s\n%s", path, t.name, words[fit], b.n ? b.at : "");
    buf_fini(&b);
    return fit == PLAN_REFUSED ? 1 : 0;
}
