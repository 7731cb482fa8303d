/* test_kernel: the plain kernels of many graphs: tests/ops, tests/interp, and others drawn by a
 * seed.
 *
 * The text is compiled by this machine's C++ compiler and run thread by thread: every value and
 * bound of the reference's kernels is the interpreter's, and what the unfused ones store is within
 * its bounds. The same text is compiled by NVRTC for sm_90, where there is one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka needs the four above */
#include <cmocka.h>

#include <dirent.h>
#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "gpu/gpu.h"
#include "interp/interp.h"
#include "kernel/kernel.h"
#include "pass/pass.h"
#include "sema/sema.h"

extern const struct embedded embedded_kernel[];
static const double most_cost = 2e6; /* inner steps of a graph that is run here */
enum { N_RANDOM = 80 };

struct one {
    const char *name;
    const struct graph *g;      /* as the language means it */
    const struct graph *simple; /* casts folded: what runs unfused */
    struct kernel_program program[2];
    struct array **inputs;
    struct interp_result want;
};
static struct {
    struct session *s;
    VEC(struct one) all;
    VEC(const struct graph *) refused; /* with an operator that has no kernel: samples judge it */
    size_t too_large, n_ops; /* n_ops: the graphs of tests/ops, which come first */
    uint64_t z;
} t;

/* ---- graphs drawn by a seed
 * ----------------------------------------------------------------------- */

static int draw(int n)
{
    t.z = t.z * 6364136223846793005u + 1442695040888963407u;
    return (int)(t.z >> 33) % n;
}

static const char *dims_text(int rank, const int *dim, bool broadcast)
{
    char *text = arena_strdup(t.s->arena, "[");
    for (int i = 0; i < rank; i++)
        text = arena_printf(t.s->arena, "%s%s%d", text, i ? ", " : "",
                            broadcast && draw(3) == 0 ? 1 : dim[i]);
    return arena_printf(t.s->arena, "%s]", text);
}

static const char *random_type(void)
{
    static const char *const types[] = {"f32", "f16", "bf16", "e4m3", "e5m2"};
    return types[draw(COUNT_OF(types))];
}

/* What follows a value: its name stands between the two. */
static const struct {
    const char *before, *after;
} chain[] = {
    {" = relu(", ")"},
    {" = gelu(", ")"},
    {" = ", " + b"},
    {" = ", " * s"},
    {" = silu(", " * b)"},
    {" : f16 = ", ""},
    {" : bf16 = abs(", ")"},
    {" : e4m3 = ", " / 3.0"},
    {" = leaky_relu(", ", slope=-0.25)"},
    {" = max(b, ", ")"},
    {" = select(b > 0.25, ", ", s)"},
    {" = swish(", ", beta=1.5)"},
    {" = tanh_bwd(", ", b)"},
    {" = elu(", ", alpha=0.5)"},
    {" = cast(gen_index(b, axis=0), type=f32) - ", ""},
    {" = softplus_bwd(", ", b, beta=0.5)"},
    {" = relu(", ", lower=-0.5, upper=0.75)"},
    {" = mod(", ", 0.375)"},
};

static const char *input_text(const char *name, const char *type, int rank, const int *dim)
{
    const char *layout = draw(2) ? "" : rank > 2 ? " channels_last" : " col_major";
    return arena_printf(t.s->arena, "    input %s : %s%s%s\n", name, type,
                        dims_text(rank, dim, false), layout);
}

static const char *random_matmul(int rank, const int *dim, const char **inputs)
{
    int k = 1 + draw(20), p[5], q[5];
    const char *type = random_type();
    memcpy(p, dim, sizeof p);
    memcpy(q, dim, sizeof q);
    p[rank - 1] = q[rank - 2] = k;
    if (rank > 2 && draw(2)) p[0] = 1;
    *inputs = arena_printf(t.s->arena, "%s%s", input_text("p", type, rank, p),
                           input_text("q", type, rank, q));
    return "matmul(p, q)";
}

/* Changes dim[1] to a multiple of the groups. */
static const char *random_conv(int rank, int *dim, const char **inputs)
{
    int groups = 1 + draw(2), stride = 1 + draw(2), taps = 1 + draw(3), dilation = 1 + draw(2);
    int p[5] = {dim[0], groups * (1 + draw(3))}, q[5] = {dim[1] * groups, p[1] / groups};
    const char *type = random_type(), *strides = "", *dilations = "", *pads = "";
    dim[1] = q[0];
    for (int i = 2; i < rank; i++) { /* one zero before, so that x has one element less */
        const char *comma = i > 2 ? ", " : "";
        q[i] = taps;
        p[i] = dim[i] * stride + (taps - 1) * dilation + 1;
        dim[i] = (p[i] - (taps - 1) * dilation) / stride + 1;
        strides = arena_printf(t.s->arena, "%s%s%d", strides, comma, stride);
        dilations = arena_printf(t.s->arena, "%s%s%d", dilations, comma, dilation);
        pads = arena_printf(t.s->arena, "%s%s1", pads, comma);
    }
    *inputs = arena_printf(t.s->arena, "%s%s", input_text("p", type, rank, p),
                           input_text("q", type, rank, q));
    return arena_printf(t.s->arena,
                        "conv(p, q, stride=[%s], dilation=[%s], pre_pad=[%s], groups=%d)", strides,
                        dilations, pads, groups);
}

/* A conv, a matmul or neither; a chain of pointwise operators; a reduction. */
static const char *random_graph(void)
{
    static const char *const modes[] = {"add",  "mul",   "min",   "max",         "max_abs",
                                        "mean", "norm1", "norm2", "mul_no_zeros"};
    struct arena *a = t.s->arena;
    int kind = draw(3), rank = kind == 2 ? 3 + draw(3) : 2 + draw(3), dim[5], n = 1 + draw(5);
    const char *inputs, *start = "p * 1.5", *text;
    for (int i = 0; i < 5; i++) dim[i] = 1 + draw(7);
    if (kind == 0) inputs = input_text("p", random_type(), rank, dim);
    if (kind == 1) start = random_matmul(rank, dim, &inputs);
    if (kind == 2) start = random_conv(rank, dim, &inputs);
    int reduced = draw(rank), result[5];
    memcpy(result, dim, sizeof result);
    result[reduced] = 1;
    text = arena_printf(a,
                        "fg 1\n\ngraph g() {\n%s    input b : %s%s\n    scalar s : f32 = 0.75\n"
                        "    output y : %s%s\n    output r : f32%s\n\n    z0 = %s\n",
                        inputs, random_type(), dims_text(rank, dim, true), random_type(),
                        dims_text(rank, dim, false), dims_text(rank, result, false), start);
    for (int i = 0; i < n; i++) {
        size_t k = (size_t)draw(COUNT_OF(chain));
        text = arena_printf(a, "%s    z%d%sz%d%s\n", text, i + 1, chain[k].before, i,
                            chain[k].after);
    }
    return arena_printf(a, "%s    y = z%d\n    r = reduce(z%d, mode=%s, axes=[%d])\n}\n", text, n,
                        n, modes[draw(COUNT_OF(modes))], reduced);
}

/* ---- the graphs and what they give
 * ------------------------------------------------------------------ */

static struct array *input_array(const struct value *v)
{
    struct array *x = NEW(t.s->arena, struct array);
    if (v->role == VAL_INPUT) {
        interp_random(v, 7, x, t.s->arena);
        return x;
    }
    x->count = 1;
    x->at = NEW(t.s->arena, double);
    x->at[0] = v->has_default ? v->literal : 1;
    return x;
}

static void add_graph(const char *name, const struct graph *g)
{
    struct one o = {.name = arena_printf(t.s->arena, "%s %s", name, g->name), .g = g};
    int at = (int)t.all.n;
    graphs_vec simple = {0};
    if (pass_regions(t.s, g, "simplify", &simple)) {
        o.simple = simple.at[0];
    } else { /* a view of what is computed: only the reference takes it */
        FILE *nowhere = fopen("/dev/null", "w");
        diag_flush(t.s, nowhere);
        fclose(nowhere);
        t.s->n_errors = 0;
    }
    for (int m = 0; m < (o.simple ? 2 : 1); m++)
        if (!kernel_program(t.s->arena, m ? o.simple : g, (enum kernel_mode)m,
                            arena_printf(t.s->arena, "g%d_%d_", at, m), &o.program[m])) {
            assert_non_null(strstr(o.program[m].why, "plain kernel"));
            vec_push(t.s->arena, &t.refused, g);
            return;
        }
    double cost = 0;
    for (size_t i = 0; i < o.program[0].launches.n; i++) cost += o.program[0].launches.at[i].cost;
    if (cost > most_cost) {
        t.too_large++;
        return;
    }
    o.inputs = NEW_N(t.s->arena, struct array *, g->values.n + 1);
    for (size_t i = 0; i < g->values.n; i++) {
        const struct value *v = g->values.at[i];
        if (v->role == VAL_INPUT || v->role == VAL_SCALAR) o.inputs[v->id] = input_array(v);
    }
    assert_true(interp_run(t.s, t.s->arena, g, o.inputs, true, &o.want));
    vec_push(t.s->arena, &t.all, o);
}

static void add_source(const char *name, struct source *src)
{
    struct ast *ast = ast_parse(t.s, src);
    ast_import(t.s, ast, NULL);
    struct module *m = sema_analyse(t.s, ast, &(struct sema_options){.sm = 90});
    if (t.s->n_errors) {
        diag_flush(t.s, stderr);
        print_error("%s: %s", name, src->text);
    }
    assert_int_equal(t.s->n_errors, 0);
    for (size_t i = 0; i < m->graphs.n; i++) add_graph(name, m->graphs.at[i]);
}

static int by_name(const void *x, const void *y)
{
    return strcmp(*(char *const *)x, *(char *const *)y);
}

static void add_folder(const char *folder)
{
    const char *top = getenv("srcdir");
    const char *path = arena_printf(t.s->arena, "%s/tests/%s", top ? top : "..", folder);
    VEC(const char *) names = {0};
    DIR *d = opendir(path);
    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d));) {
        size_t n = strlen(e->d_name);
        if (n > 3 && strcmp(e->d_name + n - 3, ".fg") == 0)
            vec_push(t.s->arena, &names, arena_printf(t.s->arena, "%s/%s", path, e->d_name));
    }
    closedir(d);
    qsort(names.at, names.n, sizeof *names.at, by_name);
    for (size_t i = 0; i < names.n; i++)
        add_source(strrchr(names.at[i], '/') + 1, source_load(t.s, names.at[i]));
}

static int collect(void **state)
{
    (void)state;
    t.s = session_new();
    t.z = 20261201;
    add_folder("ops");
    t.n_ops = t.all.n;
    add_folder("interp");
    for (int i = 0; i < N_RANDOM; i++) {
        const char *name = arena_printf(t.s->arena, "random-%d", i), *text = random_graph();
        add_source(name, source_add(t.s, name, text, strlen(text)));
    }
    return 0;
}

/* ---- the text on this machine
 * ------------------------------------------------------------------------- */

/* The first n graphs' programs behind one another, with the prelude once. */
static void put_all(FILE *to, size_t n)
{
    size_t prelude = embedded_kernel[0].length;
    fputs(embedded_kernel[0].text, to);
    for (size_t i = 0; i < n; i++)
        for (int m = 0; m < 2; m++) {
            const char *text = t.all.at[i].program[m].text;
            if (!text) continue;
            assert_memory_equal(text, embedded_kernel[0].text, prelude);
            fprintf(to, "namespace g%zu_%d {%s}\n", i, m, text + prelude);
        }
}

/* A function for each kernel that runs all its threads. */
static void put_loops(FILE *to)
{
    for (size_t i = 0; i < t.all.n; i++)
        for (int m = 0; m < 2; m++)
            for (size_t k = 0; k < t.all.at[i].program[m].launches.n; k++) {
                const struct kernel_launch *l = &t.all.at[i].program[m].launches.at[k];
                if (!l->name) continue;
                fprintf(to,
                        "extern \"C\" void run_%s(void **p, long long first, long long count)\n{\n"
                        "    EACH_THREAD(count, g%zu_%d::%s(",
                        l->name, i, m, l->name);
                for (size_t n = 0; n < l->args.n; n++) fprintf(to, "p[%zu], ", n);
                fprintf(to, "first, count));\n}\n");
            }
}

static void *load_all(void)
{
    const char *tmp = getenv("TMPDIR"), *top = getenv("srcdir");
    char *at = arena_printf(t.s->arena, "%s/kernels-XXXXXX", tmp ? tmp : "/tmp");
    assert_non_null(mkdtemp(at));
    FILE *f = fopen(arena_printf(t.s->arena, "%s/k.cc", at), "w");
    assert_non_null(f);
    fputs("#include <cmath>\n#include \"kernel_shim.h\"\n", f);
    put_all(f, t.all.n);
    put_loops(f);
    fclose(f);
    /* f64 and f32 as they are written: no fused multiply-add, as the interpreter has none */
    const char *compile = arena_printf(t.s->arena,
                                       "c++ -w -std=c++17 -O0 -ffp-contract=off -shared -fPIC "
                                       "-I'%s/tests/unit' -o '%s/k.so' '%s/k.cc'",
                                       top ? top : "..", at, at);
    assert_int_equal(system(compile), 0);
    void *h = dlopen(arena_printf(t.s->arena, "%s/k.so", at), RTLD_NOW);
    if (!h) print_error("%s\n", dlerror());
    assert_non_null(h);
    assert_int_equal(system(arena_printf(t.s->arena, "rm -r '%s'", at)), 0);
    return h;
}

struct memory {
    void **tensor; /* by value id */
    void **buffer;
};

static int64_t flat_address(const struct value *v, int64_t i)
{
    int64_t at = 0;
    for (int k = v->rank - 1; k >= 0; k--) {
        at += i % v->dim[k] * v->stride[k];
        i /= v->dim[k];
    }
    return at;
}

static void lay_out(const struct value *v, const struct array *x, void *to)
{
    for (int64_t i = 0; i < x->count; i++) dtype_store(v->type, to, flat_address(v, i), x->at[i]);
}

static struct array *read_back(const struct value *v, const void *from)
{
    struct array *x = NEW(t.s->arena, struct array);
    x->rank = v->rank;
    memcpy(x->dim, v->dim, sizeof x->dim);
    assert_true(dims_count(v->rank, v->dim, &x->count));
    x->at = NEW_N(t.s->arena, double, x->count + 1);
    for (int64_t i = 0; i < x->count; i++) x->at[i] = dtype_load(v->type, from, flat_address(v, i));
    return x;
}

static struct memory memory_for(const struct one *o, const struct graph *g,
                                const struct kernel_program *p)
{
    struct memory m = {NEW_N(t.s->arena, void *, g->values.n + 1),
                       NEW_N(t.s->arena, void *, p->buffers.n + 1)};
    for (size_t i = 0; i < p->buffers.n; i++) {
        m.buffer[i] = arena_alloc(t.s->arena, (size_t)p->buffers.at[i] + 8);
        memset(m.buffer[i], 0xff, (size_t)p->buffers.at[i]); /* what is not written shows */
    }
    for (size_t i = 0; i < g->values.n; i++) {
        const struct value *v = g->values.at[i];
        int64_t extent;
        if (v->role != VAL_INPUT && v->role != VAL_OUTPUT) continue;
        for (size_t k = 0; k < g->inputs.n; k++) /* a view of the input, maybe: a part of it */
            if (g->inputs.at[k] == v) v = o->g->inputs.at[k];
        assert_true(dims_extent(v->rank, v->dim, v->stride, &extent));
        v = g->values.at[i];
        m.tensor[v->id] = arena_alloc(t.s->arena, (size_t)extent * 8);
        memset(m.tensor[v->id], 0xff, (size_t)extent * 8);
    }
    for (size_t i = 0; i < g->inputs.n; i++)
        lay_out(o->g->inputs.at[i], o->inputs[o->g->inputs.at[i]->id],
                m.tensor[g->inputs.at[i]->id]);
    for (size_t i = 0; i < g->values.n; i++) { /* what looks into an input: its uid is its number */
        const struct value *v = g->values.at[i];
        if (!v->base) continue;
        char *of = m.tensor[g->inputs.at[v->base - 1]->id];
        m.tensor[v->id] = of + v->offset * (dtypes[v->type].bits / 8);
    }
    return m;
}

static void launch(void *h, const struct kernel_launch *l, const struct memory *m)
{
    void *args[32], (*run)(void **, long long, long long);
    assert_true(l->args.n <= COUNT_OF(args));
    for (size_t i = 0; i < l->args.n; i++)
        args[i] = l->args.at[i].tensor ? m->tensor[l->args.at[i].tensor->id]
                                       : m->buffer[l->args.at[i].buffer];
    *(void **)&run = dlsym(h, arena_printf(t.s->arena, "run_%s", l->name));
    assert_non_null(run);
    run(args, l->first, l->count);
}

/* ---- the reference
 * -------------------------------------------------------------------------------------- */

/* Equal but for the order of sums; where a sum falls between two neighbours of a type, within it.
 */
static bool near(double x, double y, double bound)
{
    if (isnan(x) || isnan(y)) return isnan(x) && isnan(y);
    if (isinf(x) || isinf(y)) return x == y;
    return fabs(x - y) <= 1e-12 * fabs(y) + 1e-9 * bound;
}

static double share_of(double got, double want, double bound)
{
    return isfinite(want) ? fabs(got - want) / bound : INFINITY;
}

/* Right outputs pass; then one element of each is spoiled, and it is the one that is found. */
static void judge_outputs(struct one *o, void *h, const struct kernel_program *p,
                          const struct memory *m)
{
    for (size_t i = 0; i < p->outputs.n; i++) {
        const struct kernel_output *out = &p->outputs.at[i];
        const struct kernel_launch *l = &p->launches.at[p->launches.n - p->outputs.n + i];
        const struct array *want = o->want.of[out->value->id];
        struct kernel_partial r = kernel_gather(m->buffer[out->buffer], l->count);
        assert_true(r.worst <= 1 && r.wrong == 0);
        int64_t at = draw((int)want->count), place = flat_address(out->value, at);
        double x = want->at[at], spoiled = isfinite(x) ? x + 40 * want->bound[at] + 1 : 0;
        spoiled = dtype_round(out->value->type, spoiled);
        if (dtypes[out->value->type].klass == DTC_bool) spoiled = x == 0;
        if (!(share_of(spoiled, x, want->bound[at]) > 1)) continue; /* a type that saturates */
        dtype_store(out->value->type, m->tensor[out->value->id], place, spoiled);
        launch(h, l, m);
        r = kernel_gather(m->buffer[out->buffer], l->count);
        if (r.worst > 1 && r.wrong == 1 && r.at == (double)at && r.got == spoiled) continue;
        print_error("%s: '%s' spoiled at %lld by %g, bound %g; found %g elements, worst at %g\n",
                    o->name, out->value->name, (long long)at, spoiled - x, want->bound[at], r.wrong,
                    r.at);
        fail();
    }
}

static void reference_is_the_interpreter(struct one *o, void *h)
{
    const struct kernel_program *p = &o->program[KERNEL_REFERENCE];
    struct memory m = memory_for(o, o->g, p);
    for (size_t i = 0; i < o->g->outputs.n; i++)
        if (o->g->outputs.at[i]->producer)
            lay_out(o->g->outputs.at[i], o->want.of[o->g->outputs.at[i]->id],
                    m.tensor[o->g->outputs.at[i]->id]);
    for (size_t i = 0; i < p->launches.n; i++) launch(h, &p->launches.at[i], &m);
    for (size_t i = 0; i < o->g->values.n; i++) {
        const struct value *v = o->g->values.at[i];
        if (!v->producer || !o->want.of[v->id]) continue;
        const struct array *want = o->want.of[v->id];
        const double *got = m.buffer[p->value[v->id].buffer], *bound = m.buffer[p->bound[v->id]];
        for (int64_t e = 0; e < want->count; e++) {
            if (near(got[e], want->at[e], want->bound[e]) &&
                near(bound[e], want->bound[e], want->bound[e]))
                continue;
            print_error("%s: '%s' at %lld: %.17g +- %.17g, the interpreter has %.17g +- %.17g\n",
                        o->name, ops[v->producer->id].name, (long long)e, got[e], bound[e],
                        want->at[e], want->bound[e]);
            fail();
        }
    }
    judge_outputs(o, h, p, &m);
}

/* ---- unfused
 * ------------------------------------------------------------------------------------------- */

/* What an anchor's result would be: the interpreter's. */
static void run_anchor(const struct kernel_launch *l, const struct memory *m,
                       const struct kernel_program *p, const struct interp_result *want)
{
    for (int r = 0; r < ops[l->op->id].n_out; r++) {
        const struct value *v = l->op->out[r];
        if (!v) continue;
        const struct kernel_arg *at = &p->value[v->id];
        lay_out(v, want->of[v->id], at->tensor ? m->tensor[v->id] : m->buffer[at->buffer]);
    }
}

static void unfused_is_within_bounds(struct one *o, void *h)
{
    const struct kernel_program *p = &o->program[KERNEL_UNFUSED];
    struct memory m = memory_for(o, o->simple, p);
    struct array **inputs = NEW_N(t.s->arena, struct array *, o->simple->values.n + 1);
    struct interp_result simple;
    for (size_t i = 0; i < o->simple->values.n; i++) {
        const struct value *v = o->simple->values.at[i]; /* a view of the input, maybe */
        if (v->role == VAL_INPUT) inputs[v->id] = read_back(v, m.tensor[v->id]);
    }
    for (size_t i = 0; i < o->simple->scalars.n; i++)
        inputs[o->simple->scalars.at[i]->id] = o->inputs[o->g->scalars.at[i]->id];
    assert_true(interp_run(t.s, t.s->arena, o->simple, inputs, false, &simple));
    for (size_t i = 0; i < p->launches.n; i++)
        if (p->launches.at[i].name)
            launch(h, &p->launches.at[i], &m);
        else
            run_anchor(&p->launches.at[i], &m, p, &simple);
    for (size_t i = 0; i < o->simple->outputs.n; i++) {
        const struct value *v = o->simple->outputs.at[i], *own = o->g->outputs.at[i];
        if (!v->producer) continue;
        const struct array *want = o->want.of[own->id];
        struct verdict r = interp_compare(own, want, read_back(own, m.tensor[v->id]));
        if (r.ok) continue;
        print_error("%s: '%s' at %lld: %.9g, the interpreter has %.9g +- %.3g\n", o->name, v->name,
                    (long long)r.at, r.got, r.want, r.bound);
        fail();
    }
}

/* ---- tests
 * -----------------------------------------------------------------------------------------------
 */

static void kernels_compute_what_the_interpreter_does(void **state)
{
    (void)state;
    void *h = load_all();
    struct arena_mark mark = arena_mark(t.s->arena);
    for (size_t i = 0; i < t.all.n; i++) {
        reference_is_the_interpreter(&t.all.at[i], h);
        if (t.all.at[i].simple) unfused_is_within_bounds(&t.all.at[i], h);
        arena_rewind(t.s->arena, mark);
    }
    assert_true(t.too_large < t.all.n / 10);
}

static bool has_op(const struct graph *g, int id)
{
    for (size_t k = 0; k < g->ops.n; k++)
        if ((int)g->ops.at[k]->id == id) return true;
    return false;
}

/* Every operator stands in some graph, and few have no kernel. */
static void every_operator_is_among_them(void **state)
{
    (void)state;
    for (int id = OP_none + 1; id < N_OPS; id++) {
        bool seen = false;
        for (size_t i = 0; !seen && i < t.all.n; i++) seen = has_op(t.all.at[i].g, id);
        for (size_t i = 0; !seen && i < t.refused.n; i++) seen = has_op(t.refused.at[i], id);
        if (!seen) print_error("no graph has '%s'\n", ops[id].name);
        assert_true(seen);
    }
    assert_true(t.refused.n < t.all.n / 20);
}

/* NVRTC's own answer and log; the functions' types are as its documentation says. */
static void nvrtc_takes_all_of_it(void **state)
{
    (void)state;
    struct gpu_search search = {0};
    struct gpu_probe probe;
    const char *build = getenv("FGC_BUILD_DIR");
    setenv("FGC_LIBEXEC", build ? build : ".", 0); /* what looks for libraries lies there */
    bool found = gpu_probe(t.s, &search, false, &probe) && probe.lib[LIB_NVRTC].path;
    void *h = found ? dlopen(probe.lib[LIB_NVRTC].path, RTLD_NOW) : NULL;
    if (!h) {
        const char *require = getenv("FGC_REQUIRE");
        assert_false(require && strstr(require, "nvrtc"));
        skip();
    }
    int (*create)(void **, const char *, const char *, int, const char *const *,
                  const char *const *);
    int (*compile)(void *, int, const char *const *), (*size)(void *, size_t *),
        (*log)(void *, char *);
    *(void **)&create = dlsym(h, "nvrtcCreateProgram");
    *(void **)&compile = dlsym(h, "nvrtcCompileProgram");
    *(void **)&size = dlsym(h, "nvrtcGetProgramLogSize");
    *(void **)&log = dlsym(h, "nvrtcGetProgramLog");
    char *text = NULL;
    size_t n = 0;
    FILE *f = open_memstream(&text, &n);
    put_all(f, t.n_ops);
    fclose(f);
    static const char *const options[] = {"--gpu-architecture=sm_90", "--fmad=false", "-w"};
    void *program = NULL;
    assert_int_equal(create(&program, text, "kernels.cu", 0, NULL, NULL), 0);
    int status = compile(program, COUNT_OF(options), options);
    if (status && size(program, &n) == 0) {
        char *said = arena_alloc(t.s->arena, n + 1);
        log(program, said);
        print_error("%.4000s\n", said);
    }
    assert_int_equal(status, 0);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_operator_is_among_them),
        cmocka_unit_test(kernels_compute_what_the_interpreter_does),
        cmocka_unit_test(nvrtc_takes_all_of_it),
    };
    return cmocka_run_group_tests(tests, collect, NULL);
}
