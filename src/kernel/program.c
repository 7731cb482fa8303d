/* program: walks a graph, says where each value lies, and has each operator's kernel written.
 *
 * Invariant: launches stand in the graph's order; what a kernel reads was written by one before it,
 * or is bound by the caller. */
#include <math.h>

#include "kernel/internal.h"

extern const struct embedded embedded_kernel[];

const struct attr *attr_of(const struct op *op, const char *name)
{
    return &op->attr[op_attr_index(op->id, name)];
}

/* Integers go through f64, as the interpreter has them. */
const char *real_of(const struct maker *m, const struct op *op)
{
    enum dtype t = op->compute;
    if (is_reference(m) || t == DT_f64 || dtypes[t].klass == DTC_int) return "double";
    for (int i = 0; i < ops[op->id].n_in; i++) /* 24 bits do not hold them */
        if (op->in[i] &&
            (op->in[i]->type == DT_i32 || op->in[i]->type == DT_i64 || op->in[i]->type == DT_f64))
            return "double";
    return "float";
}

int new_buffer(struct maker *m, int64_t bytes)
{
    vec_push(m->a, &m->out->buffers, bytes);
    return (int)m->out->buffers.n - 1;
}

/* ---- where values lie
 * ----------------------------------------------------------------------------- */

/* The element types that prelude.cu loads and stores. */
static bool has_conversions(enum dtype t)
{
    return t != DT_none && t != DT_tf32 && t != DT_e8m0 && t != DT_e2m1;
}

static bool place_value(struct maker *m, const struct value *v)
{
    struct storage *p = &m->place[v->id];
    int64_t count, extent = 0;
    *p = (struct storage){.type = v->type, .bound = -1, .at = {.buffer = -1}};
    if (v->role == VAL_CONST || v->role == VAL_SCALAR) {
        p->literal = true;
        p->number = v->role == VAL_SCALAR && !v->has_default ? 1 : v->literal;
        return true;
    }
    bool bound_by_caller = v->role == VAL_INPUT || (v->role == VAL_OUTPUT && !is_reference(m));
    memcpy(p->stride, v->stride, sizeof p->stride);
    if (is_reference(m) && v->role != VAL_INPUT) {
        p->type = DT_f64;
        dims_row_major(v->rank, v->dim, p->stride);
    }
    if (!has_conversions(v->type)) {
        m->out->why = arena_printf(m->a, "element type %s has no plain kernels",
                                   dtypes[v->type].name);
        return false;
    }
    if (!dims_count(v->rank, v->dim, &count) || !dims_extent(v->rank, v->dim, p->stride, &extent) ||
        count > INT64_MAX / 64 || extent > INT64_MAX / 64) {
        m->out->why = "a tensor is too large";
        return false;
    }
    if (bound_by_caller) {
        p->at.tensor = v;
        return true;
    }
    p->at.buffer = new_buffer(m, extent * (dtypes[p->type].bits / 8));
    if (is_reference(m)) p->bound = new_buffer(m, extent * 8);
    return true;
}

/* ---- operators
 * --------------------------------------------------------------------------------------- */

static kernel_family_fn *const families[] = {
    [FAM_pointwise] = kernel_pointwise, [FAM_reduction] = kernel_reduce, [FAM_conv] = kernel_conv,
    [FAM_matmul] = kernel_matmul,       [FAM_sdpa] = kernel_sdpa,        [FAM_view] = kernel_view,
};

/* An anchor that the caller runs: its tensors, in the order of operands and results. */
static void leave_to_caller(struct maker *m, const struct op *op)
{
    struct kernel_launch l = {.op = op, .what = ops[op->id].name};
    for (int i = 0; i < ops[op->id].n_in; i++)
        if (op->in[i]) vec_push(m->a, &l.args, m->place[op->in[i]->id].at);
    for (int i = 0; i < ops[op->id].n_out; i++)
        if (op->out[i]) vec_push(m->a, &l.args, m->place[op->out[i]->id].at);
    vec_push(m->a, &m->out->launches, l);
}

static bool one_operator(struct maker *m, const struct op *op)
{
    unsigned family = ops[op->id].family;
    if (!is_reference(m) && ops[op->id].traits & OPT_anchor) {
        leave_to_caller(m, op);
        return true;
    }
    kernel_family_fn *f = family < COUNT_OF(families) ? families[family] : NULL;
    if (f && f(m, op)) return true;
    if (!m->out->why)
        m->out->why = arena_printf(m->a, "'%s' has no plain kernel", ops[op->id].name);
    return false;
}

bool kernel_program(struct arena *a, const struct graph *g, enum kernel_mode mode,
                    const char *prefix, struct kernel_program *out)
{
    struct maker m = {.a = a, .g = g, .mode = mode, .prefix = prefix, .out = out};
    bool ok = true;
    *out = (struct kernel_program){0};
    m.place = NEW_N(a, struct storage, g->values.n + 1);
    buf_puts(&m.text, embedded_kernel[0].text);
    kernel_helpers(&m);
    for (size_t i = 0; ok && i < g->values.n; i++) ok = place_value(&m, g->values.at[i]);
    out->value = NEW_N(a, struct kernel_arg, g->values.n + 1);
    out->bound = NEW_N(a, int, g->values.n + 1);
    for (size_t i = 0; ok && i < g->values.n; i++) {
        out->value[i] = m.place[i].at;
        out->bound[i] = m.place[i].bound;
    }
    for (size_t i = 0; ok && i < g->ops.n; i++) ok = one_operator(&m, g->ops.at[i]);
    for (size_t i = 0; ok && is_reference(&m) && i < g->outputs.n; i++)
        if (g->outputs.at[i]->producer) kernel_compare(&m, g->outputs.at[i]);
    if (ok) out->text = arena_strndup(a, m.text.at, m.text.n);
    buf_fini(&m.text);
    return ok;
}

/* ---- judging
 * ----------------------------------------------------------------------------------------- */

void kernel_compare(struct maker *m, const struct value *v)
{
    const struct storage *p = &m->place[v->id];
    int64_t count = 1;
    dims_count(v->rank, v->dim, &count);
    struct maker_kernel k = kernel_begin(m, NULL, arena_printf(m->a, "compare%d", v->id),
                                         count < KERNEL_PARTS ? count : KERNEL_PARTS);
    int to = new_buffer(m, (int64_t)sizeof(struct kernel_partial) * KERNEL_PARTS);
    const char *got = kernel_pointer(&k, (struct kernel_arg){.tensor = v}),
               *want = kernel_buffer(&k, p->at.buffer), *bound = kernel_buffer(&k, p->bound),
               *out = kernel_buffer(&k, to);
    struct storage own = {.type = v->type};
    memcpy(own.stride, v->stride, sizeof own.stride);
    struct operand o = {&own, v, got, NULL};
    kernel_say(
        &k,
        "    double worst = 0, at = -1, error2 = 0, norm2 = 0, wrong = 0, g = 0, w = 0, b = 0;\n"
        "    for (i64 f = i; f < %lldLL; f += count) {\n",
        (long long)count);
    kernel_indices(&k, v->rank, v->dim, "f", "x");
    kernel_say(&k, "    double y = %s, r = load_f64(%s, f), e = load_f64(%s, f);\n",
               element_text(&k, &o, index_names(m->a, "x", v->rank)), want, bound);
    kernel_say(
        &k,
        "    double share = share_of_bound(y, r, e);\n"
        "    if (at < 0 || share > worst) { worst = share; at = (double)f; g = y; w = r; b = e; }\n"
        "    if (share > 1) wrong += 1;\n"
        "    if (!isfinite(y) || !isfinite(r)) continue;\n"
        "    error2 += (y - r) * (y - r);\n"
        "    norm2 += r * r;\n"
        "    }\n"
        "    double *to = (double *)%s + 8 * i;\n"
        "    to[0] = worst; to[1] = at; to[2] = g; to[3] = w; to[4] = b;\n"
        "    to[5] = error2; to[6] = norm2; to[7] = wrong;\n",
        out);
    k.launch.what = arena_printf(m->a, "compares '%s'", v->name ? v->name : "");
    kernel_end(&k, (double)count, NULL);
    const struct op *op = v->producer;
    while (op && op->id == OP_cast) op = op->in[0]->producer;
    vec_push(m->a, &m->out->outputs,
             ((struct kernel_output){.value = v,
                                     .buffer = to,
                                     .rule = op && op->id == OP_sdpa ? sdpa_ratio(op->in[0]->type)
                                                                     : 0}));
}

struct kernel_partial kernel_gather(const struct kernel_partial *part, int64_t n)
{
    struct kernel_partial all = {.at = -1};
    for (int64_t i = 0; i < n; i++) {
        struct kernel_partial sums = all;
        if (part[i].at >= 0 && (all.at < 0 || part[i].worst > all.worst)) all = part[i];
        all.error2 = sums.error2 + part[i].error2;
        all.norm2 = sums.norm2 + part[i].norm2;
        all.wrong = sums.wrong + part[i].wrong;
    }
    return all;
}
