/* partition: whether one kernel can hold the graph.
 *
 * Invariant of what passes: at most one anchor (conv, matmul, sdpa) and everything else hangs on
 * its result or feeds what does; nothing reads a reduction; attention stands alone. So an
 * epilogue's promise is kept: its operators are in the anchor's kernel. */
#include "pass/passes.h"

/* A refusal is a broken promise when an epilogue asked for what one kernel cannot do. */
static struct diag *refuse(struct session *s, const struct op *op, const char *why)
{
    const char *name = ops[op->id].name;
    if (!op->promise) return diag(s, DIAG_one_kernel, op->span, "'%s' %s", name, why);
    struct diag *d =
        diag(s, DIAG_broken_promise, op->promise->span,
             "epilogue '%s' cannot be placed in the kernel that it hangs on", op->promise->name);
    diag_note(s, d, op->span, "'%s' %s", name, why);
    return d;
}

static bool one_anchor(struct session *s, const struct graph *g)
{
    const struct op *first = NULL;
    for (size_t k = 0; k < g->ops.n; k++) {
        const struct op *op = g->ops.at[k];
        if (!is_anchor(op)) continue;
        if (first) {
            struct diag *d = refuse(s, op,
                                    "is a second conv, matmul or sdpa in one graph, which is "
                                    "not supported yet: a kernel holds one");
            diag_note(s, d, first->span, "the first is '%s'", ops[first->id].name);
            diag_hint(s, d, "write two graphs, and hand the first's output to the second");
            return false;
        }
        first = op;
    }
    return true;
}

/* cuDNN: a reduction may have no consumer outside attention. */
static bool reductions_last(struct session *s, const struct graph *g)
{
    bool ok = true;
    for (size_t k = 0; k < g->ops.n; k++) {
        const struct op *op = g->ops.at[k];
        for (int j = 0; j < ops[op->id].n_in; j++) {
            const struct op *from = op->in[j]->producer;
            if (!from || ops[from->id].family != FAM_reduction) continue;
            struct diag *d = refuse(s, op,
                                    "reads the result of a reduction, which is not supported "
                                    "yet: a kernel ends with its reductions");
            diag_note(s, d, from->span, "the reduction");
            if (op->id == OP_cast) {
                diag_hint(s, d,
                          "declare the reduction's output f32, the type that reductions store");
            } else {
                diag_hint(s, d, "make the reduction an output, and go on in a second graph");
            }
            ok = false;
        }
    }
    return ok;
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
static bool alike(struct session *s, const struct graph *g)
{
    components_vec all = pass_components(s->arena, g, true);
    for (size_t k = 0; all.n > 1 && k < all.n; k++) {
        for (size_t j = 0; j < all.at[k]->ops.n; j++) {
            const struct op *op = all.at[k]->ops.at[j];
            if (ops[op->id].family != FAM_reduction) continue;
            struct diag *d = refuse(s, op,
                                    "has nothing in common with the rest of the graph: two "
                                    "kernels in one graph are not supported yet");
            diag_hint(s, d, "write it in a graph of its own");
            return false;
        }
    }
    return true;
}

/* cuDNN 9.19: behind a matmul or conv, pow is NaN for every base below 0 and for 0 to the power 0
 * (measured); alone it is right. */
static bool no_pow(struct session *s, const struct component *c)
{
    bool ok = true;
    for (size_t k = 0; k < c->ops.n; k++) {
        const struct op *op = c->ops.at[k];
        if (op->id != OP_pow) continue;
        struct diag *d =
            refuse(s, op, "gives NaN for bases below 0 in the kernel of a matmul or conv");
        diag_hint(s, d, "write x * x for a square, exp(b * log(a)) where a is above 0");
        ok = false;
    }
    return ok;
}

static bool around_anchor(struct session *s, const struct graph *g)
{
    components_vec all = pass_components(s->arena, g, false);
    const struct component *main = NULL;
    for (size_t k = 0; k < all.n; k++) {
        if (all.at[k]->anchor) main = all.at[k];
    }
    if (!main) return alike(s, g);
    const char *anchor = ops[main->anchor->id].name;
    bool ok = true;
    for (size_t k = 0; k < all.n; k++) {
        if (all.at[k] == main) continue;
        struct diag *d = refuse(s, all.at[k]->ops.at[0],
                                arena_printf(s->arena,
                                             "does not depend on '%s', nor it on this: two "
                                             "kernels in one graph are not supported yet",
                                             anchor));
        diag_hint(s, d, "write it in a graph of its own");
        ok = false;
    }
    const bool *below = descendants(s->arena, main);
    for (size_t k = 0; k < main->ops.n; k++) {
        const struct op *op = main->ops.at[k];
        if (ops[op->id].family != FAM_reduction || below[op->index]) continue;
        refuse(s, op,
               arena_printf(s->arena,
                            "gathers a value that does not come from '%s': a kernel "
                            "reduces only what it computes",
                            anchor));
        ok = false;
    }
    if (main->anchor->id != OP_sdpa) return no_pow(s, main) && ok;
    for (size_t k = 0; k < main->ops.n; k++) {
        const struct op *op = main->ops.at[k];
        if (op == main->anchor) continue;
        struct diag *d = refuse(s, op,
                                "stands next to 'sdpa', which is not supported yet: attention "
                                "fills its kernel");
        diag_note(s, d, main->anchor->span, "the attention");
        ok = false;
    }
    return ok;
}

bool pass_partition(struct session *s, struct graph *g)
{
    if (!one_anchor(s, g)) return false;
    bool last = reductions_last(s, g);
    return around_anchor(s, g) && last;
}
