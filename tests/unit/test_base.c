/* test_base: arenas, vectors, buffers, numbers, maps, sources, diagnostics, files and hashes.
 *
 * Invariant: what is expected comes from the interface's words, from RFC 4648 and FIPS 180-4, or
 * from the C library's own reading of a number. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base.h"

static void arena_gives_zeroed_aligned_memory(void **state)
{
    (void)state;
    struct arena *a = arena_new();
    for (size_t n = 0; n < 3000; n += 7) {
        unsigned char *p = arena_alloc(a, n);
        assert_int_equal((uintptr_t)p % 16, 0);
        for (size_t i = 0; i < n; i++) assert_int_equal(p[i], 0);
        memset(p, 0xff, n);
    }
    char *big = arena_alloc(a, 1 << 20); /* larger than a block */
    assert_int_equal(big[(1 << 20) - 1], 0);
    assert_string_equal(arena_printf(a, "%d-%s", 7, "x"), "7-x");
    assert_string_equal(arena_strndup(a, "abcdef", 3), "abc");
    arena_free(a);
}

static void arena_rewinds_over_blocks(void **state)
{
    (void)state;
    struct arena *a = arena_new();
    char *kept = arena_strdup(a, "kept");
    struct arena_mark m = arena_mark(a);
    char *first = arena_alloc(a, 100);
    memset(first, 1, 100);
    for (int i = 0; i < 10; i++) memset(arena_alloc(a, 50000), 1, 50000);
    arena_rewind(a, m);
    char *again = arena_alloc(a, 100);
    assert_ptr_equal(again, first);
    for (int i = 0; i < 100; i++) assert_int_equal(again[i], 0);
    assert_string_equal(kept, "kept");
    arena_free(a);
}

static void vectors_grow(void **state)
{
    (void)state;
    struct arena *a = arena_new();
    VEC(int) v = {0};
    for (int i = 0; i < 10000; i++) vec_push(a, &v, i * i);
    assert_int_equal(v.n, 10000);
    for (int i = 0; i < 10000; i++) assert_int_equal(v.at[i], i * i);
    arena_free(a);
}

static const char *real_text(double x, struct buf *b)
{
    b->n = 0;
    buf_real(b, x);
    return b->at;
}

static void reals_print_shortest_and_read_back(void **state)
{
    (void)state;
    struct buf b = {0};
    assert_string_equal(real_text(1, &b), "1.0");
    assert_string_equal(real_text(-0.5, &b), "-0.5");
    assert_string_equal(real_text(0.1, &b), "0.1");
    assert_string_equal(real_text(INFINITY, &b), "inf");
    assert_string_equal(real_text(-INFINITY, &b), "-inf");
    assert_string_equal(real_text((double)NAN, &b), "nan");
    assert_string_equal(real_text(5e-324, &b), "5e-324");
    uint64_t bits = 0x9e3779b97f4a7c15u;
    for (int i = 0; i < 20000; i++) {
        double x, back;
        bits = bits * 6364136223846793005u + 1442695040888963407u;
        memcpy(&x, &bits, sizeof x);
        if (!isfinite(x)) continue;
        const char *text = real_text(x, &b);
        assert_true(real_parse(text, &back));
        assert_memory_equal(&x, &back, sizeof x);
        assert_true(strpbrk(text, ".e") != NULL);
    }
    buf_fini(&b);
}

static void reals_that_do_not_fit_are_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {"1e999", "-1e999", "1e-400", "0.0001e-350", "",
                                      "x",     "1,5",    "1.5 ",   "1.5x"};
    static const char *const good[] = {"0",          "0.0",   "-0.0",   "0e999",
                                       "0.000e-999", "1e308", "5e-324", "1.5"};
    double x;
    for (size_t i = 0; i < COUNT_OF(bad); i++) assert_false(real_parse(bad[i], &x));
    for (size_t i = 0; i < COUNT_OF(good); i++) {
        assert_true(real_parse(good[i], &x));
        assert_true(x == strtod(good[i], NULL));
    }
}

static void integers_are_checked(void **state)
{
    (void)state;
    int64_t r;
    assert_true(i64_add(INT64_MAX - 1, 1, &r) && r == INT64_MAX);
    assert_false(i64_add(INT64_MAX, 1, &r));
    assert_false(i64_sub(INT64_MIN, 1, &r));
    assert_true(i64_mul(INT64_C(1) << 31, INT64_C(1) << 31, &r) && r == INT64_C(1) << 62);
    assert_false(i64_mul(INT64_C(1) << 32, INT64_C(1) << 31, &r));
}

static void maps_keep_order(void **state)
{
    (void)state;
    struct arena *a = arena_new();
    struct map *m = map_new(a);
    assert_null(map_get(m, "k0"));
    for (size_t i = 0; i < 5000; i++)
        assert_true(map_put(m, arena_printf(a, "k%zu", i), (void *)(i + 1)));
    assert_false(map_put(m, "k17", (void *)(size_t)99999));
    assert_int_equal(map_count(m), 5000);
    for (size_t i = 0; i < 5000; i++) {
        struct map_entry e = map_at(m, i);
        char key[16];
        snprintf(key, sizeof key, "k%zu", i);
        assert_string_equal(e.key, key);
        assert_int_equal((size_t)map_get(m, key), i == 17 ? 99999 : i + 1);
    }
    assert_null(map_get(m, "k5000"));
    arena_free(a);
}

static void equal_strings_are_one(void **state)
{
    (void)state;
    struct session *s = session_new();
    char long_one[200];
    memset(long_one, 'x', sizeof long_one);
    assert_ptr_equal(intern(s, "abcd", 3), intern_z(s, "abc"));
    assert_ptr_not_equal(intern_z(s, "abc"), intern_z(s, "abd"));
    for (size_t n = 60; n < 70; n++) {
        const char *once = intern(s, long_one, n);
        assert_int_equal(strlen(once), n);
        assert_ptr_equal(once, intern(s, long_one, n));
    }
    session_free(s);
}

static void places_are_the_same_whatever_ends_lines(void **state)
{
    (void)state;
    static const char *const texts[] = {"a\nbc\n\nd", "a\r\nbc\r\n\r\nd", "a\rbc\r\rd",
                                        "a\nbc\r\n\rd"};
    struct session *s = session_new();
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        struct source *src = source_add(s, "x", texts[i], strlen(texts[i]));
        assert_int_equal(src->n_lines, 4);
        uint32_t c = src->base + (uint32_t)(strchr(texts[i], 'c') - texts[i]);
        uint32_t d = src->base + (uint32_t)(strchr(texts[i], 'd') - texts[i]);
        struct place p = source_place(s, c), q = source_place(s, d),
                     end = source_place(s, src->base + (uint32_t)src->len);
        assert_ptr_equal(p.source, src);
        assert_int_equal(p.line, 2);
        assert_int_equal(p.column, 2);
        assert_int_equal(q.line, 4);
        assert_int_equal(q.column, 1);
        assert_int_equal(end.line, 4);
        assert_int_equal(end.column, 2);
    }
    assert_null(source_place(s, 0).source);
    session_free(s);
}

/* What is printed for the session's diagnostics so far. */
static char *flushed(struct session *s)
{
    char *text = NULL;
    size_t n = 0;
    FILE *f = open_memstream(&text, &n);
    diag_flush(s, f);
    fclose(f);
    return text;
}

static struct span span_of(const struct source *src, const char *word)
{
    uint32_t at = src->base + (uint32_t)(strstr(src->text, word) - src->text);
    return (struct span){at, at + (uint32_t)strlen(word)};
}

static void carets_stand_under_what_they_mean(void **state)
{
    (void)state;
    struct session *s = session_new();
    const char *lines = "\tone \xc3\xa9\xe2\x82\xac two\nthree\n four\n";
    struct source *src = source_add(s, "m.fg", lines, strlen(lines));
    diag(s, DIAG_syntax, span_of(src, "three"), "later");
    struct diag *d = diag(s, DIAG_syntax, span_of(src, "two"), "what %d", 7);
    diag_note(s, d, span_of(src, "\xc3\xa9\xe2\x82\xac"), "a note");
    diag_note(s, d, NO_SPAN, "no place");
    diag_hint(s, d, "a hint");
    diag(s, DIAG_file, NO_SPAN, "of no place");
    struct span over = {span_of(src, "three").begin + 2, span_of(src, "four").end};
    diag(s, DIAG_nesting, over, "over lines");
    char *text = flushed(s);
    assert_string_equal(text, "m.fg:1:9: error: what 7 [syntax]\n"
                              "    1 |         one \xc3\xa9\xe2\x82\xac two\n"
                              "      |                ^~~\n"
                              "m.fg:1:6: note: a note\n"
                              "    1 |         one \xc3\xa9\xe2\x82\xac two\n"
                              "      |             ^~\n"
                              "  note: no place\n"
                              "  hint: a hint\n"
                              "m.fg:2:1: error: later [syntax]\n"
                              "    2 | three\n"
                              "      | ^~~~~\n"
                              "m.fg:2:3: error: over lines [nesting]\n"
                              "    2 | three\n"
                              "      |   ^~~\n"
                              "fgc: error: of no place [file]\n");
    free(text);
    text = flushed(s); /* forgotten, but the exit status stays */
    assert_int_equal(text ? strlen(text) : 0, 0);
    free(text);
    assert_int_equal(session_exit_status(s), 1);
    session_free(s);
}

static void errors_are_counted_and_cut_off(void **state)
{
    (void)state;
    struct session *s = session_new();
    char lines[100];
    memset(lines, '\n', sizeof lines);
    struct source *src = source_add(s, "m.fg", lines, sizeof lines);
    struct span at = {src->base, src->base + 1};
    assert_int_equal(session_exit_status(s), 0);
    diag(s, DIAG_unused, at, "a warning");
    assert_int_equal(session_exit_status(s), 0);
    diag(s, DIAG_syntax, at, "first");
    diag_note(s, diag(s, DIAG_syntax, at, "at one offset with the first"), at, "dropped with it");
    assert_int_equal(s->n_errors, 1);
    for (uint32_t i = 1; i < 30; i++)
        diag(s, DIAG_syntax, (struct span){at.begin + i, at.end + i}, "error %u", (unsigned)i);
    assert_int_equal(s->n_errors, 30); /* counted, but no more than 20 are kept */
    assert_true(s->diags_full);
    char *text = flushed(s);
    assert_null(strstr(text, "at one offset"));
    assert_non_null(strstr(text, "error 19"));
    assert_null(strstr(text, "error 20"));
    assert_non_null(strstr(text, "more than 20 errors"));
    free(text);
    session_free(s);
}

static void the_gravest_class_decides(void **state)
{
    (void)state;
    struct session *s = session_new();
    diag(s, DIAG_file, NO_SPAN, "world");
    assert_int_equal(session_exit_status(s), 3);
    diag(s, DIAG_usage, NO_SPAN, "usage");
    assert_int_equal(session_exit_status(s), 2);
    diag(s, DIAG_syntax, NO_SPAN, "input");
    assert_int_equal(session_exit_status(s), 1);
    session_free(s);
    s = session_new();
    s->werror = true;
    diag(s, DIAG_unused, NO_SPAN, "a warning");
    assert_int_equal(session_exit_status(s), 1);
    session_free(s);
}

static void near_names_are_found(void **state)
{
    (void)state;
    static const char *const names[] = {"relu", "gelu", "sigmoid", "matmul", "max"};
    size_t n = COUNT_OF(names);
    assert_string_equal(closest_name("rleu", names, n), "relu");
    assert_string_equal(closest_name("sigmiod", names, n), "sigmoid");
    assert_string_equal(closest_name("matmull", names, n), "matmul");
    assert_null(closest_name("convolution", names, n));
    assert_null(closest_name("x", names, n));
}

static void files_are_written_whole_or_not_at_all(void **state)
{
    (void)state;
    char folder[] = "/tmp/fgc-base-XXXXXX", path[64], read_only[64];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/x", folder);
    snprintf(read_only, sizeof read_only, "%s/none/x", folder);
    struct session *s = session_new();
    char *bytes;
    size_t n;
    assert_true(file_write(s, path, "one\0two", 7));
    assert_true(file_write(s, path, "three", 5));
    assert_true(file_read(s, path, &bytes, &n));
    assert_int_equal(n, 5);
    assert_memory_equal(bytes, "three", 6);
    assert_int_equal(chmod(path, 0640), 0);
    assert_true(file_write(s, path, "", 0));
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0640); /* kept */
    assert_int_equal(st.st_size, 0);
    assert_int_equal(session_exit_status(s), 0);
    assert_false(file_write(s, read_only, "x", 1));
    assert_false(file_read(s, folder, &bytes, &n)); /* a folder */
    assert_false(file_read(s, read_only, &bytes, &n));
    assert_int_equal(session_exit_status(s), 3);
    assert_true(file_write(s, "/dev/null", "x", 1)); /* not renamed over */
    assert_int_equal(stat("/dev/null", &st), 0);
    assert_true(S_ISCHR(st.st_mode));
    session_free(s);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(folder), 0); /* so nothing else was left behind */
}

/* FIPS 180-4's examples. */
static void sha256_is_that_of_the_standard(void **state)
{
    (void)state;
    char hex[65];
    sha256_hex("", 0, hex);
    assert_string_equal(hex, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    sha256_hex("abc", 3, hex);
    assert_string_equal(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

/* RFC 4648, section 10, and what it calls malformed. */
static void base64_is_that_of_the_rfc(void **state)
{
    (void)state;
    static const char *const pairs[][2] = {{"", ""},
                                           {"f", "Zg=="},
                                           {"fo", "Zm8="},
                                           {"foo", "Zm9v"},
                                           {"foob", "Zm9vYg=="},
                                           {"fooba", "Zm9vYmE="},
                                           {"foobar", "Zm9vYmFy"}};
    static const char *const bad[] = {
        "Z", "Zg", "Zg=", "Zh==", "Zm9=", "Z===", "====", "Zg==Zg==", "Zm 9", "Zm9v\n", "Zm9_"};
    struct arena *a = arena_new();
    unsigned char *bytes;
    size_t n;
    for (size_t i = 0; i < COUNT_OF(pairs); i++) {
        assert_string_equal(base64_encode(a, pairs[i][0], strlen(pairs[i][0])), pairs[i][1]);
        assert_true(base64_decode(a, pairs[i][1], strlen(pairs[i][1]), &bytes, &n));
        assert_int_equal(n, strlen(pairs[i][0]));
        assert_memory_equal(bytes, pairs[i][0], n);
    }
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        assert_false(base64_decode(a, bad[i], strlen(bad[i]), &bytes, &n));
    unsigned char all[256];
    for (int i = 0; i < 256; i++) all[i] = (unsigned char)i;
    char *text = base64_encode(a, all, sizeof all);
    assert_true(base64_decode(a, text, strlen(text), &bytes, &n));
    assert_int_equal(n, sizeof all);
    assert_memory_equal(bytes, all, n);
    arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arena_gives_zeroed_aligned_memory),
        cmocka_unit_test(arena_rewinds_over_blocks),
        cmocka_unit_test(vectors_grow),
        cmocka_unit_test(reals_print_shortest_and_read_back),
        cmocka_unit_test(reals_that_do_not_fit_are_refused),
        cmocka_unit_test(integers_are_checked),
        cmocka_unit_test(maps_keep_order),
        cmocka_unit_test(equal_strings_are_one),
        cmocka_unit_test(places_are_the_same_whatever_ends_lines),
        cmocka_unit_test(carets_stand_under_what_they_mean),
        cmocka_unit_test(errors_are_counted_and_cut_off),
        cmocka_unit_test(the_gravest_class_decides),
        cmocka_unit_test(near_names_are_found),
        cmocka_unit_test(files_are_written_whole_or_not_at_all),
        cmocka_unit_test(sha256_is_that_of_the_standard),
        cmocka_unit_test(base64_is_that_of_the_rfc),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
