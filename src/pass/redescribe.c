/* redescribe: the same bytes under other dims and strides, in the forms that cuDNN's engines take.
 *
 * Invariant: every element keeps its address. What engines take was measured with cuDNN 9.19 for
 * sm_90: matmul of rank 3 only; pointwise of rank 3 row-major; reductions of rank 2 or
 * channels-last. */
#include "pass/passes.h"

static bool (*const anchored[])(struct session *, struct component *) = {
    [FAM_conv] = form_conv,
    [FAM_matmul] = form_matmul,
    [FAM_sdpa] = form_sdpa,
};

bool pass_redescribe(struct session *s, struct graph *g)
{
    if (!rewrite_reduce_modes(s, g)) return false;
    components_vec all = pass_components(s->arena, g, true);
    bool ok = true;
    for (size_t k = 0; k < all.n; k++) {
        struct component *c = all.at[k];
        if (c->values.n == 0) continue; /* scalars only */
        ok = (c->anchor ? anchored[ops[c->anchor->id].family] : form_flat)(s, c) && ok;
    }
    for (size_t k = 0; k < g->ops.n; k++) restate_reduce_axes(g->ops.at[k]);
    return ok;
}
