/* The forms of convolution and attention.
 *
 * Invariant: elements keep their addresses; only axes of size 1 are added or given other strides.
 */
#include "pass/passes.h"

/* cuDNN 9.19: a convolution over one spatial axis fuses an epilogue only as [N, C, 1, L]. */
static void add_height(struct value *v)
{
    for (int k = 3; k > 2; k--) {
        v->dim[k] = v->dim[k - 1];
        v->stride[k] = v->stride[k - 1];
    }
    v->dim[2] = 1;
    v->rank = 4;
}

static void add_height_attrs(struct op *op)
{
    static const struct {
        const char *name;
        int64_t neutral;
    } list[] = {{"pre_pad", 0}, {"post_pad", 0}, {"stride", 1}, {"dilation", 1}};
    for (size_t k = 0; k < COUNT_OF(list); k++) {
        struct attr *attr = &op->attr[op_attr_index(op->id, list[k].name)];
        attr->list[1] = attr->list[0];
        attr->list[0] = list[k].neutral;
        attr->n = 2;
    }
}

/* Registers have no layout, but virtual tensors declare one: that of what is stored. */
static bool stores_channels_last(const struct component *c)
{
    const struct axis_order last = order_channels_last(c->rank);
    const struct value *leader = c->anchor->in[0];
    int64_t count, most = 0;
    for (size_t k = 0; k < c->values.n; k++) {
        const struct value *v = c->values.at[k];
        if (v->role != VAL_OUTPUT || !dims_count(v->rank, v->dim, &count) || count <= most)
            continue;
        most = count;
        leader = v;
    }
    return fits_order(leader, &last);
}

bool form_conv(struct session *s, struct component *c)
{
    (void)s;
    if (c->rank == 3) {
        for (size_t k = 0; k < c->values.n; k++) add_height(c->values.at[k]);
        add_height_attrs(c->anchor);
        c->rank = 4;
    }
    bool channels_last = stores_channels_last(c);
    const struct axis_order by[] = {order_channels_last(c->rank), order_row_major(c->rank)};
    for (size_t k = 0; k < c->values.n; k++) {
        struct value *v = c->values.at[k];
        if (in_memory(v)) {
            canonical_strides(v, 2, by);
        } else {
            (channels_last ? dims_channels_last : dims_row_major)(v->rank, v->dim, v->stride);
        }
    }
    return true;
}

bool form_sdpa(struct session *s, struct component *c)
{
    (void)s;
    const struct axis_order by[] = {order_row_major(4), {{3, 1, 2, 0}}}; /* BHSD, BSHD */
    for (size_t k = 0; k < c->values.n; k++) {
        struct value *v = c->values.at[k];
        if (in_memory(v))
            canonical_strides(v, 2, by);
        else
            dims_row_major(v->rank, v->dim, v->stride);
    }
    return true;
}
