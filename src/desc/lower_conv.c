/* Lowers convolution (cross-correlation): groups are implied by the channel counts of x and w.
 *
 * Invariant: paddings before and after, strides and dilations reach the descriptor one number a
 * spatial axis each. */
#include "desc/lower.h"

static void set_numbers(struct lowering *l, struct desc *conv, enum desc_attr_id id,
                        const struct op *op, const char *name)
{
    const struct attr *attr = lower_attr(op, name);
    desc_set_list(l->arena, conv, id, attr->n, attr->list);
}

/* Convolution engines take x and w declared as aligned to 2 bytes, and with pointers 2 bytes off they
 * compute with other elements, without a word; 4 and 8 bytes off they are right (measured: relu of a
 * bf16 conv on an H200, cuDNN 9.19). That they copy in blocks of 4 bytes is inferred. */
static bool four_byte_operands(struct lowering *l, const struct op *op)
{
    for (int k = 0; k < 2; k++) {
        const struct value *v = op->in[k];
        if (v->align >= 4 || !v->name) continue;
        struct diag *d = diag(
            l->session, DIAG_no_lowering, op->span,
            "no cuDNN engine takes this 'conv': '%s' is aligned to %lld byte%s only", v->name,
            (long long)v->align, v->align == 1 ? "" : "s");
        diag_hint(l->session, d, "declare align(4) or more, and keep it");
        return false;
    }
    return true;
}

bool lower_conv(struct lowering *l, const struct op *op)
{
    struct arena *a = l->arena;
    if (!four_byte_operands(l, op)) return false;
    struct desc *x = lower_value(l, op->in[0]), *w = lower_value(l, op->in[1]);
    struct desc *y = lower_value(l, op->out[0]);
    struct desc *conv = lower_desc(l, DESC_KIND_CONVOLUTION, "conv");
    desc_set_word(a, conv, DESC_ATTR_CONVOLUTION_COMP_TYPE, lower_compute(op->compute));
    desc_set_word(a, conv, DESC_ATTR_CONVOLUTION_CONV_MODE, "CROSS_CORRELATION");
    desc_set_i64(a, conv, DESC_ATTR_CONVOLUTION_SPATIAL_DIMS, op->in[0]->rank - 2);
    set_numbers(l, conv, DESC_ATTR_CONVOLUTION_PRE_PADDINGS, op, "pre_pad");
    set_numbers(l, conv, DESC_ATTR_CONVOLUTION_POST_PADDINGS, op, "post_pad");
    set_numbers(l, conv, DESC_ATTR_CONVOLUTION_DILATIONS, op, "dilation");
    set_numbers(l, conv, DESC_ATTR_CONVOLUTION_FILTER_STRIDES, op, "stride");
    struct desc *d = lower_operation(l, DESC_KIND_OPERATION_CONVOLUTION_FORWARD, op);
    desc_set_real(a, d, DESC_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, 1);
    desc_set_real(a, d, DESC_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA, 0);
    desc_set_child(a, d, DESC_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, conv);
    desc_set_child(a, d, DESC_ATTR_OPERATION_CONVOLUTION_FORWARD_X, x);
    desc_set_child(a, d, DESC_ATTR_OPERATION_CONVOLUTION_FORWARD_W, w);
    desc_set_child(a, d, DESC_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, y);
    return true;
}
