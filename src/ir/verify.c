/* verify: what must hold of every graph, checked after each pass.
 *
 * Invariant: reads only; returns the first thing wrong, in words for whoever debugs fgc. */
#include "ir/ir.h"

static const char *name_of(const struct value *v) { return v->name != NULL ? v->name : "value"; }

static const char *check_value(struct arena *a, const struct graph *g, size_t i)
{
    const struct value *v = g->values.at[i];
    int64_t n;
    if (v->id != (int)i) return arena_printf(a, "%s: id %d at place %zu", name_of(v), v->id, i);
    if (v->type == DT_none || v->type >= N_DTYPES || v->type == DT_tf32)
        return arena_printf(a, "%s: element type %d", name_of(v), (int)v->type);
    if (v->rank < 0 || v->rank > MAX_RANK)
        return arena_printf(a, "%s: rank %d", name_of(v), v->rank);
    if (v->rank == 0 && (v->role == VAL_INPUT || v->role == VAL_OUTPUT))
        return arena_printf(a, "%s: a tensor without axes", name_of(v));
    if (v->rank != 0 && (v->role == VAL_SCALAR || v->role == VAL_CONST))
        return arena_printf(a, "%s: a scalar of rank %d", name_of(v), v->rank);
    for (int k = 0; k < v->rank; k++) {
        if (v->dim[k] < 1) return arena_printf(a, "%s: dim %lld", name_of(v), (long long)v->dim[k]);
        if (v->stride[k] < 0)
            return arena_printf(a, "%s: stride %lld", name_of(v), (long long)v->stride[k]);
    }
    if (!dims_count(v->rank, v->dim, &n) || !dims_extent(v->rank, v->dim, v->stride, &n))
        return arena_printf(a, "%s: dims or strides beyond 63 bits", name_of(v));
    bool made = v->role == VAL_TEMP || v->role == VAL_OUTPUT;
    if (made != (v->producer != NULL))
        return arena_printf(a, "%s: %s", name_of(v), made ? "nothing makes it" : "made by an op");
    return NULL;
}

/* Does operand x spread over result y (equal dims or 1; rank 0 over all)? */
static bool spreads(const struct value *x, const struct value *y)
{
    if (x->rank == 0) return true;
    if (x->rank != y->rank) return false;
    for (int i = 0; i < x->rank; i++)
        if (x->dim[i] != 1 && x->dim[i] != y->dim[i]) return false;
    return true;
}

static bool pointwise_fits(const struct op *op)
{
    for (int i = 0; i < ops[op->id].n_in; i++)
        if (!spreads(op->in[i], op->out[0])) return false;
    return true;
}

static bool reduction_fits(const struct op *op) { return spreads(op->out[0], op->in[0]); }

static bool matmul_fits(const struct op *op)
{
    const struct value *x = op->in[0], *w = op->in[1], *y = op->out[0];
    int r = x->rank;
    if (r < 2 || w->rank != r || y->rank != r) return false;
    for (int i = 0; i < r - 2; i++) {
        if (x->dim[i] != 1 && x->dim[i] != y->dim[i]) return false;
        if (w->dim[i] != 1 && w->dim[i] != y->dim[i]) return false;
    }
    return x->dim[r - 2] == y->dim[r - 2] && w->dim[r - 1] == y->dim[r - 1] &&
           x->dim[r - 1] == w->dim[r - 2];
}

static bool conv_fits(const struct op *op)
{
    const struct value *x = op->in[0], *w = op->in[1], *y = op->out[0];
    int n = op_attr_index(op->id, "groups");
    int64_t groups = op->attr[n].i;
    return x->rank >= 3 && w->rank == x->rank && y->rank == x->rank && x->dim[0] == y->dim[0] &&
           w->dim[0] == y->dim[1] && groups >= 1 && x->dim[1] % groups == 0 &&
           w->dim[0] % groups == 0 && x->dim[1] / groups == w->dim[1];
}

static bool sdpa_fits(const struct op *op)
{
    const struct value *q = op->in[0], *k = op->in[1], *v = op->in[2], *o = op->out[0];
    return q->rank == 4 && k->rank == 4 && v->rank == 4 && k->dim[1] >= 1 &&
           q->dim[1] % k->dim[1] == 0 && k->dim[2] == v->dim[2] && q->dim[3] == k->dim[3] &&
           (o == NULL || (o->rank == 4 && o->dim[2] == q->dim[2] && o->dim[3] == v->dim[3]));
}

static bool view_fits(const struct op *op)
{
    const struct value *x = op->in[0], *y = op->out[0];
    int64_t n, held;
    if (op->id != OP_reshape) return x->rank == y->rank;
    return dims_count(x->rank, x->dim, &held) && dims_count(y->rank, y->dim, &n) && n == held;
}

static bool (*const fits[])(const struct op *) = {
    [FAM_pointwise] = pointwise_fits, [FAM_reduction] = reduction_fits, [FAM_conv] = conv_fits,
    [FAM_matmul] = matmul_fits,       [FAM_sdpa] = sdpa_fits,           [FAM_view] = view_fits,
};

static const char *check_op(struct arena *a, const struct graph *g, size_t i,
                            unsigned char *defined)
{
    const struct op *op = g->ops.at[i];
    if (op->index != (int)i) return arena_printf(a, "op at place %zu has index %d", i, op->index);
    if (op->id <= OP_none || op->id >= N_OPS) return arena_printf(a, "op %zu: no operator", i);
    const struct op_info *info = &ops[op->id];
    if (op->compute == DT_none || op->compute >= N_DTYPES)
        return arena_printf(a, "%s at %zu: no compute type", info->name, i);
    for (int k = 0; k < info->n_in; k++) {
        const struct value *v = op->in[k];
        if (v == NULL || (size_t)v->id >= g->values.n || g->values.at[v->id] != v)
            return arena_printf(a, "%s at %zu: operand %d is not of this graph", info->name, i, k);
        if (v->producer != NULL && !defined[v->id])
            return arena_printf(a, "%s at %zu: '%s' is read before it is made", info->name, i,
                                name_of(v));
    }
    int made = 0;
    for (int k = 0; k < info->n_out; k++) {
        const struct value *v = op->out[k];
        if (v == NULL) continue;
        if ((size_t)v->id >= g->values.n || g->values.at[v->id] != v)
            return arena_printf(a, "%s at %zu: result %d is not of this graph", info->name, i, k);
        if (defined[v->id] || v->producer != op)
            return arena_printf(a, "%s at %zu: '%s' has two producers", info->name, i, name_of(v));
        defined[v->id] = 1;
        made++;
    }
    if (made == 0) return arena_printf(a, "%s at %zu: no results", info->name, i);
    if (op->out[0] != NULL && !fits[info->family](op))
        return arena_printf(a, "%s at %zu: dims of operands and results disagree", info->name, i);
    return NULL;
}

const char *ir_verify(struct arena *a, const struct graph *g)
{
    const char *wrong;
    for (size_t i = 0; i < g->values.n; i++)
        if ((wrong = check_value(a, g, i)) != NULL) return wrong;
    unsigned char *defined = NEW_N(a, unsigned char, g->values.n + 1);
    for (size_t i = 0; i < g->ops.n; i++)
        if ((wrong = check_op(a, g, i, defined)) != NULL) return wrong;
    for (size_t i = 0; i < g->outputs.n; i++)
        if (!defined[g->outputs.at[i]->id])
            return arena_printf(a, "output '%s' is not made", name_of(g->outputs.at[i]));
    return NULL;
}
