/* partition: whether one kernel can hold the graph.
 *
 * Invariant of what it can: at most one anchor (conv, matmul or sdpa) and everything else hangs on
 * its result or feeds what does; nothing reads a reduction; attention stands alone. So an
 * epilogue's promise is kept: its operators are in the anchor's kernel. */
#include "pass/passes.h"

static bool is_reduction(const struct op *op)
{
    return op && ops[op->id].family == FAM_reduction;
}

/* cuDNN: a reduction may have no consumer outside attention. */
static bool reductions_last(const struct graph *g)
{
    for (size_t k = 0; k < g->ops.n; k++) {
        const struct op *op = g->ops.at[k];
        for (int j = 0; j < ops[op->id].n_in; j++)
            if (is_reduction(op->in[j]->producer)) return false;
    }
    return true;
}

/* By op: its result depends on the anchor's. */
static bool *descendants(struct arena *a, const struct component *c)
{
    int last = c->ops.at[c->ops.n - 1]->index;
    bool *below = NEW_N(a, bool, last + 1);
    below[c->anchor->index] = true;
    for (size_t k = 0; k < c->ops.n; k++) {
        const struct op *op = c->ops.at[k];
        for (int j = 0; j < ops[op->id].n_in; j++) {
            const struct op *from = op->in[j]->producer;
            if (from && below[from->index]) below[op->index] = true;
        }
    }
    return below;
}

/* Without an anchor, chains over pointwise operators share a kernel; a reduction shares it only
 * with what it hangs on. */
static bool alike(struct arena *a, const struct graph *g)
{
    components_vec all = pass_components(a, g, true);
    for (size_t k = 0; all.n > 1 && k < all.n; k++)
        for (size_t j = 0; j < all.at[k]->ops.n; j++)
            if (is_reduction(all.at[k]->ops.at[j])) return false;
    return true;
}

/* Attention fills its kernel; a matmul or conv shares it with pointwise operators and with
 * reductions of what they compute. cuDNN 9.19: behind a matmul or conv, pow is NaN for every base
 * below 0 and for 0 to the power 0 (measured); alone it is right. */
static bool around(struct arena *a, const struct component *c)
{
    const bool *below = descendants(a, c);
    for (size_t k = 0; k < c->ops.n; k++) {
        const struct op *op = c->ops.at[k];
        if (op == c->anchor) continue;
        if (is_anchor(op) || c->anchor->id == OP_sdpa || op->id == OP_pow) return false;
        if (is_reduction(op) && !below[op->index]) return false;
    }
    return true;
}

bool pass_one_kernel(struct arena *a, const struct graph *g)
{
    if (!reductions_last(g)) return false;
    components_vec all = pass_components(a, g, false);
    const struct component *anchored = NULL;
    for (size_t k = 0; k < all.n; k++)
        if (all.at[k]->anchor) anchored = all.at[k];
    if (!anchored) return alike(a, g);
    return all.n == 1 && around(a, anchored);
}
