/* unfused: a graph as it would run operator by operator: temporaries in memory, in the narrow type
 * and the order of axes that whoever writes the operators one by one would give them. */
#include "kernel/internal.h"

/* Packed, with axes in the order that x has them in. */
static void follow(struct value *y, const struct value *x)
{
    int axis[MAX_RANK];
    int64_t step = 1;
    axes_by_stride(x->rank, x->stride, axis);
    for (int i = y->rank - 1; i >= 0; i--) {
        y->stride[axis[i]] = step;
        step *= y->dim[axis[i]];
    }
}

static bool same_dims(const struct value *x, const struct value *y)
{
    for (int i = 0; i < x->rank && x->rank == y->rank; i++)
        if (x->dim[i] != y->dim[i]) return false;
    return x->rank == y->rank;
}

static void lay_out(const struct op *op, struct value *y)
{
    enum op_family f = ops[op->id].family;
    for (int i = 0; i < ops[op->id].n_in; i++) {
        const struct value *x = op->in[i];
        bool leads = (f == FAM_conv || f == FAM_reduction) && i == 0;
        if (!x || x->rank != y->rank || x->rank == 0 || !(leads || same_dims(x, y))) continue;
        if (f == FAM_matmul || f == FAM_view) continue;
        follow(y, x);
        return;
    }
}

struct graph *kernel_unfused(struct arena *a, const struct graph *simple)
{
    struct graph *g = ir_clone(a, simple);
    enum dtype narrow = DT_none;
    for (size_t i = 0; i < g->inputs.n && narrow == DT_none; i++) {
        enum dtype t = g->inputs.at[i]->type;
        if (t == DT_bf16 || t == DT_f16) narrow = t;
        if (t == DT_e4m3 || t == DT_e5m2) narrow = DT_bf16;
    }
    for (size_t i = 0; i < g->ops.n; i++)
        for (int r = 0; r < ops[g->ops.at[i]->id].n_out; r++) {
            struct value *y = g->ops.at[i]->out[r];
            if (!y || y->role != VAL_TEMP) continue;
            if (!y->pinned && y->type == DT_f32 && narrow != DT_none) y->type = narrow;
            lay_out(g->ops.at[i], y);
        }
    return g;
}

static struct value *copy_of(struct arena *a, struct graph *g, const struct value *v,
                             enum value_role role)
{
    struct value *c = ir_value(a, g, role, v->type);
    c->rank = v->rank;
    memcpy(c->dim, v->dim, sizeof c->dim);
    memcpy(c->stride, v->stride, sizeof c->stride);
    c->layout = v->layout;
    c->align = v->role == VAL_TEMP || v->align == 0 ? 16 : v->align;
    c->name = v->name ? v->name : role == VAL_INPUT ? "x" : "y";
    c->span = v->span;
    return c;
}

struct graph *kernel_anchor(struct arena *a, const struct op *op)
{
    struct graph *g = NEW(a, struct graph);
    g->name = ops[op->id].name;
    g->variant = "";
    g->span = op->span;
    g->compute = op->compute;
    struct value *in[MAX_OPERANDS] = {NULL}, *out[MAX_RESULTS] = {NULL};
    for (int i = 0; i < ops[op->id].n_in; i++)
        if (op->in[i]) in[i] = copy_of(a, g, op->in[i], VAL_INPUT);
    for (int i = 0; i < ops[op->id].n_out; i++)
        if (op->out[i]) out[i] = copy_of(a, g, op->out[i], VAL_OUTPUT);
    struct op *copy = ir_op(a, g, op->id);
    memcpy(copy->in, in, sizeof in);
    copy->attr = op->attr;
    copy->compute = op->compute;
    copy->span = op->span;
    for (int i = 0; i < ops[op->id].n_out; i++)
        if (out[i]) ir_result(copy, i, out[i]);
    ir_number(g);
    return g;
}
