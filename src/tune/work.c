/* work: how much a graph computes and moves, and how fast its target could be at best.
 *
 * Ceilings are what was measured, not what is printed on the box: one H200, random data (bf16 and
 * f16 8192^3 matmul 790 TFLOP/s; fp8 1,264, four fifths of the nominal 1,580; copy 4.3 TB/s read
 * and written). */
#include "tune/tune.h"

struct ceiling {
    int sm, multiprocessors;
    double half, fp8, bytes; /* a second */
};
static const struct ceiling ceilings[] = {{90, 132, 790e12, 1264e12, 4.3e12}};

static double elements(const struct value *v)
{
    double n = 1;
    for (int i = 0; i < v->rank; i++) n *= (double)v->dim[i];
    return n;
}

/* y[..., M, N] = a[..., M, K] b */
static double matmul_flops(const struct op *op)
{
    const struct value *a = op->in[0];
    return 2 * elements(op->out[0]) * (double)a->dim[a->rank - 1];
}

/* Every output element sums over the filter's own channels and window: w is [K, C / groups, ...].
 */
static double conv_flops(const struct op *op)
{
    const struct value *w = op->in[1];
    return 2 * elements(op->out[0]) * elements(w) / (double)w->dim[0];
}

/* Two products over the pairs of q[B, H, Sq, D] and k[B, H, Skv, D]; v has its own width. */
static double sdpa_flops(const struct op *op)
{
    const struct value *q = op->in[0], *k = op->in[1], *v = op->in[2];
    double sq = (double)q->dim[q->rank - 2], skv = (double)k->dim[k->rank - 2];
    double pairs = sq * skv, heads = elements(q) / (sq * (double)q->dim[q->rank - 1]);
    struct mask_window w = mask_window(&op->attr[op_attr_index(op->id, "mask")]);
    if (w.right == 0 && sq <= skv) pairs = sq * (skv - sq) + sq * (sq + 1) / 2;
    if (w.left >= 0 && w.right >= 0 && sq * (double)(w.left + w.right + 1) < pairs)
        pairs = sq * (double)(w.left + w.right + 1);
    return 2 * heads * pairs * ((double)q->dim[q->rank - 1] + (double)v->dim[v->rank - 1]);
}

struct tune_work tune_work_of(const struct graph *g)
{
    struct tune_work w = {0, 0};
    for (size_t i = 0; i < g->ops.n; i++) {
        const struct op *op = g->ops.at[i];
        enum op_family f = ops[op->id].family;
        if (!op->out[0]) continue;
        if (f == FAM_matmul) w.flops += matmul_flops(op);
        if (f == FAM_conv) w.flops += conv_flops(op);
        if (f == FAM_sdpa) w.flops += sdpa_flops(op);
    }
    const values_vec *both[] = {&g->inputs, &g->outputs};
    for (int k = 0; k < 2; k++)
        for (size_t i = 0; i < both[k]->n; i++)
            w.bytes += elements(both[k]->at[i]) * dtypes[both[k]->at[i]->type].bits / 8;
    return w;
}

double tune_roof(const struct graph *g, const struct target *t)
{
    struct tune_work w = tune_work_of(g);
    bool fp8 = false, wide = false;
    for (size_t i = 0; i < g->inputs.n; i++) {
        enum dtype type = g->inputs.at[i]->type;
        fp8 |= type == DT_e4m3 || type == DT_e5m2;
        wide |= dtypes[type].bits >= 32 && g->inputs.at[i]->rank > 1 &&
                elements(g->inputs.at[i]) > 1e5;
    }
    for (size_t i = 0; i < COUNT_OF(ceilings); i++) {
        const struct ceiling *c = &ceilings[i];
        if (c->sm != t->sm || c->multiprocessors != t->multiprocessors) continue;
        if (wide && w.flops > 0) return 0; /* f32 anchors: no ceiling was measured */
        double f = w.flops / (fp8 ? c->fp8 : c->half), b = w.bytes / c->bytes;
        return f > b ? f : b;
    }
    return 0;
}
