/* Passes keep the numbers: every graph of tests/pass and tests/lower is interpreted as the front
 * end made it and after each pass, over the same bytes of memory. Strides of size-1 axes and the
 * layout words change nothing but what they address. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka needs the four above */
#include <cmocka.h>

#include <dirent.h>
#include <math.h>
#include <stdlib.h>

#include "desc/desc.h"
#include "interp/interp.h"
#include "make_ir.h"
#include "pass/pass.h"
#include "sema/sema.h"

/* ---- memory -------------------------------------------------------------------------------- */

struct memory {
    int64_t n;
    double *at; /* by element offset; NaN where nothing was written */
};

/* The passes, of a graph that one kernel holds. */
static struct graph *passed(struct session *s, const struct graph *g)
{
    graphs_vec regions = {0};
    bool ok = pass_regions(s, g, NULL, &regions);
    diag_flush(s, stderr);
    assert_true(ok);
    assert_int_equal(regions.n, 1);
    return regions.at[0];
}

static struct memory memory_for(struct arena *a, const struct value *v)
{
    struct memory m = {0};
    assert_true(dims_extent(v->rank, v->dim, v->stride, &m.n));
    m.at = NEW_N(a, double, m.n);
    for (int64_t k = 0; k < m.n; k++) m.at[k] = NAN;
    return m;
}

static int64_t offset_of(const struct value *v, int64_t index)
{
    int64_t offset = 0;
    for (int k = v->rank - 1; k >= 0; k--) {
        offset += index % v->dim[k] * v->stride[k];
        index /= v->dim[k];
    }
    return offset;
}

static void scatter(const struct value *v, const struct array *x, struct memory *m)
{
    for (int64_t k = 0; k < x->count; k++) m->at[offset_of(v, k)] = x->at[k];
}

static struct array *gather(struct arena *a, const struct value *v, const struct memory *m)
{
    struct array *x = NEW(a, struct array);
    x->rank = v->rank;
    memcpy(x->dim, v->dim, sizeof x->dim);
    assert_true(dims_count(v->rank, v->dim, &x->count));
    x->at = NEW_N(a, double, x->count);
    for (int64_t k = 0; k < x->count; k++) x->at[k] = m->at[offset_of(v, k)];
    return x;
}

/* ---- interpreting before and after ------------------------------------------------------------
 */

/* The interpreter rounds at casts only. simplify folds casts into the op in front: taken apart
 * again, so that what is interpreted rounds where the passes say. */
static struct graph *unfolded(struct arena *a, const struct graph *g)
{
    struct graph *c = ir_clone(a, g);
    size_t n = c->ops.n;
    for (size_t k = 0; k < n; k++) {
        struct op *op = c->ops.at[k];
        enum dtype made = op->compute == DT_tf32 ? DT_f32 : op->compute;
        struct value *y = op->out[0];
        if (op->id == OP_cast || !y || y->type == made || ops[op->id].traits & OPT_comparison)
            continue;
        struct value *t = ir_value(a, c, VAL_TEMP, made);
        ir_shape(t, y->rank, y->dim);
        ir_result(op, 0, t);
        struct op *cast = ir_op(a, c, OP_cast);
        cast->compute = made;
        cast->in[0] = t;
        cast->attr[op_attr_index(OP_cast, "type")].i = y->type;
        ir_result(cast, 0, y);
    }
    ir_sort(a, c);
    return c;
}

/* What a view of it has of a tensor's memory. */
static struct memory seen(const struct memory *m, const struct value *view)
{
    assert_in_range(view->offset, 0, m->n - 1);
    return (struct memory){m->n - view->offset, m->at + view->offset};
}

/* Scalars by uid, which counts inputs and scalars first: the same in each step of a graph. */
static struct interp_result evaluate(struct session *s, struct arena *a, const struct graph *g,
                                     const struct memory *inputs)
{
    struct array **in = NEW_N(a, struct array *, g->values.n + 1);
    for (size_t k = 0; k < g->inputs.n; k++) {
        in[g->inputs.at[k]->id] = gather(a, g->inputs.at[k], &inputs[k]);
    }
    for (size_t k = 0; k < g->values.n; k++) { /* of a whole graph, whose uids begin with the inputs */
        const struct value *v = g->values.at[k];
        if (!v->base || in[k]) continue;
        struct memory m = seen(&inputs[v->base - 1], v);
        in[k] = gather(a, v, &m);
    }
    for (size_t k = 0; k < g->scalars.n; k++) {
        struct array *x = NEW(a, struct array);
        x->count = 1;
        x->at = NEW(a, double);
        x->at[0] = 0.75 + (double)g->scalars.at[k]->uid;
        in[g->scalars.at[k]->id] = x;
    }
    struct interp_result r = {0};
    if (!interp_run(s, a, g, in, false, &r)) diag_flush(s, stderr);
    assert_non_null(r.of);
    return r;
}

static bool close_enough(const struct value *v, double a, double b)
{
    if (isnan(a) || isnan(b)) return isnan(a) && isnan(b);
    if (a == b) return true;
    /* a mean's 1/n is rounded to f32 */
    return v->type == DT_f32 && fabs(a - b) <= 1e-6 * fmax(fabs(a), fabs(b));
}

static void same_outputs(const char *file, const struct graph *before, const struct graph *after,
                         struct arena *a, const struct interp_result *x,
                         const struct interp_result *y)
{
    assert_int_equal(before->outputs.n, after->outputs.n);
    for (size_t k = 0; k < before->outputs.n; k++) {
        const struct value *v = before->outputs.at[k], *w = after->outputs.at[k];
        struct memory m = memory_for(a, v), n = memory_for(a, w);
        scatter(v, x->of[v->id], &m);
        scatter(w, y->of[w->id], &n);
        assert_int_equal(m.n, n.n);
        for (int64_t i = 0; i < m.n; i++) {
            if (close_enough(v, m.at[i], n.at[i])) continue;
            fail_msg("%s: graph %s, '%s' at offset %lld: %.9g before, %.9g after", file,
                     before->name, v->name, (long long)i, m.at[i], n.at[i]);
        }
    }
}

/* Temporaries lie inside of the workspace, aligned, and none on another that is live with it. */
static void check_places(struct session *s, const struct graph *g, const graphs_vec *steps)
{
    temporaries_vec all = {0};
    int64_t total;
    assert_true(pass_place(s, g, steps, &all, &total));
    for (size_t k = 0; k < all.n; k++) {
        const struct temporary *t = &all.at[k];
        assert_true(t->bytes > 0 && t->offset >= 0 && t->offset + t->bytes <= total);
        assert_int_equal(t->offset % TEMPORARY_ALIGN, 0);
        assert_true(t->first < t->last);
        for (size_t j = 0; j < k; j++) {
            const struct temporary *u = &all.at[j];
            bool live = t->first <= u->last && u->first <= t->last;
            bool apart = t->offset + t->bytes <= u->offset || u->offset + u->bytes <= t->offset;
            assert_true(!live || apart);
        }
    }
}

/* Runs the steps in order on memory by uid, and compares the whole graph's outputs. */
static void check_steps(struct session *s, const char *file, const struct graph *g,
                        const graphs_vec *steps, const struct memory *inputs,
                        const struct interp_result *x)
{
    struct arena *a = arena_new();
    struct memory by_uid[512] = {0};
    for (size_t k = 0; k < g->inputs.n; k++) by_uid[g->inputs.at[k]->uid] = inputs[k];
    for (size_t r = 0; r < steps->n; r++) {
        struct graph *part = unfolded(a, steps->at[r]);
        struct memory *in = NEW_N(a, struct memory, part->inputs.n + 1);
        for (size_t k = 0; k < part->inputs.n; k++) {
            const struct value *v = part->inputs.at[k];
            in[k] = by_uid[v->base ? v->base : v->uid];
            if (in[k].n && v->base) in[k] = seen(&in[k], v);
            if (!in[k].n) fail_msg("%s: step %zu reads what no earlier one makes", file, r);
        }
        struct interp_result y = evaluate(s, a, part, in);
        for (size_t k = 0; k < part->outputs.n; k++) {
            const struct value *v = part->outputs.at[k];
            assert_in_range(v->uid, 1, 511);
            by_uid[v->uid] = memory_for(a, v);
            scatter(v, y.of[v->id], &by_uid[v->uid]);
        }
    }
    for (size_t k = 0; k < g->outputs.n; k++) {
        const struct value *v = g->outputs.at[k];
        struct memory m = memory_for(a, v), *n = &by_uid[v->uid];
        scatter(v, x->of[v->id], &m);
        assert_int_equal(m.n, n->n);
        for (int64_t i = 0; i < m.n; i++)
            if (!close_enough(v, m.at[i], n->at[i]))
                fail_msg("%s: graph %s, '%s' at offset %lld: %.9g whole, %.9g in steps", file,
                         g->name, v->name, (long long)i, m.at[i], n->at[i]);
    }
    arena_free(a);
}

static void check_graph(struct session *s, const char *file, const struct graph *g)
{
    struct arena *a = arena_new();
    struct memory *inputs = NEW_N(a, struct memory, g->inputs.n + 1);
    for (size_t k = 0; k < g->inputs.n; k++) {
        const struct value *v = g->inputs.at[k];
        struct array *x = NEW(a, struct array);
        interp_random(v, 7, x, a);
        inputs[k] = memory_for(a, v);
        scatter(v, x, &inputs[k]);
    }
    struct interp_result x = evaluate(s, a, g, inputs);
    for (size_t p = 0; p < n_pass_stages; p++) {
        graphs_vec regions = {0};
        bool ok = pass_regions(s, g, pass_stages[p], &regions);
        if (!ok) diag_flush(s, stderr);
        if (!ok) fail_msg("%s: graph %s is refused by %s", file, g->name, pass_stages[p]);
        if (regions.n > 1) {
            check_places(s, g, &regions);
            check_steps(s, file, g, &regions, inputs, &x);
            continue;
        }
        struct graph *after = unfolded(a, regions.at[0]);
        struct interp_result y = evaluate(s, a, after, inputs);
        same_outputs(file, g, after, a, &x, &y);
    }
    arena_free(a);
}

static int check_file(const char *path)
{
    struct session *s = session_new();
    struct source *source = source_load(s, path);
    assert_non_null(source);
    struct sema_options o = {.sm = 90, .cudnn = 91900};
    struct module *m = sema_analyse(s, ast_parse(s, source), &o);
    if (session_exit_status(s) != 0) {
        diag_flush(s, stderr);
        fail_msg("%s does not compile", path);
    }
    for (size_t k = 0; k < m->graphs.n; k++) check_graph(s, path, m->graphs.at[k]);
    int n = (int)m->graphs.n;
    session_free(s);
    return n;
}

static int check_folder(const char *folder)
{
    const char *top = getenv("srcdir");
    char path[1024];
    snprintf(path, sizeof path, "%s/tests/%s", top ? top : ".", folder);
    struct dirent **names;
    int n = scandir(path, &names, NULL, alphasort), graphs = 0;
    assert_true(n > 0);
    for (int k = 0; k < n; k++) {
        size_t len = strlen(names[k]->d_name);
        char file[2048];
        snprintf(file, sizeof file, "%s/%s", path, names[k]->d_name);
        if (len > 3 && strcmp(names[k]->d_name + len - 3, ".fg") == 0) graphs += check_file(file);
        free(names[k]);
    }
    free(names);
    return graphs;
}

static void passes_keep_the_numbers(void **state)
{
    (void)state;
    assert_true(check_folder("pass") >= 10);
    assert_true(check_folder("lower") >= 20);
}

/* ---- strides of size-1 axes ---------------------------------------------------------------------
 */

/* matmul [B, M, K] x [B, K, N] with the given strides on the size-1 axes of a and b. */
static char *lowered_matmul(struct session *s, const int64_t *mnk, int64_t batch,
                            const int64_t *noise)
{
    struct graph *g = NEW(s->arena, struct graph);
    g->name = "spelled";
    g->variant = "";
    struct value *a = make_tensor(s, g, VAL_INPUT, DT_bf16, "a", DIMS(batch, mnk[0], mnk[2]));
    struct value *b = make_tensor(s, g, VAL_INPUT, DT_bf16, "b", DIMS(batch, mnk[2], mnk[1]));
    struct value *c = make_tensor(s, g, VAL_OUTPUT, DT_bf16, "c", DIMS(batch, mnk[0], mnk[1]));
    struct value *t = make_temp(s, g, DIMS(batch, mnk[0], mnk[1]));
    struct value *all[] = {a, b, c};
    for (size_t k = 0; noise && k < COUNT_OF(all); k++) {
        for (int j = 0; j < 3; j++) {
            if (all[k]->dim[j] == 1) all[k]->stride[j] = noise[(k + (size_t)j) % 4];
        }
    }
    make_op(s, g, OP_matmul, t, a, b, NULL);
    make_op(s, g, OP_cast, c, t, NULL, NULL);
    ir_sort(s->arena, g);
    ir_number(g);
    struct graph *region = passed(s, g);
    struct buf text = {0};
    desc_print(desc_lower(s, region), &text);
    char *copy = arena_strdup(s->arena, text.at);
    buf_fini(&text);
    return copy;
}

/* Every combination of M, N, K and batch being 1, several spellings each: one descriptor tree. */
static void spellings_of_size_one_axes_lower_alike(void **state)
{
    (void)state;
    static const int64_t noise[][4] = {{0, 0, 0, 0}, {1, 1, 1, 1}, {1, 48, 7, 0}, {4096, 5, 1, 64}};
    for (int ones = 0; ones < 16; ones++) {
        struct session *s = session_new();
        int64_t mnk[3] = {ones & 1 ? 1 : 64, ones & 2 ? 1 : 48, ones & 4 ? 1 : 32};
        int64_t batch = ones & 8 ? 1 : 2;
        const char *first = lowered_matmul(s, mnk, batch, NULL);
        for (size_t k = 0; k < COUNT_OF(noise); k++) {
            assert_string_equal(first, lowered_matmul(s, mnk, batch, noise[k]));
        }
        session_free(s);
    }
}

static char *lowered_conv(struct session *s, const int64_t *x_dim, enum layout layout, bool noise)
{
    struct graph *g = NEW(s->arena, struct graph);
    g->name = "map";
    g->variant = "";
    struct value *x = make_tensor(s, g, VAL_INPUT, DT_f16, "x", 4, x_dim);
    struct value *w = make_tensor(s, g, VAL_INPUT, DT_f16, "w", DIMS(8, x_dim[1], 1, 1));
    struct value *y =
        make_tensor(s, g, VAL_OUTPUT, DT_f16, "y", DIMS(x_dim[0], 8, x_dim[2], x_dim[3]));
    struct value *t = make_temp(s, g, DIMS(x_dim[0], 8, x_dim[2], x_dim[3]));
    struct value *all[] = {x, w, y};
    for (size_t k = 0; k < COUNT_OF(all); k++) {
        set_layout(all[k], layout);
        for (int j = 0; j < 4; j++) {
            if (noise && all[k]->dim[j] == 1) all[k]->stride[j] = 3 * j + (int64_t)k;
        }
    }
    struct op *conv = make_op(s, g, OP_conv, t, x, w, NULL);
    set_list(conv, "pre_pad", DIMS(0, 0));
    set_list(conv, "post_pad", DIMS(0, 0));
    set_list(conv, "stride", DIMS(1, 1));
    set_list(conv, "dilation", DIMS(1, 1));
    make_op(s, g, OP_cast, y, t, NULL, NULL);
    ir_sort(s->arena, g);
    ir_number(g);
    struct buf text = {0};
    desc_print(desc_lower(s, passed(s, g)), &text);
    char *copy = arena_strdup(s->arena, text.at);
    buf_fini(&text);
    return copy;
}

/* Equal extents (C = H, H = W, all) and size-1 subsets. Row-major and channels-last lower to one
 * tree exactly when they address the same bytes, and noise on size-1 axes changes nothing. */
static void the_declared_layout_decides(void **state)
{
    (void)state;
    static const int64_t dims[][4] = {{1, 4, 4, 4}, {2, 4, 4, 5}, {2, 3, 4, 4}, {2, 4, 5, 4},
                                      {2, 4, 1, 1}, {2, 4, 1, 4}, {2, 4, 4, 1}, {4, 4, 4, 4}};
    for (size_t k = 0; k < COUNT_OF(dims); k++) {
        struct session *s = session_new();
        const char *planar = lowered_conv(s, dims[k], LAYOUT_row_major, false);
        const char *last = lowered_conv(s, dims[k], LAYOUT_channels_last, false);
        assert_string_equal(planar, lowered_conv(s, dims[k], LAYOUT_row_major, true));
        assert_string_equal(last, lowered_conv(s, dims[k], LAYOUT_channels_last, true));
        bool same_bytes = dims[k][2] == 1 && dims[k][3] == 1;
        assert_int_equal(strcmp(planar, last) == 0, same_bytes);
        session_free(s);
    }
}

/* A chain far deeper than any stack: no pass recurses along it. */
static void long_chains_pass(void **state)
{
    (void)state;
    struct session *s = session_new();
    struct graph *g = NEW(s->arena, struct graph);
    g->name = "chain";
    g->variant = "";
    struct value *v = make_tensor(s, g, VAL_INPUT, DT_f32, "x", DIMS(8, 64));
    for (int k = 0; k < 100000; k++) {
        struct value *y = make_temp(s, g, DIMS(8, 64));
        make_op(s, g, OP_neg, y, v, NULL, NULL);
        v = y;
    }
    struct value *y = make_tensor(s, g, VAL_OUTPUT, DT_bf16, "y", DIMS(8, 64));
    make_op(s, g, OP_cast, y, v, NULL, NULL);
    ir_sort(s->arena, g);
    ir_number(g);
    struct graph *region = passed(s, g);
    assert_int_equal(region->ops.n, 100000);
    assert_non_null(desc_lower(s, region));
    session_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(passes_keep_the_numbers),
        cmocka_unit_test(spellings_of_size_one_axes_lower_alike),
        cmocka_unit_test(the_declared_layout_decides),
        cmocka_unit_test(long_chains_pass),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
