/* kernel_reduce: reductions over any set of axes, which stay with size 1.
 *
 * Bounds: sums 1e-5 of the sum of magnitudes, extremes 1e-5 of the value, each with the operands'
 * own bounds on top; products what they are when every factor errs away from zero. */
#include <math.h>

#include "interp/internal.h"

enum {
    MODE_ADD,
    MODE_MUL,
    MODE_MIN,
    MODE_MAX,
    MODE_MAX_ABS,
    MODE_MEAN,
    MODE_NORM1,
    MODE_NORM2,
    MODE_MUL_NO_ZEROS
};

void reduce_take(struct gathered *g, int64_t mode, double x, double bound)
{
    bool first = g->count++ == 0;
    if (first) g->furthest = 1;
    if (mode != MODE_MUL_NO_ZEROS || x != 0) g->furthest *= fabs(x) + bound;
    g->magnitude += mode == MODE_NORM2 ? x * x : fabs(x);
    g->bound += mode == MODE_NORM2 ? 2 * fabs(x) * bound + bound * bound : bound;
    if (bound > g->most_bound) g->most_bound = bound;
    switch (mode) {
    case MODE_ADD:
    case MODE_MEAN: g->value += x; break;
    case MODE_NORM1: g->value += fabs(x); break;
    case MODE_NORM2: g->value += x * x; break;
    case MODE_MUL: g->value = first ? x : g->value * x; break;
    case MODE_MUL_NO_ZEROS: g->value = (first ? 1 : g->value) * (x == 0 ? 1 : x); break;
    case MODE_MIN: g->value = first || x < g->value || isnan(x) ? x : g->value; break;
    case MODE_MAX: g->value = first || x > g->value || isnan(x) ? x : g->value; break;
    case MODE_MAX_ABS:
        g->value = first || fabs(x) > g->value || isnan(x) ? fabs(x) : g->value;
        break;
    }
}

double reduce_finish(struct gathered *g, int64_t mode)
{
    double n = (double)g->count;
    switch (mode) {
    case MODE_MEAN: g->bound = (g->bound + 1e-5 * g->magnitude) / n; return g->value / n;
    case MODE_NORM2: {
        double root = sqrt(g->value);
        g->bound = root > 0 ? g->bound / (2 * root) + 1e-5 * root : sqrt(g->bound);
        return root;
    }
    case MODE_ADD:
    case MODE_NORM1: g->bound += 1e-5 * g->magnitude; return g->value;
    case MODE_MUL:
    case MODE_MUL_NO_ZEROS:
        g->bound = 1e-5 * n * fabs(g->value) + (g->furthest - fabs(g->value));
        return g->value;
    default: g->bound = g->most_bound + 1e-5 * fabs(g->value); return g->value;
    }
}

static void run(void *data, int64_t from, int64_t to)
{
    struct eval *e = data;
    struct array *x = e->in[0], *y = e->out[0];
    int64_t mode = eval_attr(e, "mode")->i, stride[MAX_RANK], step = 1;
    for (int i = x->rank - 1; i >= 0; i--) {
        stride[i] = step;
        step *= x->dim[i];
    }
    for (int64_t o = from; o < to; o++) {
        int64_t base = 0, left = o, inner = 1;
        for (int i = x->rank - 1; i >= 0; i--) {
            base += left % y->dim[i] * stride[i];
            left /= y->dim[i];
            if (y->dim[i] != x->dim[i]) inner *= x->dim[i];
        }
        struct gathered g = {0};
        for (int64_t k = 0; k < inner; k++) {
            int64_t at = base, rest = k;
            for (int i = x->rank - 1; i >= 0; i--) {
                if (y->dim[i] == x->dim[i]) continue;
                at += rest % x->dim[i] * stride[i];
                rest /= x->dim[i];
            }
            reduce_take(&g, mode, x->at[at], x->bound ? x->bound[at] : 0);
        }
        y->at[o] = reduce_finish(&g, mode);
        if (y->bound) y->bound[o] = g.bound;
    }
}

/* Everything into one cell of a packed array: in order, without index arithmetic. */
static void all(struct eval *e)
{
    struct array *x = e->in[0], *y = e->out[0];
    int64_t mode = eval_attr(e, "mode")->i;
    struct gathered g = {0};
    for (int64_t i = 0; i < x->count; i++)
        reduce_take(&g, mode, x->at[i], x->bound ? x->bound[i] : 0);
    y->at[0] = reduce_finish(&g, mode);
    if (y->bound) y->bound[0] = g.bound;
}

void eval_reduce(struct eval *e)
{
    if (e->out[0]->count == 1)
        all(e);
    else
        parallel_for(e->out[0]->count, run, e);
}
