/* test_temporaries: what a plan's steps hand on is believed only when it cannot go wrong.
 *
 * Each test changes one thing of a sound variant; without the change, everything passes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "plan/internal.h"

enum { N_STEPS = 4 };

struct fixture {
    struct session *s;
    struct plan_variant v;
};

/* A step whose print of its graph has these uids. */
static struct plan_step step_with(struct arena *a, const int64_t *uids, size_t n, int64_t workspace)
{
    struct plan_step step = {.engine = 7, .workspace_bytes = workspace, .chosen_by = "heuristic A rank 0"};
    step.plan = "{\"tensors\":[";
    for (size_t i = 0; i < n; i++)
        step.plan = arena_printf(a, "%s%s{\"name\":\"%" PRId64 "\",\"dataType\":\"FLOAT\"}",
                                 step.plan, i ? "," : "", uids[i]);
    step.plan = arena_printf(a, "%s]}", step.plan);
    step.plan_bytes = strlen(step.plan);
    return step;
}

static void hand_on(struct fixture *f, int64_t uid, int64_t elements, int64_t offset,
                    int64_t made_by, const int64_t *readers, size_t n)
{
    struct plan_temporary t = {.name = "", .uid = uid, .type = DT_f32, .rank = 1, .dim = {elements},
                               .stride = {1}, .offset = offset, .made_by = made_by};
    for (size_t i = 0; i < n; i++) vec_push(f->s->arena, &t.read_by, readers[i]);
    vec_push(f->s->arena, &f->v.temporaries, t);
}

/* Step 0 makes 10 of x, 1 makes 11, 2 makes 12 of both, 3 makes y of 12. */
static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    f->s = session_new();
    struct arena *a = f->s->arena;
    struct plan_tensor x = {.name = "x", .uid = 1, .type = DT_f32, .rank = 1, .dim = {8}, .stride = {1}, .align = 16};
    struct plan_tensor y = x;
    y.name = "y";
    y.uid = 2;
    y.role = PLAN_OUTPUT;
    vec_push(a, &f->v.tensors, x);
    vec_push(a, &f->v.tensors, y);
    vec_push(a, &f->v.steps, step_with(a, (int64_t[]){1, 10}, 2, 0));
    vec_push(a, &f->v.steps, step_with(a, (int64_t[]){10, 11}, 2, 300));
    vec_push(a, &f->v.steps, step_with(a, (int64_t[]){10, 11, 12}, 3, 700));
    vec_push(a, &f->v.steps, step_with(a, (int64_t[]){12, 2}, 2, 0));
    vec_push(a, &f->v.steps.at[3].constants, ((struct plan_constant){40, "FLOAT", 1.0}));
    hand_on(f, 10, 64, 0, 0, (int64_t[]){1, 2}, 2);
    hand_on(f, 11, 65, 256, 1, (int64_t[]){2}, 1);
    hand_on(f, 12, 8, 768, 2, (int64_t[]){3}, 1);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    session_free(f->s);
    free(f);
    return 0;
}

static void refused(struct fixture *f, const char *why)
{
    const char *said = temporaries_check(f->s->arena, &f->v);
    assert_non_null(said);
    if (!strstr(said, why)) fail_msg("'%s' has no '%s'", said, why);
}

static void sound(struct fixture *f)
{
    assert_null(temporaries_check(f->s->arena, &f->v));
    assert_null(temporaries_bound(f->s->arena, &f->v));
}

static void what_is_sound_is_taken(void **state)
{
    sound(*state);
    struct fixture *f = *state;
    f->v.temporaries.n = 0;
    f->v.steps.n = 1;
    f->v.steps.at[0] = step_with(f->s->arena, (int64_t[]){1, 2}, 2, 0);
    sound(f);
}

static void the_workspace_holds_temporaries_and_the_hungriest_step(void **state)
{
    struct fixture *f = *state;
    int64_t at;
    assert_int_equal(plan_workspace(&f->v, &at), 1024 + 700);
    assert_int_equal(at, 1024);
    f->v.temporaries.n = 0;
    assert_int_equal(plan_workspace(&f->v, &at), 700);
    assert_int_equal(at, 0);
}

static void bytes_are_shared_only_by_those_that_are_not_needed_at_once(void **state)
{
    struct fixture *f = *state;
    struct plan_temporary *t = f->v.temporaries.at;
    t[2].offset = 0; /* step 2 reads 10 while it makes 12 */
    refused(f, "temporaries 10 and 12 lie in the same memory");
    t[0].read_by.n = 1; /* no longer */
    assert_null(temporaries_check(f->s->arena, &f->v));
    t[1].offset = 0; /* step 1 reads 10 while it makes 11 */
    refused(f, "temporaries 10 and 11 lie in the same memory");
    t[1].offset = 256;
    t[2].offset = 512; /* the 65th element of 11 */
    refused(f, "temporaries 11 and 12 lie in the same memory");
}

static void steps_run_forwards(void **state)
{
    struct fixture *f = *state;
    struct plan_temporary *t = f->v.temporaries.at;
    t[1].made_by = 2;
    refused(f, "temporary 11 is read by step 2, made by step 2 of 4");
    t[1].made_by = 1;
    t[0].read_by.at[1] = 1;
    refused(f, "temporary 10 is read by step 1");
    t[0].read_by.at[1] = N_STEPS;
    refused(f, "temporary 10 is read by step 4");
    t[0].read_by.at[0] = -1;
    refused(f, "temporary 10 is read by step -1");
    t[0].read_by.n = 0;
    refused(f, "nothing reads temporary 10");
}

static void a_uid_is_of_one_value(void **state)
{
    struct fixture *f = *state;
    struct plan_temporary *t = f->v.temporaries.at;
    t[1].uid = 10;
    refused(f, "uid 10 is of two temporaries");
    t[1].uid = 2;
    refused(f, "temporary 2 has the uid of tensor 'y'");
    t[1].uid = 40;
    refused(f, "temporary 40 has the uid of a constant of step 3");
}

static void places_are_multiples_that_can_be_addressed(void **state)
{
    struct fixture *f = *state;
    struct plan_temporary *t = f->v.temporaries.at;
    t[2].offset = 768 + 16;
    refused(f, "temporary 12 lies at 784, no multiple of 256");
    t[2].offset = INT64_MAX / 256 * 256;
    refused(f, "larger than 63 bits");
    t[2].offset = (INT64_MAX - 4096) / 256 * 256;
    f->v.steps.at[0].workspace_bytes = 8192;
    refused(f, "larger than 63 bits");
}

static void plans_bind_what_the_manifest_says(void **state)
{
    struct fixture *f = *state;
    struct arena *a = f->s->arena;
    struct plan_step was = f->v.steps.at[2];
    f->v.steps.at[2] = step_with(a, (int64_t[]){10, 12}, 2, 0);
    assert_string_equal(temporaries_bound(a, &f->v),
                        "the plan of step 2 lacks temporary 11, the manifest says otherwise");
    f->v.steps.at[2] = was;
    f->v.steps.at[3] = step_with(a, (int64_t[]){12, 2, 11}, 3, 0);
    assert_string_equal(temporaries_bound(a, &f->v),
                        "the plan of step 3 has temporary 11, the manifest says otherwise");
    f->v.steps.at[3] = step_with(a, (int64_t[]){12, 2, 112}, 3, 0); /* a digit more is another */
    assert_null(temporaries_bound(a, &f->v));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_is_sound_is_taken, setup, teardown),
        cmocka_unit_test_setup_teardown(the_workspace_holds_temporaries_and_the_hungriest_step,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(bytes_are_shared_only_by_those_that_are_not_needed_at_once,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(steps_run_forwards, setup, teardown),
        cmocka_unit_test_setup_teardown(a_uid_is_of_one_value, setup, teardown),
        cmocka_unit_test_setup_teardown(places_are_multiples_that_can_be_addressed, setup, teardown),
        cmocka_unit_test_setup_teardown(plans_bind_what_the_manifest_says, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
