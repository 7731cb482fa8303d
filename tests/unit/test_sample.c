/* Samples agree with the whole: for each graph the interpreter's outputs are laid out in memory and
 * judged by interp_sample; then one element is spoiled, or left as memory that nobody wrote. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka needs the four above */
#include <cmocka.h>

#include <math.h>

#include "interp/interp.h"
#include "sema/sema.h"

static const char *const texts[] = {
    "graph g() {\n    input  a    : bf16[2, 12, 16]\n    input  b    : bf16[1, 16, 9] col_major\n"
    "    input  bias : bf16[1, 1, 9]\n    scalar s    : f32 = 0.5\n    output y    : bf16[2, 12, "
    "9]\n"
    "    output m    : f32[1, 1, 1]\n\n    z = gelu(s * matmul(a, b) + bias)\n    y = z\n"
    "    m = reduce(z, mode=max_abs, axes=all)\n}\n",
    "graph g() {\n    input  x : f16[2, 6, 9, 8] channels_last\n    input  w : f16[4, 3, 3, 2]\n"
    "    output y : f16[2, 4, 5, 4] channels_last\n\n"
    "    y = silu(conv(x, w, pre_pad=[1, 0], post_pad=[1, 1], stride=[2, 2], groups=2))\n}\n",
    "graph g() {\n    input  q    : bf16[1, 4, 7, 8] order(0, 2, 1, 3)\n    input  k, v : bf16[1, "
    "2, 9, 8]\n"
    "    output o    : bf16[1, 4, 7, 8]\n    output t    : f32[1, 4, 7, 1]\n\n"
    "    o, t = sdpa(q, k, v, mask=causal, align=bottom_right, scale=0.3)\n}\n",
    "graph g() {\n    input  x : f32[5, 6, 7]\n    input  c : i8[5, 1, 7]\n    output y : f32[5, "
    "6, 7] strides(50, 8, 1)\n"
    "    output i : i32[5, 6, 7]\n    output s : f32[5, 1, 7]\n\n    y = select(c > 0, exp(x), "
    "tanh_bwd(x, x))\n"
    "    i = gen_index(x, axis=1)\n    s = reduce(x, mode=norm2, axes=[1])\n}\n",
};

struct made {
    struct session *s;
    const struct graph *g;
    void **bytes;
};

static void lay_out(struct made *m, const struct value *v, const struct array *x)
{
    int64_t extent;
    assert_true(dims_extent(v->rank, v->dim, v->stride, &extent));
    char *bytes = m->bytes[v->id] = arena_alloc(m->s->arena, (size_t)extent * 8);
    for (int64_t i = 0; i < x->count; i++) {
        int64_t left = i, at = 0;
        for (int k = v->rank - 1; k >= 0; k--) {
            at += left % v->dim[k] * v->stride[k];
            left /= v->dim[k];
        }
        dtype_store(v->type, bytes, at, x->at[i]);
    }
}

static struct made make(const char *text)
{
    struct made m = {.s = session_new()};
    const char *whole = arena_printf(m.s->arena, "fg 1\n\n%s", text);
    struct source *src = source_add(m.s, "t.fg", whole, strlen(whole));
    struct module *module = sema_analyse(m.s, ast_parse(m.s, src),
                                         &(struct sema_options){.sm = 90});
    diag_flush(m.s, stderr);
    assert_int_equal(module->graphs.n, 1);
    m.g = module->graphs.at[0];
    m.bytes = NEW_N(m.s->arena, void *, m.g->values.n + 1);
    struct array **in = NEW_N(m.s->arena, struct array *, m.g->values.n + 1);
    for (size_t i = 0; i < m.g->inputs.n; i++) {
        const struct value *v = m.g->inputs.at[i];
        in[v->id] = NEW(m.s->arena, struct array);
        interp_random(v, 7, in[v->id], m.s->arena);
        lay_out(&m, v, in[v->id]);
    }
    struct interp_result r;
    assert_true(interp_run(m.s, m.s->arena, m.g, in, false, &r));
    for (size_t i = 0; i < m.g->outputs.n; i++)
        lay_out(&m, m.g->outputs.at[i], r.of[m.g->outputs.at[i]->id]);
    return m;
}

static struct sampled judge(const struct made *m, const struct value *v, double budget)
{
    struct sampled r;
    interp_sample(m->s->arena, m->g, m->bytes, v, 3, budget, &r);
    return r;
}

static void every_element_agrees_with_the_whole(void **state)
{
    (void)state;
    for (size_t t = 0; t < COUNT_OF(texts); t++) {
        struct made m = make(texts[t]);
        for (size_t i = 0; i < m.g->outputs.n; i++) {
            const struct value *v = m.g->outputs.at[i];
            int64_t count;
            struct sampled r = judge(&m, v, 1e9);
            assert_true(dims_count(v->rank, v->dim, &count));
            if (!r.verdict.ok || r.why || r.n != count)
                fail_msg("%s: %g at %lld: got %g, want %g, %lld judged", v->name, r.verdict.worst,
                         (long long)r.verdict.at, r.verdict.got, r.verdict.want, (long long)r.n);
            /* the same formulas, so nothing but the rounding when stored may differ */
            assert_true(r.verdict.worst <= 1);
        }
        session_free(m.s);
    }
}

static void a_wrong_element_is_found(void **state)
{
    (void)state;
    for (size_t t = 0; t < COUNT_OF(texts); t++) {
        struct made m = make(texts[t]);
        for (size_t i = 0; i < m.g->outputs.n; i++) {
            const struct value *v = m.g->outputs.at[i];
            double was = dtype_load(v->type, m.bytes[v->id], 0);
            dtype_store(v->type, m.bytes[v->id], 0, was + 100);
            assert_false(judge(&m, v, 1e9).verdict.ok);
            if (dtypes[v->type].klass == DTC_float) {
                dtype_store(v->type, m.bytes[v->id], 0, NAN);
                assert_false(judge(&m, v, 1e9).verdict.ok);
            }
            dtype_store(v->type, m.bytes[v->id], 0, was);
            assert_true(judge(&m, v, 1e9).verdict.ok);
        }
        session_free(m.s);
    }
}

/* Too little for one element of a long reduction: it is judged by the output that holds what it
 * gathers; where there is none nothing is said. */
static void what_is_too_long_is_judged_by_its_twin_or_not_at_all(void **state)
{
    (void)state;
    struct made m = make(texts[0]);
    const struct value *y = m.g->outputs.at[0], *most = m.g->outputs.at[1];
    struct sampled r = judge(&m, most, 100);
    assert_null(r.why);
    assert_true(r.verdict.ok && r.n == 1);
    dtype_store(DT_f32, m.bytes[most->id], 0, 2 * dtype_load(DT_f32, m.bytes[most->id], 0));
    assert_false(judge(&m, most, 100).verdict.ok);
    r = judge(&m, y, 10);
    assert_non_null(r.why);
    assert_false(r.verdict.ok);
    session_free(m.s);
}

/* One element in a large tensor that nobody wrote, far from what is drawn. */
static void memory_that_was_not_written_is_found_anywhere(void **state)
{
    (void)state;
    struct made m = make("graph g() {\n    input  x : f32[300, 400]\n    output y : f32[300, "
                         "400]\n\n    y = relu(x)\n}\n");
    const struct value *y = m.g->outputs.at[0];
    struct sampled r = judge(&m, y, 1e7);
    assert_true(r.verdict.ok && r.n >= 4096);
    dtype_store(DT_f32, m.bytes[y->id], 123 * 400 + 77, NAN);
    r = judge(&m, y, 1e7);
    assert_false(r.verdict.ok);
    assert_int_equal(r.verdict.at, 123 * 400 + 77);
    session_free(m.s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_element_agrees_with_the_whole),
        cmocka_unit_test(a_wrong_element_is_found),
        cmocka_unit_test(what_is_too_long_is_judged_by_its_twin_or_not_at_all),
        cmocka_unit_test(memory_that_was_not_written_is_found_anywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
