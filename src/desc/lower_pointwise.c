/* Lowers pointwise operators, one OPERATION_POINTWISE each.
 *
 * Invariant: every attribute of the operator's row reaches the descriptor. */
#include "desc/lower.h"

#include <float.h>
#include <math.h>

struct desc *lower_pw(struct lowering *l, const struct op *origin, const char *mode,
                      const char *compute, struct desc *x, struct desc *b, struct desc *t,
                      struct desc *y)
{
    struct arena *a = l->arena;
    struct desc *pw = lower_desc(l, DESC_KIND_POINTWISE, "pw");
    desc_set_word(a, pw, DESC_ATTR_POINTWISE_MODE, mode);
    desc_set_word(a, pw, DESC_ATTR_POINTWISE_MATH_PREC, compute);
    struct desc *d = lower_operation(l, DESC_KIND_OPERATION_POINTWISE, origin);
    desc_set_child(a, d, DESC_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, pw);
    desc_set_child(a, d, DESC_ATTR_OPERATION_POINTWISE_XDESC, x);
    if (b) desc_set_child(a, d, DESC_ATTR_OPERATION_POINTWISE_BDESC, b);
    if (t) desc_set_child(a, d, DESC_ATTR_OPERATION_POINTWISE_TDESC, t);
    desc_set_child(a, d, DESC_ATTR_OPERATION_POINTWISE_YDESC, y);
    desc_set_real(a, d, DESC_ATTR_OPERATION_POINTWISE_ALPHA1, 1);
    desc_set_real(a, d, DESC_ATTR_OPERATION_POINTWISE_ALPHA2, 1);
    return pw;
}

/* Parameters of the modes that have some: from the operator's attribute where its row has one, else
 * the value that makes no difference. An upper clip has no infinity: FLT_MAX is the largest that
 * arithmetic in f32 can hold. */
static const struct {
    const char *mode, *attr;
    enum desc_attr_id id;
    double otherwise;
} parameters[] = {
    {"RELU_FWD", "lower", DESC_ATTR_POINTWISE_RELU_LOWER_CLIP, 0},
    {"RELU_FWD", "upper", DESC_ATTR_POINTWISE_RELU_UPPER_CLIP, FLT_MAX},
    {"RELU_FWD", "slope", DESC_ATTR_POINTWISE_RELU_LOWER_CLIP_SLOPE, 0},
    {"ELU_FWD", "alpha", DESC_ATTR_POINTWISE_ELU_ALPHA, 1},
    {"SOFTPLUS_FWD", "beta", DESC_ATTR_POINTWISE_SOFTPLUS_BETA, 1},
    {"SWISH_FWD", "beta", DESC_ATTR_POINTWISE_SWISH_BETA, 1},
};

static void set_parameters(struct lowering *l, const struct op *op, struct desc *pw)
{
    const char *mode = ops[op->id].mode;
    if (strcmp(mode, "RELU_FWD") == 0) {
        desc_set_word(l->arena, pw, DESC_ATTR_POINTWISE_NAN_PROPAGATION, "PROPAGATE_NAN");
    }
    for (size_t k = 0; k < COUNT_OF(parameters); k++) {
        if (strcmp(parameters[k].mode, mode) != 0) continue;
        const struct attr *attr = lower_attr(op, parameters[k].attr);
        double value = attr ? attr->r : parameters[k].otherwise;
        if (isinf(value)) value = value > 0 ? FLT_MAX : -FLT_MAX;
        desc_set_real(l->arena, pw, parameters[k].id, value);
    }
}

/* cuDNN 9.19: comparisons compute in FLOAT (with BOOLEAN no engine takes them), and so does the
 * identity, whatever it converts. */
static const char *precision(const struct op *op)
{
    const struct op_info *info = &ops[op->id];
    bool f64 = op->in[0]->type == DT_f64 || (op->out[0] && op->out[0]->type == DT_f64);
    if (info->traits & OPT_comparison || strcmp(info->mode, "IDENTITY") == 0) {
        return f64 ? "DOUBLE" : "FLOAT";
    }
    return lower_compute(op->compute);
}

bool lower_pointwise(struct lowering *l, const struct op *op)
{
    const struct op_info *info = &ops[op->id];
    struct desc *in[3] = {NULL};
    /* select(cond, a, b) is BINARY_SELECT: a where t, else b. */
    bool select = info->n_in == 3;
    for (int k = 0; k < info->n_in; k++) {
        in[select ? (k + 2) % 3 : k] = lower_value(l, op->in[k]);
    }
    struct desc *y = lower_value(l, op->out[0]);
    struct desc *pw = lower_pw(l, op, info->mode, precision(op), in[0], in[1], in[2], y);
    set_parameters(l, op, pw);
    return true;
}
