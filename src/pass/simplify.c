/* simplify: casts that change nothing go, and a value that is only ever read rounded gets its
 * rounded type where it is made.
 *
 * Invariant: every value keeps its numbers. A cast is folded into its producer only when nobody
 * else reads the unrounded result and no declared type asked for a rounding of its own in between.
 */
#include "pass/passes.h"

static void remove_op(struct graph *g, const struct op *dead)
{
    size_t n = 0;
    for (size_t k = 0; k < g->ops.n; k++) {
        if (g->ops.at[k] != dead) g->ops.at[n++] = g->ops.at[k];
    }
    g->ops.n = n;
}

/* `to` becomes the result of the op that makes `from`. */
static void take_over(struct value *from, struct value *to)
{
    struct op *p = from->producer;
    for (int k = 0; k < ops[p->id].n_out; k++) {
        if (p->out[k] == from) ir_result(p, k, to);
    }
}

/* A cast to the type the value has: its readers read the value itself, or the value is made under
 * the cast's name. Copies from one interface tensor to another stay. */
static bool drop_no_op(struct graph *g, struct op *cast)
{
    struct value *x = cast->in[0], *y = cast->out[0];
    if (x->type != y->type || x->rank == 0) return false;
    if (y->role == VAL_TEMP && !y->stored) {
        pass_replace_uses(g, y, x);
    } else if (x->role == VAL_TEMP && !x->stored) {
        take_over(x, y);
        pass_replace_uses(g, x, y);
    } else {
        return false;
    }
    remove_op(g, cast);
    return true;
}

static bool fold_into_producer(struct graph *g, struct op *cast)
{
    struct value *x = cast->in[0], *y = cast->out[0];
    if (x->role != VAL_TEMP || x->pinned || x->stored || !x->producer) return false;
    if (x->producer->id == OP_cast || ir_uses(g, x) != 1) return false;
    take_over(x, y);
    remove_op(g, cast);
    return true;
}

bool pass_simplify(struct session *s, struct graph *g)
{
    (void)s;
    size_t k = 0;
    while (k < g->ops.n) {
        struct op *op = g->ops.at[k];
        bool gone = op->id == OP_cast && (drop_no_op(g, op) || fold_into_producer(g, op));
        if (!gone) k++;
    }
    return true;
}
