/* check: judges results made elsewhere.
 *
 * Invariant: an element is right when it is within its bound, or is the same infinity or NaN as the
 * reference; anything that is not a number where a number is due is infinitely wrong. Attention's
 * bound speaks of the norm of the whole output as well. */
#include <math.h>

#include "interp/internal.h"

double share_of_bound(double got, double want, double bound)
{
    if (isnan(want)) return isnan(got) ? 0 : INFINITY;
    if (isinf(want) || isinf(got)) return got == want ? 0 : INFINITY;
    double error = fabs(got - want);
    if (isnan(error)) return INFINITY;
    if (error == 0) return 0;
    return bound > 0 ? error / bound : INFINITY;
}

double norm_rule(const struct value *v)
{
    const struct op *op = v->producer;
    while (op && op->id == OP_cast) op = op->in[0]->producer;
    if (!op || op->id != OP_sdpa) return 0;
    return sdpa_ratio(op->in[0]->type);
}

struct verdict interp_compare(const struct value *v, const struct array *want,
                              const struct array *got)
{
    struct verdict r = {.ok = want->count == got->count};
    double error = 0, norm = 0;
    for (int64_t i = 0; r.ok && i < want->count; i++) {
        double bound = want->bound ? want->bound[i] : 0;
        double share = share_of_bound(got->at[i], want->at[i], bound);
        if (i == 0 || share > r.worst) {
            r.worst = share;
            r.at = i;
            r.got = got->at[i];
            r.want = want->at[i];
            r.bound = bound;
        }
        if (!isfinite(want->at[i]) || !isfinite(got->at[i])) continue;
        error += (got->at[i] - want->at[i]) * (got->at[i] - want->at[i]);
        norm += want->at[i] * want->at[i];
    }
    r.relative = norm > 0 ? sqrt(error / norm) : sqrt(error);
    double rule = norm_rule(v);
    if (rule > 0 && r.relative > rule && r.relative / rule > r.worst) r.worst = r.relative / rule;
    r.ok = r.ok && r.worst <= 1;
    return r;
}
