/* race: successive halving with a cut-off, then finals on fresh data.
 *
 * Every round times each racer once, in an order drawn by the seed, so that what changes with time
 * (clocks, heat) meets all alike. A racer that is hopeless after one sample goes; after each rung
 * of rounds the slower half goes; what is left meets on fresh data, with the incumbent running
 * twice a round: how far it is from itself is what counts as equal. Invariant: a function of the
 * recorded times and the seed alone, so that a race can be replayed. */
#include <stdlib.h>

#include "tune/tune.h"

const struct race_policy race_policy_default = {
    .cutoff = 3,
    .rung_samples = 3,
    .finalists = 4,
    .final_rounds = 15,
    .max_rounds = 60,
    .spread = 0.005,
    .min_gain = 0.003,
    .seed = 1,
};

void race_init(struct arena *a, struct race *r, int n, int incumbent, const struct race_policy *p)
{
    *r = (struct race){.a = a, .policy = *p, .n = n, .incumbent = incumbent, .first = 0};
    r->racer = NEW_N(a, struct racer, n + 1);
    r->phase = RACE_SCREEN;
}

static bool is_in(const struct race *r, int i)
{
    return !r->racer[i].out && (r->phase == RACE_SCREEN || r->racer[i].finalist);
}

static int n_in(const struct race *r)
{
    int n = 0;
    for (int i = 0; i < r->n; i++) n += is_in(r, i);
    return n;
}

static uint64_t draw(uint64_t *state)
{
    uint64_t z = *state = *state * 6364136223846793005u + 1442695040888963407u;
    return z >> 33;
}

/* The next round's order; who has the fewest samples alone, so that a resumed race catches up. */
static void start_round(struct race *r)
{
    uint64_t seed = r->policy.seed * 1000003u + (uint64_t)r->round * 7919u + (uint64_t)r->phase;
    size_t fewest = SIZE_MAX;
    r->order.n = 0;
    r->at = 0;
    for (int i = 0; i < r->n; i++)
        if (is_in(r, i) && r->phase == RACE_SCREEN && r->racer[i].screen.n < fewest)
            fewest = r->racer[i].screen.n;
    for (int i = 0; i < r->n; i++) {
        if (!is_in(r, i) || (r->phase == RACE_SCREEN && r->racer[i].screen.n > fewest)) continue;
        vec_push(r->a, &r->order, i);
        if (r->phase == RACE_FINAL && i == r->incumbent) vec_push(r->a, &r->order, -1);
    }
    /* The very first round goes by evidence, so that the cut-off is sharp early. */
    for (size_t i = r->phase == RACE_SCREEN && r->round == 0 ? 0 : r->order.n; i > 1; i--) {
        size_t k = (size_t)(draw(&seed) % i);
        int other = r->order.at[k];
        r->order.at[k] = r->order.at[i - 1];
        r->order.at[i - 1] = other;
    }
    r->round++;
}

static double screen_median(const struct race *r, int i)
{
    const struct racer *x = &r->racer[i];
    return x->screen.n ? stats_median(x->screen.at, x->screen.n) : 1e300;
}

static void renew_best(struct race *r)
{
    r->best_us = 0;
    for (int i = 0; i < r->n; i++) {
        if (r->racer[i].out || !r->racer[i].screen.n) continue;
        double m = screen_median(r, i);
        if (r->best_us == 0 || m < r->best_us) r->best_us = m;
    }
}

/* The i-th fastest of those that are in; ties by evidence. */
static int ranked(const struct race *r, int *out)
{
    int n = 0;
    for (int i = 0; i < r->n; i++) {
        if (!is_in(r, i)) continue;
        double m = screen_median(r, i);
        int k = n++;
        for (; k > 0 && screen_median(r, out[k - 1]) > m; k--) out[k] = out[k - 1];
        out[k] = i;
    }
    return n;
}

/* Ends a rung: the slower half goes, but never incumbent and first choice. */
static void halve(struct race *r, int keep)
{
    int *rank = NEW_N(r->a, int, r->n + 1), n = ranked(r, rank);
    for (int k = keep; k < n; k++)
        if (rank[k] != r->incumbent && rank[k] != r->first) r->racer[rank[k]].out = "slower";
}

static size_t fewest_samples(const struct race *r)
{
    size_t fewest = SIZE_MAX;
    for (int i = 0; i < r->n; i++)
        if (is_in(r, i) && r->racer[i].screen.n < fewest) fewest = r->racer[i].screen.n;
    return fewest;
}

/* After a round of screening: drops who is to be dropped; true when the finals are due. */
static bool screen_round(struct race *r)
{
    renew_best(r);
    for (int i = 0; i < r->n; i++)
        if (is_in(r, i) && i != r->incumbent && i != r->first && r->racer[i].screen.n &&
            screen_median(r, i) > r->policy.cutoff * r->best_us)
            r->racer[i].out = "hopeless";
    int n = n_in(r);
    if (r->hurry) {
        halve(r, r->policy.finalists);
        return true;
    }
    if (fewest_samples(r) % (size_t)r->policy.rung_samples) return false;
    if (n <= r->policy.finalists + 2) return true;
    int half = (n + 1) / 2;
    halve(r, half > r->policy.finalists ? half : r->policy.finalists);
    return n_in(r) <= r->policy.finalists + 2;
}

static bool finals_settled(const struct race *r)
{
    if (r->round >= r->policy.max_rounds) return true;
    if (r->round < r->policy.final_rounds) return false;
    for (int i = 0; i < r->n; i++) {
        const struct racer *x = &r->racer[i];
        if (!is_in(r, i) || x->final.n == 0) continue;
        struct interval w = stats_median_interval(x->final.at, x->final.n, r->policy.seed);
        if ((w.high - w.low) / 2 > r->policy.spread * stats_median(x->final.at, x->final.n))
            return false;
    }
    return true;
}

static void end_round(struct race *r)
{
    if (r->phase == RACE_SCREEN) {
        if (n_in(r) == 0) {
            r->phase = RACE_DONE;
            return;
        }
        if (!screen_round(r)) return;
        for (int i = 0; i < r->n; i++) r->racer[i].finalist = !r->racer[i].out;
        if (r->incumbent >= 0 && r->racer[r->incumbent].out) r->incumbent = -1;
        if (r->incumbent < 0) /* it fell: the best evidence takes its place */
            for (int i = 0; i < r->n && r->incumbent < 0; i++)
                if (r->racer[i].finalist) r->incumbent = i;
        r->phase = RACE_FRESH;
        r->round = 0;
    } else if (r->phase == RACE_FINAL && (n_in(r) == 0 || finals_settled(r))) {
        r->phase = RACE_DONE;
    }
}

int race_next(struct race *r, double *at_most_us)
{
    *at_most_us = 0;
    if (r->phase == RACE_FRESH || r->phase == RACE_DONE) return -1;
    for (;;) {
        if (r->round && r->at >= r->order.n) {
            enum race_phase before = r->phase;
            end_round(r);
            if (r->phase != before) return -1;
        }
        if (r->at >= r->order.n) {
            start_round(r);
            if (r->order.n == 0) {
                end_round(r);
                return -1;
            }
        }
        int who = r->order.at[r->at];
        r->again = who < 0;
        if (who < 0) who = r->incumbent;
        if (who < 0 || !is_in(r, who)) {
            r->at++;
            continue;
        }
        if (r->phase == RACE_SCREEN && who != r->incumbent && who != r->first)
            *at_most_us = r->policy.cutoff * r->best_us;
        return who;
    }
}

void race_record(struct race *r, double us, double mhz)
{
    int who = r->again ? r->incumbent : r->order.at[r->at];
    struct racer *x = &r->racer[who];
    r->at++;
    vec_push(r->a, &r->mhz, mhz);
    if (r->again) {
        vec_push(r->a, &r->again_us, us);
        return;
    }
    if (r->phase == RACE_FINAL) {
        vec_push(r->a, &x->final, us);
        return;
    }
    vec_push(r->a, &x->screen, us);
    if (r->best_us == 0 || us < r->best_us) r->best_us = us;
    if (x->screen.n == 1 && us > r->policy.cutoff * r->best_us && who != r->incumbent &&
        who != r->first)
        x->out = "hopeless";
}

void race_drop(struct race *r, int racer, const char *why)
{
    r->racer[racer].out = why;
    int due = r->at < r->order.n ? r->order.at[r->at] : r->n;
    if (due == racer || (due < 0 && racer == r->incumbent)) r->at++;
}

void race_refreshed(struct race *r)
{
    r->phase = RACE_FINAL;
    r->round = 0;
    r->order.n = r->at = 0;
}

/* ---- the verdict ------------------------------------------------------------------------------
 */

static double away(struct interval i)
{
    double low = 1 - i.low, high = i.high - 1;
    return low > high ? low : high;
}

static size_t least(size_t x, size_t y)
{
    return x < y ? x : y;
}

/* x's over y's time, rounds paired. */
static struct interval ratio(const struct race *r, int x, int y)
{
    const struct racer *a = &r->racer[x], *b = &r->racer[y];
    size_t n = least(a->final.n, b->final.n);
    if (n == 0) return (struct interval){1, 1};
    return stats_ratio_interval(a->final.at, b->final.at, n, r->policy.seed);
}

static bool was_final(const struct race *r, int i)
{
    return i >= 0 && !r->racer[i].out && r->racer[i].final.n > 0;
}

struct race_result race_result(const struct race *r)
{
    struct race_result out = {
        .winner = -1, .noise = r->policy.min_gain, .against = {1, 1}, .again = {1, 1}};
    int best = -1;
    double best_us = 0;
    for (int i = 0; i < r->n; i++) {
        if (!was_final(r, i)) continue;
        double m = stats_median(r->racer[i].final.at, r->racer[i].final.n);
        if (best < 0 || m < best_us) {
            best = i;
            best_us = m;
        }
    }
    out.throttled = stats_throttled(r->mhz.at, r->mhz.n, &out.mhz);
    if (best < 0) return out;
    out.winner = best;
    if (was_final(r, r->incumbent)) {
        const struct racer *x = &r->racer[r->incumbent];
        size_t n = least(x->final.n, r->again_us.n);
        if (n) out.again = stats_ratio_interval(x->final.at, r->again_us.at, n, r->policy.seed);
        if (away(out.again) > out.noise) out.noise = away(out.again);
        if (ratio(r, best, r->incumbent).high >= 1 - out.noise) {
            out.winner = r->incumbent;
            out.kept = true;
        }
    }
    /* Of several that beat the incumbent alike, the one with the best evidence: the same tomorrow.
     */
    for (int i = 0; !out.kept && i < best; i++)
        if (i != r->incumbent && was_final(r, i) && ratio(r, i, best).high <= 1 + out.noise &&
            (!was_final(r, r->incumbent) || ratio(r, i, r->incumbent).high < 1 - out.noise)) {
            out.winner = i;
            break;
        }
    if (was_final(r, r->first)) out.against = ratio(r, out.winner, r->first);
    return out;
}
