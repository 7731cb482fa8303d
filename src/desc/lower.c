/* Lowers one region of IR into a descriptor tree: tensors here, operators through the table.
 *
 * Invariant: one tensor descriptor a value (data flow is read off the sharing); values keep their
 * uids, what the lowering adds comes after them; operations stand in the graph's order. */
#include "desc/lower.h"

const char *lower_compute(enum dtype t)
{
    return t == DT_tf32 ? "FLOAT" : dtypes[t].cudnn;
}

const struct attr *lower_attr(const struct op *op, const char *name)
{
    int k = op_attr_index(op->id, name);
    return k < 0 ? NULL : &op->attr[k];
}

struct desc *lower_desc(struct lowering *l, enum desc_kind kind, const char *prefix)
{
    char id[32];
    snprintf(id, sizeof id, "%s%d", prefix, ++l->n_made[kind]);
    return desc_new(l->arena, l->out, kind, id);
}

struct desc *lower_operation(struct lowering *l, enum desc_kind kind, const struct op *origin)
{
    char id[32];
    snprintf(id, sizeof id, "op%zu", l->out->operations.n + 1);
    struct desc *d = desc_new(l->arena, l->out, kind, id);
    d->origin = l->graph->ops.at[origin->index];
    vec_push(l->arena, &l->out->operations, d);
    return d;
}

/* cuDNN refuses a tensor whose alignment is below its element's size, virtual ones included. */
static int64_t alignment(enum dtype type, int64_t asked)
{
    int64_t element = dtypes[type].bits / 8;
    return asked > element ? asked : element;
}

static struct desc *tensor(struct lowering *l, int64_t uid, enum dtype type, int rank,
                           const int64_t *dim, const int64_t *stride, int64_t align)
{
    char id[32];
    snprintf(id, sizeof id, "t%lld", (long long)uid);
    struct desc *d = desc_new(l->arena, l->out, DESC_KIND_TENSOR, id);
    desc_set_i64(l->arena, d, DESC_ATTR_TENSOR_UNIQUE_ID, uid);
    desc_set_word(l->arena, d, DESC_ATTR_TENSOR_DATA_TYPE, dtypes[type].cudnn);
    desc_set_list(l->arena, d, DESC_ATTR_TENSOR_DIMENSIONS, rank, dim);
    desc_set_list(l->arena, d, DESC_ATTR_TENSOR_STRIDES, rank, stride);
    desc_set_i64(l->arena, d, DESC_ATTR_TENSOR_BYTE_ALIGNMENT, alignment(type, align));
    return d;
}

static struct desc *by_value(struct lowering *l, int64_t uid, enum dtype type)
{
    int64_t ones[MAX_RANK] = {1, 1, 1, 1, 1, 1, 1, 1};
    struct desc *d = tensor(l, uid, type, l->rank, ones, ones, 16);
    desc_set_i64(l->arena, d, DESC_ATTR_TENSOR_IS_BY_VALUE, true);
    return d;
}

static void add_constant(struct lowering *l, int64_t uid, enum dtype type, double value)
{
    struct desc_constant c = {uid, dtypes[type].cudnn, dtype_round(type, value)};
    vec_push(l->arena, &l->out->constants, c);
}

struct desc *lower_virtual(struct lowering *l, enum dtype type, int rank, const int64_t *dim)
{
    int64_t stride[MAX_RANK];
    dims_row_major(rank, dim, stride);
    struct desc *d = tensor(l, l->next_uid++, type, rank, dim, stride, 16);
    desc_set_i64(l->arena, d, DESC_ATTR_TENSOR_IS_VIRTUAL, true);
    return d;
}

struct desc *lower_literal(struct lowering *l, enum dtype type, double value)
{
    int64_t uid = l->next_uid++;
    add_constant(l, uid, type, value);
    return by_value(l, uid, type);
}

struct desc *lower_value(struct lowering *l, const struct value *v)
{
    if (l->tensor[v->id]) return l->tensor[v->id];
    struct desc *d;
    if (v->role == VAL_CONST) {
        /* Literals are rounded once, where they are used, and engines compute in f32. Integers that
         * f32 does not hold stay integers. */
        bool is_float = dtypes[v->type].klass == DTC_float;
        double value = is_float ? dtype_round(v->type, v->literal) : v->literal;
        enum dtype type = is_float || dtype_round(DT_f32, value) == value ? DT_f32 : DT_i32;
        add_constant(l, v->uid, type, value);
        d = by_value(l, v->uid, type);
    } else if (v->role == VAL_SCALAR) {
        d = by_value(l, v->uid, v->type);
    } else if (v->rank == 0) {
        int64_t ones[MAX_RANK] = {1, 1, 1, 1, 1, 1, 1, 1};
        d = tensor(l, v->uid, v->type, l->rank, ones, ones, 16);
        desc_set_i64(l->arena, d, DESC_ATTR_TENSOR_IS_VIRTUAL, true);
    } else {
        enum dtype type = v->type == DT_bool ? DT_i8 : v->type;
        d = tensor(l, v->uid, type, v->rank, v->dim, v->stride, v->align);
        if (!v->stored) desc_set_i64(l->arena, d, DESC_ATTR_TENSOR_IS_VIRTUAL, true);
    }
    return l->tensor[v->id] = d;
}

/* ---- the operators --------------------------------------------------------------------------- */

#define FAMILY(f)
#define SHAPE(rule)
#define EVAL(kernel)
#define LOWER(builder, mode) lower_##builder
#define FIRST_(a, b, c, d, ...) d
#define OP(id, ...) [OP_##id] = FIRST_(__VA_ARGS__, ),
static lower_fn *const builders[N_OPS] = {
#include "op/ops.def"
};
#undef OP
#undef FIRST_
#undef FAMILY
#undef SHAPE
#undef EVAL
#undef LOWER

struct desc_graph *desc_lower(struct session *s, const struct graph *g)
{
    struct lowering l = {
        .session = s, .arena = s->arena, .graph = g, .rank = 1, .next_uid = g->free_uid};
    l.out = NEW(s->arena, struct desc_graph);
    l.tensor = NEW_N(s->arena, struct desc *, g->values.n + 1);
    for (size_t k = 0; k < g->values.n; k++) {
        const struct value *v = g->values.at[k];
        if (v->uid >= l.next_uid) l.next_uid = v->uid + 1;
        if (v->rank > l.rank) l.rank = v->rank;
    }
    l.most = lower_bounds(s->arena, g);
    bool ok = true;
    for (size_t k = 0; k < g->ops.n; k++) ok = builders[g->ops.at[k]->id](&l, g->ops.at[k]) && ok;
    return ok ? l.out : NULL;
}
