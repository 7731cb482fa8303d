/* kernel_view: transpose, reshape, slice and copy: each element is one of the operand's, with its bound.
 *
 * Invariant: where an element comes from is said in one place, view_index, which tensors and
 * samples both use. */
#include "interp/internal.h"

static const int64_t *list_of(const struct op *op, const char *name)
{
    return op->attr[op_attr_index(op->id, name)].list;
}

static int64_t flat(int rank, const int64_t *dim, const int64_t *index)
{
    int64_t at = 0;
    for (int k = 0; k < rank; k++) at = at * dim[k] + index[k];
    return at;
}

static void unflat(int rank, const int64_t *dim, int64_t at, int64_t *index)
{
    for (int k = rank - 1; k >= 0; k--) {
        index[k] = at % dim[k];
        at /= dim[k];
    }
}

void view_index(const struct op *view, const int64_t *index, int64_t *of)
{
    const struct value *x = view->in[0], *y = view->out[0];
    if (view->id == OP_reshape || view->id == OP_copy) {
        unflat(x->rank, x->dim, flat(y->rank, y->dim, index), of);
    } else if (view->id == OP_slice) {
        const int64_t *start = list_of(view, "start"), *step = list_of(view, "step");
        for (int k = 0; k < x->rank; k++) of[k] = start[k] + index[k] * step[k];
    } else {
        const int64_t *axes = list_of(view, "axes");
        for (int k = 0; k < x->rank; k++) of[axes[k]] = index[k];
    }
}

void eval_view(struct eval *e)
{
    const struct array *x = e->in[0], *y = e->out[0];
    int64_t index[MAX_RANK], of[MAX_RANK];
    for (int64_t i = 0; i < y->count; i++) {
        unflat(y->rank, y->dim, i, index);
        view_index(e->op, index, of);
        int64_t at = flat(x->rank, x->dim, of);
        y->at[i] = x->at[at];
        if (y->bound) y->bound[i] = x->bound ? x->bound[at] : 0;
    }
}
