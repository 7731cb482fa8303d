/* Descriptor trees: print and read back, and what the reader refuses. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka needs the four above */
#include <cmocka.h>

#include "desc/desc.h"
#include "make_ir.h"
#include "pass/pass.h"

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

/* relu(a b * alpha + 0.1) with a reduction: most attribute types occur. */
static struct desc_graph *sample(struct session *s)
{
    struct graph *g = NEW(s->arena, struct graph);
    g->name = "sample";
    g->variant = "";
    struct value *a = make_tensor(s, g, VAL_INPUT, DT_bf16, "a", DIMS(2, 16, 8));
    struct value *b = make_tensor(s, g, VAL_INPUT, DT_bf16, "b", DIMS(2, 8, 24));
    struct value *alpha = ir_value(s->arena, g, VAL_SCALAR, DT_f32);
    struct value *y = make_tensor(s, g, VAL_OUTPUT, DT_bf16, "y", DIMS(2, 16, 24));
    struct value *m = make_tensor(s, g, VAL_OUTPUT, DT_f32, "m", DIMS(1, 1, 1));
    struct value *t[4];
    for (int k = 0; k < 4; k++) t[k] = make_temp(s, g, DIMS(2, 16, 24));
    make_op(s, g, OP_matmul, t[0], a, b, NULL);
    make_op(s, g, OP_mul, t[1], alpha, t[0], NULL);
    make_op(s, g, OP_add, t[2], t[1], ir_const(s->arena, g, DT_f32, 0.1), NULL);
    make_op(s, g, OP_relu, t[3], t[2], NULL, NULL);
    make_op(s, g, OP_cast, y, t[3], NULL, NULL);
    struct op *r = make_op(s, g, OP_reduce, m, t[3], NULL, NULL);
    set_choice(r, "mode", "max_abs");
    set_list(r, "axes", DIMS(0, 1, 2));
    ir_sort(s->arena, g);
    ir_number(g);
    struct graph *region = passed(s, g);
    struct desc_graph *d = desc_lower(s, region);
    assert_non_null(d);
    return d;
}

static void reads_back_what_it_prints(void **state)
{
    (void)state;
    struct session *s = session_new();
    struct buf first = {0}, second = {0};
    desc_print(sample(s), &first);
    const char *why = NULL;
    struct desc_graph *back = desc_read(s->arena, first.at, first.n, &why);
    if (!back) fail_msg("%s", why);
    desc_print(back, &second);
    assert_string_equal(first.at, second.at);
    buf_fini(&first);
    buf_fini(&second);
    session_free(s);
}

static void every_operation_has_an_origin(void **state)
{
    (void)state;
    struct session *s = session_new();
    struct desc_graph *d = sample(s);
    assert_int_equal(d->operations.n, 6);
    for (size_t k = 0; k < d->operations.n; k++) assert_non_null(d->operations.at[k]->origin);
    session_free(s);
}

#define TENSOR(id, uid)                                                                            \
    "{\"id\":\"" id "\",\"kind\":\"TENSOR\",\"TENSOR_UNIQUE_ID\":" uid                             \
    ",\"TENSOR_DATA_TYPE\":\"FLOAT\",\"TENSOR_DIMENSIONS\":[2,3],\"TENSOR_STRIDES\":[3,1],"        \
    "\"TENSOR_BYTE_ALIGNMENT\":16"
#define SCALAR                                                                                     \
    "{\"id\":\"s\",\"kind\":\"TENSOR\",\"TENSOR_UNIQUE_ID\":9,"                                    \
    "\"TENSOR_DATA_TYPE\":\"FLOAT\",\"TENSOR_DIMENSIONS\":[1,1],\"TENSOR_STRIDES\":[1,1],"         \
    "\"TENSOR_BYTE_ALIGNMENT\":16,\"TENSOR_IS_BY_VALUE\":true}"
#define PW                                                                                         \
    "{\"id\":\"p\",\"kind\":\"POINTWISE\",\"POINTWISE_MODE\":\"MUL\","                             \
    "\"POINTWISE_MATH_PREC\":\"FLOAT\"}"
#define OP(x)                                                                                      \
    "{\"id\":\"o\",\"kind\":\"OPERATION_POINTWISE\","                                              \
    "\"OPERATION_POINTWISE_PW_DESCRIPTOR\":\"p\",\"OPERATION_POINTWISE_XDESC\":\"" x "\","         \
    "\"OPERATION_POINTWISE_BDESC\":\"s\",\"OPERATION_POINTWISE_YDESC\":\"y\"}"
#define TREE(descs, operations, constants)                                                         \
    "{\"descriptors\":[" descs "],\"operations\":[" operations "],\"constants\":{" constants "}}"
#define GOOD                                                                                       \
    TREE(TENSOR("x", "1") "}," TENSOR("y", "2") "}," SCALAR "," PW "," OP("x"), "\"o\"",           \
         "\"9\":{\"type\":\"FLOAT\",\"value\":\"-inf\"}")

static const struct {
    const char *text, *why; /* why: a part of the message */
} refused[] = {
    {"", "line 1"},
    {"{}", "not an object of"},
    {"[1]", "not an object of"},
    {GOOD "x", "line 1"},
    {TREE("", "\"o\"", ""), "names no descriptor"},
    {TREE(TENSOR("x", "1") "}", "", ""), "'operations'"},
    {TREE(TENSOR("x", "1") "}", "\"x\"", ""), "is a TENSOR"},
    {TREE(TENSOR("x", "1") "}," TENSOR("x", "2") "}", "\"x\"", ""), "two descriptors have the id"},
    {TREE(TENSOR("x", "1") "}," TENSOR("y", "1") "}", "\"x\"", ""), "have the uid 1"},
    {TREE(TENSOR("x", "0") "}", "\"x\"", ""), "uid below 1"},
    {TREE(TENSOR("x", "1.0") "}", "\"x\"", ""), "is not an integer"},
    {TREE(TENSOR("x y", "1") "}", "\"x\"", ""), "no plain 'id'"},
    {TREE(TENSOR("x", "1") ",\"NO_SUCH\":1}", "\"x\"", ""), "unknown attribute 'NO_SUCH'"},
    {TREE(TENSOR("x", "1") ",\"MATMUL_COMP_TYPE\":\"FLOAT\"}", "\"x\"", ""), "does not belong"},
    {TREE(TENSOR("x", "1") ",\"TENSOR_IS_VIRTUAL\":1}", "\"x\"", ""), "not a boolean"},
    {TREE(TENSOR("x", "1") ",\"TENSOR_UNIQUE_ID\":1}", "\"x\"", ""), "line 1"},
    {TREE("{\"id\":\"x\",\"kind\":\"TENSOR\"}", "\"x\"", ""), "lacks 'TENSOR_UNIQUE_ID'"},
    {TREE("{\"id\":\"x\",\"kind\":\"TENSORS\"}", "\"x\"", ""), "unknown kind 'TENSORS'"},
    {TREE("{\"kind\":\"TENSOR\"}", "\"x\"", ""), "no plain 'id'"},
    {TREE("7", "\"x\"", ""), "not an object"},
    {TREE("{\"id\":\"p\",\"kind\":\"POINTWISE\",\"POINTWISE_MODE\":\"FLOAT\"}", "\"p\"", ""),
     "unknown value 'FLOAT'"},
    {TREE("{\"id\":\"p\",\"kind\":\"POINTWISE\",\"POINTWISE_ELU_ALPHA\":\"nan\"}", "\"p\"", ""),
     "not a number"},
    {TREE("{\"id\":\"c\",\"kind\":\"CONVOLUTION\",\"CONVOLUTION_DILATIONS\":[]}", "\"c\"", ""),
     "list of 1 to 8"},
    {TREE("{\"id\":\"c\",\"kind\":\"CONVOLUTION\",\"CONVOLUTION_DILATIONS\":[1,2,3,4,5,6,7,8,9]}",
          "\"c\"", ""),
     "list of 1 to 8"},
    {TREE("{\"id\":\"c\",\"kind\":\"CONVOLUTION\",\"CONVOLUTION_SPATIAL_DIMS\":[2]}", "\"c\"", ""),
     "not an integer"},
    {TREE(OP("x") "," TENSOR("x", "1") "}", "\"o\"", ""), "no earlier descriptor"},
    {TREE(TENSOR("x", "1") "}," SCALAR "," PW "," OP("p"), "\"o\"", ""), "not a TENSOR"},
    {TREE(TENSOR("x", "1") "}," TENSOR("y", "2") "}," SCALAR "," PW "," OP("x"), "\"o\",\"o\"", ""),
     "listed twice"},
    {TREE(TENSOR("x", "1") "}," TENSOR("y", "2") "}," SCALAR "," PW "," OP("x"), "\"o\"",
          "\"1\":{\"type\":\"FLOAT\",\"value\":1}"),
     "names no by-value tensor"},
    {TREE(TENSOR("x", "1") "}," TENSOR("y", "2") "}," SCALAR "," PW "," OP("x"), "\"o\"",
          "\"9\":{\"type\":\"HALF\",\"value\":1}"),
     "is not a {type, value}"},
};

static void refuses_what_is_not_sound(void **state)
{
    (void)state;
    struct session *s = session_new();
    const char *why = NULL;
    if (!desc_read(s->arena, GOOD, strlen(GOOD), &why)) fail_msg("the sound one: %s", why);
    for (size_t k = 0; k < COUNT_OF(refused); k++) {
        why = NULL;
        if (desc_read(s->arena, refused[k].text, strlen(refused[k].text), &why)) {
            fail_msg("case %zu was read", k);
        }
        if (!why || !strstr(why, refused[k].why))
            fail_msg("case %zu: %s", k, why ? why : "no reason");
    }
    session_free(s);
}

/* Every byte of a printed tree replaced, every length cut: read or refused, nothing else. */
static void survives_damage(void **state)
{
    (void)state;
    struct session *s = session_new();
    struct buf text = {0};
    desc_print(sample(s), &text);
    for (size_t k = 0; k < text.n; k++) {
        struct arena *a = arena_new();
        const char *why = NULL;
        char *copy = arena_strndup(a, text.at, text.n);
        copy[k] ^= (char)(1 << k % 7);
        struct desc_graph *d = desc_read(a, copy, text.n, &why);
        assert_true(d || why);
        if (k + 1 < text.n)
            assert_null(desc_read(a, text.at, k, &why)); /* all but the last newline */
        arena_free(a);
    }
    buf_fini(&text);
    session_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_back_what_it_prints),
        cmocka_unit_test(every_operation_has_an_origin),
        cmocka_unit_test(refuses_what_is_not_sound),
        cmocka_unit_test(survives_damage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
