/* match: is the graph that cuDNN says it understood the one that was asked for?
 *
 * A plan's JSON repeats the operation graph. Invariant: every tensor's element type, dims, strides,
 * alignment and kind, and every operation's kind, mode, attributes, arithmetic and operands are
 * compared with the descriptor tree; an attribute lost on the way, or one more operation, is a bug
 * of somebody and no plan. */
#include <float.h>
#include <inttypes.h>
#include <stdlib.h>

#include "plan/internal.h"

struct match {
    const json_t *tensors, *nodes;
    struct buf *why;
    bool ok;
};

static void differs(struct match *m, const char *fmt, ...) PRINTF_LIKE(2, 3);
static void differs(struct match *m, const char *fmt, ...)
{
    char text[512];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    buf_printf(m->why, "%s%s", m->why->n ? "; " : "", text);
    m->ok = false;
}

static const json_t *find(const json_t *list, const char *key, const char *value)
{
    size_t i;
    json_t *o;
    json_array_foreach((json_t *)list, i, o) {
        const char *v = json_string_value(json_object_get(o, key));
        if (v && strcmp(v, value) == 0) return o;
    }
    return NULL;
}

/* The word after the prefix that cuDNN prints before its enumerations. */
static bool word_is(const json_t *o, const char *key, const char *prefix, const char *word)
{
    const char *v = json_string_value(json_object_get(o, key));
    size_t n = strlen(prefix);
    return v && strncmp(v, prefix, n) == 0 && strcmp(v + n, word) == 0;
}

static bool list_is(const json_t *o, const char *key, const struct desc_attr *a)
{
    const json_t *v = json_object_get(o, key);
    if (!a || json_array_size(v) != (size_t)a->n) return false;
    for (int i = 0; i < a->n; i++)
        if (json_integer_value(json_array_get(v, (size_t)i)) != a->i[i]) return false;
    return true;
}

static bool flag_is(const json_t *o, const char *key, const struct desc_attr *a)
{
    return json_is_true(json_object_get(o, key)) == (a && a->i[0]);
}

static void compare_tensor(struct match *m, const struct desc *d)
{
    char name[32];
    snprintf(name, sizeof name, "%" PRId64, desc_get(d, DESC_ATTR_TENSOR_UNIQUE_ID)->i[0]);
    const json_t *t = find(m->tensors, "name", name);
    if (!t) {
        differs(m, "tensor %s is missing", name);
        return;
    }
    if (!word_is(t, "dataType", "CUDNN_DATA_", desc_get(d, DESC_ATTR_TENSOR_DATA_TYPE)->word))
        differs(m, "tensor %s: element type", name);
    if (!list_is(t, "dim", desc_get(d, DESC_ATTR_TENSOR_DIMENSIONS)))
        differs(m, "tensor %s: dims", name);
    if (!list_is(t, "stride", desc_get(d, DESC_ATTR_TENSOR_STRIDES)))
        differs(m, "tensor %s: strides", name);
    if (json_integer_value(json_object_get(t, "ptrAlignment")) !=
        desc_get(d, DESC_ATTR_TENSOR_BYTE_ALIGNMENT)->i[0])
        differs(m, "tensor %s: alignment", name);
    const json_t *vector = json_object_get(t, "vectCount"),
                 *order = json_object_get(t, "reordering");
    if ((vector && json_integer_value(vector) != 1) ||
        (order && !word_is(t, "reordering", "CUDNN_TENSOR_REORDERING_", "NONE")))
        differs(m, "tensor %s: packed elements", name);
    if (!flag_is(t, "isVirtual", desc_get(d, DESC_ATTR_TENSOR_IS_VIRTUAL)))
        differs(m, "tensor %s: virtual or not", name);
    if (!flag_is(t, "isByValue", desc_get(d, DESC_ATTR_TENSOR_IS_BY_VALUE)))
        differs(m, "tensor %s: by value or not", name);
}

/* How an attribute of the tree is printed. */
static const struct {
    enum desc_attr_id id;
    const char *key, *prefix;
} printed[] = {
    {DESC_ATTR_OPERATION_CONVOLUTION_FORWARD_X, "X", ""},
    {DESC_ATTR_OPERATION_CONVOLUTION_FORWARD_W, "W", ""},
    {DESC_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, "Y", ""},
    {DESC_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, "alpha", ""},
    {DESC_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA, "beta", ""},
    {DESC_ATTR_CONVOLUTION_COMP_TYPE, "mathPrec", "CUDNN_DATA_"},
    {DESC_ATTR_CONVOLUTION_CONV_MODE, "mode", "CUDNN_"},
    {DESC_ATTR_CONVOLUTION_DILATIONS, "dilation", ""},
    {DESC_ATTR_CONVOLUTION_FILTER_STRIDES, "stride", ""},
    {DESC_ATTR_OPERATION_MATMUL_ADESC, "matA", ""},
    {DESC_ATTR_OPERATION_MATMUL_BDESC, "matB", ""},
    {DESC_ATTR_OPERATION_MATMUL_CDESC, "matC", ""},
    {DESC_ATTR_MATMUL_COMP_TYPE, "mathPrec", "CUDNN_DATA_"},
    {DESC_ATTR_POINTWISE_MODE, "pointwiseMode", "CUDNN_POINTWISE_"},
    {DESC_ATTR_POINTWISE_MATH_PREC, "mathPrec", "CUDNN_DATA_"},
    {DESC_ATTR_POINTWISE_RELU_LOWER_CLIP, "lowerClip", ""},
    {DESC_ATTR_POINTWISE_RELU_UPPER_CLIP, "upperClip", ""},
    {DESC_ATTR_POINTWISE_RELU_LOWER_CLIP_SLOPE, "lowerClipSlope", ""},
    {DESC_ATTR_POINTWISE_AXIS, "axis", ""},
    {DESC_ATTR_POINTWISE_ELU_ALPHA, "alpha", ""},
    {DESC_ATTR_POINTWISE_SOFTPLUS_BETA, "beta", ""},
    {DESC_ATTR_POINTWISE_SWISH_BETA, "beta", ""},
    {DESC_ATTR_OPERATION_POINTWISE_XDESC, "X", ""},
    {DESC_ATTR_OPERATION_POINTWISE_BDESC, "B", ""},
    {DESC_ATTR_OPERATION_POINTWISE_TDESC, "T", ""},
    {DESC_ATTR_OPERATION_POINTWISE_YDESC, "Y", ""},
    {DESC_ATTR_OPERATION_POINTWISE_DXDESC, "dX", ""},
    {DESC_ATTR_OPERATION_POINTWISE_DYDESC, "dY", ""},
    {DESC_ATTR_OPERATION_POINTWISE_ALPHA1, "alpha1", ""},
    {DESC_ATTR_OPERATION_POINTWISE_ALPHA2, "alpha2", ""},
    {DESC_ATTR_REDUCTION_OPERATOR, "reductionOp", "CUDNN_REDUCE_TENSOR_"},
    {DESC_ATTR_REDUCTION_COMP_TYPE, "mathPrec", "CUDNN_DATA_"},
    {DESC_ATTR_OPERATION_REDUCTION_XDESC, "X", ""},
    {DESC_ATTR_OPERATION_REDUCTION_YDESC, "Y", ""},
};

static bool value_is(const json_t *node, const char *key, const char *prefix,
                     const struct desc_attr *a)
{
    const json_t *v = json_object_get(node, key);
    char name[32];
    switch (desc_attrs[a->id].type) {
    case DESC_DESCRIPTOR:
        snprintf(name, sizeof name, "%" PRId64,
                 desc_get(a->child, DESC_ATTR_TENSOR_UNIQUE_ID)->i[0]);
        return word_is(node, key, "", name);
    case DESC_DOUBLE:
    case DESC_FLOAT: return json_is_number(v) && (float)json_number_value(v) == (float)a->r[0];
    case DESC_INT64:
        return a->is_list ? list_is(node, key, a)
                          : json_is_integer(v) && json_integer_value(v) == a->i[0];
    default: return word_is(node, key, prefix, a->word);
    }
}

/* cuDNN prints one list of paddings when those before and after are alike, else two. */
static bool padding_is(const json_t *node, const struct desc_attr *a)
{
    const char *own = a->id == DESC_ATTR_CONVOLUTION_PRE_PADDINGS ? "pad_lower" : "pad_upper";
    return list_is(node, json_object_get(node, "pad") ? "pad" : own, a);
}

/* cuDNN may swap the operands of a commutative operation. */
static bool is_swapped(const struct desc *op, const json_t *node)
{
    const struct desc_attr *x = desc_get(op, DESC_ATTR_OPERATION_POINTWISE_XDESC),
                           *b = desc_get(op, DESC_ATTR_OPERATION_POINTWISE_BDESC);
    const struct desc_attr *pw = desc_get(op, DESC_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR);
    const char *mode = pw ? desc_get(pw->child, DESC_ATTR_POINTWISE_MODE)->word : "";
    bool commutes = strcmp(mode, "ADD") == 0 || strcmp(mode, "MUL") == 0 ||
                    strcmp(mode, "MIN") == 0 || strcmp(mode, "MAX") == 0;
    return commutes && b && value_is(node, "B", "", x) && value_is(node, "X", "", b);
}

/* What may be printed though nobody asked for it, and the one value that changes nothing. */
static const struct {
    const char *key;
    double value;
} defaults[] = {
    {"alpha1", 1},    {"alpha2", 1},         {"alpha", 1},           {"beta", 1},
    {"lowerClip", 0}, {"lowerClipSlope", 0}, {"upperClip", FLT_MAX}, {"isDeterministic", 0}};

static bool is_set(const struct desc *d, enum desc_attr_id id)
{
    for (size_t i = 0; i < d->attrs.n; i++) {
        const struct desc_attr *a = &d->attrs.at[i];
        if (a->id == id) return true;
        if (desc_attrs[a->id].type == DESC_DESCRIPTOR && a->child->kind != DESC_KIND_TENSOR &&
            is_set(a->child, id))
            return true;
    }
    return false;
}

static bool is_operand(const struct desc_attr_info *info)
{
    return info->type == DESC_DESCRIPTOR;
}

/* A member of the node that stands for no attribute that was set: an operand too many, or a value
 * that is not the default. Members that this table does not know are left alone: a later cuDNN may
 * print more. */
static void compare_unasked(struct match *m, const struct desc *op, const json_t *node)
{
    const char *key;
    json_t *v;
    json_object_foreach((json_t *)node, key, v) {
        bool asked = false, operand = false, changes = false;
        for (size_t k = 0; k < COUNT_OF(printed); k++) {
            if (strcmp(printed[k].key, key) != 0) continue;
            asked |= is_set(op, printed[k].id);
            operand |= is_operand(&desc_attrs[printed[k].id]);
        }
        for (size_t k = 0; k < COUNT_OF(defaults); k++)
            if (strcmp(defaults[k].key, key) == 0)
                changes = json_is_boolean(v)
                              ? json_is_true(v)
                              : (float)json_number_value(v) != (float)defaults[k].value;
        if (!asked && (operand || changes))
            differs(m, "%s (%s): '%s' was not asked for", op->id, desc_kind_names[op->kind], key);
    }
}

/* The attributes of one descriptor against the node that stands for its operation. */
static void compare_attributes(struct match *m, const struct desc *op, const struct desc *d,
                               const json_t *node)
{
    for (size_t i = 0; i < d->attrs.n; i++) {
        const struct desc_attr *a = &d->attrs.at[i];
        if (desc_attrs[a->id].type == DESC_DESCRIPTOR && a->child->kind != DESC_KIND_TENSOR) {
            compare_attributes(m, op, a->child, node);
            continue;
        }
        if (a->id == DESC_ATTR_CONVOLUTION_PRE_PADDINGS ||
            a->id == DESC_ATTR_CONVOLUTION_POST_PADDINGS) {
            if (!padding_is(node, a))
                differs(m, "%s (%s): %s", op->id, desc_kind_names[op->kind],
                        desc_attrs[a->id].name);
            continue;
        }
        if ((a->id == DESC_ATTR_OPERATION_POINTWISE_XDESC ||
             a->id == DESC_ATTR_OPERATION_POINTWISE_BDESC) &&
            is_swapped(op, node))
            continue;
        for (size_t k = 0; k < COUNT_OF(printed); k++)
            if (printed[k].id == a->id && !value_is(node, printed[k].key, printed[k].prefix, a))
                differs(m, "%s (%s): %s", op->id, desc_kind_names[op->kind],
                        desc_attrs[a->id].name);
    }
}

/* The node that makes the operation's result, which cuDNN prints under a key of its own. */
static const json_t *node_of(const struct match *m, const struct desc *op)
{
    static const struct {
        enum desc_attr_id id;
        const char *key;
    } results[] = {{DESC_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, "Y"},
                   {DESC_ATTR_OPERATION_MATMUL_CDESC, "matC"},
                   {DESC_ATTR_OPERATION_POINTWISE_YDESC, "Y"},
                   {DESC_ATTR_OPERATION_POINTWISE_DXDESC, "dX"},
                   {DESC_ATTR_OPERATION_REDUCTION_YDESC, "Y"}};
    for (size_t i = 0; i < COUNT_OF(results); i++) {
        const struct desc_attr *a = desc_get(op, results[i].id);
        char name[32];
        if (!a) continue;
        snprintf(name, sizeof name, "%" PRId64,
                 desc_get(a->child, DESC_ATTR_TENSOR_UNIQUE_ID)->i[0]);
        return find(m->nodes, results[i].key, name);
    }
    return NULL;
}

static void compare_operation(struct match *m, const struct desc *op)
{
    char kind[128];
    const json_t *node = node_of(m, op);
    snprintf(kind, sizeof kind, "CUDNN_BACKEND_%s_DESCRIPTOR", desc_kind_names[op->kind]);
    if (!node || !word_is(node, "operation", "", kind))
        differs(m, "%s (%s) is missing", op->id, desc_kind_names[op->kind]);
    else {
        compare_attributes(m, op, op, node);
        compare_unasked(m, op, node);
    }
}

bool plan_matches(const char *plan, size_t n, const struct desc_graph *g, struct buf *why)
{
    json_t *root = json_loadb(plan, n, 0, NULL), *graph = json_object_get(root, "operationGraph");
    struct match m = {.tensors = json_object_get(graph, "tensors"),
                      .nodes = json_object_get(graph, "nodes"),
                      .why = why,
                      .ok = true};
    size_t n_tensors = 0;
    for (size_t i = 0; i < g->descs.n; i++)
        if (g->descs.at[i]->kind == DESC_KIND_TENSOR) {
            compare_tensor(&m, g->descs.at[i]);
            n_tensors++;
        }
    for (size_t i = 0; i < g->operations.n; i++) compare_operation(&m, g->operations.at[i]);
    if (json_array_size(m.tensors) != n_tensors)
        differs(&m, "%zu tensors, not %zu", json_array_size(m.tensors), n_tensors);
    if (json_array_size(m.nodes) != g->operations.n)
        differs(&m, "%zu operations, not %zu", json_array_size(m.nodes), g->operations.n);
    json_decref(root);
    return m.ok;
}
