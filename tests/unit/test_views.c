/* test_views: what a step binds from the middle of a tensor is believed only when it lies inside.
 *
 * Each test changes one thing of a sound variant; without the change, everything passes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka needs the four above */
#include <cmocka.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "plan/internal.h"

struct fixture {
    struct session *s;
    struct plan_variant v;
};

static struct plan_step step_with(struct arena *a, const int64_t *uids, size_t n)
{
    struct plan_step step = {.chosen_by = ""};
    step.plan = "[";
    for (size_t i = 0; i < n; i++)
        step.plan = arena_printf(a, "%s{\"name\":\"%" PRId64 "\",\"dataType\":\"FLOAT\"}",
                                 step.plan, uids[i]);
    step.plan_bytes = strlen(step.plan);
    return step;
}

/* x, 64 bytes, is seen by step 0 from its middle on; what it makes, by step 1 from byte 16 on. */
static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    f->s = session_new();
    struct arena *a = f->s->arena;
    struct plan_tensor x = {.name = "x", .uid = 1, .type = DT_f32, .rank = 1, .dim = {16}, .stride = {1}, .align = 16};
    struct plan_tensor s = {.name = "s", .uid = 3, .role = PLAN_SCALAR, .type = DT_f32};
    struct plan_tensor y = x;
    y.name = "y";
    y.uid = 2;
    y.role = PLAN_OUTPUT;
    vec_push(a, &f->v.tensors, x);
    vec_push(a, &f->v.tensors, s);
    vec_push(a, &f->v.tensors, y);
    struct plan_temporary t = {.name = "", .uid = 10, .type = DT_f32, .rank = 1, .dim = {8}, .stride = {1}};
    vec_push(a, &t.read_by, (int64_t)1);
    vec_push(a, &f->v.temporaries, t);
    vec_push(a, &f->v.steps, step_with(a, (int64_t[]){20, 3, 10}, 3));
    vec_push(a, &f->v.steps, step_with(a, (int64_t[]){20, 30, 2}, 3));
    vec_push(a, &f->v.steps.at[0].views, ((struct plan_view){20, 1, 32, 32}));
    vec_push(a, &f->v.steps.at[1].views, ((struct plan_view){20, 10, 16, 16}));
    vec_push(a, &f->v.steps.at[1].constants, ((struct plan_constant){30, "FLOAT", 1.0}));
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
    if (!said) said = temporaries_bound(f->s->arena, &f->v);
    assert_non_null(said);
    if (!strstr(said, why)) fail_msg("'%s' has no '%s'", said, why);
}

static void what_is_sound_is_taken(void **state)
{
    struct fixture *f = *state;
    assert_null(temporaries_check(f->s->arena, &f->v));
    assert_null(temporaries_bound(f->s->arena, &f->v));
    assert_true(plan_step_uses(&f->v.steps.at[0], 1)); /* by a view alone */
    assert_false(plan_step_binds(&f->v.steps.at[0], 1));
    assert_false(plan_step_uses(&f->v.steps.at[1], 1));
}

static void a_view_ends_inside(void **state)
{
    struct fixture *f = *state;
    struct plan_view *view = &f->v.steps.at[0].views.at[0];
    view->offset = 33;
    refused(f, "view 20 of step 0 ends behind what it looks at");
    view->offset = 32;
    view->bytes = INT64_MAX;
    refused(f, "view 20 of step 0 ends behind");
    view->bytes = 32;
    view->of = 10; /* 32 bytes */
    refused(f, "view 20 of step 0 ends behind");
    view->of = 3; /* a scalar has no address */
    refused(f, "view 20 of step 0 ends behind");
    view->of = 99;
    refused(f, "view 20 of step 0 ends behind");
}

static void its_uid_is_its_own(void **state)
{
    struct fixture *f = *state;
    struct plan_view *view = &f->v.steps.at[1].views.at[0];
    const int64_t taken[] = {10, 2, 3, 30};
    for (size_t i = 0; i < COUNT_OF(taken); i++) {
        view->uid = taken[i];
        refused(f, "a view of step 1 has uid");
    }
    view->uid = 20;
    vec_push(f->s->arena, &f->v.steps.at[1].views, *view);
    refused(f, "a view of step 1 has uid 20, which is taken");
}

static void the_step_binds_it(void **state)
{
    struct fixture *f = *state;
    struct plan_view was = f->v.steps.at[1].views.at[0];
    f->v.steps.at[1].views.at[0].uid = 21;
    refused(f, "the plan of step 1 lacks view 21");
    f->v.steps.at[1].views.at[0] = was;
    f->v.steps.at[1].views.n = 0;
    refused(f, "the plan of step 1 lacks temporary 10");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_is_sound_is_taken, setup, teardown),
        cmocka_unit_test_setup_teardown(a_view_ends_inside, setup, teardown),
        cmocka_unit_test_setup_teardown(its_uid_is_its_own, setup, teardown),
        cmocka_unit_test_setup_teardown(the_step_binds_it, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
