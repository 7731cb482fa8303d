/* judge: whether what a plan computed is what the specification says.
 *
 * Invariant: passed means that elements of every output were evaluated by the reference and found
 * within their bounds; where no element can be evaluated the verdict is mistrusted. */
#include <math.h>

#include "driver/driver.h"

void driver_judge(struct session *s, struct arena *a, const struct tune_job *j, void *const *bytes,
                  uint64_t seed, struct tune_check *out)
{
    static const double budget = 3e7; /* multiplications an output: some tenths of a second */
    const struct graph *g = j->ir;
    (void)s;
    *out = (struct tune_check){.verdict = CHECK_PASSED};
    for (size_t i = 0; i < g->outputs.n; i++) {
        const struct value *v = g->outputs.at[i];
        struct sampled r;
        if (!bytes[v->id]) continue; /* nothing computes it: an input stored as it is */
        interp_sample(a, g, bytes, v, seed, budget, &r);
        if (r.why && out->verdict == CHECK_PASSED) {
            out->verdict = CHECK_MISTRUSTED;
            out->note = arena_printf(a, "'%s' cannot be checked: %s", v->name, r.why);
        }
        if (!r.why && (r.verdict.worst > out->error || out->error == 0))
            out->error = r.verdict.worst;
        if (r.why || r.verdict.ok) continue;
        out->verdict = CHECK_WRONG;
        out->note = arena_printf(a, "'%s' at element %lld: got %.9g, want %.9g, bound %.3g",
                                 v->name, (long long)r.verdict.at, r.verdict.got, r.verdict.want,
                                 r.verdict.bound);
        return;
    }
}
