/* test_gpu: what of the gpu room needs no cuDNN: descriptions of GPUs, the cleaning of plans, the
 * reading of reasons, the search, and helpers that crash, hang or talk nonsense.
 *
 * Invariant: what the world hands in is either understood whole or refused, and never ends fgc. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gpu/build/engines.h"
#include "gpu/build/layout.h"
#include "gpu/parent.h"

/* The helper's heap replaces malloc, so it is not part of this program. */
void heap_enter(enum world world)
{
    (void)world;
}

static int setup(void **state)
{
    *state = session_new();
    return 0;
}

static int teardown(void **state)
{
    session_free(*state);
    return 0;
}

/* Everything recorded so far, as it would be printed. */
static char *said(struct session *s)
{
    char *text = NULL, *kept;
    size_t n = 0;
    FILE *f = open_memstream(&text, &n);
    diag_flush(s, f);
    fclose(f);
    kept = arena_strndup(s->arena, text, n);
    free(text);
    return kept;
}

/* ---- descriptions of GPUs ------------------------------------------------------------------- */

static json_t *h200(struct session *s)
{
    struct gpu_search o = {0};
    struct target t;
    assert_true(target_load(s, "nvidia-h200", &o, &t));
    assert_int_equal(t.sm, 90);
    assert_int_equal(t.multiprocessors, 132);
    return json_loads(t.json, 0, NULL);
}

/* target_check of a changed description; takes j. */
static const char *check(struct session *s, json_t *j, struct target *t)
{
    char *text = json_dumps(j, JSON_COMPACT), *kept = arena_strdup(s->arena, text);
    free(text);
    json_decref(j);
    return target_check(s->arena, kept, t);
}

static void a_description_without_a_member_is_refused(void **state)
{
    struct session *s = *state;
    json_t *whole = h200(s), *value;
    const char *key;
    size_t n = 0;
    struct target t;
    json_object_foreach(whole, key, value) {
        json_t *less = json_copy(whole);
        json_object_del(less, key);
        const char *why = check(s, less, &t);
        assert_non_null(why);
        assert_non_null(strstr(why, key));
        n++;
    }
    assert_int_equal(n, 23);
    json_decref(whole);
}

static void values_out_of_range_or_of_another_type_are_refused(void **state)
{
    struct session *s = *state;
    json_t *whole = h200(s), *value;
    const char *key;
    struct target t;
    json_object_foreach(whole, key, value) {
        json_t *wrong[] = {json_integer(INT64_MIN),
                           json_real(1.5),
                           json_null(),
                           json_object(),
                           json_pack("[i, i]", 1, 1),
                           json_pack("[i, i, s]", 1, 1, "1"),
                           json_string("a \"quote\" {"),
                           json_true()};
        for (size_t i = 0; i < COUNT_OF(wrong); i++) {
            json_t *j = json_copy(whole);
            json_object_set_new(j, key, wrong[i]);
            const char *why = check(s, j, &t);
            assert_non_null(why);
            assert_non_null(strstr(why, key));
        }
    }
    json_decref(whole);
}

static void what_is_no_description_is_refused(void **state)
{
    struct session *s = *state;
    static const char *const texts[] = {
        "", "{", "[]", "null", "7", "\"x\"", "{\"warpSize\":32,\"warpSize\":32}", "{}"};
    struct target t;
    for (size_t i = 0; i < COUNT_OF(texts); i++)
        assert_non_null(target_check(s->arena, texts[i], &t));
    json_t *more = h200(s);
    json_object_set_new(more, "colour", json_integer(1));
    assert_non_null(strstr(check(s, more, &t), "colour"));
}

static void a_normalised_description_is_its_own_normal_form(void **state)
{
    struct session *s = *state;
    static const char *const free_members[] = {"pciDeviceId",    "cudaDeviceId",
                                               "smClockRateKHz", "memClockRateKHz",
                                               "totalGlobalMem", "driverVer"};
    struct target a, b;
    assert_null(check(s, h200(s), &a));
    assert_null(target_check(s->arena, a.json, &b));
    assert_string_equal(a.json, b.json);
    for (size_t i = 0; i < COUNT_OF(free_members); i++) {
        json_t *j = h200(s);
        json_object_set_new(j, free_members[i], json_integer(1234));
        json_object_set_new(j, "deviceName", json_string("another"));
        assert_null(check(s, j, &b));
        assert_string_equal(a.json, b.json);
    }
    json_t *j = h200(s);
    json_object_set_new(j, "multiProcessorCount", json_integer(114));
    assert_null(check(s, j, &b));
    assert_string_not_equal(a.json, b.json);
    assert_int_equal(b.multiprocessors, 114);
}

static void a_target_that_is_not_there_is_named(void **state)
{
    struct session *s = *state;
    struct gpu_search o = {0};
    struct target t;
    assert_false(target_load(s, "nvidia-h20", &o, &t));
    assert_non_null(strstr(said(s), "did you mean 'nvidia-h200'"));
    assert_false(target_load(s, "/nowhere/x.json", &o, &t));
    assert_non_null(strstr(said(s), "/nowhere/x.json"));
}

/* ---- the cleaning of plans ------------------------------------------------------------------ */

static const char profile[] = "{\"deviceName\":\"a GPU\",\"driverVer\":13010}";

/* A plan with one kernel of that parameter block. */
static char *plan_of(struct session *s, const void *raw, size_t n, const char *offsets)
{
    return arena_printf(s->arena,
                        "{\"GPUProfile\":%s,\"engine\":{\"payload\":{\"kernels\":[{\"name\":\"k\"},"
                        "{\"kernelParams\":{\"offsets\":%s,\"rawData\":\"%s\"}}]}},\"z\":1}",
                        profile, offsets, base64_encode(s->arena, raw, n));
}

/* The parameter block of a plan. */
static unsigned char *block(struct session *s, const char *plan, size_t *n)
{
    static const char key[] = "\"rawData\":\"";
    unsigned char *raw;
    const char *p = strstr(plan, key);
    assert_non_null(p);
    p += sizeof key - 1;
    assert_true(base64_decode(s->arena, p, strcspn(p, "\""), &raw, n));
    return raw;
}

static char *scrubbed(struct session *s, const void *raw, size_t n, const char *offsets)
{
    char *plan = plan_of(s, raw, n, offsets);
    return scrub_plan(s->arena, plan, strlen(plan), "{\"deviceName\":\"T\"}");
}

static void slots_rewritten_at_launch_are_cleared_and_nothing_else(void **state)
{
    struct session *s = *state;
    unsigned char raw[67], want[67];
    memset(raw, 0x11, sizeof raw);
    memcpy(want, raw, sizeof raw);
    memset(want + 8, 0, 8);
    memset(want + 24, 0, 4);
    memset(want + 32, 0, 8);
    size_t n;
    const char *plan = scrubbed(s, raw, sizeof raw,
                                "[{\"value\":0},{\"value\":8,\"update_as\":\"pointer\",\"uid\":3},"
                                "{\"value\":24,\"update_as\":\"value\",\"size\":4},"
                                "{\"value\":32,\"update_as\":\"workspace\"},"
                                "{\"value\":48,\"update_as\":\"tma_desc\"}]");
    assert_non_null(plan);
    assert_memory_equal(block(s, plan, &n), want, sizeof want);
    assert_int_equal(n, sizeof want);
    assert_non_null(strstr(plan, "{\"GPUProfile\":{\"deviceName\":\"T\"},\"engine\":"));
    assert_non_null(strstr(plan, "\"}}]}},\"z\":1}"));
}

static void slots_outside_of_the_block_change_nothing(void **state)
{
    struct session *s = *state;
    unsigned char raw[16];
    memset(raw, 0x22, sizeof raw);
    size_t n;
    const char *plan = scrubbed(
        s, raw, sizeof raw,
        "[{\"value\":-8,\"update_as\":\"pointer\"},{\"value\":9,\"update_as\":\"pointer\"},"
        "{\"value\":16,\"update_as\":\"pointer\"},{\"value\":9223372036854775807,"
        "\"update_as\":\"value\",\"size\":9223372036854775807},"
        "{\"value\":0,\"update_as\":\"value\",\"size\":-1},{\"update_as\":7},7,null]");
    assert_non_null(plan);
    assert_memory_equal(block(s, plan, &n), raw, sizeof raw);
}

static void words_into_this_process_are_cleared(void **state)
{
    struct session *s = *state;
    uint64_t words[6] = {7, 0, (uint64_t)(uintptr_t)&strlen, 0x1234, 9, 10}, want[6];
    void (*here)(void **) = words_into_this_process_are_cleared;
    memcpy(&words[1], &here, sizeof here);
    memcpy(want, words, sizeof words);
    want[1] = want[2] = 0;
    size_t n;
    const char *plan = scrubbed(s, words, sizeof words, "[]");
    assert_non_null(plan);
    assert_memory_equal(block(s, plan, &n), want, sizeof want);
    /* across two words, on a boundary of four bytes */
    unsigned char raw[24] = {0};
    memcpy(raw + 4, &here, sizeof here);
    plan = scrubbed(s, raw, sizeof raw, "[]");
    memset(raw, 0, sizeof raw);
    assert_memory_equal(block(s, plan, &n), raw, sizeof raw);
}

static void plans_that_are_not_understood_are_refused(void **state)
{
    struct session *s = *state;
    static const char *const texts[] = {
        "",
        "{",
        "[]",
        "{}",
        "{\"GPUProfile\":7}",
        "{\"GPUProfile\" : {}}",
        "{\"GPUProfile\":{\"deviceName\":\"a } brace\"}}",
        "{\"GPUProfile\":{},\"engine\":{\"payload\":{\"kernels\":[{\"kernelParams\":{\"rawData\":"
        "\"A\"}}]}}}",
        "{\"GPUProfile\":{},\"engine\":{\"payload\":{\"kernels\":[{\"kernelParams\":{\"rawData\":"
        "\"A\\u0041==\"}}]}}}"};
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        char *text = arena_strdup(s->arena, texts[i]);
        if (scrub_plan(s->arena, text, strlen(text), "{}")) fail_msg("accepted: %s", texts[i]);
    }
}

static void bytes_that_differ_between_the_worlds_are_cleared(void **state)
{
    struct session *s = *state;
    unsigned char one[32], other[32], *got;
    memset(one, 0x33, sizeof one);
    memcpy(other, one, sizeof one);
    other[5] = 0x34;
    other[31] = 0;
    size_t n;
    char *mine = plan_of(s, one, sizeof one, "[]");
    assert_true(scrub_compare(s->arena, mine, plan_of(s, other, sizeof other, "[]")));
    one[5] = one[31] = 0;
    got = block(s, mine, &n);
    assert_memory_equal(got, one, sizeof one);
    /* whoever came first: the same */
    memset(one, 0x33, sizeof one);
    mine = plan_of(s, other, sizeof other, "[]");
    assert_true(scrub_compare(s->arena, mine, plan_of(s, one, sizeof one, "[]")));
    assert_memory_equal(block(s, mine, &n), got, sizeof one);
}

static void plans_that_differ_elsewhere_are_no_pair(void **state)
{
    struct session *s = *state;
    unsigned char raw[32] = {0};
    char *mine = plan_of(s, raw, sizeof raw, "[]");
    char *after = arena_strdup(s->arena, mine), *before = arena_strdup(s->arena, mine);
    after[strlen(after) - 2] = '2';
    *strstr(before, "\"k\"") = ' ';
    assert_false(scrub_compare(s->arena, mine, after));
    assert_false(scrub_compare(s->arena, mine, before));
    assert_false(scrub_compare(s->arena, mine, plan_of(s, raw, 16, "[]")));
    assert_false(scrub_compare(s->arena, mine, ""));
}

/* ---- reasons, words ------------------------------------------------------------------------- */

static void reasons_are_told_apart_by_engine(void **state)
{
    struct session *s = *state;
    json_t *refusals = json_array(), *r;
    reasons_from_text(s->arena,
                      "a head\n{\"engineId\":-1,\"smVersion\":900}\n"
                      "  Warning: CUDNN_STATUS_BAD_PARAM; Reason: of a place holder\n"
                      "{\"engineId\":4,\"smVersion\":900}\n"
                      "        Warning: CUDNN_STATUS_NOT_SUPPORTED_LAYOUT; Reason: !is_NHWC \r\n"
                      "        Warning: CUDNN_STATUS_NOT_SUPPORTED; Reason: check_for_support()\n"
                      "        Warning: CUDNN_STATUS_NOT_SUPPORTED; Reason: the second at: a != b\n"
                      "{\"engineId\":9}\n"
                      "  Warning: CUDNN_STATUS_NOT_SUPPORTED_ARCH_MISMATCH; Reason: another GPU\n"
                      "{\"engineId\":4}\n  Warning: CUDNN_STATUS_X; Reason: said again",
                      refusals);
    assert_int_equal(json_array_size(refusals), 2);
    r = json_array_get(refusals, 0);
    assert_int_equal(json_integer_value(json_object_get(r, "engine")), 4);
    assert_string_equal(json_string_value(json_object_get(r, "status")), "NOT_SUPPORTED_LAYOUT");
    assert_false(json_is_true(json_object_get(r, "architecture")));
    assert_int_equal(json_array_size(json_object_get(r, "reasons")), 2);
    assert_string_equal(json_string_value(json_array_get(json_object_get(r, "reasons"), 0)),
                        "!is_NHWC");
    r = json_array_get(refusals, 1);
    assert_int_equal(json_integer_value(json_object_get(r, "engine")), 9);
    assert_true(json_is_true(json_object_get(r, "architecture")));
    json_decref(refusals);
}

static void words_are_known_or_said_to_be_unknown(void **state)
{
    struct session *s = *state;
    bool ok;
    assert_int_equal(word_value(DESC_POINTWISE_MODE, "RELU_FWD", &ok), CUDNN_POINTWISE_RELU_FWD);
    assert_true(ok);
    assert_int_equal(word_value(DESC_DATA_TYPE, "BFLOAT16", &ok), CUDNN_DATA_BFLOAT16);
    assert_true(ok);
    word_value(DESC_POINTWISE_MODE, "RELU_SIDEWAYS", &ok);
    assert_false(ok);
    word_value(DESC_INT64, "7", &ok);
    assert_false(ok);
    assert_string_equal(numerical_word(s->arena, CUDNN_NUMERICAL_NOTE_TENSOR_CORE), "TENSOR_CORE");
    assert_string_equal(numerical_word(s->arena, 4711), "4711");
    assert_string_equal(behavior_word(s->arena, CUDNN_BEHAVIOR_NOTE_RUNTIME_COMPILATION),
                        "RUNTIME_COMPILATION");
}

/* ---- the search ----------------------------------------------------------------------------- */

/* A new folder of this test's. */
static const char *folder(struct session *s)
{
    char *path = arena_strdup(s->arena, "/tmp/fgc-test-gpu-XXXXXX");
    assert_non_null(mkdtemp(path));
    return path;
}

static const char *put_file(struct session *s, const char *dir, const char *name, const char *text)
{
    const char *path = arena_printf(s->arena, "%s/%s", dir, name);
    assert_true(file_write(s, path, text, strlen(text)));
    assert_int_equal(chmod(path, 0755), 0);
    return path;
}

static const char *path_at(const json_t *list, size_t i)
{
    return json_string_value(json_object_get(json_array_get(list, i), "path"));
}

static void what_is_named_is_all_that_is_tried(void **state)
{
    struct session *s = *state;
    const char *dir = folder(s), *file = put_file(s, dir, "libcudnn.so.9", "x");
    struct gpu_search by_folder = {.cudnn = dir}, by_file = {.cudnn = file}, none = {0};
    json_t *list = search_cudnn(s, &by_folder, true);
    assert_int_equal(json_array_size(list), 1);
    assert_string_equal(path_at(list, 0), file);
    json_decref(list);
    list = search_cudnn(s, &by_file, true);
    assert_int_equal(json_array_size(list), 1);
    assert_string_equal(path_at(list, 0), file);
    json_decref(list);
    setenv("FGC_CUDNN", dir, 1);
    list = search_cudnn(s, &none, true);
    unsetenv("FGC_CUDNN");
    assert_int_equal(json_array_size(list), 1);
    assert_string_equal(path_at(list, 0), file);
    json_decref(list);
    unlink(file);
    rmdir(dir);
}

static void odd_library_paths_are_passed_over_and_relative_ones_made_absolute(void **state)
{
    struct session *s = *state;
    const char *dir = folder(s), *sub = arena_printf(s->arena, "%s/with blanks", dir);
    assert_int_equal(mkdir(sub, 0755), 0);
    const char *file = put_file(s, sub, "libcudnn.so.9", "x");
    char back[PATH_MAX];
    assert_non_null(getcwd(back, sizeof back));
    assert_int_equal(chdir(dir), 0);
    struct gpu_search o = {0};
    setenv("LD_LIBRARY_PATH", arena_printf(s->arena, ":%s:/nowhere::with blanks:", file), 1);
    json_t *list = search_cudnn(s, &o, false);
    unsetenv("LD_LIBRARY_PATH");
    assert_int_equal(chdir(back), 0);
    assert_string_equal(path_at(list, 0), file);
    assert_string_equal(path_at(list, 1), "libcudnn.so.9");
    json_decref(list);
    unlink(file);
    rmdir(sub);
    rmdir(dir);
}

/* ---- helpers that go wrong ------------------------------------------------------------------ */

/* What is said when the program that builds plans is this script. NULL: it answered. */
static const char *with_helper(struct session *s, const char *script)
{
    struct gpu_search o = {.no_python = true};
    json_t *request = json_pack("{s:s, s:o}", "what", "probe", "padding",
                                json_sprintf("%0300000d", 0)); /* more than a pipe holds */
    const char *dir = folder(s), *file = script ? put_file(s, dir, "fgc-build", script) : NULL;
    setenv("FGC_LIBEXEC", dir, 1);
    json_t *reply = helper_ask(s, &o, request, 1);
    unsetenv("FGC_LIBEXEC");
    if (file) unlink(file);
    rmdir(dir);
    json_decref(request);
    const char *text = said(s);
    assert_int_equal(reply == NULL, *text != '\0');
    json_decref(reply);
    return reply ? NULL : text;
}

static void helpers_that_go_wrong_are_told(void **state)
{
    struct session *s = *state;
    static const struct {
        const char *script, *want;
    } cases[] = {
        {NULL, "is not there"},
        {"#!/bin/sh\nkill -SEGV $$\n", "ended by signal 11"},
        {"#!/bin/sh\nexit 3\n", "exit status 3"},
        {"#!/bin/sh\nsleep 60\n", "was not done after 1 s"},
        {"#!/bin/sh\nsleep 60 & exit 0\n", "was not done after 1 s"},
        {"#!/bin/sh\ncat >/dev/null; echo nonsense\n", "gave no answer"},
        {"#!/bin/sh\ncat >/dev/null; echo '[]'\n", "gave no answer"},
        {"#!/bin/sh\ncat >/dev/null; echo '{\"a\":1,\"a\":1}'\n", "gave no answer"},
        {"#!/bin/sh\necho 'out of luck' >&2; exit 70\n", "it said: out of luck"},
        {"no program at all\n", "exit status 127"},
        {"#!/bin/sh\necho '{\"found\":{}}'\n", NULL}, /* before it has read anything */
        {"#!/bin/sh\ncat >/dev/null; echo '{\"found\":{}}'\n", NULL},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const char *got = with_helper(s, cases[i].script);
        if ((got == NULL) != (cases[i].want == NULL) ||
            (got && (!strstr(got, cases[i].want) || !strstr(got, "[helper]"))))
            fail_msg("%s: %s", cases[i].script, got ? got : "answered");
    }
}

int main(void)
{
    static const char *const ours[] = {"FGC_CUDNN", "FGC_CUDA", "FGC_LIBEXEC", "LD_LIBRARY_PATH"};
    for (size_t i = 0; i < COUNT_OF(ours); i++) unsetenv(ours[i]);
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_description_without_a_member_is_refused),
        TEST(values_out_of_range_or_of_another_type_are_refused),
        TEST(what_is_no_description_is_refused),
        TEST(a_normalised_description_is_its_own_normal_form),
        TEST(a_target_that_is_not_there_is_named),
        TEST(slots_rewritten_at_launch_are_cleared_and_nothing_else),
        TEST(slots_outside_of_the_block_change_nothing),
        TEST(words_into_this_process_are_cleared),
        TEST(plans_that_are_not_understood_are_refused),
        TEST(bytes_that_differ_between_the_worlds_are_cleared),
        TEST(plans_that_differ_elsewhere_are_no_pair),
        TEST(reasons_are_told_apart_by_engine),
        TEST(words_are_known_or_said_to_be_unknown),
        TEST(what_is_named_is_all_that_is_tried),
        TEST(odd_library_paths_are_passed_over_and_relative_ones_made_absolute),
        TEST(helpers_that_go_wrong_are_told),
    };
#undef TEST
    return cmocka_run_group_tests(tests, NULL, NULL);
}
