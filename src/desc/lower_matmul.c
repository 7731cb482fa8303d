/* Lowers matmul: operands and result as they are described, transposition being strides.
 *
 * Invariant: rank 3, which the passes see to. */
#include "desc/lower.h"

void lower_mm(struct lowering *l, const struct op *origin, const char *compute, struct desc *a,
              struct desc *b, struct desc *c)
{
    struct desc *mm = lower_desc(l, DESC_KIND_MATMUL, "mm");
    desc_set_word(l->arena, mm, DESC_ATTR_MATMUL_COMP_TYPE, compute);
    struct desc *d = lower_operation(l, DESC_KIND_OPERATION_MATMUL, origin);
    desc_set_child(l->arena, d, DESC_ATTR_OPERATION_MATMUL_DESC, mm);
    desc_set_child(l->arena, d, DESC_ATTR_OPERATION_MATMUL_ADESC, a);
    desc_set_child(l->arena, d, DESC_ATTR_OPERATION_MATMUL_BDESC, b);
    desc_set_child(l->arena, d, DESC_ATTR_OPERATION_MATMUL_CDESC, c);
}

bool lower_matmul(struct lowering *l, const struct op *op)
{
    struct desc *a = lower_value(l, op->in[0]), *b = lower_value(l, op->in[1]);
    lower_mm(l, op, lower_compute(op->compute), a, b, lower_value(l, op->out[0]));
    return true;
}
