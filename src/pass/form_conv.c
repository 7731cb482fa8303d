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

/* cuDNN 9.19: a channels-last convolution's epilogue runs over rows of channels, one a pixel. A
 * tensor broadcast along some of batch and space but not along all is read at the wrong addresses,
 * which can fault (measured). */
static bool rows_or_one(struct session *s, const struct component *c)
{
    const struct value *y = c->anchor->out[0];
    for (size_t k = 0; k < c->values.n; k++) {
        const struct value *v = c->values.at[k];
        if (v == c->anchor->in[0] || v == c->anchor->in[1]) continue;
        bool reduced = v->producer && ops[v->producer->id].family == FAM_reduction;
        int spread = 0, full = 0;
        for (int j = 0; j < c->rank; j++) {
            if (j == 1 || y->dim[j] == 1) continue;
            if (v->dim[j] == 1)
                spread++;
            else
                full++;
        }
        if (reduced || spread == 0 || full == 0) continue;
        const char *name = v->name ? arena_printf(s->arena, "'%s'", v->name) : "an intermediate";
        struct diag *d = diag(s, DIAG_no_form, pass_op_at(c, v)->span,
                              "no cuDNN engine takes this form: %s is broadcast along some of the "
                              "batch and spatial axes and not along the others",
                              name);
        diag_note(s, d, v->span, "its dims are %s, the convolution's %s",
                  pass_dims_text(s->arena, v->rank, v->dim),
                  pass_dims_text(s->arena, y->rank, y->dim));
        return false;
    }
    return true;
}

bool form_conv(struct session *s, struct component *c)
{
    if (c->rank == 3) {
        for (size_t k = 0; k < c->values.n; k++) add_height(c->values.at[k]);
        add_height_attrs(c->anchor);
        const int to[MAX_RANK] = {0, 1, 3};
        if (!pass_renumber_axes(s, c, to)) return false;
        c->rank = 4;
    }
    if (!rows_or_one(s, c)) return false;
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
