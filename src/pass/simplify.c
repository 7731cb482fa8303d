/* simplify: casts that change nothing go, and a value that is only ever read rounded gets its
 * rounded type where it is made.
 *
 * Invariant: every value keeps its numbers. A cast is folded into its producer only when nobody
 * else reads the unrounded result and no declared type asked for a rounding of its own in between.
 * One walk over the ops: replaced values are looked up, not searched for. */
#include "pass/passes.h"

struct reading {
    int *count;             /* by value id: operand slots that read it */
    struct value **instead; /* by value id: what its readers read now; NULL: itself */
};

static struct value *current(const struct reading *r, struct value *v)
{
    while (r->instead[v->id]) v = r->instead[v->id];
    return v;
}

static void replace(struct reading *r, struct value *from, struct value *to)
{
    r->instead[from->id] = to;
    r->count[to->id] += r->count[from->id];
    r->count[from->id] = 0;
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
static bool drop_no_op(struct reading *r, struct op *cast)
{
    struct value *x = cast->in[0], *y = cast->out[0];
    if (x->type != y->type || x->rank == 0) return false;
    bool keep_x = y->role == VAL_TEMP && !y->stored;
    if (!keep_x && (x->role != VAL_TEMP || x->stored || is_view(x->producer))) return false;
    r->count[x->id]--;
    if (keep_x) {
        replace(r, y, x);
    } else {
        take_over(x, y);
        replace(r, x, y);
    }
    return true;
}

/* Casts that are more than a rounding on the way out of a register: fp8 saturates and bool asks
 * whether the value is zero, each an operation of its own when lowered. */
static bool only_rounds(enum dtype t)
{
    return t != DT_e4m3 && t != DT_e5m2 && dtypes[t].klass != DTC_bool;
}

static bool fold_into_producer(struct reading *r, struct op *cast)
{
    struct value *x = cast->in[0], *y = cast->out[0];
    if (x->role != VAL_TEMP || x->pinned || x->stored || !x->producer) return false;
    if (x->producer->id == OP_cast || is_view(x->producer) || r->count[x->id] != 1 || !only_rounds(y->type)) return false;
    take_over(x, y);
    r->count[x->id] = 0;
    return true;
}

static void read_current(const struct reading *r, struct op *op)
{
    for (int j = 0; j < ops[op->id].n_in; j++) op->in[j] = current(r, op->in[j]);
}

bool pass_simplify(struct session *s, struct graph *g)
{
    if (!fold_views(s, g)) return false;
    struct arena *a = arena_new();
    struct reading r = {NEW_N(a, int, g->values.n + 1), NEW_N(a, struct value *, g->values.n + 1)};
    for (size_t k = 0; k < g->ops.n; k++) {
        const struct op *op = g->ops.at[k];
        for (int j = 0; j < ops[op->id].n_in; j++) r.count[op->in[j]->id]++;
    }
    size_t n = 0;
    for (size_t k = 0; k < g->ops.n; k++) {
        struct op *op = g->ops.at[k];
        read_current(&r, op);
        bool gone = op->id == OP_cast && (drop_no_op(&r, op) || fold_into_producer(&r, op));
        if (!gone) g->ops.at[n++] = op;
    }
    g->ops.n = n;
    for (size_t k = 0; k < n; k++) read_current(&r, g->ops.at[k]); /* replaced further down */
    arena_free(a);
    split_reductions(s, g);
    return true;
}
