/* stats: medians, intervals, throttling.
 *
 * Invariant: pure; the same numbers and seed give the same answer on every machine. */
#include <math.h>
#include <stdlib.h>

#include "tune/tune.h"

enum { RESAMPLES = 2000 };

static int by_value(const void *x, const void *y)
{
    double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

static double sorted_quantile(const double *x, size_t n, double q)
{
    double at = q * (double)(n - 1);
    size_t i = (size_t)at;
    return i + 1 < n ? x[i] + (at - (double)i) * (x[i + 1] - x[i]) : x[n - 1];
}

double stats_quantile(const double *x, size_t n, double q)
{
    struct arena *a = arena_new();
    double *copy = arena_copy(a, x, n * sizeof *x);
    qsort(copy, n, sizeof *copy, by_value);
    double v = sorted_quantile(copy, n, q);
    arena_free(a);
    return v;
}

double stats_median(const double *x, size_t n)
{
    return stats_quantile(x, n, 0.5);
}

double stats_spread(const double *x, size_t n)
{
    return (stats_quantile(x, n, 0.75) - stats_quantile(x, n, 0.25)) / stats_median(x, n);
}

/* SplitMix64 (Steele, Lea, Flood 2014): a good stream from any seed. */
static uint64_t draw(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* y NULL: of the median of x, else of the ratio of medians. */
static struct interval bootstrap(const double *x, const double *y, size_t n, uint64_t seed)
{
    struct arena *a = arena_new();
    double *xs = NEW_N(a, double, n), *ys = NEW_N(a, double, n), *v = NEW_N(a, double, RESAMPLES);
    for (int k = 0; k < RESAMPLES; k++) {
        for (size_t i = 0; i < n; i++) {
            size_t from = (size_t)(draw(&seed) % n);
            xs[i] = x[from];
            if (y) ys[i] = y[from];
        }
        qsort(xs, n, sizeof *xs, by_value);
        if (y) qsort(ys, n, sizeof *ys, by_value);
        v[k] = sorted_quantile(xs, n, 0.5) / (y ? sorted_quantile(ys, n, 0.5) : 1);
    }
    qsort(v, RESAMPLES, sizeof *v, by_value);
    struct interval out = {sorted_quantile(v, RESAMPLES, 0.025),
                           sorted_quantile(v, RESAMPLES, 0.975)};
    arena_free(a);
    return out;
}

struct interval stats_median_interval(const double *x, size_t n, uint64_t seed)
{
    return bootstrap(x, NULL, n, seed);
}

struct interval stats_ratio_interval(const double *x, const double *y, size_t n, uint64_t seed)
{
    return bootstrap(x, y, n, seed);
}

double stats_geomean(const double *x, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += log(x[i]);
    return n ? exp(sum / (double)n) : 1;
}

bool stats_throttled(const double *mhz, size_t n, struct interval *range)
{
    *range = (struct interval){0, 0};
    for (size_t i = 0; i < n; i++) {
        if (mhz[i] <= 0) continue;
        if (range->low == 0 || mhz[i] < range->low) range->low = mhz[i];
        if (mhz[i] > range->high) range->high = mhz[i];
    }
    return range->low < 0.97 * range->high;
}
