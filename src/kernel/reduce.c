/* reduce: reductions in two steps where a thread an element would leave the device idle: first
 * every `parts`th element by a thread each, then the parts.
 *
 * Bounds are the interpreter's: 1e-5 of the sum of magnitudes or of the extreme, operands' on top;
 * of a product, what it is when every factor errs away from zero. */
#include "kernel/internal.h"

/* v: what was gathered, x: the next element; w: another thread's v. In the order of the mode's
 * choices. */
static const struct mode {
    const char *start, *take, *join, *finish,
        *bound; /* bound: of value v with n elements, t: the parts' */
} modes[] = {
    {"0", "v + x", "v + w", "v", "t.bound + 1e-5 * t.magnitude"},
    {"1", "v * x", "v * w", "v", "1e-5 * n * fabs(v) + (t.bound - fabs(v))"},
    {"INF", "x < v || isnan(x) ? x : v", "w < v || isnan(w) ? w : v", "v",
     "t.most + 1e-5 * fabs(v)"},
    {"-INF", "x > v || isnan(x) ? x : v", "w > v || isnan(w) ? w : v", "v",
     "t.most + 1e-5 * fabs(v)"},
    {"-INF", "fabs(x) > v || isnan(x) ? fabs(x) : v", "w > v || isnan(w) ? w : v", "v",
     "t.most + 1e-5 * fabs(v)"},
    {"0", "v + x", "v + w", "v / n", "(t.bound + 1e-5 * t.magnitude) / n"},
    {"0", "v + fabs(x)", "v + w", "v", "t.bound + 1e-5 * t.magnitude"},
    {"0", "v + x * x", "v + w", "sqrt(v)", "v > 0 ? t.bound / (2 * v) + 1e-5 * v : sqrt(t.bound)"},
    {"1", "v * (x == 0 ? 1 : x)", "v * w", "v", "1e-5 * n * fabs(v) + (t.bound - fabs(v))"},
};
enum { MUL = 1, NORM2 = 7, MUL_NO_ZEROS = 8 };

static bool multiplies(const struct mode *mode)
{
    return mode == &modes[MUL] || mode == &modes[MUL_NO_ZEROS];
}

struct shape {
    int64_t outputs, inner, parts;
    bool parts_first; /* neighbouring threads take parts of one output: they lie beside one another */
    int64_t dim[MAX_RANK], out_dim[MAX_RANK];
};

/* As many parts as fill the device, each of at least 64 elements. */
static struct shape shape_of(const struct op *op, const int64_t *stride)
{
    enum { THREADS = 262144, MOST_PARTS = 1024, LEAST = 64 };
    const struct value *x = op->in[0], *y = op->out[0];
    struct shape s = {1, 1, 1, false, {0}, {0}};
    int axis[MAX_RANK];
    for (int i = 0; i < x->rank; i++) {
        bool gone = y->dim[i] != x->dim[i];
        s.outputs *= y->dim[i];
        s.dim[i] = gone ? x->dim[i] : 1;
        s.out_dim[i] = y->dim[i];
        s.inner *= s.dim[i];
    }
    axes_by_stride(x->rank, stride, axis);
    for (int i = 0; i < x->rank; i++) /* the last of more than one element decides */
        if (x->dim[axis[i]] > 1) s.parts_first = s.dim[axis[i]] > 1;
    while (s.parts < MOST_PARTS && s.parts * 2 * s.outputs <= THREADS &&
           s.inner / (s.parts * 2) >= LEAST)
        s.parts *= 2;
    return s;
}

/* A thread for each output o and part p gathers the elements p, p + parts, .. of the output. */
static int gather(struct maker *m, const struct op *op, const struct mode *mode,
                  const struct shape *s, const char *real)
{
    bool reference = is_reference(m), squares = mode == &modes[NORM2];
    const struct value *x = op->in[0];
    struct maker_kernel k = kernel_begin(m, op, "a", s->outputs * s->parts);
    struct operand in = kernel_operand(&k, x);
    int to = new_buffer(m, s->outputs * s->parts * 8 * (reference ? 4 : 1));
    const char *out = kernel_buffer(&k, to), *index[MAX_RANK];
    const int64_t *stride = m->place[x->id].stride;
    long long parts = (long long)s->parts, outputs = (long long)s->outputs;
    if (s->parts_first)
        kernel_say(&k, "    i64 o = i / %lldLL, p = i %% %lldLL;\n", parts, parts);
    else
        kernel_say(&k, "    i64 o = i %% %lldLL, p = i / %lldLL;\n", outputs, outputs);
    kernel_say(&k, "    %s v = %s;\n", real, mode->start);
    if (reference)
        kernel_say(&k, "    double magnitude = 0, bound = %d, most = 0;\n", multiplies(mode));
    kernel_indices_by(&k, x->rank, s->out_dim, stride, "o", "y");
    kernel_say(&k, "    for (i64 j = p; j < %lldLL; j += %lldLL) {\n", (long long)s->inner, parts);
    kernel_indices_by(&k, x->rank, s->dim, stride, "j", "z");
    for (int i = 0; i < x->rank; i++)
        index[i] = arena_printf(m->a, s->dim[i] == 1 ? "y%d" : "z%d", i);
    kernel_say(&k, "    %s x = %s;\n    v = %s;\n", real, element_text(&k, &in, index), mode->take);
    if (reference) {
        kernel_say(&k, "    magnitude += %s;\n    double e = %s;\n    if (e > most) most = e;\n",
                   squares ? "x * x" : "fabs(x)", bound_text(&k, &in, index));
        kernel_say(&k, "    %s;\n",
                   squares                        ? "bound += 2 * fabs(x) * e + e * e"
                   : mode == &modes[MUL_NO_ZEROS] ? "if (x != 0) bound *= fabs(x) + e"
                   : multiplies(mode)             ? "bound *= fabs(x) + e"
                                                  : "bound += e");
    }
    kernel_say(&k, "    }\n");
    if (reference)
        kernel_say(&k,
                   "    double *to = (double *)%s + 4 * i;\n    to[0] = v; to[1] = magnitude; "
                   "to[2] = bound; to[3] = most;\n",
                   out);
    else
        kernel_say(&k, "    store_f64(%s, i, v);\n", out);
    kernel_end(&k, (double)s->outputs * (double)s->inner, NULL);
    return to;
}

bool kernel_reduce(struct maker *m, const struct op *op)
{
    int64_t which = attr_of(op, "mode")->i;
    if (op->id != OP_reduce || which < 0 || which >= (int64_t)COUNT_OF(modes)) return false;
    const struct mode *mode = &modes[which];
    const char *real = real_of(m, op);
    const int64_t *stride = m->place[op->in[0]->id].stride;
    struct shape s = shape_of(op, stride);
    int from = gather(m, op, mode, &s, real);
    struct maker_kernel k = kernel_begin(m, op, "b", s.outputs);
    const char *parts = kernel_buffer(&k, from);
    kernel_indices_by(&k, op->out[0]->rank, s.out_dim, stride, "i", "y");
    kernel_say(&k, "    %s v = %s, n = %lld;\n", real, mode->start, (long long)s.inner);
    if (is_reference(m))
        kernel_say(&k, "    struct { double magnitude, bound, most; } t = {0, %d, 0};\n",
                   multiplies(mode));
    kernel_say(&k, "    for (i64 j = 0; j < %lldLL; j++) {\n", (long long)s.parts);
    if (s.parts_first)
        kernel_say(&k, "    i64 f = i * %lldLL + j;\n", (long long)s.parts);
    else
        kernel_say(&k, "    i64 f = i + j * %lldLL;\n", (long long)s.outputs);
    if (is_reference(m))
        kernel_say(&k,
                   "    const double *at = (const double *)%s + 4 * f;\n"
                   "    double w = at[0];\n    t.magnitude += at[1];\n    t.bound %s= at[2];\n"
                   "    if (at[3] > t.most) t.most = at[3];\n",
                   parts, multiplies(mode) ? "*" : "+");
    else
        kernel_say(&k, "    %s w = load_f64(%s, f);\n", real, parts);
    kernel_say(&k, "    v = %s;\n    }\n    v = %s;\n", mode->join, mode->finish);
    if (is_reference(m)) kernel_say(&k, "    double e = %s;\n", mode->bound);
    kernel_store(&k, op->out[0], "y", "v", "e");
    kernel_end(&k, (double)s.outputs * (double)s.parts, NULL);
    return true;
}
