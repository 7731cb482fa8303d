/* kernel_conv: cross-correlation over any number of spatial axes, with groups:
 *   y[n, k, p] = sum over c, r of x[n, g Cg + c, p stride + r dilation - pre_pad] w[k, c, r]
 * where g = k // (K / groups); what lies outside of x is 0. Bound as for matmul, with the number of
 * products Cg R in the place of K. */
#include <math.h>

#include "interp/internal.h"

struct window {
    int n_axes;
    int64_t pre[MAX_RANK], stride[MAX_RANK], dilation[MAX_RANK];
    int64_t groups;
};

static void list_or(int64_t *out, int n, const struct attr *a, int64_t otherwise)
{
    for (int i = 0; i < n; i++) out[i] = a->given ? a->list[i] : otherwise;
}

static struct window window_of(const struct eval *e)
{
    struct window w = {.n_axes = e->in[0]->rank - 2};
    const struct attr *pad = eval_attr(e, "pad"), *pre = eval_attr(e, "pre_pad");
    list_or(w.pre, w.n_axes, pre->given ? pre : pad, 0);
    list_or(w.stride, w.n_axes, eval_attr(e, "stride"), 1);
    list_or(w.dilation, w.n_axes, eval_attr(e, "dilation"), 1);
    w.groups = eval_attr(e, "groups")->i;
    return w;
}

struct task {
    struct eval *e;
    struct window w;
    int64_t n_out, n_taps, n_in; /* spatial sizes of y, of the filter, of x */
};

/* Adds one tap of one channel to every output position of one (n, k) plane. */
static void add_tap(const struct task *t, const double *x, double weight, int64_t tap, double *y,
                    double *sum)
{
    const struct array *in = t->e->in[0], *filter = t->e->in[1], *out = t->e->out[0];
    int64_t at[MAX_RANK], r[MAX_RANK];
    for (int i = t->w.n_axes - 1; i >= 0; i--) {
        r[i] = tap % filter->dim[2 + i];
        tap /= filter->dim[2 + i];
    }
    for (int64_t p = 0; p < t->n_out; p++) {
        int64_t left = p, flat = 0, step = 1;
        bool inside = true;
        for (int i = t->w.n_axes - 1; i >= 0; i--) {
            at[i] = left % out->dim[2 + i] * t->w.stride[i] + r[i] * t->w.dilation[i] - t->w.pre[i];
            left /= out->dim[2 + i];
            inside = inside && at[i] >= 0 && at[i] < in->dim[2 + i];
            flat += at[i] * step;
            step *= in->dim[2 + i];
        }
        if (!inside) continue;
        y[p] += weight * x[flat];
        if (sum) sum[p] += fabs(weight) * fabs(x[flat]);
    }
}

/* Two spatial axes, the common case: rows without a test inside. */
static void add_tap_2d(const struct task *t, const double *x, double weight, int64_t tap, double *y,
                       double *sum)
{
    const struct array *in = t->e->in[0], *filter = t->e->in[1], *out = t->e->out[0];
    int64_t r = tap / filter->dim[3], s = tap % filter->dim[3], h = in->dim[2], wd = in->dim[3];
    int64_t dy = r * t->w.dilation[0] - t->w.pre[0], dx = s * t->w.dilation[1] - t->w.pre[1];
    int64_t sx = t->w.stride[1], q0 = 0, q1 = out->dim[3];
    while (q0 < q1 && q0 * sx + dx < 0) q0++;
    while (q1 > q0 && (q1 - 1) * sx + dx >= wd) q1--;
    double magnitude = fabs(weight);
    for (int64_t p = 0; p < out->dim[2]; p++) {
        int64_t row = p * t->w.stride[0] + dy;
        if (row < 0 || row >= h) continue;
        const double *from = x + row * wd + dx;
        double *to = y + p * out->dim[3];
        if (sx == 1)
            for (int64_t q = q0; q < q1; q++) to[q] += weight * from[q];
        else
            for (int64_t q = q0; q < q1; q++) to[q] += weight * from[q * sx];
        if (!sum) continue;
        double *to_sum = sum + p * out->dim[3];
        for (int64_t q = q0; q < q1; q++) to_sum[q] += magnitude * fabs(from[q * sx]);
    }
}

static void plane(const struct task *t, int64_t n, int64_t k)
{
    const struct array *x = t->e->in[0], *w = t->e->in[1];
    struct array *y = t->e->out[0];
    int64_t channels = w->dim[1], group = k / (w->dim[0] / t->w.groups);
    double *to = y->at + (n * y->dim[1] + k) * t->n_out;
    double *sum = y->bound ? y->bound + (n * y->dim[1] + k) * t->n_out : NULL;
    for (int64_t p = 0; p < t->n_out; p++) to[p] = 0;
    for (int64_t p = 0; sum && p < t->n_out; p++) sum[p] = 0;
    for (int64_t c = 0; c < channels; c++)
        for (int64_t tap = 0; tap < t->n_taps; tap++) {
            double weight = w->at[(k * channels + c) * t->n_taps + tap];
            const double *from = x->at + (n * x->dim[1] + group * channels + c) * t->n_in;
            (t->w.n_axes == 2 ? add_tap_2d : add_tap)(t, from, weight, tap, to, sum);
        }
    double factor = 4 * sqrt((double)(channels * t->n_taps)) * 0x1p-24;
    for (int64_t p = 0; sum && p < t->n_out; p++) sum[p] *= factor;
}

static void run(void *data, int64_t from, int64_t to)
{
    const struct task *t = data;
    int64_t n_k = t->e->out[0]->dim[1];
    for (int64_t i = from; i < to; i++) plane(t, i / n_k, i % n_k);
}

void eval_conv(struct eval *e)
{
    struct task t = {.e = e, .w = window_of(e), .n_out = 1, .n_taps = 1, .n_in = 1};
    for (int i = 0; i < t.w.n_axes; i++) {
        t.n_out *= e->out[0]->dim[2 + i];
        t.n_taps *= e->in[1]->dim[2 + i];
        t.n_in *= e->in[0]->dim[2 + i];
    }
    parallel_for(e->out[0]->dim[0] * e->out[0]->dim[1], run, &t);
}
