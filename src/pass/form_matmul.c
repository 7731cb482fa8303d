/* The form of a matmul's component: every value of rank 3, all batch axes folded into one.
 *
 * Invariant: elements keep their addresses. cuDNN 9.19 takes a matmul of rank 4 for attention
 * and refuses one of rank 2, so neither is ever lowered. */
#include "pass/passes.h"

#include <inttypes.h>

struct batch {
    int n;              /* batch axes longer than 1 somewhere in the component */
    int axis[MAX_RANK]; /* slowest first */
    int64_t full[MAX_RANK];
};

static struct batch batch_axes(const struct component *c)
{
    struct batch b = {0};
    for (int k = 0; k < c->rank - 2; k++) {
        int64_t full = 1;
        for (size_t j = 0; j < c->values.n; j++) {
            if (c->values.at[j]->dim[k] > full) full = c->values.at[j]->dim[k];
        }
        if (full == 1) continue;
        b.axis[b.n] = k;
        b.full[b.n++] = full;
    }
    return b;
}

static void refuse(struct session *s, const struct component *c, const struct value *v,
                   const char *why)
{
    const struct op *op = pass_op_at(c, v);
    const char *name = v->name ? arena_printf(s->arena, "'%s'", v->name) : "an intermediate";
    struct diag *d =
        diag(s, DIAG_no_form, op->span, "the batch axes of %s do not fold into one: %s", name, why);
    diag_note(s, d, v->span, "its dims are %s", pass_dims_text(s->arena, v->rank, v->dim));
    diag_note(s, d, NO_SPAN, "cuDNN's matmul engines take one batch axis");
}

/* dim and stride of v's one batch axis; false when no single stride walks its batch axes. */
static bool fold(struct session *s, const struct component *c, const struct batch *b,
                 const struct value *v, int64_t *dim, int64_t *stride)
{
    int n_full = 0;
    *dim = *stride = 1;
    for (int k = 0; k < b->n; k++) n_full += v->dim[b->axis[k]] == b->full[k];
    if (n_full == 0) return true;
    if (n_full < b->n) {
        refuse(s, c, v, "some are broadcast and some are not");
        return false;
    }
    *stride = v->stride[b->axis[b->n - 1]];
    for (int k = 0; k < b->n; k++) {
        *dim *= b->full[k];
        if (k + 1 == b->n || !in_memory(v)) continue;
        int outer = b->axis[k], inner = b->axis[k + 1];
        int64_t step;
        if (!i64_mul(v->stride[inner], v->dim[inner], &step) || step != v->stride[outer]) {
            refuse(s, c, v,
                   arena_printf(s->arena,
                                "axis %d has stride %" PRId64 ", and one step over "
                                "axis %d would be %" PRId64,
                                outer, v->stride[outer], inner, v->stride[inner] * v->dim[inner]));
            return false;
        }
    }
    return true;
}

/* An operand with a single row or column has one stride that says nothing. It is given the value
 * that keeps the other axis telling rows from columns: engines read the layout off which of the
 * last two strides is 1. */
static bool by_columns(const struct value *v)
{
    int64_t rows = v->dim[1], columns = v->dim[2];
    if (columns == 1) return rows > 1 && v->stride[1] == 1;
    return v->stride[2] != 1 && (rows == 1 || v->stride[1] == 1);
}

bool form_matmul(struct session *s, struct component *c)
{
    const struct axis_order rows = {{2, 1, 0}}, columns = {{1, 2, 0}};
    struct batch b = batch_axes(c);
    int last = c->rank - 1, to[MAX_RANK];
    for (int k = 0; k < last - 1; k++) to[k] = b.n > 1 ? -1 : 0;
    for (int k = 0; k < last - 1 && b.n == 1; k++) to[k] = k == b.axis[0] ? 0 : -1;
    to[last - 1] = 1;
    to[last] = 2;
    if (!pass_renumber_axes(s, c, to)) return false;
    for (size_t k = 0; k < c->values.n; k++) {
        struct value *v = c->values.at[k];
        int64_t dim, stride;
        if (!fold(s, c, &b, v, &dim, &stride)) return false;
        int64_t dims[3] = {dim, v->dim[last - 1], v->dim[last]};
        int64_t strides[3] = {stride, v->stride[last - 1], v->stride[last]};
        v->rank = 3;
        memcpy(v->dim, dims, sizeof dims);
        memcpy(v->stride, strides, sizeof strides);
        if (!in_memory(v)) {
            dims_row_major(v->rank, v->dim, v->stride);
        } else {
            bool operand = v == c->anchor->in[0] || v == c->anchor->in[1];
            const struct axis_order by[] = {operand && by_columns(v) ? columns : rows,
                                            operand && by_columns(v) ? rows : columns};
            canonical_strides(v, 2, by);
        }
    }
    return true;
}
