/* data: the tensors of a graph's interface on the device, with random values.
 *
 * Invariant: what a tensor holds follows from the seed and its uid alone. */
#include <stdlib.h>

#include "tune/internal.h"

const struct value *tensors_value(const struct graph *g, int64_t uid)
{
    for (size_t i = 0; i < g->values.n; i++) {
        const struct value *v = g->values.at[i];
        if (v->uid == uid &&
            (v->role == VAL_INPUT || v->role == VAL_OUTPUT || v->role == VAL_SCALAR))
            return v;
    }
    return NULL;
}

enum dtype tensors_type(const char *cudnn)
{
    for (int t = DT_none + 1; t < N_DTYPES; t++)
        if (dtypes[t].cudnn && strcmp(dtypes[t].cudnn, cudnn) == 0) return (enum dtype)t;
    return DT_none;
}

static struct runner_value_at value_of(int64_t uid, enum dtype type, double x)
{
    struct runner_value_at v = {.uid = uid, .bytes = (size_t)dtypes[type].bits / 8};
    if (type == DT_f64)
        memcpy(v.value, &x, sizeof x);
    else
        dtype_store(type, v.value, 0, x);
    return v;
}

struct runner_value_at tensors_scalar(const struct value *v)
{
    return value_of(v->uid, v->type, v->has_default ? v->literal : 1);
}

struct runner_value_at tensors_constant(const struct desc_constant *c)
{
    return value_of(c->uid, tensors_type(c->type), c->value);
}

void tensors_begin(struct tensors *d, struct session *s, struct runner *r, const struct graph *g)
{
    d->s = s;
    d->r = r;
    d->g = g;
    d->tensors.n = d->values.n = 0;
}

bool tensors_add(struct tensors *d, const struct value *v)
{
    int64_t extent, bytes;
    if (!dims_extent(v->rank, v->dim, v->stride, &extent) ||
        !i64_mul(extent, dtypes[v->type].bits / 8, &bytes))
        return false;
    vec_push(d->s->arena, &d->tensors,
             ((struct runner_tensor_at){
                 .uid = v->uid, .bytes = (size_t)bytes, .output = v->role == VAL_OUTPUT}));
    return true;
}

static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u; /* splitmix64 */
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

/* Uniform in [-1, 1), small integers, bools: never zeros, on which a GPU runs faster. What a type
 * makes of 65,536 numbers is made once; elements draw among them. */
static void fill(struct tensors *d, const struct value *v, void *to, size_t bytes)
{
    enum { TABLE = 65536 };
    size_t size = (size_t)dtypes[v->type].bits / 8, n = bytes / size;
    unsigned char *table = malloc(TABLE * size);
    if (!table) return;
    for (int64_t i = 0; i < TABLE; i++) {
        double u = ((double)i + 0.5) / TABLE;
        dtype_store(v->type, table, i,
                    dtypes[v->type].klass == DTC_bool ? u < 0.5
                    : dtypes[v->type].klass == DTC_int
                        ? (double)(int)(u * 17) - (v->type == DT_u8 ? 0 : 8)
                        : 2 * u - 1);
    }
    uint64_t state = mix(d->seed * 1000003 + (uint64_t)v->uid);
    for (size_t i = 0; i < n; i++) {
        state += 0x9e3779b97f4a7c15u;
        memcpy((char *)to + i * size, table + (mix(state) & (TABLE - 1)) * size, size);
    }
    free(table);
}

void tensors_fill(struct tensors *d)
{
    for (size_t i = 0; i < d->tensors.n; i++) {
        const struct runner_tensor_at *t = &d->tensors.at[i];
        if (!t->output)
            fill(d, tensors_value(d->g, t->uid), runner_bytes(d->r, t->at), t->bytes);
    }
}
