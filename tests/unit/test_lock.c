/* test_lock: the lock's text, written, read back, and harmed.
 *
 * Invariant: what was written is read as it was; anything else is refused at its line. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdlib.h>
#include <unistd.h>

#include "tune/tune.h"

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

static struct tune_lock two_targets(struct session *s)
{
    struct tune_lock l = {0};
    for (int i = 0; i < 2; i++) {
        struct lock_target t = {.name = i ? "sm80-108" : "sm90-132",
                                .cudnn = 91900,
                                .nvrtc = i ? "" : "13.0",
                                .driver = 13000};
        sha256_hex(t.name, 8, t.description);
        for (int k = 0; k < 3; k++) {
            struct lock_plan p = {.graph = "g", .variant = k ? "N=4,S=512" : "", .step = k == 2};
            sha256_hex("region", 6, p.region);
            sha256_hex("tree", 4, p.tree);
            sha256_hex("plan", 4, p.pick.plan);
            p.pick.plan_bytes = 4;
            p.pick.engine = 41 + k;
            for (int m = 0; m < k; m++)
                vec_push(s->arena, &p.pick.knobs, ((struct knob){24 + m, -m}));
            vec_push(s->arena, &p.pick.numerical, "TENSOR_CORE");
            if (k) vec_push(s->arena, &p.pick.behavior, "RUNTIME_COMPILATION");
            p.pick.workspace_bytes = 1 << k;
            p.figures = (struct tune_figures){52.125, 51.875, 52.5, k ? 60 : 0};
            vec_push(s->arena, &t.plans, p);
        }
        vec_push(s->arena, &l.targets, t);
    }
    return l;
}

static char *printed(struct session *s, const struct tune_lock *l)
{
    struct buf b = {0};
    lock_print(l, &b);
    char *text = arena_strndup(s->arena, b.at, b.n);
    buf_fini(&b);
    return text;
}

static bool read_text(struct session *s, const char *text, struct tune_lock *out)
{
    const char *top = getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp";
    char *path = arena_printf(s->arena, "%s/lock-XXXXXX", top);
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
    bool ok = lock_read(s, path, out);
    unlink(path);
    return ok;
}

static void test_round_trip(void **state)
{
    struct session *s = *state;
    struct tune_lock l = two_targets(s), again;
    char *text = printed(s, &l);
    assert_true(read_text(s, text, &again));
    assert_string_equal(text, printed(s, &again));
    assert_int_equal(again.targets.n, 2);
    struct lock_target *t = lock_target_find(&again, l.targets.at[1].description);
    assert_ptr_equal(t, &again.targets.at[1]);
    struct lock_plan *p = lock_plan_find(t, "g", "N=4,S=512", 1);
    assert_non_null(p);
    assert_int_equal(p->pick.engine, 43);
    assert_int_equal(p->pick.knobs.at[1].value, -1);
    assert_null(lock_plan_find(t, "g", "", 1));
    assert_null(lock_plan_find(NULL, "g", "", 0));
    /* comments, blank lines and blanks go */
    assert_true(read_text(s, "# a comment\n\nfg-lock   1 \n", &again));
    assert_int_equal(again.targets.n, 0);
}

/* Every line left away, doubled, or with a word more is an error at some line of the file. */
static void test_strict(void **state)
{
    struct session *s = *state;
    struct tune_lock l = two_targets(s), out;
    const char *text = printed(s, &l), *line = text;
    for (; *line; line = strchr(line, '\n') + 1) {
        int n = (int)(strchr(line, '\n') - line), before = (int)(line - text);
        if (*line == '#' || n == 0) continue;
        char *changed[] = {
            arena_printf(s->arena, "%.*s%s", before, text, line + n + 1),
            arena_printf(s->arena, "%.*s%.*s\n%s", before, text, n, line, line),
            arena_printf(s->arena, "%.*s%.*s x=y%s", before, text, n, line, line + n),
        };
        for (size_t k = 0; k < COUNT_OF(changed); k++) {
            /* a note may be any word, and the last target's header may stand for more targets */
            if (k == 2 && (!strncmp(line, "  numerical", 11) || !strncmp(line, "  behavior", 10)))
                continue;
            if (k == 0 && !strncmp(line, "target sm80", 11))
                continue; /* twice the same plan: below */
            s->diags.n = s->n_errors = 0;
            if (read_text(s, changed[k], &out)) fail_msg("case %zu of '%.*s' is taken", k, n, line);
            assert_int_equal(s->diags.n, 1);
            assert_int_equal(s->diags.at[0]->id, DIAG_lock);
            assert_true(s->diags.at[0]->span.end != 0);
        }
    }
    s->diags.n = s->n_errors = 0;
}

/* Cut anywhere it is refused, or it is a lock of fewer plans. */
static void test_cut(void **state)
{
    struct session *s = *state;
    struct tune_lock l = two_targets(s), out;
    const char *text = printed(s, &l);
    for (size_t n = 0; n < strlen(text); n += 3) {
        s->diags.n = s->n_errors = 0;
        s->diags_full = false;
        if (!read_text(s, arena_strndup(s->arena, text, n), &out)) continue;
        assert_true(strncmp(text, "fg-lock 1\n", 10) == 0 && n >= 9);
    }
    s->diags.n = s->n_errors = 0;
    assert_false(read_text(s, "fg-lock 2\n", &out));
    assert_false(read_text(s, "", &out));
    assert_false(read_text(s, "PK\x03\x04 something else\n", &out));
    s->diags.n = s->n_errors = 0;
}

static void test_barred(void **state)
{
    struct session *s = *state;
    struct tune_lock l = two_targets(s);
    struct lock_plan p = l.targets.at[0].plans.at[0];
    struct engine_bars none = {0}, exact = {.exact_f32 = true}, same = {.deterministic = true},
                       blas = {.no_cublaslt = true};
    assert_null(lock_barred(s->arena, &p, -1, &none));
    assert_null(lock_barred(s->arena, &p, 1, &none));
    assert_non_null(strstr(lock_barred(s->arena, &p, 0, &none), "1 bytes of workspace"));
    assert_non_null(strstr(lock_barred(s->arena, &p, -1, &exact), "TF32"));
    assert_null(lock_barred(s->arena, &p, -1, &same));
    vec_push(s->arena, &p.pick.numerical, "NONDETERMINISTIC");
    assert_non_null(strstr(lock_barred(s->arena, &p, -1, &same), "run to run"));
    assert_null(lock_barred(s->arena, &p, -1, &blas));
    vec_push(s->arena, &p.pick.behavior, "CUBLASLT_DEPENDENCY");
    assert_non_null(strstr(lock_barred(s->arena, &p, -1, &blas), "cuBLASLt"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_round_trip, setup, teardown),
        cmocka_unit_test_setup_teardown(test_strict, setup, teardown),
        cmocka_unit_test_setup_teardown(test_cut, setup, teardown),
        cmocka_unit_test_setup_teardown(test_barred, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
