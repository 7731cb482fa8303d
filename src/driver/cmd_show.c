/* cmd_show: prints what a plan holds; and, for `fgc check`, whether it fits a target. */
#include "driver/driver.h"

#include <inttypes.h>

static bool load(struct session *s, const char *path, struct plan *p)
{
    char *bytes;
    size_t n;
    return file_read(s, path, &bytes, &n) && plan_decode(s, s->arena, path, bytes, n, p);
}

int cmd_show(struct session *s, const struct options *o)
{
    struct plan p;
    if (o->operands.n != 1) {
        diag(s, DIAG_usage, NO_SPAN, "one FILE.plan is needed, got %zu", o->operands.n);
        return 0;
    }
    if (!load(s, o->operands.at[0], &p)) return 0;
    struct buf b = {0};
    if (o->version_only)
        buf_printf(&b, "fgc %s, cuDNN %" PRId64 ".%" PRId64 ".%" PRId64 "\n", p.fgc_version, p.cudnn_version / 10000, p.cudnn_version / 100 % 100,
                   p.cudnn_version % 100);
    else if (o->json)
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
    static const char *const words[] = {
        [PLAN_RUNS] = "runs", [PLAN_REBUILD_ADVISED] = "runs, but a rebuild is advised", [PLAN_REFUSED] = "refused"};
    struct plan p;
    struct target t;
    struct gpu_search search = driver_search(o);
    if (!load(s, path, &p) || !target_load(s, o->target ? o->target : "nvidia-h200", &search, &t)) return 0;
    struct buf b = {0};
    enum plan_fit fit = plan_check(&p, &t, 0, &b);
    printf("%s on %s: %s\n%s", path, t.name, words[fit], b.n ? b.at : "");
    buf_fini(&b);
    return fit == PLAN_REFUSED ? 1 : 0;
}
