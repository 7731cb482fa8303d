/* cmd_target: prints a target's normalised description, or this machine's own GPU's as cuDNN gives
 * it. */
#include "driver/driver.h"

int cmd_target(struct session *s, const struct options *o)
{
    struct gpu_search search = driver_search(o);
    if (o->dump_target) {
        const char *json;
        if (o->operands.n) {
            diag(s, DIAG_usage, NO_SPAN, "--dump describes this machine's GPU and takes no NAME");
            return 0;
        }
        if (target_dump(s, &search, &json)) printf("%s\n", json);
        return 0;
    }
    if (o->operands.n > 1) {
        diag(s, DIAG_usage, NO_SPAN, "at most one NAME is given, got %zu", o->operands.n);
        return 0;
    }
    struct target t;
    if (target_load(s, o->operands.n ? o->operands.at[0] : "nvidia-h200", &search, &t))
        printf("%s\n", t.json);
    return 0;
}
