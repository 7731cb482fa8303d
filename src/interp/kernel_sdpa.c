/* kernel_sdpa: attention row by row, in f64:
 *   s_j = scale q . k_j over the keys that the mask allows; p = exp(s - max) / sum; o = sum p_j v_j
 * with each p rounded to q's type, as the operator says. Query head h reads key head h // (H /
 * HKV). A row that no key may enter gives 0, and stats of -inf.
 *
 * Attention is judged by norm (see check.c); the bound of an element is what the norm rule allows
 * for one, four times the rule's ratio of the row's largest |v|, and keeps single wrong elements
 * from hiding. */
#include <math.h>
#include <stdlib.h>

#include "interp/internal.h"

void sdpa_keys(const struct mask_window *w, int64_t at, int64_t n, int64_t *first, int64_t *last)
{
    *first = w->left >= 0 && at - w->left > 0 ? at - w->left : 0;
    *last = w->right >= 0 && at + w->right + 1 < n ? at + w->right + 1 : n;
    if (*last < *first) *last = *first;
}

struct task {
    struct eval *e;
    double scale, ratio;
    struct mask_window window;
    int64_t shift; /* query i stands at key i + shift */
    enum dtype p_type;
};

static void row(const struct task *t, int64_t b, int64_t h, int64_t i, double *p)
{
    const struct array *q = t->e->in[0], *k = t->e->in[1], *v = t->e->in[2];
    struct array *o = t->e->out[0], *stats = t->e->out[1];
    int64_t d = q->dim[3], dv = v->dim[3], n = k->dim[2];
    int64_t hk = h / (q->dim[1] / k->dim[1]), hv = h / (q->dim[1] / v->dim[1]);
    const double *qp = q->at + ((b * q->dim[1] + h) * q->dim[2] + i) * d;
    const double *kp = k->at + (b * k->dim[1] + hk) * n * d,
                 *vp = v->at + (b * v->dim[1] + hv) * n * dv;
    int64_t at = ((b * o->dim[1] + h) * o->dim[2] + i), first = 0, last = n;
    sdpa_keys(&t->window, i + t->shift, n, &first, &last);
    double most = -INFINITY, sum = 0, largest = 0;
    for (int64_t j = first; j < last; j++) {
        double s = 0;
        for (int64_t x = 0; x < d; x++) s += qp[x] * kp[j * d + x];
        p[j] = s * t->scale;
        if (p[j] > most) most = p[j];
    }
    double *op = o->at + at * dv;
    for (int64_t x = 0; x < dv; x++) op[x] = 0;
    for (int64_t j = first; j < last; j++) sum += p[j] = exp(p[j] - most);
    for (int64_t j = first; j < last; j++) {
        double w = dtype_round(t->p_type, p[j] / sum);
        for (int64_t x = 0; x < dv; x++) {
            op[x] += w * vp[j * dv + x];
            if (fabs(vp[j * dv + x]) > largest) largest = fabs(vp[j * dv + x]);
        }
    }
    for (int64_t x = 0; o->bound && x < dv; x++) o->bound[at * dv + x] = 4 * t->ratio * largest;
    if (!stats) return;
    stats->at[at] = last > first ? most + log(sum) : -INFINITY;
    if (stats->bound) stats->bound[at] = last > first ? 1e-3 + 1e-4 * fabs(stats->at[at]) : 0;
}

static void run(void *data, int64_t from, int64_t to)
{
    const struct task *t = data;
    const struct array *q = t->e->in[0];
    double *p = malloc(sizeof *p * (size_t)t->e->in[1]->dim[2]);
    if (!p) {
        fputs("fgc: error: out of memory\n", stderr);
        exit(70);
    }
    for (int64_t r = from; r < to; r++)
        row(t, r / (q->dim[1] * q->dim[2]), r / q->dim[2] % q->dim[1], r % q->dim[2], p);
    free(p);
}

void eval_sdpa(struct eval *e)
{
    const struct array *q = e->in[0], *k = e->in[1];
    enum dtype type = e->op->in[0]->type;
    struct task t = {.e = e, .scale = eval_attr(e, "scale")->r, .p_type = type};
    t.ratio = sdpa_ratio(type);
    t.window = mask_window(eval_attr(e, "mask"));
    t.shift = eval_attr(e, "align")->i == 1 ? k->dim[2] - q->dim[2] : 0; /* bottom_right */
    parallel_for(q->dim[0] * q->dim[1] * q->dim[2], run, &t);
}
