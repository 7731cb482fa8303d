/* Lowers reductions: the reduced axes are those where the result's dim is 1.
 *
 * Invariant: only modes that engines have are lowered; the passes rewrite the others or refuse
 * them. */
#include "desc/lower.h"

#include <assert.h>

void lower_reduce(struct lowering *l, const struct op *origin, const char *mode,
                  const char *compute, struct desc *x, struct desc *y)
{
    struct desc *r = lower_desc(l, DESC_KIND_REDUCTION, "red");
    desc_set_word(l->arena, r, DESC_ATTR_REDUCTION_OPERATOR, mode);
    desc_set_word(l->arena, r, DESC_ATTR_REDUCTION_COMP_TYPE, compute);
    struct desc *d = lower_operation(l, DESC_KIND_OPERATION_REDUCTION, origin);
    desc_set_child(l->arena, d, DESC_ATTR_OPERATION_REDUCTION_DESC, r);
    desc_set_child(l->arena, d, DESC_ATTR_OPERATION_REDUCTION_XDESC, x);
    desc_set_child(l->arena, d, DESC_ATTR_OPERATION_REDUCTION_YDESC, y);
}

bool lower_reduction(struct lowering *l, const struct op *op)
{
    static const struct {
        const char *mode, *cudnn;
    } modes[] = {{"add", "ADD"}, {"min", "MIN"}, {"max", "MAX"}, {"max_abs", "AMAX"}};
    char mode[64];
    int k = op_attr_index(op->id, "mode");
    word_at(ops[op->id].attr[k].choices, (int)op->attr[k].i, mode);
    const char *cudnn = NULL;
    for (size_t j = 0; j < COUNT_OF(modes); j++) {
        if (strcmp(modes[j].mode, mode) == 0) cudnn = modes[j].cudnn;
    }
    assert(cudnn); /* reduce_modes.c in pass/ leaves no other */

    /* cuDNN 9.19: yType == FLOAT && mathPrec == FLOAT, for every engine. */
    if (op->out[0]->type != DT_f32 || (op->compute != DT_f32 && op->compute != DT_tf32)) {
        struct diag *d =
            diag(l->session, DIAG_no_lowering, op->span, "no cuDNN engine reduces in %s to %s",
                 dtypes[op->compute].name, dtypes[op->out[0]->type].name);
        diag_note(l->session, d, op->out[0]->span, "the result has type %s",
                  dtypes[op->out[0]->type].name);
        diag_hint(l->session, d, "reductions compute and store f32: declare the result f32");
        return false;
    }
    struct desc *x = lower_value(l, op->in[0]), *y = lower_value(l, op->out[0]);
    lower_reduce(l, op, cudnn, lower_compute(op->compute), x, y);
    return true;
}
