/* test_ir: dims in checked arithmetic against brute force, and the order and copies of graphs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
/* cmocka.h needs the four above */
#include <cmocka.h>

#include "ir/ir.h"

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* ---- dims -------------------------------------------------------------------------------- */

static void strides_by_layout(void **unused)
{
    (void)unused;
    int64_t dim[4] = {2, 3, 5, 7}, stride[4];
    const int64_t row[4] = {105, 35, 7, 1}, last[4] = {105, 1, 21, 3};
    dims_row_major(4, dim, stride);
    assert_memory_equal(stride, row, sizeof row);
    dims_channels_last(4, dim, stride);
    assert_memory_equal(stride, last, sizeof last);
}

/* Products near 2^31, 2^32, 2^62 and 2^63, against 128-bit arithmetic. */
static void counts_and_extents_never_wrap(void **unused)
{
    (void)unused;
    static const int64_t near[] = {1,
                                   2,
                                   3,
                                   ((int64_t)1 << 31) - 1,
                                   (int64_t)1 << 31,
                                   ((int64_t)1 << 32) - 1,
                                   (int64_t)1 << 32,
                                   ((int64_t)1 << 32) + 1,
                                   (int64_t)1 << 62,
                                   ((int64_t)1 << 62) + 1,
                                   INT64_MAX - 1,
                                   INT64_MAX};
    uint64_t seed = 42;
    for (int round = 0; round < 200000; round++) {
        int rank = 1 + (int)(next_random(&seed) % 4);
        int64_t dim[MAX_RANK], stride[MAX_RANK], got;
        __int128 count = 1, last = 0;
        bool fits = true;
        for (int i = 0; i < rank; i++) {
            dim[i] = near[next_random(&seed) % COUNT_OF(near)];
            stride[i] = near[next_random(&seed) % COUNT_OF(near)] - 1;
            /* 128 bits hold 63 + 63: stop counting once beyond 63. */
            if (fits) count *= dim[i];
            if (count > INT64_MAX) fits = false;
        }
        assert_int_equal(dims_count(rank, dim, &got), fits);
        if (fits) assert_true(got == (int64_t)count);
        fits = true;
        for (int i = 0; i < rank && fits; i++) {
            last += (__int128)(dim[i] - 1) * stride[i];
            if (last > INT64_MAX - 1) fits = false;
        }
        assert_int_equal(dims_extent(rank, dim, stride, &got), fits);
        if (fits) assert_true(got == (int64_t)last + 1);
    }
}

static bool brute_injective(int rank, const int64_t *dim, const int64_t *stride)
{
    static unsigned char seen[4096];
    int64_t n = 1;
    memset(seen, 0, sizeof seen);
    for (int i = 0; i < rank; i++) n *= dim[i];
    for (int64_t k = 0; k < n; k++) {
        int64_t rest = k, at = 0;
        for (int i = rank - 1; i >= 0; i--) {
            at += rest % dim[i] * stride[i];
            rest /= dim[i];
        }
        assert_true(at < (int64_t)sizeof seen);
        if (seen[at]) return false;
        seen[at] = 1;
    }
    return true;
}

static void injective_as_brute_force_says(void **unused)
{
    (void)unused;
    uint64_t seed = 7;
    int yes = 0, no = 0;
    for (int round = 0; round < 50000; round++) {
        int rank = 1 + (int)(next_random(&seed) % 4);
        int64_t dim[MAX_RANK], stride[MAX_RANK];
        for (int i = 0; i < rank; i++) {
            dim[i] = 1 + (int64_t)(next_random(&seed) % 6);
            stride[i] = (int64_t)(next_random(&seed) % 40);
        }
        bool want = brute_injective(rank, dim, stride);
        assert_int_equal(dims_injective(rank, dim, stride), want);
        want ? yes++ : no++;
    }
    assert_true(yes > 1000 && no > 1000); /* both answers were exercised */
}

static void injective_beyond_what_can_be_enumerated(void **unused)
{
    (void)unused;
    int64_t dim[3] = {1 << 20, 1 << 20, 1 << 20};
    int64_t packed[3] = {(int64_t)1 << 40, (int64_t)1 << 20, 1};
    int64_t short_by_one[3] = {(int64_t)1 << 40, ((int64_t)1 << 20) - 1, 1};
    assert_true(dims_injective(3, dim, packed));
    assert_false(dims_injective(3, dim, short_by_one));
}

/* ---- graphs ------------------------------------------------------------------------------ */

static struct value *temp(struct arena *a, struct graph *g, struct op *op)
{
    static const int64_t dim[2] = {4, 4};
    struct value *v = ir_value(a, g, VAL_TEMP, DT_f32);
    ir_shape(v, 2, dim);
    ir_result(op, 0, v);
    return v;
}

static struct op *unary(struct arena *a, struct graph *g, enum op_id id, struct value *x)
{
    struct op *op = ir_op(a, g, id);
    op->in[0] = x;
    op->compute = DT_f32;
    return op;
}

static struct graph *chain(struct arena *a, int n)
{
    static const int64_t dim[2] = {4, 4};
    struct graph *g = NEW(a, struct graph);
    g->name = "chain";
    g->variant = "";
    struct value *x = ir_value(a, g, VAL_INPUT, DT_f32);
    ir_shape(x, 2, dim);
    x->name = "x";
    for (int i = 0; i < n; i++) x = temp(a, g, unary(a, g, OP_relu, x));
    struct value *y = ir_value(a, g, VAL_OUTPUT, DT_f32);
    ir_shape(y, 2, dim);
    y->name = "y";
    ir_result(unary(a, g, OP_abs, x), 0, y);
    return g;
}

static void sort_restores_order_and_drops_the_dead(void **unused)
{
    (void)unused;
    struct arena *a = arena_new();
    struct graph *g = chain(a, 1000);
    temp(a, g, unary(a, g, OP_exp, g->values.at[5])); /* nothing reads it */
    for (size_t i = 0, k = g->ops.n - 1; i < k; i++, k--) {
        struct op *op = g->ops.at[i];
        g->ops.at[i] = g->ops.at[k];
        g->ops.at[k] = op;
    }
    ir_sort(a, g);
    ir_number(g);
    assert_null(ir_verify(a, g));
    assert_int_equal(g->ops.n, 1001);
    assert_int_equal(g->values.n, 1002);
    assert_int_equal(g->inputs.at[0]->uid, 1);
    assert_int_equal(g->outputs.at[0]->uid, 2);
    arena_free(a);
}

static void a_long_chain_needs_no_stack(void **unused)
{
    (void)unused;
    struct arena *a = arena_new();
    struct graph *g = chain(a, 300000);
    struct op *last = g->ops.at[g->ops.n - 1];
    g->ops.at[g->ops.n - 1] = g->ops.at[0];
    g->ops.at[0] = last; /* its whole chain must be placed before it */
    ir_sort(a, g);
    assert_null(ir_verify(a, g));
    assert_int_equal(g->ops.n, 300001);
    arena_free(a);
}

static void a_clone_shares_nothing_that_changes(void **unused)
{
    (void)unused;
    struct arena *a = arena_new();
    struct graph *g = chain(a, 3);
    ir_number(g);
    struct graph *c = ir_clone(a, g);
    struct buf before = {0}, after = {0}, copy = {0};
    ir_print(g, &before);
    ir_print(c, &copy);
    assert_string_equal(before.at, copy.at);
    for (size_t i = 0; i < c->values.n; i++) {
        c->values.at[i]->type = DT_f16;
        c->values.at[i]->dim[0] = 9;
    }
    for (size_t i = 0; i < c->ops.n; i++) {
        c->ops.at[i]->compute = DT_f16;
        for (int k = 0; k < op_n_attrs(c->ops.at[i]->id); k++) c->ops.at[i]->attr[k].r = 5;
        c->ops.at[i]->in[0] = c->values.at[0];
    }
    ir_print(g, &after);
    assert_string_equal(before.at, after.at);
    buf_fini(&before);
    buf_fini(&after);
    buf_fini(&copy);
    arena_free(a);
}

static void verify_sees_what_is_wrong(void **unused)
{
    (void)unused;
    struct arena *a = arena_new();
    struct graph *g = chain(a, 2);
    assert_null(ir_verify(a, g));
    g->values.at[1]->dim[0] = 3;
    assert_non_null(ir_verify(a, g));
    g->values.at[1]->dim[0] = 4;
    struct op *op = g->ops.at[0];
    g->ops.at[0] = g->ops.at[1];
    g->ops.at[1] = op;
    assert_non_null(ir_verify(a, g));
    arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(strides_by_layout),
        cmocka_unit_test(counts_and_extents_never_wrap),
        cmocka_unit_test(injective_as_brute_force_says),
        cmocka_unit_test(injective_beyond_what_can_be_enumerated),
        cmocka_unit_test(sort_restores_order_and_drops_the_dead),
        cmocka_unit_test(a_long_chain_needs_no_stack),
        cmocka_unit_test(a_clone_shares_nothing_that_changes),
        cmocka_unit_test(verify_sees_what_is_wrong),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
