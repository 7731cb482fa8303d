/* Lowers pointwise operators, one OPERATION_POINTWISE each.
 *
 * Invariant: every attribute of the operator's row reaches the descriptor. */
#include "desc/lower.h"

#include <float.h>
#include <math.h>

static struct desc *mode_of(struct lowering *l, const char *mode, const char *compute)
{
    struct desc *pw = lower_desc(l, DESC_KIND_POINTWISE, "pw");
    desc_set_word(l->arena, pw, DESC_ATTR_POINTWISE_MODE, mode);
    desc_set_word(l->arena, pw, DESC_ATTR_POINTWISE_MATH_PREC, compute);
    return pw;
}

struct desc *lower_pw(struct lowering *l, const struct op *origin, const char *mode,
                      const char *compute, struct desc *x, struct desc *b, struct desc *t,
                      struct desc *y)
{
    struct arena *a = l->arena;
    struct desc *pw = mode_of(l, mode, compute);
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
    {"RELU_BWD", "lower", DESC_ATTR_POINTWISE_RELU_LOWER_CLIP, 0},
    {"RELU_BWD", "upper", DESC_ATTR_POINTWISE_RELU_UPPER_CLIP, FLT_MAX},
    {"RELU_BWD", "slope", DESC_ATTR_POINTWISE_RELU_LOWER_CLIP_SLOPE, 0},
    {"ELU_BWD", "alpha", DESC_ATTR_POINTWISE_ELU_ALPHA, 1},
    {"SOFTPLUS_BWD", "beta", DESC_ATTR_POINTWISE_SOFTPLUS_BETA, 1},
    {"SWISH_BWD", "beta", DESC_ATTR_POINTWISE_SWISH_BETA, 1},
    {"ELU_FWD", "alpha", DESC_ATTR_POINTWISE_ELU_ALPHA, 1},
    {"SOFTPLUS_FWD", "beta", DESC_ATTR_POINTWISE_SOFTPLUS_BETA, 1},
    {"SWISH_FWD", "beta", DESC_ATTR_POINTWISE_SWISH_BETA, 1},
};

static void set_parameters(struct lowering *l, const struct op *op, struct desc *pw)
{
    const char *mode = ops[op->id].mode;
    if (strcmp(mode, "RELU_FWD") == 0 || strcmp(mode, "RELU_BWD") == 0) {
        desc_set_word(l->arena, pw, DESC_ATTR_POINTWISE_NAN_PROPAGATION, "PROPAGATE_NAN");
    }
    if (ops[op->id].traits & OPT_index)
        desc_set_i64(l->arena, pw, DESC_ATTR_POINTWISE_AXIS, op->attr[0].i);
    for (size_t k = 0; k < COUNT_OF(parameters); k++) {
        if (strcmp(parameters[k].mode, mode) != 0) continue;
        const struct attr *attr = lower_attr(op, parameters[k].attr);
        double value = attr ? attr->r : parameters[k].otherwise;
        if (isinf(value)) value = value > 0 ? FLT_MAX : -FLT_MAX;
        desc_set_real(l->arena, pw, parameters[k].id, value);
    }
}

/* cuDNN 9.19: pointwise engines compute in FLOAT and nothing else, logic alone in BOOLEAN, and take
 * neither f64 nor i64 (listed, then refused when compiled). NULL with a diagnostic where FLOAT
 * would not be exact. */
static const char *precision(struct lowering *l, const struct op *op)
{
    const struct op_info *info = &ops[op->id];
    if (info->traits & OPT_logical) return "BOOLEAN";
    for (int k = 0; k <= info->n_in; k++) {
        const struct value *v = k < info->n_in ? op->in[k] : op->out[0];
        bool literal = v->role == VAL_CONST; /* lowered in a type that fits */
        if (literal || (v->type != DT_f64 && v->type != DT_i64)) continue;
        struct diag *d = diag(l->session, DIAG_no_lowering, op->span,
                              "no cuDNN engine computes '%s' with %s", info->name,
                              dtypes[v->type].name);
        if (v->name) diag_note(l->session, d, v->span, "'%s' is %s", v->name, dtypes[v->type].name);
        diag_hint(l->session, d, "pointwise operators take f32 and smaller types on the device");
        return NULL;
    }
    /* A cast rounds, and from f32 it rounds once. */
    bool is_cast = strcmp(info->mode, "IDENTITY") == 0;
    if (is_cast || dtypes[op->compute].klass != DTC_int || lower_exact_in_f32(l, op))
        return "FLOAT";
    struct diag *d = diag(l->session, DIAG_no_lowering, op->span,
                          "no cuDNN engine computes '%s' in %s", info->name,
                          dtypes[op->compute].name);
    diag_note(
        l->session, d, NO_SPAN,
        "engines compute in f32, which is exact up to 16777216; these operands can exceed it");
    diag_hint(l->session, d, "cast the operands to f32 if its rounding is acceptable");
    return NULL;
}

/* A cast to fp8 saturates, which cuDNN's conversion does not (it gives NaN or infinity): a RELU
 * that clips at the largest finite value does, and keeps NaN. */
static bool cast_to_fp8(struct lowering *l, const struct op *op, double most)
{
    struct desc *x = lower_value(l, op->in[0]), *y = lower_value(l, op->out[0]);
    struct desc *pw = lower_pw(l, op, "RELU_FWD", "FLOAT", x, NULL, NULL, y);
    desc_set_word(l->arena, pw, DESC_ATTR_POINTWISE_NAN_PROPAGATION, "PROPAGATE_NAN");
    desc_set_real(l->arena, pw, DESC_ATTR_POINTWISE_RELU_LOWER_CLIP, -most);
    desc_set_real(l->arena, pw, DESC_ATTR_POINTWISE_RELU_UPPER_CLIP, most);
    desc_set_real(l->arena, pw, DESC_ATTR_POINTWISE_RELU_LOWER_CLIP_SLOPE, 0);
    return true;
}

static bool cast(struct lowering *l, const struct op *op, const char *compute)
{
    enum dtype from = op->in[0]->type, to = op->out[0]->type;
    if ((to == DT_e4m3 || to == DT_e5m2) && from != to) {
        return cast_to_fp8(l, op, dtype_round(to, 1e30));
    }
    struct desc *x = lower_value(l, op->in[0]);
    if (to == DT_bool && from != DT_bool) {
        struct desc *zero = lower_literal(l, DT_f32, 0), *y = lower_value(l, op->out[0]);
        lower_pw(l, op, "CMP_NEQ", "FLOAT", x, zero, NULL, y);
    } else if (from == to && op->in[0]->producer) {
        /* cuDNN 9.19: behind a matmul an identity that changes no type is dropped, and what it
         * should have stored with it (measured) */
        struct desc *one = lower_literal(l, DT_f32, 1), *y = lower_value(l, op->out[0]);
        lower_pw(l, op, "MUL", compute, x, one, NULL, y);
    } else {
        struct desc *y = lower_value(l, op->out[0]);
        lower_pw(l, op, "IDENTITY", compute, x, NULL, NULL, y);
    }
    return true;
}

bool lower_pointwise(struct lowering *l, const struct op *op)
{
    const struct op_info *info = &ops[op->id];
    const char *compute = precision(l, op);
    if (!compute) return false;
    if (strcmp(info->mode, "IDENTITY") == 0) return cast(l, op, compute);
    struct desc *in[3] = {NULL};
    bool select = info->n_in == 3; /* select(cond, a, b) is BINARY_SELECT: x where t, else b */
    for (int k = 0; k < info->n_in; k++) {
        in[select ? (k + 2) % 3 : k] = lower_value(l, op->in[k]);
    }
    struct desc *y = lower_value(l, op->out[0]);
    set_parameters(l, op, lower_pw(l, op, info->mode, compute, in[0], in[1], in[2], y));
    return true;
}

/* A gradient: cuDNN names its operands dy and x, its result dx. */
bool lower_backward(struct lowering *l, const struct op *op)
{
    struct arena *a = l->arena;
    const char *compute = precision(l, op);
    if (!compute) return false;
    struct desc *dy = lower_value(l, op->in[0]), *x = lower_value(l, op->in[1]);
    struct desc *dx = lower_value(l, op->out[0]);
    struct desc *pw = mode_of(l, ops[op->id].mode, compute);
    set_parameters(l, op, pw);
    struct desc *d = lower_operation(l, DESC_KIND_OPERATION_POINTWISE, op);
    desc_set_child(a, d, DESC_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, pw);
    desc_set_child(a, d, DESC_ATTR_OPERATION_POINTWISE_DYDESC, dy);
    desc_set_child(a, d, DESC_ATTR_OPERATION_POINTWISE_XDESC, x);
    desc_set_child(a, d, DESC_ATTR_OPERATION_POINTWISE_DXDESC, dx);
    desc_set_real(a, d, DESC_ATTR_OPERATION_POINTWISE_ALPHA1, 1);
    desc_set_real(a, d, DESC_ATTR_OPERATION_POINTWISE_ALPHA2, 1);
    return true;
}

/* Views of inputs are folded into the inputs by the passes; no other has a lowering. */
bool lower_view(struct lowering *l, const struct op *op)
{
    diag(l->session, DIAG_no_lowering, op->span, "no cuDNN engine takes this '%s'",
         ops[op->id].name);
    return false;
}
