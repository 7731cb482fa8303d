/* Orders of axes, and the strides of axes of size 1.
 *
 * Invariant: no function here changes which address an index has. */
#include "pass/passes.h"

struct axis_order order_row_major(int rank)
{
    struct axis_order o = {{0}};
    for (int k = 0; k < rank; k++) o.axis[k] = rank - 1 - k;
    return o;
}

struct axis_order order_channels_last(int rank)
{
    struct axis_order o = order_row_major(rank);
    if (rank < 3) return o;
    /* axis 1 first, then the spatial ones from the last, the batch last */
    o.axis[0] = 1;
    for (int k = 1; k < rank - 1; k++) o.axis[k] = rank - k;
    return o;
}

bool fits_order(const struct value *v, const struct axis_order *order)
{
    int64_t least = 0;
    for (int k = 0; k < v->rank; k++) {
        int axis = order->axis[k];
        if (v->dim[axis] == 1 || v->stride[axis] == 0) continue;
        if (v->stride[axis] < least) return false;
        least = v->stride[axis];
    }
    return true;
}

/* Axes longer than 1 by their strides, then those of size 1, slowest. */
static struct axis_order order_by_stride(const struct value *v)
{
    struct axis_order o = order_row_major(v->rank);
    for (int k = 1; k < v->rank; k++) { /* stable insertion: at most MAX_RANK axes */
        int axis = o.axis[k], j = k;
        for (; j > 0; j--) {
            int before = o.axis[j - 1];
            bool falls = v->dim[before] == 1
                             ? v->dim[axis] > 1
                             : v->dim[axis] > 1 && v->stride[axis] < v->stride[before];
            if (!falls) break;
            o.axis[j] = before;
        }
        o.axis[j] = axis;
    }
    return o;
}

void canonical_strides(struct value *v, int n_orders, const struct axis_order *orders)
{
    struct axis_order order = order_by_stride(v);
    for (int k = n_orders - 1; k >= 0; k--) {
        if (fits_order(v, &orders[k])) order = orders[k];
    }
    int64_t run = 1; /* extent of the axes passed */
    for (int k = 0; k < v->rank; k++) {
        int axis = order.axis[k];
        int64_t extent;
        if (v->dim[axis] == 1) {
            v->stride[axis] = run;
        } else if (i64_mul(v->dim[axis], v->stride[axis], &extent) && extent > run) {
            run = extent;
        }
    }
}

void restate_reduce_axes(struct op *op)
{
    if (ops[op->id].family != FAM_reduction) return;
    struct attr *axes = &op->attr[op_attr_index(op->id, "axes")];
    axes->n = 0;
    for (int k = 0; k < op->out[0]->rank; k++) {
        if (op->out[0]->dim[k] == 1) axes->list[axes->n++] = k;
    }
}
