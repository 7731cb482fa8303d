/* interp: evaluates a graph in order, one array a value.
 *
 * Invariant: arrays are packed and row-major whatever the value's strides; strides say where
 * elements lie in memory and are the business of whoever reads or writes tensors. */
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "interp/internal.h"

/* ---- threads ------------------------------------------------------------------------------ */

enum { MAX_THREADS = 64, PARTS = 8 };

struct share {
    void (*f)(void *, int64_t, int64_t);
    void *data;
    int64_t n, parts, next;
    pthread_mutex_t lock;
};

static void *worker(void *data)
{
    struct share *s = data;
    for (;;) {
        pthread_mutex_lock(&s->lock);
        int64_t part = s->next < s->parts ? s->next++ : -1;
        pthread_mutex_unlock(&s->lock);
        if (part < 0) return NULL;
        int64_t from = s->n / s->parts * part + (part < s->n % s->parts ? part : s->n % s->parts);
        int64_t to = from + s->n / s->parts + (part < s->n % s->parts);
        s->f(s->data, from, to);
    }
}

void parallel_for(int64_t n, void (*f)(void *data, int64_t from, int64_t to), void *data)
{
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    int threads = cpus < 1 ? 1 : cpus > MAX_THREADS ? MAX_THREADS : (int)cpus;
    struct share s = {.f = f, .data = data, .n = n, .parts = (int64_t)threads * PARTS};
    if (s.parts > n) s.parts = n > 0 ? n : 1;
    pthread_mutex_init(&s.lock, NULL);
    pthread_t ids[MAX_THREADS];
    int started = 0;
    for (int i = 1; i < threads && i < s.parts; i++)
        if (pthread_create(&ids[started], NULL, worker, &s) == 0) started++;
    worker(&s);
    for (int i = 0; i < started; i++) pthread_join(ids[i], NULL);
    pthread_mutex_destroy(&s.lock);
}

/* ---- values ------------------------------------------------------------------------------- */

int64_t broadcast_index(const struct array *out, const struct array *in, int64_t flat)
{
    if (in->count == out->count && in->rank == out->rank) return flat;
    if (in->count == 1) return 0;
    int64_t at = 0, step = 1;
    for (int i = out->rank - 1; i >= 0; i--) {
        int64_t x = flat % out->dim[i];
        flat /= out->dim[i];
        if (in->dim[i] != 1) at += x * step;
        step *= in->dim[i];
    }
    return at;
}

const struct attr *eval_attr(const struct eval *e, const char *name)
{
    return &e->op->attr[op_attr_index(e->op->id, name)];
}

static struct array *array_for(struct arena *a, const struct value *v, bool bound)
{
    struct array *x = NEW(a, struct array);
    x->rank = v->rank;
    memcpy(x->dim, v->dim, sizeof x->dim);
    if (!dims_count(v->rank, v->dim, &x->count) || x->count > (int64_t)1 << 33) return NULL;
    x->at = NEW_N(a, double, x->count ? x->count : 1);
    if (bound) x->bound = NEW_N(a, double, x->count ? x->count : 1);
    return x;
}

static struct array *literal(struct arena *a, const struct value *v)
{
    struct array *x = NEW(a, struct array);
    x->count = 1;
    x->at = NEW(a, double);
    x->at[0] = v->literal;
    return x;
}

static void evaluate(struct eval *e)
{
    switch (ops[e->op->id].family) {
    case FAM_pointwise: eval_pointwise(e); break;
    case FAM_reduction: eval_reduce(e); break;
    case FAM_conv: eval_conv(e); break;
    case FAM_matmul: eval_matmul(e); break;
    case FAM_sdpa: eval_sdpa(e); break;
    case FAM_view: eval_view(e); break;
    }
}

bool interp_run(struct session *s, struct arena *a, const struct graph *g,
                struct array *const *inputs, bool want_bounds, struct interp_result *out)
{
    out->of = NEW_N(a, struct array *, g->values.n + 1);
    for (size_t i = 0; i < g->values.n; i++) {
        const struct value *v = g->values.at[i];
        if (v->role == VAL_INPUT || v->role == VAL_SCALAR) out->of[v->id] = inputs[v->id];
        if (!out->of[v->id] && (v->role == VAL_SCALAR || v->role == VAL_CONST))
            out->of[v->id] = literal(a, v);
    }
    for (size_t i = 0; i < g->ops.n; i++) {
        struct eval e = {.op = g->ops.at[i]};
        const struct op_info *info = &ops[e.op->id];
        for (int k = 0; k < info->n_in; k++)
            e.in[k] = e.op->in[k] ? out->of[e.op->in[k]->id] : NULL;
        for (int k = 0; k < info->n_out; k++) {
            if (!e.op->out[k]) continue;
            e.out[k] = out->of[e.op->out[k]->id] = array_for(a, e.op->out[k], want_bounds);
            if (e.out[k]) continue;
            diag(s, DIAG_reference_memory, e.op->span,
                 "'%s' makes a tensor that the reference cannot hold in memory", info->name);
            return false;
        }
        if (e.out[0]) evaluate(&e);
    }
    return true;
}

/* ---- random inputs ------------------------------------------------------------------------ */

/* splitmix64 (Steele, Lea, Flood 2014). */
static uint64_t scramble(uint64_t z)
{
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

void interp_random(const struct value *v, uint64_t seed, struct array *out, struct arena *a)
{
    *out = *array_for(a, v, false);
    uint64_t state = scramble(seed + 0x9e3779b97f4a7c15u);
    for (const char *p = v->name; p && *p; p++) state = scramble(state + (unsigned char)*p);
    for (int64_t i = 0; i < out->count; i++) {
        double u = (double)(scramble(state + 0x9e3779b97f4a7c15u * (uint64_t)(i + 1)) >> 11) *
                   0x1p-53;
        double x = dtypes[v->type].klass == DTC_bool  ? u < 0.5
                   : dtypes[v->type].klass == DTC_int ? (double)(int)(u * 17) - 8
                                                      : 2 * u - 1;
        if (v->type == DT_u8) x += 8;
        out->at[i] = dtype_round(v->type, x);
    }
}
