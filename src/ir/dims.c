/* dims: shapes and strides in checked 63-bit arithmetic.
 *
 * Invariant: no function here wraps; what does not fit is reported as false. Dims are at least 1
 * and strides at least 0 (callers check), counted in elements. */
#include "ir/ir.h"

/* Steps that the exact search for two tuples of one address may take. */
#define SEARCH_STEPS 1000000

/* Strides saturate at INT64_MAX on overflow: dims_count or dims_extent then reports it. */
static int64_t product(int64_t a, int64_t b)
{
    int64_t p;
    return i64_mul(a, b, &p) ? p : INT64_MAX;
}

void dims_row_major(int rank, const int64_t *dim, int64_t *stride)
{
    int64_t step = 1;
    for (int i = rank - 1; i >= 0; i--) {
        stride[i] = step;
        step = product(step, dim[i]);
    }
}

void dims_channels_last(int rank, const int64_t *dim, int64_t *stride)
{
    if (rank < 2) {
        dims_row_major(rank, dim, stride);
        return;
    }
    stride[1] = 1;
    int64_t step = dim[1];
    for (int i = rank - 1; i >= 2; i--) {
        stride[i] = step;
        step = product(step, dim[i]);
    }
    stride[0] = step;
}

bool dims_count(int rank, const int64_t *dim, int64_t *count)
{
    int64_t n = 1;
    for (int i = 0; i < rank; i++)
        if (!i64_mul(n, dim[i], &n)) return false;
    *count = n;
    return true;
}

bool dims_extent(int rank, const int64_t *dim, const int64_t *stride, int64_t *extent)
{
    int64_t last = 0;
    for (int i = 0; i < rank; i++) {
        int64_t reach;
        if (!i64_mul(dim[i] - 1, stride[i], &reach) || !i64_add(last, reach, &last)) return false;
    }
    return i64_add(last, 1, extent);
}

struct axes { /* axes of more than one element, largest stride first */
    int n;
    int64_t dim[MAX_RANK], stride[MAX_RANK];
    __int128 below[MAX_RANK + 1]; /* how far the axes from i on reach: sum of (dim-1)*stride */
    int64_t steps;
};

/* Is there a choice of differences d_i, |d_i| < dim_i, for the axes from k on, with
 * sum d_i * stride_i = -sum, and (when `zero` says that all earlier ones are 0) not all 0?
 * At most MAX_RANK deep. Running out of steps answers yes. */
static bool collides(struct axes *x, int k, __int128 sum, bool zero)
{
    if (k == x->n) return sum == 0 && !zero;
    if (sum > x->below[k] || sum < -x->below[k]) return false;
    int64_t s = x->stride[k], most = x->dim[k] - 1;
    if (s == 0) return true;
    /* The rest can make up for at most below[k+1], so d * s must lie within that of -sum. */
    __int128 low = (-sum - x->below[k + 1]) / s - 1, high = (-sum + x->below[k + 1]) / s + 1;
    if (low < -most) low = -most;
    if (high > most) high = most;
    if (zero && low < 0)
        low = 0; /* the first difference that is not 0 is positive: d and -d are one case */
    for (__int128 d = low; d <= high; d++) {
        if (x->steps-- <= 0) return true;
        if (collides(x, k + 1, sum + d * s, zero && d == 0)) return true;
    }
    return false;
}

bool dims_injective(int rank, const int64_t *dim, const int64_t *stride)
{
    struct axes x = {.steps = SEARCH_STEPS};
    for (int i = 0; i < rank; i++) {
        if (dim[i] == 1) continue;
        int at = x.n++;
        for (; at > 0 && x.stride[at - 1] < stride[i]; at--) {
            x.stride[at] = x.stride[at - 1];
            x.dim[at] = x.dim[at - 1];
        }
        x.stride[at] = stride[i];
        x.dim[at] = dim[i];
    }
    bool nested = true; /* every stride passes what the faster axes reach: the usual case */
    for (int i = x.n - 1; i >= 0; i--) {
        nested = nested && x.stride[i] > x.below[i + 1];
        x.below[i] = x.below[i + 1] + (__int128)(x.dim[i] - 1) * x.stride[i];
    }
    return nested || !collides(&x, 0, 0, true);
}
