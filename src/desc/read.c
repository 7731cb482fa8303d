/* Reads a printed descriptor tree back, trusting nothing in it.
 *
 * Invariant: what desc_read returns could have been made by the builder: known kinds and
 * attributes, each attribute on its own kind, of its own type and count, references to earlier
 * descriptors of the kind that the attribute takes, tensors complete, uids unique, constants naming
 * by-value tensors. */
#include "desc/desc.h"

#include <jansson.h>
#include <math.h>

struct reader {
    struct arena *arena;
    struct desc_graph *g;
    struct map *ids, *uids; /* to descriptors; uids in decimal */
    const char *why;        /* the first fault */
};

static bool fail(struct reader *r, const char *fmt, ...) PRINTF_LIKE(2, 3);
static bool fail(struct reader *r, const char *fmt, ...)
{
    char text[256];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    if (!r->why) r->why = arena_strdup(r->arena, text);
    return false;
}

/* The order of desc.def gives each attribute its kind: the last one above it. */
enum sequence {
#define DESC_KIND(name, cudnn) SEQ_KIND_##name,
#define DESC_ATTR(name, type) SEQ_ATTR_##name,
#include "desc/desc.def"
#undef DESC_KIND
#undef DESC_ATTR
    N_SEQUENCE
};
static const int kind_at[N_DESC_KINDS + 1] = {
#define DESC_KIND(name, cudnn) [DESC_KIND_##name] = SEQ_KIND_##name,
#define DESC_ATTR(name, type)
#include "desc/desc.def"
#undef DESC_KIND
#undef DESC_ATTR
    [N_DESC_KINDS] = N_SEQUENCE,
};
static const int attr_at[N_DESC_ATTRS] = {
#define DESC_KIND(name, cudnn)
#define DESC_ATTR(name, type) [DESC_ATTR_##name] = SEQ_ATTR_##name,
#include "desc/desc.def"
#undef DESC_KIND
#undef DESC_ATTR
};

static bool belongs(enum desc_attr_id id, enum desc_kind kind)
{
    return attr_at[id] > kind_at[kind] && attr_at[id] < kind_at[kind + 1];
}

static bool takes_list(enum desc_attr_id id)
{
    switch (id) {
    case DESC_ATTR_TENSOR_DIMENSIONS:
    case DESC_ATTR_TENSOR_STRIDES:
    case DESC_ATTR_CONVOLUTION_PRE_PADDINGS:
    case DESC_ATTR_CONVOLUTION_POST_PADDINGS:
    case DESC_ATTR_CONVOLUTION_DILATIONS:
    case DESC_ATTR_CONVOLUTION_FILTER_STRIDES: return true;
    default: return false;
    }
}

static enum desc_kind child_kind(enum desc_attr_id id)
{
    switch (id) {
    case DESC_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC: return DESC_KIND_CONVOLUTION;
    case DESC_ATTR_OPERATION_MATMUL_DESC: return DESC_KIND_MATMUL;
    case DESC_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR: return DESC_KIND_POINTWISE;
    case DESC_ATTR_OPERATION_REDUCTION_DESC: return DESC_KIND_REDUCTION;
    default: return DESC_KIND_TENSOR;
    }
}

static bool is_data_type(const char *word)
{
    for (int t = DT_none + 1; t < N_DTYPES; t++) {
        if (dtypes[t].cudnn && strcmp(dtypes[t].cudnn, word) == 0) return true;
    }
    return false;
}

static bool is_pointwise_mode(const char *word)
{
    for (int o = OP_none + 1; o < N_OPS; o++) {
        if (ops[o].family == FAM_pointwise && strcmp(ops[o].mode, word) == 0) return true;
    }
    return false;
}

static bool known_word(enum desc_type type, const char *word)
{
    switch (type) {
    case DESC_DATA_TYPE: return is_data_type(word);
    case DESC_POINTWISE_MODE: return is_pointwise_mode(word);
    case DESC_REDUCTION_OPERATOR:
        return word_index("ADD MUL MIN MAX AMAX AVG NORM1 NORM2 MUL_NO_ZEROS", word) >= 0;
    case DESC_CONVOLUTION_MODE: return word_index("CROSS_CORRELATION CONVOLUTION", word) >= 0;
    case DESC_NAN_PROPAGATION: return word_index("PROPAGATE_NAN NOT_PROPAGATE_NAN", word) >= 0;
    default: return false;
    }
}

static bool read_real(const json_t *j, double *out)
{
    if (json_is_number(j)) {
        *out = json_number_value(j);
        return true;
    }
    const char *s = json_string_value(j);
    if (s && strcmp(s, "inf") == 0) {
        *out = HUGE_VAL;
    } else if (s && strcmp(s, "-inf") == 0) {
        *out = -HUGE_VAL;
    } else {
        return false;
    }
    return true;
}

static bool read_ints(struct reader *r, struct desc *d, enum desc_attr_id id, const json_t *j)
{
    const char *name = desc_attrs[id].name;
    if (!takes_list(id)) {
        if (!json_is_integer(j)) return fail(r, "'%s' of '%s' is not an integer", name, d->id);
        desc_set_i64(r->arena, d, id, json_integer_value(j));
        return true;
    }
    size_t n = json_array_size(j); /* 0 when it is no array */
    if (n < 1 || n > MAX_RANK) {
        return fail(r, "'%s' of '%s' is not a list of 1 to %d integers", name, d->id, MAX_RANK);
    }
    int64_t v[MAX_RANK];
    for (size_t k = 0; k < n; k++) {
        const json_t *e = json_array_get(j, k);
        if (!json_is_integer(e)) return fail(r, "'%s' of '%s' holds a non-integer", name, d->id);
        v[k] = json_integer_value(e);
    }
    desc_set_list(r->arena, d, id, (int)n, v);
    return true;
}

static bool read_attr(struct reader *r, struct desc *d, enum desc_attr_id id, const json_t *j)
{
    const char *name = desc_attrs[id].name;
    double real;
    switch (desc_attrs[id].type) {
    case DESC_INT64: return read_ints(r, d, id, j);
    case DESC_BOOLEAN:
        if (!json_is_boolean(j)) return fail(r, "'%s' of '%s' is not a boolean", name, d->id);
        desc_set_i64(r->arena, d, id, json_is_true(j));
        return true;
    case DESC_DOUBLE:
    case DESC_FLOAT:
        if (!read_real(j, &real)) return fail(r, "'%s' of '%s' is not a number", name, d->id);
        desc_set_real(r->arena, d, id, real);
        return true;
    default: break;
    }
    const char *word = json_string_value(j);
    if (!word) return fail(r, "'%s' of '%s' is not a string", name, d->id);
    if (desc_attrs[id].type != DESC_DESCRIPTOR) {
        if (!known_word(desc_attrs[id].type, word)) {
            return fail(r, "'%s' of '%s' has the unknown value '%.64s'", name, d->id, word);
        }
        desc_set_word(r->arena, d, id, arena_strdup(r->arena, word));
        return true;
    }
    struct desc *child = map_get(r->ids, word);
    if (!child) return fail(r, "'%s' of '%s' refers to no earlier descriptor", name, d->id);
    if (child->kind != child_kind(id)) {
        return fail(r, "'%s' of '%s' refers to '%s', which is a %s, not a %s", name, d->id,
                    child->id, desc_kind_names[child->kind], desc_kind_names[child_kind(id)]);
    }
    desc_set_child(r->arena, d, id, child);
    return true;
}

static bool check_tensor(struct reader *r, struct desc *d)
{
    static const enum desc_attr_id needed[] = {
        DESC_ATTR_TENSOR_UNIQUE_ID, DESC_ATTR_TENSOR_DATA_TYPE,      DESC_ATTR_TENSOR_DIMENSIONS,
        DESC_ATTR_TENSOR_STRIDES,   DESC_ATTR_TENSOR_BYTE_ALIGNMENT,
    };
    for (size_t k = 0; k < COUNT_OF(needed); k++) {
        if (!desc_get(d, needed[k])) {
            return fail(r, "tensor '%s' lacks '%s'", d->id, desc_attrs[needed[k]].name);
        }
    }
    const struct desc_attr *dim = desc_get(d, DESC_ATTR_TENSOR_DIMENSIONS);
    const struct desc_attr *stride = desc_get(d, DESC_ATTR_TENSOR_STRIDES);
    if (dim->n != stride->n) {
        return fail(r, "tensor '%s' has %d dims and %d strides", d->id, dim->n, stride->n);
    }
    for (int k = 0; k < dim->n; k++) {
        if (dim->i[k] < 1) return fail(r, "tensor '%s' has a dim below 1", d->id);
        if (stride->i[k] < 0) return fail(r, "tensor '%s' has a negative stride", d->id);
    }
    int64_t extent;
    if (!dims_extent(dim->n, dim->i, stride->i, &extent)) {
        return fail(r, "tensor '%s' reaches past 63-bit offsets", d->id);
    }
    int64_t align = desc_get(d, DESC_ATTR_TENSOR_BYTE_ALIGNMENT)->i[0];
    if (align < 1 || (align & (align - 1)) != 0) {
        return fail(r, "tensor '%s' has an alignment that is no power of two", d->id);
    }
    int64_t uid = desc_get(d, DESC_ATTR_TENSOR_UNIQUE_ID)->i[0];
    if (uid < 1) return fail(r, "tensor '%s' has a uid below 1", d->id);
    if (!map_put(r->uids, arena_printf(r->arena, "%lld", (long long)uid), d)) {
        return fail(r, "two tensors have the uid %lld", (long long)uid);
    }
    return true;
}

/* Ids are printed without escapes. */
static bool plain_id(const char *id)
{
    size_t n = strlen(id);
    return n >= 1 && n <= 63 && strspn(id, "abcdefghijklmnopqrstuvwxyz0123456789_") == n;
}

static bool read_desc(struct reader *r, json_t *j)
{
    if (!json_is_object(j)) return fail(r, "a descriptor is not an object");
    const char *id = json_string_value(json_object_get(j, "id"));
    const char *kind_name = json_string_value(json_object_get(j, "kind"));
    if (!id || !plain_id(id)) return fail(r, "a descriptor has no plain 'id'");
    if (!kind_name) return fail(r, "descriptor '%s' has no 'kind'", id);
    int kind = 0;
    while (kind < N_DESC_KINDS && strcmp(desc_kind_names[kind], kind_name) != 0) kind++;
    if (kind == N_DESC_KINDS) {
        return fail(r, "descriptor '%s' has the unknown kind '%.64s'", id, kind_name);
    }
    if (map_get(r->ids, id)) return fail(r, "two descriptors have the id '%s'", id);
    struct desc *d = desc_new(r->arena, r->g, (enum desc_kind)kind, id);

    const char *key;
    json_t *value;
    json_object_foreach(j, key, value)
    {
        if (strcmp(key, "id") == 0 || strcmp(key, "kind") == 0) continue;
        int a = 0;
        while (a < N_DESC_ATTRS && strcmp(desc_attrs[a].name, key) != 0) a++;
        if (a == N_DESC_ATTRS) {
            return fail(r, "descriptor '%s' has the unknown attribute '%.64s'", id, key);
        }
        if (!belongs((enum desc_attr_id)a, d->kind)) {
            return fail(r, "attribute '%s' does not belong to '%s', a %s", key, id, kind_name);
        }
        if (!read_attr(r, d, (enum desc_attr_id)a, value)) return false;
    }
    map_put(r->ids, d->id, d); /* after its attributes: nothing refers to itself */
    return d->kind != DESC_KIND_TENSOR || check_tensor(r, d);
}

static bool is_operation(enum desc_kind kind)
{
    return strncmp(desc_kind_names[kind], "OPERATION_", strlen("OPERATION_")) == 0;
}

static bool read_operations(struct reader *r, const json_t *list)
{
    size_t n = json_array_size(list);
    if (n == 0) return fail(r, "'operations' is not a list of at least one id");
    for (size_t k = 0; k < n; k++) {
        const char *id = json_string_value(json_array_get(list, k));
        struct desc *d = id ? map_get(r->ids, id) : NULL;
        if (!d) return fail(r, "operation %zu names no descriptor", k);
        if (!is_operation(d->kind)) {
            return fail(r, "operation '%s' is a %s", id, desc_kind_names[d->kind]);
        }
        for (size_t j = 0; j < k; j++) {
            if (r->g->operations.at[j] == d) return fail(r, "operation '%s' is listed twice", id);
        }
        vec_push(r->arena, &r->g->operations, d);
    }
    return true;
}

static bool read_constants(struct reader *r, json_t *table)
{
    if (!json_is_object(table)) return fail(r, "'constants' is not an object");
    const char *key;
    json_t *value;
    json_object_foreach(table, key, value)
    {
        struct desc *d = map_get(r->uids, key);
        const struct desc_attr *by_value = d ? desc_get(d, DESC_ATTR_TENSOR_IS_BY_VALUE) : NULL;
        if (!by_value || !by_value->i[0]) {
            return fail(r, "constant '%.32s' names no by-value tensor", key);
        }
        const char *type = json_string_value(json_object_get(value, "type"));
        const char *declared = desc_get(d, DESC_ATTR_TENSOR_DATA_TYPE)->word;
        struct desc_constant c = {.uid = desc_get(d, DESC_ATTR_TENSOR_UNIQUE_ID)->i[0]};
        if (json_object_size(value) != 2 || !type || strcmp(type, declared) != 0 ||
            !read_real(json_object_get(value, "value"), &c.value)) {
            return fail(r, "constant '%s' is not a {type, value} of type %s", key, declared);
        }
        c.type = arena_strdup(r->arena, type);
        vec_push(r->arena, &r->g->constants, c);
    }
    return true;
}

struct desc_graph *desc_read(struct arena *a, const char *text, size_t n, const char **why)
{
    struct reader r = {
        .arena = a, .g = NEW(a, struct desc_graph), .ids = map_new(a), .uids = map_new(a)};
    json_error_t error;
    json_t *root = json_loadb(text, n, JSON_REJECT_DUPLICATES, &error);
    json_t *descs = json_object_get(root, "descriptors");
    bool ok;
    if (!root) {
        ok = fail(&r, "line %d: %s", error.line, error.text);
    } else if (json_object_size(root) != 3 || !json_is_array(descs)) {
        ok = fail(&r, "not an object of 'descriptors', 'operations' and 'constants'");
    } else {
        ok = true;
        for (size_t k = 0; ok && k < json_array_size(descs); k++) {
            ok = read_desc(&r, json_array_get(descs, k));
        }
        ok = ok && read_operations(&r, json_object_get(root, "operations"));
        ok = ok && read_constants(&r, json_object_get(root, "constants"));
    }
    json_decref(root);
    if (!ok) *why = r.why;
    return ok ? r.g : NULL;
}
