/* kernel_matmul: c[.., m, n] = sum over k of a[.., m, k] b[.., k, n], batch axes broadcast.
 *
 * The bound of an f32 accumulation in any order: 4 sqrt(K) 2^-24 sum |a||b|; operands' own bounds
 * come on top. */
#include <math.h>

#include "interp/internal.h"

/* One row of the result. */
static void row(struct eval *e, int64_t batch, int64_t m)
{
    struct array *a = e->in[0], *b = e->in[1], *c = e->out[0];
    int r = c->rank;
    int64_t n_m = c->dim[r - 2], n_n = c->dim[r - 1], n_k = a->dim[r - 1];
    int64_t c_at = (batch * n_m + m) * n_n, a_batch = 0, b_batch = 0, left = batch;
    int64_t a_step = 1, b_step = 1;
    for (int i = r - 3; i >= 0; i--) {
        int64_t x = left % c->dim[i];
        left /= c->dim[i];
        if (a->dim[i] != 1) a_batch += x * a_step;
        if (b->dim[i] != 1) b_batch += x * b_step;
        a_step *= a->dim[i];
        b_step *= b->dim[i];
    }
    const double *ap = a->at + (a_batch * n_m + m) * n_k, *bp = b->at + b_batch * n_k * n_n;
    double *cp = c->at + c_at, *bound = c->bound ? c->bound + c_at : NULL;
    for (int64_t n = 0; n < n_n; n++) cp[n] = 0;
    for (int64_t n = 0; bound && n < n_n; n++) bound[n] = 0;
    for (int64_t k = 0; k < n_k; k++) {
        double x = ap[k];
        const double *y = bp + k * n_n;
        for (int64_t n = 0; n < n_n; n++) cp[n] += x * y[n];
        if (!bound) continue;
        x = fabs(x);
        for (int64_t n = 0; n < n_n; n++) bound[n] += x * fabs(y[n]);
    }
    for (int64_t n = 0; bound && n < n_n; n++) bound[n] *= 4 * sqrt((double)n_k) * 0x1p-24;
    if (!bound) return;
    const double *ab = a->bound ? a->bound + (ap - a->at) : NULL,
                 *bb = b->bound ? b->bound + (bp - b->at) : NULL;
    for (int64_t k = 0; (ab || bb) && k < n_k; k++)
        for (int64_t n = 0; n < n_n; n++)
            bound[n] += (ab ? ab[k] * fabs(bp[k * n_n + n]) : 0) +
                        (bb ? bb[k * n_n + n] * fabs(ap[k]) : 0);
}

static void run(void *data, int64_t from, int64_t to)
{
    struct eval *e = data;
    int64_t n_m = e->out[0]->dim[e->out[0]->rank - 2];
    for (int64_t i = from; i < to; i++) row(e, i / n_m, i % n_m);
}

void eval_matmul(struct eval *e)
{
    struct array *c = e->out[0];
    parallel_for(c->count / c->dim[c->rank - 1], run, e);
}
