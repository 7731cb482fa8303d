/* test_op: element types, every code and every rounding of the small ones; the tables' lookups.
 *
 * Reading is held to digests that op_digests.py makes from other people's libraries; writing is
 * held to reading: neighbours, the points half-way between them, and the points just beside. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
/* cmocka.h needs the four above */
#include <cmocka.h>

#include <math.h>

#include "op/op.h"

static const struct {
    enum dtype type;
    uint64_t digest;
} digests[] = {
    {DT_f16, UINT64_C(0xfe87bb782adb2fc5)},  {DT_bf16, UINT64_C(0x5e93c8468f9404d5)},
    {DT_e4m3, UINT64_C(0x4d4ded90c4f5d9b5)}, {DT_e5m2, UINT64_C(0x61a099e723174195)},
    {DT_e8m0, UINT64_C(0x04b7d9d85633d505)}, {DT_i8, UINT64_C(0xf23f02eed7899585)},
    {DT_u8, UINT64_C(0x1f713dd656f2fa10)},
};

static double load_code(enum dtype t, unsigned code)
{
    uint16_t wide = (uint16_t)code;
    uint8_t narrow = (uint8_t)code;
    return dtypes[t].bits == 16 ? dtype_load(t, &wide, 0) : dtype_load(t, &narrow, 0);
}

static unsigned store_code(enum dtype t, double x)
{
    uint16_t wide = 0xffff;
    uint8_t narrow = 0xff;
    if (dtypes[t].bits == 16)
        dtype_store(t, &wide, 0, x);
    else
        dtype_store(t, &narrow, 0, x);
    return dtypes[t].bits == 16 ? wide : narrow;
}

static void every_code_reads_as_elsewhere(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < sizeof digests / sizeof *digests; i++) {
        enum dtype t = digests[i].type;
        uint64_t h = UINT64_C(0xcbf29ce484222325);
        for (unsigned code = 0; code < 1u << dtypes[t].bits; code++) {
            double x = load_code(t, code);
            uint64_t word;
            memcpy(&word, &x, sizeof word);
            if (isnan(x)) word = UINT64_C(0x7ff8) << 48;
            for (int byte = 0; byte < 8; byte++)
                h = (h ^ (word >> 8 * byte & 255)) * UINT64_C(0x100000001b3);
        }
        if (h != digests[i].digest)
            fail_msg("%s reads as %016llx", dtypes[t].name, (unsigned long long)h);
    }
}

static void every_code_is_written_as_it_was_read(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < sizeof digests / sizeof *digests; i++) {
        enum dtype t = digests[i].type;
        for (unsigned code = 0; code < 1u << dtypes[t].bits; code++) {
            double x = load_code(t, code);
            if (isnan(x)) {
                assert_true(isnan(load_code(t, store_code(t, x))));
                continue;
            }
            if (t == DT_e5m2 && isinf(x)) continue; /* read, never written: it saturates */
            if (store_code(t, x) != code) fail_msg("%s: code %#x changes", dtypes[t].name, code);
            assert_true(dtype_round(t, x) == x);
        }
    }
}

static const enum dtype halves[] = {DT_f16, DT_bf16, DT_e4m3, DT_e5m2};

/* Between neighbours the nearer is taken, half-way the one with an even code; a hair of f64 beside
 * the half-way point decides, which shows that nothing is rounded twice. */
static void every_tie_goes_to_the_even_code(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < sizeof halves / sizeof *halves; i++) {
        enum dtype t = halves[i];
        unsigned sign = 1u << (dtypes[t].bits - 1);
        for (unsigned low = 0; low + 1 < sign; low++) {
            double a = load_code(t, low), b = load_code(t, low + 1);
            if (!isfinite(a) || !isfinite(b)) break;
            double middle = a + (b - a) / 2;
            unsigned even = low % 2 ? low + 1 : low;
            assert_int_equal(store_code(t, middle), even);
            assert_int_equal(store_code(t, -middle), even | sign);
            assert_int_equal(store_code(t, nextafter(middle, a)), low);
            assert_int_equal(store_code(t, nextafter(middle, b)), low + 1);
            assert_int_equal(store_code(t, -nextafter(middle, a)), low | sign);
            assert_int_equal(store_code(t, -nextafter(middle, b)), (low + 1) | sign);
            assert_true(dtype_round(t, middle) == load_code(t, even));
            assert_true(dtype_ulp(t, a) == b - a);
            assert_true(dtype_ulp(t, -a) == b - a);
        }
    }
}

static void overflow_is_each_types_own(void **unused)
{
    (void)unused;
    assert_int_equal(store_code(DT_f16, 65519.99), 0x7bff);
    assert_int_equal(store_code(DT_f16, 65520), 0x7c00);
    assert_int_equal(store_code(DT_f16, -1e300), 0xfc00);
    assert_int_equal(store_code(DT_bf16, 0x1.fefffp127), 0x7f7f);
    assert_int_equal(store_code(DT_bf16, 0x1.ffp127), 0x7f80);
    assert_int_equal(store_code(DT_e4m3, 464), 0x7e);
    assert_int_equal(store_code(DT_e4m3, INFINITY), 0x7e);
    assert_int_equal(store_code(DT_e4m3, -1e9), 0xfe);
    assert_int_equal(store_code(DT_e4m3, NAN) & 0x7f, 0x7f);
    assert_int_equal(store_code(DT_e5m2, INFINITY), 0x7b);
    assert_int_equal(store_code(DT_e5m2, -61440), 0xfb);
    assert_true(isinf(dtype_round(DT_f32, 1e39)));
    assert_true(dtype_round(DT_tf32, 1 + 0x1p-11) == 1);
    assert_true(dtype_round(DT_tf32, 1 + 0x1.8p-10) == 1 + 0x1p-9);
}

static void powers_of_two_go_to_the_nearer(void **unused)
{
    (void)unused;
    assert_true(dtype_round(DT_e8m0, 1.42) == 1); /* above sqrt(2): nearer in value all the same */
    assert_true(dtype_round(DT_e8m0, 1.5) == 2);
    assert_true(dtype_round(DT_e8m0, 2.9) == 2);
    assert_true(dtype_round(DT_e8m0, 3) == 4);
    assert_true(dtype_round(DT_e8m0, 1e-300) == 0x1p-127);
    assert_true(dtype_round(DT_e8m0, 1e300) == 0x1p127);
    assert_true(isnan(dtype_round(DT_e8m0, -1)));
    assert_true(dtype_ulp(DT_e8m0, 0x1p-20) == 0x1p-20);
}

static void integers_clamp_after_rounding(void **unused)
{
    (void)unused;
    static const struct {
        enum dtype type;
        double x, want;
    } cases[] = {
        {DT_i8, 0.5, 0},
        {DT_i8, 1.5, 2},
        {DT_i8, -2.5, -2},
        {DT_i8, 127.5, 127},
        {DT_i8, -1e9, -128},
        {DT_i8, NAN, 0},
        {DT_i8, INFINITY, 127},
        {DT_u8, -0.6, 0},
        {DT_u8, 255.6, 255},
        {DT_u8, 254.5, 254},
        {DT_i32, 2147483647.5, 0x1p31 - 1},
        {DT_i32, -1e300, -0x1p31},
        {DT_bool, 0.25, 1},
        {DT_bool, 0, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        unsigned char bytes[8] = {0};
        assert_true(dtype_round(cases[i].type, cases[i].x) == cases[i].want);
        dtype_store(cases[i].type, bytes, 0, cases[i].x);
        assert_true(dtype_load(cases[i].type, bytes, 0) == cases[i].want);
    }
    int64_t most = 0;
    dtype_store(DT_i64, &most, 0, 1e300);
    assert_true(most > INT64_MAX - 2048);
    dtype_store(DT_i64, &most, 0, -1e300);
    assert_true(most == INT64_MIN);
}

static void names_lead_back_to_rows(void **unused)
{
    (void)unused;
    for (int t = DT_none + 1; t < N_DTYPES; t++) assert_int_equal(dtype_find(dtypes[t].name), t);
    assert_int_equal(dtype_find("f33"), DT_none);
    for (int op = OP_none + 1; op < N_OPS; op++) {
        assert_int_equal(op_find(ops[op].name), op);
        assert_true(ops[op].n_in >= 1 && ops[op].n_in <= MAX_OPERANDS);
        assert_true(ops[op].formula && ops[op].doc && ops[op].types);
        for (int i = 0; i < op_n_attrs((enum op_id)op); i++)
            assert_int_equal(op_attr_index((enum op_id)op, ops[op].attr[i].name), i);
        char word[64];
        for (int i = 0; *word_at(ops[op].types, i, word); i++) {
            assert_int_not_equal(dtype_find(word), DT_none);
            assert_int_equal(word_index(ops[op].types, word), i);
        }
    }
    assert_int_equal(op_find("convolution"), OP_none);
    assert_int_equal(op_attr_index(OP_conv, "padding"), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_code_reads_as_elsewhere),
        cmocka_unit_test(every_code_is_written_as_it_was_read),
        cmocka_unit_test(every_tie_goes_to_the_even_code),
        cmocka_unit_test(overflow_is_each_types_own),
        cmocka_unit_test(powers_of_two_go_to_the_nearer),
        cmocka_unit_test(integers_clamp_after_rounding),
        cmocka_unit_test(names_lead_back_to_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
