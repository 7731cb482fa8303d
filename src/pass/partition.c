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

static void full_dims(const struct component *c, int64_t full[MAX_RANK])
{
    for (int k = 0; k < MAX_RANK; k++) full[k] = 1;
    for (size_t j = 0; j < c->values.n; j++)
        for (int k = 0; k < c->values.at[j]->rank; k++)
            if (c->values.at[j]->dim[k] > full[k]) full[k] = c->values.at[j]->dim[k];
}

bool pass_same_size(const struct component *c, const struct component *d)
{
    int64_t x[MAX_RANK], y[MAX_RANK];
    full_dims(c, x);
    full_dims(d, y);
    return c->rank == d->rank && memcmp(x, y, sizeof x) == 0;
}

/* Without an anchor, chains over pointwise operators share a kernel where they are of one size; a
 * reduction shares it only with what it hangs on. */
static bool alike(struct arena *a, const struct graph *g)
{
    components_vec all = pass_components(a, g, true);
    for (size_t k = 1; k < all.n; k++)
        if (!pass_same_size(all.at[0], all.at[k])) return false;
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

/* A view of a value that the graph computes: no kernel moves its elements. */
static bool has_view(const struct graph *g)
{
    for (size_t k = 0; k < g->ops.n; k++)
        if (is_view(g->ops.at[k])) return true;
    return false;
}

bool pass_one_kernel(struct arena *a, const struct graph *g)
{
    if (has_view(g) || !reductions_last(g)) return false;
    components_vec all = pass_components(a, g, false);
    const struct component *anchored = NULL;
    for (size_t k = 0; k < all.n; k++)
        if (all.at[k]->anchor) anchored = all.at[k];
    if (!anchored) return alike(a, g);
    return all.n == 1 && around(a, anchored);
}
