/* make_ir: graphs written in C, for tests of what happens after the front end. */
#ifndef FGC_TEST_MAKE_IR_H
#define FGC_TEST_MAKE_IR_H

#include "ir/ir.h"

#define DIMS(...)                                                                                  \
    (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), ((int64_t[]){__VA_ARGS__})

static inline struct value *make_tensor(struct session *s, struct graph *g, enum value_role role,
                                        enum dtype type, const char *name, int rank,
                                        const int64_t *dim)
{
    struct value *v = ir_value(s->arena, g, role, type);
    ir_shape(v, rank, dim);
    v->name = name;
    return v;
}

static inline struct op *make_op(struct session *s, struct graph *g, enum op_id id, struct value *y,
                                 struct value *a, struct value *b, struct value *c)
{
    struct op *op = ir_op(s->arena, g, id);
    op->compute = DT_f32;
    op->in[0] = a;
    op->in[1] = b;
    op->in[2] = c;
    ir_result(op, 0, y);
    if (id == OP_cast) op->attr[op_attr_index(id, "type")].i = y->type;
    return op;
}

/* A register: f32, of dims broadcast from the operands that have axes. */
static inline struct value *make_temp(struct session *s, struct graph *g, int rank,
                                      const int64_t *dim)
{
    return make_tensor(s, g, VAL_TEMP, DT_f32, NULL, rank, dim);
}

static inline void set_list(struct op *op, const char *name, int n, const int64_t *v)
{
    struct attr *attr = &op->attr[op_attr_index(op->id, name)];
    attr->n = n;
    attr->given = true;
    for (int k = 0; k < n; k++) attr->list[k] = v[k];
}

static inline void set_choice(struct op *op, const char *name, const char *word)
{
    int k = op_attr_index(op->id, name);
    op->attr[k].i = word_index(ops[op->id].attr[k].choices, word);
}

static inline void set_layout(struct value *v, enum layout layout)
{
    v->layout = layout;
    if (layout == LAYOUT_channels_last) dims_channels_last(v->rank, v->dim, v->stride);
    if (layout == LAYOUT_row_major) dims_row_major(v->rank, v->dim, v->stride);
}

#endif
