/* sample: elements of large results, one by one, from the inputs in memory.
 *
 * Invariant: an element is evaluated by the same formulas and bounds as a whole tensor is; what it
 * costs is counted, and nothing begins that the budget cannot end. */
#include <math.h>

#include "interp/internal.h"

struct sampler {
    struct arena *a;
    const struct graph *g;
    void *const *bytes;
    double left; /* multiplications that may still be done */
    /* attention: the last row, whose elements come one after the other */
    const struct op *row_op;
    int64_t row_at[3];
    double *row, most, sum;
};

static struct number at(struct sampler *s, const struct value *v, const int64_t *index);

static int64_t address(const struct value *v, const int64_t *index)
{
    int64_t flat = 0;
    for (int i = 0; i < v->rank; i++) flat += index[i] * v->stride[i];
    return flat;
}

/* The operand's element that goes with an element of the result: axes of size 1 spread. */
static struct number operand(struct sampler *s, const struct value *v, const int64_t *index)
{
    int64_t own[MAX_RANK];
    for (int i = 0; i < v->rank; i++) own[i] = v->dim[i] == 1 ? 0 : index[i];
    return at(s, v, own);
}

static struct number point(struct sampler *s, const struct op *op, const int64_t *index)
{
    struct number in[3] = {{0, 0}};
    for (int k = 0; k < ops[op->id].n_in; k++) in[k] = operand(s, op->in[k], index);
    return eval_point(op, ops[op->id].traits & OPT_index ? index[op->attr[0].i] : 0, in);
}

/* A sum of products on its way, with the bound of kernel_matmul. */
struct dot {
    double sum, magnitude, carried;
};
static void multiply(struct dot *d, struct number x, struct number y)
{
    d->sum += x.value * y.value;
    d->magnitude += fabs(x.value) * fabs(y.value);
    d->carried += x.bound * fabs(y.value) + y.bound * fabs(x.value);
}

static struct number matmul(struct sampler *s, const struct op *op, const int64_t *index)
{
    const struct value *a = op->in[0], *b = op->in[1];
    int r = a->rank;
    int64_t ia[MAX_RANK], ib[MAX_RANK], n = a->dim[r - 1];
    struct dot d = {0};
    for (int i = 0; i < r; i++) {
        ia[i] = a->dim[i] == 1 ? 0 : index[i];
        ib[i] = b->dim[i] == 1 ? 0 : index[i];
    }
    for (int64_t k = 0; k < n; k++) {
        ia[r - 1] = ib[r - 2] = k;
        multiply(&d, at(s, a, ia), at(s, b, ib));
    }
    s->left -= (double)n;
    return (struct number){d.sum, 4 * sqrt((double)n) * 0x1p-24 * d.magnitude + d.carried};
}

static int64_t list_or(const struct attr *a, int i, int64_t otherwise)
{
    return a->n > i ? a->list[i] : otherwise;
}

static struct number conv(struct sampler *s, const struct op *op, const int64_t *index)
{
    const struct eval e = {.op = op};
    const struct attr *pre = eval_attr(&e, "pre_pad"), *stride = eval_attr(&e, "stride"),
                      *dilation = eval_attr(&e, "dilation");
    const struct value *x = op->in[0], *w = op->in[1];
    int64_t ix[MAX_RANK] = {index[0]}, iw[MAX_RANK] = {index[1]}, taps = 1, channels = w->dim[1];
    int64_t group = index[1] / (w->dim[0] / eval_attr(&e, "groups")->i);
    struct dot d = {0};
    for (int i = 2; i < w->rank; i++) taps *= w->dim[i];
    for (int64_t c = 0; c < channels; c++)
        for (int64_t t = 0; t < taps; t++) {
            bool inside = true;
            int64_t left = t;
            for (int i = w->rank - 1; i >= 2; i--) {
                iw[i] = left % w->dim[i];
                left /= w->dim[i];
                ix[i] = index[i] * list_or(stride, i - 2, 1) + iw[i] * list_or(dilation, i - 2, 1) -
                        list_or(pre, i - 2, 0);
                inside = inside && ix[i] >= 0 && ix[i] < x->dim[i];
            }
            iw[1] = c;
            ix[1] = group * channels + c;
            if (inside) multiply(&d, at(s, x, ix), at(s, w, iw));
        }
    double n = (double)(channels * taps);
    s->left -= n;
    return (struct number){d.sum, 4 * sqrt(n) * 0x1p-24 * d.magnitude + d.carried};
}

/* Scores and their sum for the query row of index, kept while its elements are asked for. */
static void attend(struct sampler *s, const struct op *op, const int64_t *index, int64_t first,
                   int64_t last)
{
    const struct eval e = {.op = op};
    const struct value *q = op->in[0], *k = op->in[1];
    double scale = eval_attr(&e, "scale")->r;
    if (s->row_op == op && memcmp(s->row_at, index, sizeof s->row_at) == 0) return;
    s->row_op = op;
    memcpy(s->row_at, index, sizeof s->row_at);
    s->row = NEW_N(s->a, double, k->dim[2] + 1);
    s->most = -INFINITY;
    s->sum = 0;
    int64_t iq[4] = {index[0], index[1], index[2], 0},
            ik[4] = {index[0], index[1] / (q->dim[1] / k->dim[1]), 0, 0};
    for (int64_t j = first; j < last; j++) {
        double score = 0;
        ik[2] = j;
        for (int64_t x = 0; x < q->dim[3]; x++) {
            iq[3] = ik[3] = x;
            score += at(s, q, iq).value * at(s, k, ik).value;
        }
        s->row[j] = score * scale;
        if (s->row[j] > s->most) s->most = s->row[j];
    }
    for (int64_t j = first; j < last; j++) s->sum += s->row[j] = exp(s->row[j] - s->most);
    s->left -= (double)(last * q->dim[3]);
}

static struct number sdpa(struct sampler *s, const struct op *op, const int64_t *index, bool stats)
{
    const struct eval e = {.op = op};
    const struct value *q = op->in[0], *k = op->in[1], *v = op->in[2];
    int64_t n = k->dim[2], first, last;
    struct mask_window w = mask_window(eval_attr(&e, "mask"));
    sdpa_keys(&w, index[2] + (eval_attr(&e, "align")->i == 1 ? n - q->dim[2] : 0), n, &first,
              &last);
    if (last == first) return (struct number){stats ? -INFINITY : 0, 0};
    attend(s, op, index, first, last);
    if (stats) {
        double y = s->most + log(s->sum);
        return (struct number){y, 1e-3 + 1e-4 * fabs(y)};
    }
    int64_t iv[4] = {index[0], index[1] / (q->dim[1] / v->dim[1]), 0, index[3]};
    double y = 0, largest = 0;
    for (int64_t j = first; j < last; j++) {
        iv[2] = j;
        double x = at(s, v, iv).value;
        y += dtype_round(q->type, s->row[j] / s->sum) * x;
        if (fabs(x) > largest) largest = fabs(x);
    }
    s->left -= (double)last;
    return (struct number){y, 4 * sdpa_ratio(q->type) * largest};
}

static struct number reduce(struct sampler *s, const struct op *op, const int64_t *index)
{
    const struct eval e = {.op = op};
    const struct value *x = op->in[0], *y = op->out[0];
    int64_t ix[MAX_RANK], inner = 1, mode = eval_attr(&e, "mode")->i;
    struct gathered g = {0};
    for (int i = 0; i < x->rank; i++) {
        ix[i] = index[i];
        if (y->dim[i] != x->dim[i]) inner *= x->dim[i];
    }
    for (int64_t k = 0; k < inner && s->left > 0; k++) {
        int64_t rest = k;
        for (int i = x->rank - 1; i >= 0; i--) {
            if (y->dim[i] == x->dim[i]) continue;
            ix[i] = rest % x->dim[i];
            rest /= x->dim[i];
        }
        struct number one = at(s, x, ix);
        reduce_take(&g, mode, one.value, one.bound);
        s->left -= 1;
    }
    double value = reduce_finish(&g, mode);
    return (struct number){value, g.bound};
}

static struct number view(struct sampler *s, const struct op *op, const int64_t *index)
{
    int64_t of[MAX_RANK];
    view_index(op, index, of);
    return at(s, op->in[0], of);
}

static struct number at(struct sampler *s, const struct value *v, const int64_t *index)
{
    if (v->rank == 0 && !v->producer)
        return (struct number){v->role == VAL_SCALAR && !v->has_default ? 1 : v->literal, 0};
    if (!v->producer)
        return (struct number){dtype_load(v->type, s->bytes[v->id], address(v, index)), 0};
    const struct op *op = v->producer;
    switch (ops[op->id].family) {
    case FAM_pointwise: return point(s, op, index);
    case FAM_matmul: return matmul(s, op, index);
    case FAM_conv: return conv(s, op, index);
    case FAM_sdpa: return sdpa(s, op, index, v == op->out[1]);
    case FAM_reduction: return reduce(s, op, index);
    case FAM_view: return view(s, op, index);
    default: return (struct number){NAN, 0};
    }
}

/* ---- what one element costs -------------------------------------------------------------------
 */

/* Multiplications and additions for one element of v; grows without bound where results are shared.
 */
static double cost(const struct value *v)
{
    const struct op *op = v->producer;
    if (!op) return 1;
    double all = 0, n = 1;
    for (int k = 0; k < ops[op->id].n_in; k++) all += cost(op->in[k]);
    const struct value *x = op->in[0], *w = ops[op->id].n_in > 1 ? op->in[1] : NULL;
    switch (ops[op->id].family) {
    case FAM_matmul: n = (double)x->dim[x->rank - 1]; break;
    case FAM_conv:
        for (int i = 1; i < w->rank; i++) n *= (double)w->dim[i];
        break;
    case FAM_sdpa: n = (double)w->dim[2] * (double)(x->dim[3] / op->in[2]->dim[3] + 1); break;
    case FAM_reduction:
        for (int i = 0; i < x->rank; i++)
            if (v->dim[i] != x->dim[i]) n *= (double)x->dim[i];
        break;
    default: break;
    }
    return all * n;
}

/* ---- judging ----------------------------------------------------------------------------------
 */

static uint64_t next(uint64_t *state)
{
    uint64_t x = *state += 0x9e3779b97f4a7c15u; /* splitmix64 */
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

/* Corners first, then anywhere: a tile that is not written lies at an edge. */
static void draw(const struct value *v, int64_t i, uint64_t *state, int64_t *index)
{
    for (int k = 0; k < v->rank; k++) {
        bool corner = i < (int64_t)1 << v->rank;
        index[k] = corner ? (i >> k & 1 ? v->dim[k] - 1 : 0)
                          : (int64_t)(next(state) % (uint64_t)v->dim[k]);
        if (!corner && next(state) % 8 == 0) index[k] = v->dim[k] - 1;
    }
}

static void weigh(struct sampled *out, double got, struct number want, int64_t place,
                  double norm[2])
{
    struct verdict *r = &out->verdict;
    double share = share_of_bound(got, want.value, want.bound), error = got - want.value;
    if (out->n++ == 0 || share > r->worst)
        *r = (struct verdict){
            .worst = share, .at = place, .got = got, .want = want.value, .bound = want.bound};
    if (!isfinite(want.value) || !isfinite(got)) return;
    norm[0] += error * error;
    norm[1] += want.value * want.value;
}

/* The first element that is NaN, or -1: a tensor is laid out as its strides say. */
static int64_t find_nan(const struct value *v, const void *bytes, int64_t *index)
{
    int64_t count = 0;
    if (dtypes[v->type].klass != DTC_float || !dims_count(v->rank, v->dim, &count)) return -1;
    for (int64_t i = 0; i < count; i++) {
        int64_t left = i;
        for (int k = v->rank - 1; k >= 0; k--) {
            index[k] = left % v->dim[k];
            left /= v->dim[k];
        }
        if (isnan(dtype_load(v->type, bytes, address(v, index)))) return i;
    }
    return -1;
}

/* The output that holds what the reduction gathers, rounded; NULL when there is none. */
static const struct value *stored_twin(const struct graph *g, const struct value *gathered)
{
    if (gathered->role == VAL_OUTPUT) return gathered;
    for (size_t i = 0; i < g->outputs.n; i++) {
        const struct op *by = g->outputs.at[i]->producer;
        if (by && by->id == OP_cast && by->in[0] == gathered) return g->outputs.at[i];
    }
    return NULL;
}

/* A long reduction over values that are an output too is judged by what was stored of them. */
static bool by_twin(struct sampler *s, const struct value *v, struct sampled *out, double norm[2])
{
    const struct op *op = v->producer && v->producer->id == OP_cast ? v->producer->in[0]->producer
                                                                    : v->producer;
    if (!op || ops[op->id].family != FAM_reduction) return false;
    const struct value *twin = stored_twin(s->g, op->in[0]), *y = op->out[0];
    int64_t count, from[MAX_RANK], index[MAX_RANK];
    const struct eval e = {.op = op};
    if (!twin || !dims_count(v->rank, v->dim, &count) || count > 4096) return false;
    struct gathered *cells = NEW_N(s->a, struct gathered, count);
    int64_t n = 0;
    if (!dims_count(twin->rank, twin->dim, &n)) return false;
    for (int64_t i = 0; i < n; i++) {
        int64_t left = i, cell = 0;
        for (int k = twin->rank - 1; k >= 0; k--) {
            from[k] = left % twin->dim[k];
            left /= twin->dim[k];
        }
        for (int k = 0; k < y->rank; k++) cell = cell * y->dim[k] + (y->dim[k] == 1 ? 0 : from[k]);
        double x = dtype_load(twin->type, s->bytes[twin->id], address(twin, from));
        reduce_take(&cells[cell], eval_attr(&e, "mode")->i, x,
                    twin == op->in[0] ? 0 : dtype_ulp(twin->type, x));
    }
    for (int64_t i = 0; i < count; i++) {
        int64_t left = i;
        for (int k = v->rank - 1; k >= 0; k--) {
            index[k] = left % v->dim[k];
            left /= v->dim[k];
        }
        double want = reduce_finish(&cells[i], eval_attr(&e, "mode")->i);
        weigh(out, dtype_load(v->type, s->bytes[v->id], address(v, index)),
              (struct number){want, cells[i].bound + dtype_ulp(v->type, want)}, i, norm);
    }
    return true;
}

void interp_sample_one(struct arena *a, const struct graph *g, void *const *bytes,
                       const struct value *output, int64_t place, double budget,
                       struct sampled *out)
{
    struct sampler s = {.a = a, .g = g, .bytes = bytes, .left = budget};
    int64_t index[MAX_RANK], left = place;
    double norm[2] = {0, 0}, one = cost(output);
    *out = (struct sampled){0};
    if (one > budget) {
        out->why = arena_printf(a, "an element takes %.3g operations", one);
        return;
    }
    for (int k = output->rank - 1; k >= 0; k--) {
        index[k] = left % output->dim[k];
        left /= output->dim[k];
    }
    weigh(out, dtype_load(output->type, bytes[output->id], address(output, index)),
          at(&s, output, index), place, norm);
    out->verdict.ok = out->verdict.worst <= 1;
}

void interp_sample(struct arena *a, const struct graph *g, void *const *bytes,
                   const struct value *output, uint64_t seed, double budget, struct sampled *out)
{
    struct sampler s = {.a = a, .g = g, .bytes = bytes, .left = budget};
    int64_t count = 0, index[MAX_RANK];
    double one = cost(output), norm[2] = {0, 0};
    *out = (struct sampled){0};
    if (!dims_count(output->rank, output->dim, &count)) return;
    int64_t nan = find_nan(output, bytes[output->id], index);
    if (one > budget) {
        if (!by_twin(&s, output, out, norm))
            out->why = arena_printf(a, "an element takes %.3g operations", one);
    } else {
        if (nan >= 0) weigh(out, NAN, at(&s, output, index), nan, norm);
        int64_t most = count < 4096 ? count : 4096;
        for (int64_t i = 0; i < most && s.left > one; i++) {
            if (count <= 4096) { /* all of them */
                int64_t left = i;
                for (int k = output->rank - 1; k >= 0; k--) {
                    index[k] = left % output->dim[k];
                    left /= output->dim[k];
                }
            } else {
                draw(output, i, &seed, index);
            }
            int64_t place = 0;
            for (int k = 0; k < output->rank; k++) place = place * output->dim[k] + index[k];
            weigh(out, dtype_load(output->type, bytes[output->id], address(output, index)),
                  at(&s, output, index), place, norm);
        }
    }
    struct verdict *r = &out->verdict;
    double rule = norm_rule(output);
    r->relative = norm[1] > 0 ? sqrt(norm[0] / norm[1]) : sqrt(norm[0]);
    if (rule > 0 && r->relative > rule && r->relative / rule > r->worst)
        r->worst = r->relative / rule;
    r->ok = out->n > 0 && r->worst <= 1;
    if (out->n == 0 && !out->why) out->why = "no element could be evaluated";
}
