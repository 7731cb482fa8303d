/* test_race: statistics, the race and the space of knobs, on recorded numbers.
 *
 * Invariant: the winner follows from the times and the seed; equal candidates do not change the
 * winner, and a slow one costs one sample. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <math.h>

#include "tune/tune.h"

static int setup(void **state)
{
    *state = arena_new();
    return 0;
}

static int teardown(void **state)
{
    arena_free(*state);
    return 0;
}

/* ---- statistics ----------------------------------------------------------------------------- */

/* Microseconds of one bf16 matmul, 15 interleaved rounds of two engines on one GPU. */
static const double engine_4[] = {196.1, 197.3, 195.8, 198.0, 196.6, 196.2, 201.9, 196.4,
                                  197.0, 196.9, 195.9, 196.3, 197.7, 196.5, 196.8};
static const double engine_7[] = {281.0, 279.5, 280.2, 283.3, 280.9, 279.9, 288.4, 280.4,
                                  281.6, 280.8, 280.1, 279.8, 282.2, 280.5, 281.1};

static void test_quantiles(void **state)
{
    double x[] = {5, 1, 4, 2, 3};
    (void)state;
    assert_true(stats_median(x, 5) == 3);
    assert_true(stats_median(x, 4) == 3); /* 5 1 4 2: between 2 and 4 */
    assert_true(stats_median(x, 1) == 5);
    assert_true(stats_quantile(x, 5, 0) == 1);
    assert_true(stats_quantile(x, 5, 1) == 5);
    assert_true(stats_quantile(x, 5, 0.25) == 2);
    assert_true(fabs(stats_spread(x, 5) - 2.0 / 3) < 1e-12);
    double g[] = {1, 4, 16};
    assert_true(fabs(stats_geomean(g, 3) - 4) < 1e-12);
    assert_true(stats_geomean(g, 0) == 1);
}

static void test_intervals(void **state)
{
    size_t n = COUNT_OF(engine_4);
    (void)state;
    struct interval i = stats_median_interval(engine_4, n, 7);
    assert_true(i.low <= 196.6 && 196.6 <= i.high && i.low > 195.8 && i.high < 198);
    struct interval again = stats_median_interval(engine_4, n, 7);
    assert_true(i.low == again.low && i.high == again.high);
    struct interval r = stats_ratio_interval(engine_7, engine_4, n, 7);
    assert_true(r.low > 1.42 && r.high < 1.44);
    struct interval same = stats_ratio_interval(engine_4, engine_4, n, 7);
    assert_true(same.low == 1 && same.high == 1);
}

/* The interval has the true median inside about as often as it says. */
static void test_coverage(void **state)
{
    int inside = 0;
    uint64_t z = 42;
    (void)state;
    for (int k = 0; k < 200; k++) {
        double x[31];
        for (size_t i = 0; i < COUNT_OF(x); i++) {
            double sum = 0; /* of twelve uniform numbers: near enough to normal */
            for (int j = 0; j < 12; j++) {
                z = z * 6364136223846793005u + 1442695040888963407u;
                sum += (double)(z >> 33) / 2147483648.0;
            }
            x[i] = 100 + (sum - 6);
        }
        struct interval i = stats_median_interval(x, COUNT_OF(x), (uint64_t)k);
        inside += i.low <= 100 && 100 <= i.high;
    }
    assert_in_range(inside, 176, 198); /* this interval of 31 numbers is known to cover about 93 */
}

static void test_throttling(void **state)
{
    struct interval i;
    (void)state;
    assert_false(stats_throttled((double[]){1980, 1965, 1980}, 3, &i));
    assert_true(stats_throttled((double[]){1980, 1755, 1980}, 3, &i));
    assert_true(i.low == 1755 && i.high == 1980);
    assert_false(stats_throttled((double[]){0, 0, 1980}, 3, &i)); /* not known is not slow */
    assert_false(stats_throttled(NULL, 0, &i));
}

/* ---- the race ------------------------------------------------------------------------------- */

/* Candidates with true times, and noise that is the same for all of a moment and of their own. */
struct track {
    double us[16];
    int n;
    double noise;
    uint64_t z;
    int samples[16], total, capped;
    int crashes_at; /* candidate whose second sample ends its process, or -1 */
};

static double uniform(uint64_t *z)
{
    *z = *z * 6364136223846793005u + 1442695040888963407u;
    return (double)(*z >> 33) / 2147483648.0;
}

static struct race_result run(struct arena *a, struct track *t, int incumbent, struct race *r)
{
    struct race_policy p = race_policy_default;
    double most;
    p.seed = 3;
    race_init(a, r, t->n, incumbent, &p);
    while (r->phase != RACE_DONE) {
        int i = race_next(r, &most);
        if (i < 0) {
            if (r->phase == RACE_FRESH) race_refreshed(r);
            continue;
        }
        assert_true(++t->total < 10000);
        if (i == t->crashes_at && t->samples[i] == 1) {
            race_drop(r, i, "crash");
            continue;
        }
        t->samples[i]++;
        double us = t->us[i] * (1 + t->noise * (uniform(&t->z) - 0.5));
        if (most > 0 && us > most) t->capped++;
        race_record(r, us, 1980);
    }
    return race_result(r);
}

static void test_best_wins(void **state)
{
    struct race r;
    struct track t = {{100, 95, 80, 120, 90, 99, 130, 85, 5000, 110}, 10, 0.01, 5, {0}, 0, 0, -1};
    struct race_result got = run(*state, &t, 0, &r);
    assert_int_equal(got.winner, 2);
    assert_false(got.kept);
    assert_true(got.against.high < 0.82 && got.against.low > 0.78);
    assert_int_equal(t.samples[8], 1); /* hopeless */
    assert_string_equal(r.racer[8].out, "hopeless");
    assert_true(t.samples[0] >= 15); /* the first choice is timed to the end, twice a round */
    assert_true(t.samples[6] < 15);
    assert_false(got.throttled);
    assert_true(got.noise >= race_policy_default.min_gain);
}

/* Who is not faster by more than the noise does not take the incumbent's place, whoever that is. */
static void test_incumbent_stays(void **state)
{
    for (int incumbent = 0; incumbent < 3; incumbent++) {
        struct race r;
        struct track t = {{100, 100.1, 99.9, 104}, 4, 0.02, 11, {0}, 0, 0, -1};
        struct race_result got = run(*state, &t, incumbent, &r);
        assert_int_equal(got.winner, incumbent);
        assert_true(got.kept);
    }
    /* and one that is slower loses it */
    struct race r;
    struct track t = {{100, 100.1, 99.9, 104}, 4, 0.02, 11, {0}, 0, 0, -1};
    struct race_result got = run(*state, &t, 3, &r);
    assert_int_not_equal(got.winner, 3);
    assert_false(got.kept);
    assert_int_equal(got.winner, 0); /* of three alike the one with the best evidence */
}

/* The same winner, or one within a percent, whatever the noise does. */
static void test_same_tomorrow(void **state)
{
    for (uint64_t day = 1; day <= 20; day++) {
        struct race r;
        struct track t = {{100, 91, 90, 90.1, 97, 140}, 6, 0.03, day * 977, {0}, 0, 0, -1};
        struct race_result got = run(*state, &t, 0, &r);
        assert_in_range(got.winner, 1, 3);
        assert_true(t.us[got.winner] <= 91);
    }
}

static void test_crash_costs_one(void **state)
{
    struct race r;
    struct track t = {{100, 95, 80, 120}, 4, 0.01, 5, {0}, 0, 0, 2};
    struct race_result got = run(*state, &t, 0, &r);
    assert_int_equal(got.winner, 1);
    assert_string_equal(r.racer[2].out, "crash");
    /* also when it is the incumbent, and when nobody is left */
    struct track u = {{100, 95, 80, 120}, 4, 0.01, 5, {0}, 0, 0, 0};
    got = run(*state, &u, 0, &r);
    assert_int_equal(got.winner, 2);
    struct track v = {{100}, 1, 0.01, 5, {0}, 0, 0, 0};
    got = run(*state, &v, 0, &r);
    assert_int_equal(got.winner, -1);
    race_init(*state, &r, 0, -1, &race_policy_default);
    double most;
    assert_int_equal(race_next(&r, &most), -1);
    assert_int_equal(r.phase, RACE_DONE);
}

/* Replayed with the same numbers it is the same race; what a log gives is not timed again. */
static void test_resumed(void **state)
{
    struct race r;
    struct track t = {{100, 95, 80, 120, 90, 99}, 6, 0.01, 5, {0}, 0, 0, -1};
    double most;
    race_init(*state, &r, 6, 0, &race_policy_default);
    for (int i = 0; i < 5; i++)
        for (int k = 0; k < 3; k++) vec_push(r.a, &r.racer[i].screen, t.us[i]);
    r.racer[3].out = "slower";
    for (int k = 0; k < 3; k++) assert_int_equal(race_next(&r, &most), 5), race_record(&r, 99, 0);
    while (r.phase != RACE_DONE) {
        int i = race_next(&r, &most);
        if (i >= 0)
            race_record(&r, t.us[i], 0);
        else if (r.phase == RACE_FRESH)
            race_refreshed(&r);
        assert_int_not_equal(i, 3);
    }
    assert_int_equal(race_result(&r).winner, 2);
}

/* ---- the space ------------------------------------------------------------------------------ */

static void test_space(void **state)
{
    struct arena *a = *state;
    struct engine_info e = {.engine = 41};
    configs_vec all = {0}, few = {0};
    vec_push(a, &e.knobs, ((struct knob_range){24, 0, 13, 1}));
    vec_push(a, &e.knobs, ((struct knob_range){17, 1, 128, 1}));
    space_of_engine(a, &e, 100000, &all);
    int n = 1 + 14 + 8 + 14 * 8; /* split-K: 1, 2, 4 ... 128 */
    assert_int_equal(all.n, n);
    assert_int_equal(all.at[0].knobs.n, 0);
    for (size_t i = 0; i < all.n; i++) {
        for (size_t k = 0; k < i; k++)
            assert_false(knobs_equal(&all.at[i].knobs, &all.at[k].knobs));
        for (size_t k = 0; k < all.at[i].knobs.n; k++) {
            struct knob x = all.at[i].knobs.at[k];
            if (x.type == 17)
                assert_true(x.value >= 1 && x.value <= 128 && !(x.value & (x.value - 1)));
            else
                assert_in_range(x.value, 0, 13);
        }
    }
    space_of_engine(a, &e, 10, &few);
    assert_int_equal(few.n, 10);
    struct engine_info none = {.engine = 0}, wide = {.engine = 1};
    few.n = 0;
    space_of_engine(a, &none, 10, &few);
    assert_int_equal(few.n, 1);
    for (int i = 0; i < 8; i++) vec_push(a, &wide.knobs, ((struct knob_range){i, 1, INT64_MAX, 1}));
    few.n = 0;
    space_of_engine(a, &wide, 5000, &few);
    assert_int_equal(few.n, 5000);
    struct engine_info odd = {.engine = 2};
    vec_push(a, &odd.knobs, ((struct knob_range){1, 5, 4, 1}));
    few.n = 0;
    space_of_engine(a, &odd, 10, &few);
    assert_int_equal(few.n, 1);
}

static void test_neighbours(void **state)
{
    struct arena *a = *state;
    struct engine_info e = {.engine = 41};
    configs_vec near = {0};
    knobs_vec from = {0};
    vec_push(a, &e.knobs, ((struct knob_range){2, 0, 4, 1}));
    vec_push(a, &e.knobs, ((struct knob_range){13, 0, 1, 1}));
    vec_push(a, &e.knobs, ((struct knob_range){18, 3, 9, 3}));
    vec_push(a, &from, ((struct knob){2, 1}));
    vec_push(a, &from, ((struct knob){13, 1}));
    space_near(a, &e, &from, 100, &near);
    assert_int_equal(near.n, 4 + 1 + 3);
    for (size_t i = 0; i < near.n; i++) {
        int changed = 0;
        const knobs_vec *k = &near.at[i].knobs;
        for (size_t m = 0; m < from.n; m++) changed += k->at[m].value != from.at[m].value;
        assert_int_equal(changed + (int)(k->n - from.n), 1);
        if (k->n == 3) assert_int_equal(k->at[2].value % 3, 0);
    }
    near.n = 0;
    space_near(a, &e, &from, 5, &near);
    assert_int_equal(near.n, 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_quantiles, setup, teardown),
        cmocka_unit_test_setup_teardown(test_intervals, setup, teardown),
        cmocka_unit_test_setup_teardown(test_coverage, setup, teardown),
        cmocka_unit_test_setup_teardown(test_throttling, setup, teardown),
        cmocka_unit_test_setup_teardown(test_best_wins, setup, teardown),
        cmocka_unit_test_setup_teardown(test_incumbent_stays, setup, teardown),
        cmocka_unit_test_setup_teardown(test_same_tomorrow, setup, teardown),
        cmocka_unit_test_setup_teardown(test_crash_costs_one, setup, teardown),
        cmocka_unit_test_setup_teardown(test_resumed, setup, teardown),
        cmocka_unit_test_setup_teardown(test_space, setup, teardown),
        cmocka_unit_test_setup_teardown(test_neighbours, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
