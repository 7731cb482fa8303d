/* test_match: no difference between what was asked for and what cuDNN says it understood goes
 * unseen.
 *
 * Invariant: the two texts below say the same graph in the tree's words and in those of a plan's
 * JSON (its form learnt from plans of cuDNN 9.19); each member of the second is then changed or
 * taken away. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdlib.h>

#include "plan/internal.h"

/* y = swish((conv(x, w) + b) - b), m = max |swish|, and beside it a matmul of two more tensors. */
#define ASKED_TENSOR(id, type, dims, strides, more)                    \
    "{\"id\":\"t" id "\",\"kind\":\"TENSOR\",\"TENSOR_UNIQUE_ID\":" id \
    ",\"TENSOR_DATA_TYPE\":\"" type "\",\"TENSOR_DIMENSIONS\":[" dims  \
    "],\"TENSOR_STRIDES\":[" strides "],\"TENSOR_BYTE_ALIGNMENT\":16" more "},\n"
#define VIRTUAL ",\"TENSOR_IS_VIRTUAL\":true"
#define BY_VALUE ",\"TENSOR_IS_BY_VALUE\":true"
#define ASKED_POINTWISE(n, mode, more, operands)                                       \
    "{\"id\":\"pw" n "\",\"kind\":\"POINTWISE\",\"POINTWISE_MODE\":\"" mode            \
    "\",\"POINTWISE_MATH_PREC\":\"FLOAT\"" more "},\n"                                 \
    "{\"id\":\"op" n                                                                   \
    "\",\"kind\":\"OPERATION_POINTWISE\",\"OPERATION_POINTWISE_PW_DESCRIPTOR\":\"pw" n \
    "\"," operands ",\"OPERATION_POINTWISE_ALPHA1\":1.0,\"OPERATION_POINTWISE_ALPHA2\":1.0},\n"
#define P "\"OPERATION_POINTWISE_"

static const char asked[] = "{\"descriptors\": [\n" ASKED_TENSOR(
    "1", "BFLOAT16", "2,16,8,8", "1024,1,128,16",
    "") ASKED_TENSOR("2", "BFLOAT16", "32,16,3,3", "144,1,48,16",
                     "") ASKED_TENSOR("3", "FLOAT", "1,1,1,1", "1,1,1,1", BY_VALUE)
    ASKED_TENSOR("4", "BFLOAT16", "2,32,7,9", "2016,1,288,32", "") ASKED_TENSOR(
        "5", "FLOAT", "1,1,1,1", "1,1,1,1",
        "") ASKED_TENSOR("6", "FLOAT", "2,32,7,9", "2016,1,288,32",
                         VIRTUAL) ASKED_TENSOR("7", "FLOAT", "2,32,7,9", "2016,1,288,32", VIRTUAL)
        ASKED_TENSOR("8", "FLOAT", "2,32,7,9", "2016,1,288,32",
                     VIRTUAL) ASKED_TENSOR("9", "HALF", "1,4,8", "32,8,1", "")
            ASKED_TENSOR("10", "HALF", "1,8,4", "32,4,1", "") ASKED_TENSOR(
                "11", "HALF", "1,4,4", "16,4,1",
                "") "{\"id\":\"conv1\",\"kind\":\"CONVOLUTION\",\"CONVOLUTION_COMP_TYPE\":"
                    "\"FLOAT\",\"CONVOLUTION_CONV_MODE\":\"CROSS_CORRELATION\","
                    "\"CONVOLUTION_SPATIAL_DIMS\":2,\"CONVOLUTION_PRE_PADDINGS\":[0,2],"
                    "\"CONVOLUTION_POST_PADDINGS\":[1,1],"
                    "\"CONVOLUTION_DILATIONS\":[1,1],\"CONVOLUTION_FILTER_STRIDES\":[1,1]},\n"
                    "{\"id\":\"op0\",\"kind\":\"OPERATION_CONVOLUTION_FORWARD\",\"OPERATION_"
                    "CONVOLUTION_FORWARD_ALPHA\":1.0,"
                    "\"OPERATION_CONVOLUTION_FORWARD_BETA\":0.0,\"OPERATION_CONVOLUTION_FORWARD_"
                    "CONV_DESC\":\"conv1\","
                    "\"OPERATION_CONVOLUTION_FORWARD_X\":\"t1\",\"OPERATION_CONVOLUTION_FORWARD_"
                    "W\":\"t2\",\"OPERATION_CONVOLUTION_FORWARD_Y\":\"t6\"},\n" ASKED_POINTWISE(
                        "1", "ADD", "", P "XDESC\":\"t6\"," P "BDESC\":\"t3\"," P "YDESC\":\"t7\"")
                        ASKED_POINTWISE("2", "SUB", "",
                                        P "XDESC\":\"t7\"," P "BDESC\":\"t3\"," P "YDESC\":\"t8\"")
                            ASKED_POINTWISE(
                                "3", "SWISH_FWD", ",\"POINTWISE_SWISH_BETA\":1.5",
                                P "XDESC\":\"t8\"," P
                                  "YDESC\":\"t4\"") "{\"id\":\"red1\",\"kind\":\"REDUCTION\","
                                                    "\"REDUCTION_OPERATOR\":\"AMAX\",\"REDUCTION_"
                                                    "COMP_TYPE\":\"FLOAT\"},\n"
                                                    "{\"id\":\"op4\",\"kind\":\"OPERATION_"
                                                    "REDUCTION\",\"OPERATION_REDUCTION_DESC\":"
                                                    "\"red1\",\"OPERATION_REDUCTION_XDESC\":\"t8\","
                                                    "\"OPERATION_REDUCTION_YDESC\":\"t5\"},\n"
                                                    "{\"id\":\"mm1\",\"kind\":\"MATMUL\",\"MATMUL_"
                                                    "COMP_TYPE\":\"FLOAT\"},\n"
                                                    "{\"id\":\"op5\",\"kind\":\"OPERATION_MATMUL\","
                                                    "\"OPERATION_MATMUL_ADESC\":\"t9\",\"OPERATION_"
                                                    "MATMUL_BDESC\":\"t10\","
                                                    "\"OPERATION_MATMUL_CDESC\":\"t11\","
                                                    "\"OPERATION_MATMUL_DESC\":\"mm1\"}\n"
                                                    "],\"operations\":[\"op0\",\"op1\",\"op2\","
                                                    "\"op3\",\"op4\",\"op5\"],\"constants\":{}}\n";

#define SAID_TENSOR(id, type, dims, strides, is_virtual, by_value)                       \
    "{\"name\":\"" id "\",\"dataType\":\"CUDNN_DATA_" type "\",\"dim\":[" dims           \
    "],\"stride\":[" strides "],\"isVirtual\":" is_virtual ",\"isByValue\":" by_value    \
    ",\"vectCount\":1,\"vectDim\":-1,\"ptrAlignment\":16,\"reordering\":\"CUDNN_TENSOR_" \
    "REORDERING_NONE\"}"
#define SAID_OP(kind, more)                          \
    "{\"operation\":\"CUDNN_BACKEND_OPERATION_" kind \
    "_DESCRIPTOR\",\"mathPrec\":\"CUDNN_DATA_FLOAT\"," more "}"

static const char said[] =
    "{\"operationGraph\":{\"finalizeMode\":\"ANY\",\"tensors\":[" SAID_TENSOR(
        "1", "BFLOAT16", "2,16,8,8", "1024,1,128,16", "false",
        "false") "," SAID_TENSOR("2", "BFLOAT16", "32,16,3,3", "144,1,48,16", "false",
                                 "false") "," SAID_TENSOR("3", "FLOAT", "1,1,1,1", "1,1,1,1",
                                                          "false", "true") "," SAID_TENSOR("4",
                                                                                           "BFLOAT1"
                                                                                           "6",
                                                                                           "2,32,7,"
                                                                                           "9",
                                                                                           "2016,1,"
                                                                                           "288,32",
                                                                                           "false", "false") "," SAID_TENSOR("5", "FLOAT", "1,1,1,1", "1,1,1,1", "false", "false") "," SAID_TENSOR("6", "FLOAT", "2,32,7,9", "2016,1,288,32", "true", "false") "," SAID_TENSOR("7",
                                                                                                                                                                                                                                                                               "FLOAT", "2,32,7,9", "2016,1,288,32", "true", "false") "," SAID_TENSOR("8",
                                                                                                                                                                                                                                                                                                                                                      "FLOAT",
                                                                                                                                                                                                                                                                                                                                                      "2,32,7,9",
                                                                                                                                                                                                                                                                                                                                                      "2016,1,288,32",
                                                                                                                                                                                                                                                                                                                                                      "true", "false") "," SAID_TENSOR("9", "HALF", "1,4,8", "32,8,1", "false",
                                                                                                                                                                                                                                                                                                                                                                                       "false") "," SAID_TENSOR("10", "HALF", "1,8,4", "32,4,1",
                                                                                                                                                                                                                                                                                                                                                                                                                "false", "false") "," SAID_TENSOR("11",
                                                                                                                                                                                                                                                                                                                                                                                                                                                  "HALF",
                                                                                                                                                                                                                                                                                                                                                                                                                                                  "1,4,4", "16,4,1", "false", "false") "],\"nodes\":[" SAID_OP("CONVOLUTION_FORWARD", "\"mode\":\"CUDNN_CROSS_CORRELATION\",\"alpha\":1.0,\"beta\":0.0,\"pad_upper\":[1,1],"
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                      "\"pad_lower\":[0,2],\"stride\":[1,1],\"dilation\":[1,1],\"X\":\"1\",\"W\":\"2\",\"Y\":\"6\"") "," SAID_OP("POINTWISE",
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                 "\"pointwiseMode\":\"CUDNN_POINTWISE_ADD\",\"alpha1\":1.0,\"alpha2\":1.0,\"X\":\"6\",\"Y\":\"7\",\"B\":\"3\"") "," SAID_OP("POINTWISE", "\"pointwiseMode\":\"CUDNN_POINTWISE_SUB\",\"alpha1\":1.0,\"alpha2\":1.0,\"X\":\"7\",\"Y\":\"8\",\"B\":\"3\"") "," SAID_OP("POINTWISE",
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                    "\"pointwiseMode\":\"CUDNN_POINTWISE_SWISH_FWD\",\"beta\":1.5,\"alpha1\":1.0,\"alpha2\":1.0,\"X\":\"8\",\"Y\":\"4\"") "," SAID_OP("REDUCTION",
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                      "\"reductionOp\":\"CUDNN_REDUCE_TENSOR_AMAX\",\"isDeterministic\":false,\"X\":\"8\",\"Y\":\"5\"") "," SAID_OP("MATMUL",
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                    "\"matA\":\"9\",\"matB\":\"10\",\"matC\":\"11\"") "]}}";

struct fixture {
    struct arena *a;
    struct desc_graph *g;
    json_t *root;
    int tried;
};

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    const char *why = NULL;
    f->a = arena_new();
    f->g = desc_read(f->a, asked, strlen(asked), &why);
    if (!f->g) fail_msg("the tree is not sound: %s", why);
    f->root = json_loads(said, 0, NULL);
    assert_non_null(f->root);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    json_decref(f->root);
    arena_free(f->a);
    free(f);
    return 0;
}

static bool matches(struct fixture *f)
{
    struct buf why = {0};
    char *text = json_dumps(f->root, JSON_COMPACT);
    bool ok = plan_matches(text, strlen(text), f->g, &why);
    assert_int_equal(ok, why.n == 0);
    buf_fini(&why);
    free(text);
    f->tried++;
    return ok;
}

static void the_two_texts_say_one_graph(void **state)
{
    assert_true(matches(*state));
}

static void a_plan_that_is_no_json_does_not_match(void **state)
{
    struct fixture *f = *state;
    static const char *const texts[] = {"", "{}", "[]", "{\"operationGraph\":{}}",
                                        "{\"operationGraph\":{\"tensors\":[],\"nodes\":[]}}"};
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        struct buf why = {0};
        assert_false(plan_matches(texts[i], strlen(texts[i]), f->g, &why));
        buf_fini(&why);
    }
}

/* cuDNN's own business: how the graph was recognised, and the axis of vectors of one element. */
static bool is_free(const char *key)
{
    return strcmp(key, "finalizeMode") == 0 || strcmp(key, "vectDim") == 0;
}

/* Members that may be missing: what they say is the default. */
static bool may_miss(const char *key, const json_t *v)
{
    return is_free(key) || json_is_false(v) || strcmp(key, "vectCount") == 0 ||
           strcmp(key, "reordering") == 0;
}

static json_t *other(const json_t *v)
{
    if (json_is_integer(v)) return json_integer(json_integer_value(v) + 1);
    if (json_is_real(v)) return json_real(json_real_value(v) + 0.25);
    if (json_is_boolean(v)) return json_boolean(!json_is_true(v));
    char text[128];
    snprintf(text, sizeof text, "%s0", json_string_value(v));
    return json_string(text);
}

static void change_each(struct fixture *f, json_t *node)
{
    const char *key;
    json_t *v;
    size_t i;
    json_array_foreach(node, i, v)
    {
        json_incref(v);
        if (json_is_object(v)) {
            json_array_remove(node, i); /* a tensor or an operation less, and twice */
            assert_false(matches(f));
            json_array_insert(node, i, v);
            json_array_insert(node, i, v);
            assert_false(matches(f));
            json_array_remove(node, i);
            change_each(f, v);
        } else {
            json_array_set_new(node, i, other(v));
            assert_false(matches(f));
            json_array_set(node, i, v);
        }
        json_decref(v);
    }
    json_t *copy = json_copy(node);
    json_object_foreach(copy, key, v)
    {
        if (json_is_object(v) || json_is_array(v)) {
            change_each(f, v);
        } else {
            json_object_set_new(node, key, other(v));
            if (matches(f) != is_free(key)) fail_msg("a change of '%s' is not seen as it is", key);
        }
        json_object_del(node, key);
        if (matches(f) != may_miss(key, v)) fail_msg("'%s' may be missing", key);
        json_object_set(node, key, v);
    }
    json_decref(copy);
}

static void each_change_is_seen(void **state)
{
    struct fixture *f = *state;
    change_each(f, f->root);
    assert_true(matches(f)); /* everything was put back */
    assert_true(f->tried > 400);
}

static void operands_may_swap_where_that_changes_nothing(void **state)
{
    struct fixture *f = *state;
    json_t *nodes = json_object_get(json_object_get(f->root, "operationGraph"), "nodes");
    for (size_t i = 1; i <= 2; i++) {
        json_t *n = json_array_get(nodes, i), *x = json_incref(json_object_get(n, "X"));
        json_object_set(n, "X", json_object_get(n, "B"));
        json_object_set_new(n, "B", x);
        assert_int_equal(matches(f), i == 1); /* ADD, then SUB as well */
    }
}

static void what_was_not_asked_for_is_seen(void **state)
{
    struct fixture *f = *state;
    static const struct {
        size_t node;
        const char *key;
        const char *json;
        bool harmless;
    } more[] = {
        {1, "lowerClip", "0.0", true},
        {1, "lowerClip", "0.5", false},
        {1, "upperClip", "6.0", false},
        {1, "lowerClipSlope", "0.1", false},
        {3, "B", "\"3\"", false},
        {2, "T", "\"3\"", false},
        {4, "isDeterministic", "true", false},
        {5, "somethingNew", "1", true},
    };
    json_t *nodes = json_object_get(json_object_get(f->root, "operationGraph"), "nodes");
    for (size_t i = 0; i < COUNT_OF(more); i++) {
        json_t *n = json_array_get(nodes, more[i].node), *was = json_deep_copy(n);
        json_object_set_new(n, more[i].key, json_loads(more[i].json, JSON_DECODE_ANY, NULL));
        if (matches(f) != more[i].harmless) fail_msg("%s = %s", more[i].key, more[i].json);
        json_array_set_new(nodes, more[i].node, was);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_two_texts_say_one_graph, setup, teardown),
        cmocka_unit_test_setup_teardown(a_plan_that_is_no_json_does_not_match, setup, teardown),
        cmocka_unit_test_setup_teardown(each_change_is_seen, setup, teardown),
        cmocka_unit_test_setup_teardown(operands_may_swap_where_that_changes_nothing, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(what_was_not_asked_for_is_seen, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
