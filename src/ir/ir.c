/* ir: making, copying and ordering graphs.
 *
 * Invariant: graph->values[i]->id == i and graph->ops[i]->index == i after every function here;
 * nothing recurses, so a chain of any length is safe. */
#include "ir/ir.h"

#include <assert.h>

struct value *ir_value(struct arena *a, struct graph *g, enum value_role role, enum dtype type)
{
    struct value *v = NEW(a, struct value);
    v->id = (int)g->values.n;
    v->role = role;
    v->type = type;
    v->stored = role == VAL_INPUT || role == VAL_OUTPUT;
    if (role != VAL_SCALAR && role != VAL_CONST) v->align = 16;
    vec_push(a, &g->values, v);
    if (role == VAL_INPUT) vec_push(a, &g->inputs, v);
    if (role == VAL_SCALAR) vec_push(a, &g->scalars, v);
    if (role == VAL_OUTPUT) vec_push(a, &g->outputs, v);
    return v;
}

void ir_shape(struct value *v, int rank, const int64_t *dim)
{
    assert(rank >= 0 && rank <= MAX_RANK);
    v->rank = rank;
    for (int i = 0; i < rank; i++) v->dim[i] = dim[i];
    v->layout = LAYOUT_row_major;
    dims_row_major(rank, v->dim, v->stride);
}

struct value *ir_const(struct arena *a, struct graph *g, enum dtype type, double literal)
{
    struct value *v = ir_value(a, g, VAL_CONST, type);
    v->literal = literal;
    return v;
}

struct op *ir_op(struct arena *a, struct graph *g, enum op_id id)
{
    struct op *op = NEW(a, struct op);
    op->index = op->made = (int)g->ops.n;
    op->id = id;
    int n = op_n_attrs(id);
    if (n > 0) op->attr = NEW_N(a, struct attr, n);
    for (int i = 0; i < n; i++) {
        const struct attr_info *info = &ops[id].attr[i];
        op->attr[i].r = info->def;
        if (info->kind != ATTR_REAL) op->attr[i].i = (int64_t)info->def;
    }
    vec_push(a, &g->ops, op);
    return op;
}

void ir_result(struct op *op, int i, struct value *v)
{
    assert(i < ops[op->id].n_out);
    op->out[i] = v;
    v->producer = op;
}

static void number(struct value *v, int64_t *next)
{
    if (v->uid == 0) v->uid = (*next)++;
}

void ir_number(struct graph *g)
{
    int64_t next = 1;
    for (size_t i = 0; i < g->values.n; i++) g->values.at[i]->uid = 0;
    for (size_t i = 0; i < g->inputs.n; i++) number(g->inputs.at[i], &next);
    for (size_t i = 0; i < g->scalars.n; i++) number(g->scalars.at[i], &next);
    for (size_t i = 0; i < g->outputs.n; i++) number(g->outputs.at[i], &next);
    for (size_t i = 0; i < g->values.n; i++)
        if (g->values.at[i]->base) number(g->values.at[i], &next);
    for (size_t i = 0; i < g->ops.n; i++) {
        struct op *op = g->ops.at[i];
        for (int k = 0; k < ops[op->id].n_in; k++) number(op->in[k], &next);
        for (int k = 0; k < ops[op->id].n_out; k++)
            if (op->out[k] != NULL) number(op->out[k], &next);
    }
    for (size_t i = 0; i < g->values.n; i++) number(g->values.at[i], &next);
}

static void copy_values(struct arena *a, values_vec *to, const values_vec *from, values_vec *of)
{
    for (size_t i = 0; i < from->n; i++) vec_push(a, to, of->at[from->at[i]->id]);
}

struct graph *ir_clone(struct arena *a, const struct graph *g)
{
    struct graph *c = arena_copy(a, g, sizeof *g);
    memset(&c->params, 0, sizeof c->params);
    memset(&c->values, 0, sizeof c->values);
    memset(&c->inputs, 0, sizeof c->inputs);
    memset(&c->scalars, 0, sizeof c->scalars);
    memset(&c->outputs, 0, sizeof c->outputs);
    memset(&c->ops, 0, sizeof c->ops);
    for (size_t i = 0; i < g->params.n; i++) vec_push(a, &c->params, g->params.at[i]);
    for (size_t i = 0; i < g->values.n; i++) {
        assert(g->values.at[i]->id == (int)i);
        vec_push(a, &c->values,
                 (struct value *)arena_copy(a, g->values.at[i], sizeof(struct value)));
    }
    copy_values(a, &c->inputs, &g->inputs, &c->values);
    copy_values(a, &c->scalars, &g->scalars, &c->values);
    copy_values(a, &c->outputs, &g->outputs, &c->values);
    for (size_t i = 0; i < g->ops.n; i++) {
        const struct op *from = g->ops.at[i];
        struct op *op = arena_copy(a, from, sizeof *from);
        int n = op_n_attrs(op->id);
        if (n > 0) op->attr = arena_copy(a, from->attr, sizeof *from->attr * (size_t)n);
        for (int k = 0; k < ops[op->id].n_in; k++) op->in[k] = c->values.at[from->in[k]->id];
        for (int k = 0; k < ops[op->id].n_out; k++)
            if (from->out[k] != NULL) ir_result(op, k, c->values.at[from->out[k]->id]);
        op->index = (int)i;
        vec_push(a, &c->ops, op);
    }
    return c;
}

/* ---- ordering ---------------------------------------------------------------------------- */

/* Appends `from` and every producer that it needs to order, producers first. `todo` has room for
 * all ops; state: 0 not seen, 1 waiting for its producers, 2 placed. */
static void place(struct op *from, struct op **todo, unsigned char *state, struct op **order,
                  size_t *n)
{
    size_t depth = 0;
    todo[depth++] = from;
    while (depth > 0) {
        struct op *op = todo[depth - 1];
        if (state[op->index] == 2) {
            depth--;
            continue;
        }
        struct op *missing = NULL;
        for (int k = 0; k < ops[op->id].n_in && missing == NULL; k++) {
            struct op *p = op->in[k]->producer;
            if (p != NULL && state[p->index] != 2) missing = p;
        }
        if (missing == NULL) {
            state[op->index] = 2;
            order[(*n)++] = op;
            depth--;
            continue;
        }
        state[op->index] = 1;
        assert(state[missing->index] == 0); /* else a cycle, which no pass can make */
        todo[depth++] = missing;
    }
}

/* Marks the ops that an output needs. */
static void mark_live(const struct graph *g, struct op **todo, unsigned char *live)
{
    size_t depth = 0;
    for (size_t i = 0; i < g->outputs.n; i++) {
        struct op *p = g->outputs.at[i]->producer;
        if (p == NULL || live[p->index]) continue;
        live[p->index] = 1;
        todo[depth++] = p;
        while (depth > 0) {
            struct op *op = todo[--depth];
            for (int k = 0; k < ops[op->id].n_in; k++) {
                struct op *q = op->in[k]->producer;
                if (q == NULL || live[q->index]) continue;
                live[q->index] = 1;
                todo[depth++] = q;
            }
        }
    }
}

/* Numbers the ops; true when producers stand before their readers already, as most passes leave
 * them. */
static bool in_order(struct graph *g)
{
    bool ordered = true;
    for (size_t i = 0; i < g->ops.n; i++) {
        struct op *op = g->ops.at[i];
        op->index = (int)i;
        for (int k = 0; ordered && k < ops[op->id].n_in; k++) {
            const struct op *p =
                op->in[k]->producer; /* its number is stale where it stands behind */
            ordered = !p || ((size_t)p->index < i && g->ops.at[p->index] == p);
        }
    }
    return ordered;
}

/* Puts producers before their readers, and keeps the order where that allows it. */
static void reorder(struct arena *a, struct graph *g)
{
    size_t n_ops = g->ops.n, n = 0;
    struct arena_mark mark = arena_mark(a);
    struct op **todo = NEW_N(a, struct op *, n_ops), **order = NEW_N(a, struct op *, n_ops);
    unsigned char *live = NEW_N(a, unsigned char, n_ops), *state = NEW_N(a, unsigned char, n_ops);
    mark_live(g, todo, live);
    for (size_t i = 0; i < n_ops; i++)
        if (live[i] && state[i] == 0) place(g->ops.at[i], todo, state, order, &n);
    for (size_t i = 0; i < n; i++) {
        g->ops.at[i] = order[i];
        order[i]->index = (int)i;
    }
    g->ops.n = n;
    arena_rewind(a, mark);
}

enum { UNREAD = -1 }; /* the id of a value that no op met so far defines or reads */

/* Drops dead ops from ops in order, and with them the ids of what only they mention: whoever reads
 * stands behind, so one walk from the end knows. */
static void drop_dead(struct graph *g)
{
    size_t first = g->ops.n; /* the live ops gather at the end */
    for (size_t i = g->ops.n; i > 0; i--) {
        struct op *op = g->ops.at[i - 1];
        bool live = false;
        for (int k = 0; k < ops[op->id].n_out; k++) {
            const struct value *v = op->out[k]; /* a pass may have given it another producer */
            live |= v != NULL && v->producer == op && v->id != UNREAD;
        }
        if (!live) continue;
        for (int k = 0; k < ops[op->id].n_in; k++) op->in[k]->id = 0;
        for (int k = 0; k < ops[op->id].n_out; k++)
            if (op->out[k] != NULL) op->out[k]->id = 0;
        g->ops.at[--first] = op;
    }
    if (first == 0) return;
    g->ops.n -= first;
    for (size_t i = 0; i < g->ops.n; i++) {
        g->ops.at[i] = g->ops.at[first + i];
        g->ops.at[i]->index = (int)i;
    }
}

void ir_sort(struct arena *a, struct graph *g)
{
    if (!in_order(g)) reorder(a, g);
    for (size_t i = 0; i < g->values.n; i++) {
        struct value *v = g->values.at[i];
        v->id = v->role == VAL_CONST || v->role == VAL_TEMP ? UNREAD : 0;
    }
    drop_dead(g);
    size_t n = 0;
    for (size_t i = 0; i < g->values.n; i++) {
        struct value *v = g->values.at[i];
        if (v->id == UNREAD) continue;
        v->id = (int)n;
        g->values.at[n++] = v;
    }
    g->values.n = n;
}

int ir_uses(const struct graph *g, const struct value *v)
{
    int n = 0;
    for (size_t i = 0; i < g->ops.n; i++) {
        const struct op *op = g->ops.at[i];
        for (int k = 0; k < ops[op->id].n_in; k++) n += op->in[k] == v;
    }
    return n;
}
