/* apply: an operator on its operands becomes an op of the graph.
 *
 * Invariant: an op is appended only when its operands, types, attributes and shapes are right;
 * until then nothing of the graph changes. */
#include "sema/internal.h"

struct usage *usage_of(struct sema *m, const struct value *v)
{
    while (m->usage.n <= (size_t)v->id) vec_push(m->a, &m->usage, (struct usage){0});
    return &m->usage.at[v->id];
}

void read_value(struct sema *m, struct value *v) { usage_of(m, v)->reads++; }

struct op *append_op(struct sema *m, enum op_id id, enum dtype compute, struct span at)
{
    struct op *op = ir_op(m->a, m->g, id);
    op->compute = compute;
    op->span = at;
    op->promise = m->promise;
    return op;
}

struct value *cast_to(struct sema *m, struct value *v, enum dtype type, struct span at)
{
    struct application x = {.id = OP_cast};
    x.in[0] = v;
    bool ok = type_rule(m, &x);
    struct op *op = append_op(m, OP_cast, ok ? x.compute : DT_f32, at);
    int i = op_attr_index(OP_cast, "type");
    op->attr[i].given = true;
    op->attr[i].i = type;
    op->in[0] = v;
    read_value(m, v);
    struct value *out = ir_value(m->a, m->g, VAL_TEMP, type);
    ir_shape(out, v->rank, v->dim);
    out->span = at;
    ir_result(op, 0, out);
    return out;
}

/* ---- operands ---------------------------------------------------------------------------- */

static bool check_operand(struct sema *m, struct application *x, int i)
{
    const struct operand_info *info = &ops[x->id].in[i];
    const struct cell *c = &x->cell[i];
    if (c->kind == CELL_TENSOR) {
        x->in[i] = c->v;
        if (c->v->rank > 0 || info->klass == OPND_any) return true;
        error_at(m, DIAG_kind, x->in_span[i],
                 "operand '%s' of '%s' must be a tensor, not the scalar %s", info->name,
                 ops[x->id].name, cell_text(m, *c));
        return false;
    }
    if (info->klass == OPND_any && is_number(*c)) return true;
    struct diag *d = error_at(
        m, DIAG_kind, x->in_span[i], "operand '%s' of '%s' must be a tensor%s, not %s", info->name,
        ops[x->id].name, info->klass == OPND_any ? " or a number" : "", cell_text(m, *c));
    if (c->kind == CELL_LIST) hint(m, d, "attributes are given by name");
    return false;
}

/* Scalars alone give a scalar (rank 0); constants alone are no business of the graph. */
static bool check_operands(struct sema *m, struct application *x)
{
    bool ok = true, any = false;
    for (int i = 0; i < ops[x->id].n_in; i++)
        if (x->cell[i].kind == CELL_POISON) return false;
    for (int i = 0; i < ops[x->id].n_in; i++) {
        if (!check_operand(m, x, i)) ok = false;
        else if (x->in[i] != NULL) any = true;
    }
    if (!ok || any) return ok;
    error_at(m, DIAG_kind, x->span, "'%s' needs a tensor among its operands", ops[x->id].name);
    return false;
}

static bool check_promise(struct sema *m, const struct application *x)
{
    enum op_family f = ops[x->id].family;
    if (m->promise == NULL || f == FAM_pointwise || f == FAM_reduction) return true;
    error_at(
        m, DIAG_promise, x->span,
        "'%s' in epilogue '%s': only pointwise operators and reductions can stay in the kernel",
        ops[x->id].name, m->promise->name);
    return false;
}

/* ---- results ----------------------------------------------------------------------------- */

static bool check_results(struct sema *m, const struct application *x, int n)
{
    const struct op_info *info = &ops[x->id];
    int required = 0;
    for (int i = 0; i < info->n_out; i++)
        if (!info->out[i].optional) required = i + 1;
    if (n >= required && n <= info->n_out) return true;
    struct diag *d = error_at(m, DIAG_results, x->span, "'%s' gives %d result%s; %d %s wanted here",
                              info->name, info->n_out, info->n_out == 1 ? "" : "s", n,
                              n == 1 ? "is" : "are");
    if (n < required) hint(m, d, "_ skips a result");
    return false;
}

typedef bool infer_fn(struct sema *, struct application *, struct shape *);
static infer_fn *const infer[N_OPS] = {
#define FAMILY(x)
#define SHAPE(rule) infer_##rule
#define EVAL(x)
#define LOWER(x, y)
#define OP(id, family, shape, ...) [OP_##id] = shape,
#include "op/ops.def"
#undef OP
#undef LOWER
#undef EVAL
#undef SHAPE
#undef FAMILY
};

static bool fill_constants(struct sema *m, struct application *x)
{
    for (int i = 0; i < ops[x->id].n_in; i++) {
        double literal;
        if (x->in[i] != NULL) continue;
        if (!constant_as(m, x->cell[i], x->compute, x->in_span[i], &literal)) return false;
        x->in[i] = ir_const(m->a, m->g, x->compute, literal);
        x->in[i]->span = x->in_span[i];
    }
    return true;
}

static bool too_large(struct sema *m, const struct application *x)
{
    if (m->g->ops.n < MAX_GRAPH_OPS) return false;
    if (!m->too_large)
        error_at(m, DIAG_too_large, x->span, "graph '%s' grows beyond %d operators here",
                 m->g->name, MAX_GRAPH_OPS);
    m->too_large = true;
    return true;
}

static struct cell make(struct sema *m, struct application *x, const struct shape *shape, int n,
                        unsigned skip)
{
    const struct op_info *info = &ops[x->id];
    struct op *op = append_op(m, x->id, x->compute, x->span);
    for (int i = 0, k = op_n_attrs(x->id); i < k; i++) op->attr[i] = x->attr[i];
    for (int i = 0; i < info->n_in; i++) {
        op->in[i] = x->in[i];
        read_value(m, x->in[i]);
    }
    struct cell cell[MAX_RESULTS];
    for (int i = 0; i < n; i++) {
        cell[i] = (struct cell){CELL_UNKNOWN};
        if ((skip >> i & 1) != 0 && info->out[i].optional) continue;
        struct value *v = ir_value(m->a, m->g, VAL_TEMP, result_type(x, i));
        ir_shape(v, shape[i].rank, shape[i].dim);
        v->span = x->span;
        ir_result(op, i, v);
        if (!check_size(m, v, NULL, x->span)) return POISON;
        cell[i] = (struct cell){CELL_TENSOR, .v = v};
    }
    return n == 1 ? cell[0] : pack_results(m, cell, n);
}

struct cell apply(struct sema *m, struct application *x, int n, unsigned skip)
{
    struct shape shape[MAX_RESULTS] = {{0}};
    if (!check_operands(m, x) || m->g == NULL || too_large(m, x)) return POISON;
    if (!check_promise(m, x) || !check_results(m, x, n)) return POISON;
    bool typed = type_rule(m, x), shaped = infer[x->id](m, x, shape);
    if (!typed || !shaped || !fill_constants(m, x)) return POISON;
    struct cell c = make(m, x, shape, n, skip);
    index_cell(m, x->span, c);
    return c;
}
