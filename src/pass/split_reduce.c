/* split_reduce: a reduction over axes that others stand between becomes two, one after the other.
 *
 * Invariant: the numbers stay, up to the order of sums. Engines gather rows or columns of two axes;
 * where memory has gathered axes, kept ones, and gathered ones again, the innermost are gathered
 * first, and what is left are columns. */
#include "pass/passes.h"

/* What the reduction's operand is computed from in memory, of its dims: its strides say how
 * elements are walked. NULL where there is none, and where a conv or matmul makes them. */
static const struct value *walked(const struct component *c, const struct value *x)
{
    if (c->anchor) return NULL;
    for (size_t k = 0; k < c->values.n; k++) {
        const struct value *v = c->values.at[k];
        bool like = v->role == VAL_INPUT && v->rank == x->rank;
        for (int i = 0; like && i < x->rank; i++)
            like = v->dim[i] == x->dim[i] && (v->dim[i] == 1 || v->stride[i] > 0);
        if (like) return v;
    }
    return NULL;
}

/* Axes longer than 1, slowest first. */
static int by_stride(const struct value *v, int *axes)
{
    int n = 0;
    for (int k = 0; k < v->rank; k++) {
        if (v->dim[k] == 1) continue;
        int at = n++;
        for (; at > 0 && v->stride[axes[at - 1]] < v->stride[k]; at--) axes[at] = axes[at - 1];
        axes[at] = k;
    }
    return n;
}

static void split(struct arena *a, struct graph *g, struct op *op, const struct value *like)
{
    struct value *y = op->out[0];
    const struct value *x = op->in[0];
    int axes[MAX_RANK], n = by_stride(like, axes), runs = 0, inner = n;
    for (int k = 0; k < n; k++)
        runs += k == 0 || (y->dim[axes[k]] == 1) != (y->dim[axes[k - 1]] == 1);
    if (runs != 3 || y->dim[axes[0]] != 1) return;
    while (inner > 0 && y->dim[axes[inner - 1]] == 1) inner--;
    struct value *t = ir_value(a, g, VAL_TEMP, y->type);
    ir_shape(t, x->rank, x->dim);
    t->span = op->span;
    int64_t step = 1;
    for (int k = n - 1; k >= 0; k--) { /* packed, in the order of memory */
        if (k >= inner) t->dim[axes[k]] = 1;
        t->stride[axes[k]] = step;
        step *= t->dim[axes[k]]; /* at most what x has */
    }
    t->layout = LAYOUT_strides;
    struct op *rest = arena_copy(a, op, sizeof *op);
    rest->attr = arena_copy(a, op->attr, sizeof *op->attr * (size_t)op_n_attrs(op->id));
    struct attr *mode = &rest->attr[op_attr_index(op->id, "mode")];
    char word[64];
    const char *modes = ops[op->id].attr[op_attr_index(op->id, "mode")].choices;
    if (strcmp(word_at(modes, (int)mode->i, word), "norm1") == 0)
        mode->i = word_index(modes, "add"); /* magnitudes by then */
    rest->in[0] = t;
    ir_result(op, 0, t);
    ir_result(rest, 0, y);
    vec_push(a, &g->ops, rest);
    struct attr *first = &op->attr[op_attr_index(op->id, "axes")],
                *second = &rest->attr[op_attr_index(op->id, "axes")];
    first->n = second->n = 0;
    for (int k = 0; k < x->rank; k++) {
        bool now = x->dim[k] != t->dim[k];
        if (now) first->list[first->n++] = k;
        else if (y->dim[k] == 1) second->list[second->n++] = k;
    }
}

void split_reductions(struct session *s, struct graph *g)
{
    components_vec all = pass_components(s->arena, g, false);
    for (size_t k = 0; k < all.n; k++)
        for (size_t j = 0; j < all.at[k]->ops.n; j++) {
            struct op *op = all.at[k]->ops.at[j];
            if (ops[op->id].family != FAM_reduction || op->promise) continue;
            char word[64];
            int at = op_attr_index(op->id, "mode");
            word_at(ops[op->id].attr[at].choices, (int)op->attr[at].i, word);
            const struct value *like = walked(all.at[k], op->in[0]);
            if (like && strcmp(word, "norm2") != 0 && op->out[0]->type == DT_f32)
                split(s->arena, g, op, like);
        }
    ir_sort(s->arena, g);
}
