/* device: this machine's GPU, for the tuner: the job's tensors with random data, plans run by
 * gpu/runner, results judged by whoever opened the device.
 *
 * Invariant: uids are those of the descriptor tree that the plans were built of; what the tree does
 * not have in memory is not bound. */
#include <stdlib.h>

#include "gpu/runner.h"
#include "tune/internal.h"

struct device {
    struct session *s;
    struct runner *r;
    tune_judge_fn *judge;
    const struct tune_job *job;
    uint64_t seed;
    runner_tensors_vec tensors;
    runner_values_vec values;
    struct reference reference;
    bool empty; /* no plan was loaded since the process or the job began */
    struct tune_device face;
};

static enum run_status status_of(enum runner_status st)
{
    static const enum run_status of[] = {[RUNNER_OK] = RUN_OK,
                                         [RUNNER_REFUSED] = RUN_REFUSED,
                                         [RUNNER_CRASH] = RUN_CRASH,
                                         [RUNNER_HANG] = RUN_HANG,
                                         [RUNNER_GONE] = RUN_GONE};
    return of[st];
}

/* ---- the job's tensors ------------------------------------------------------------------------
 */

static const struct value *interface_value(const struct graph *g, int64_t uid)
{
    for (size_t i = 0; i < g->values.n; i++) {
        const struct value *v = g->values.at[i];
        if (v->uid == uid &&
            (v->role == VAL_INPUT || v->role == VAL_OUTPUT || v->role == VAL_SCALAR))
            return v;
    }
    return NULL;
}

static enum dtype by_word(const char *cudnn)
{
    for (int t = DT_none + 1; t < N_DTYPES; t++)
        if (dtypes[t].cudnn && strcmp(dtypes[t].cudnn, cudnn) == 0) return (enum dtype)t;
    return DT_none;
}

static void add_value(struct device *d, int64_t uid, enum dtype type, double x)
{
    struct runner_value_at v = {.uid = uid, .bytes = (size_t)dtypes[type].bits / 8};
    if (type == DT_f64)
        memcpy(v.value, &x, sizeof x);
    else
        dtype_store(type, v.value, 0, x);
    vec_push(d->s->arena, &d->values, v);
}

static bool add_tensor(struct device *d, const struct value *v)
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

/* What the plan binds: the tree's tensors that are not virtual. */
static bool list_tensors(struct device *d)
{
    const struct desc_graph *tree = d->job->desc;
    d->tensors.n = d->values.n = 0;
    for (size_t i = 0; i < tree->descs.n; i++) {
        const struct desc *t = tree->descs.at[i];
        if (t->kind != DESC_KIND_TENSOR || desc_get(t, DESC_ATTR_TENSOR_IS_VIRTUAL)) continue;
        const struct value *v = interface_value(d->job->ir,
                                                desc_get(t, DESC_ATTR_TENSOR_UNIQUE_ID)->i[0]);
        if (!v) continue; /* a constant, below */
        if (v->role == VAL_SCALAR)
            add_value(d, v->uid, v->type, v->has_default ? v->literal : 1);
        else if (!add_tensor(d, v))
            return false;
    }
    for (size_t i = 0; i < tree->constants.n; i++)
        add_value(d, tree->constants.at[i].uid, by_word(tree->constants.at[i].type),
                  tree->constants.at[i].value);
    return runner_layout(d->r, &d->tensors);
}

static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u; /* splitmix64 */
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

/* Uniform in [-1, 1), small integers, bools: never zeros, on which a GPU runs faster. What a type
 * makes of 65,536 numbers is made once; elements draw among them. */
static void fill(struct device *d, const struct value *v, void *to, size_t bytes)
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

static void fill_inputs(struct device *d)
{
    for (size_t i = 0; i < d->tensors.n; i++) {
        const struct runner_tensor_at *t = &d->tensors.at[i];
        if (!t->output)
            fill(d, interface_value(d->job->ir, t->uid), runner_bytes(d->r, t->at), t->bytes);
    }
}

/* ---- the face ---------------------------------------------------------------------------------
 */

static enum run_status begin(void *self, const struct tune_job *j, uint64_t seed)
{
    struct device *d = self;
    d->job = j;
    d->seed = seed;
    if (!list_tensors(d)) return RUN_REFUSED;
    fill_inputs(d);
    reference_begin(&d->reference, j);
    d->empty = true;
    return status_of(runner_begin(d->r, &d->tensors, &d->values));
}

/* A process that was ended knows of no job: it is told again, and what is loaded is loaded by the
 * tuner. */
static enum run_status again(struct device *d, enum run_status st)
{
    if (st != RUN_CRASH && st != RUN_HANG) return st;
    char why[512];
    snprintf(why, sizeof why, "%s", runner_why(d->r));
    d->reference.ready = false;
    d->empty = true;
    if (runner_begin(d->r, &d->tensors, &d->values) != RUNNER_OK) return RUN_GONE;
    runner_say(d->r, why);
    return st;
}

static enum run_status load(void *self, int slot, const struct tune_pick *p, const char *plan,
                            size_t n)
{
    struct device *d = self;
    if (d->empty && again(d, status_of(reference_compute(&d->reference))) == RUN_GONE)
        return RUN_GONE; /* any other failure is the reference's own, and is kept there */
    d->empty = false;
    return again(d, status_of(runner_load(d->r, slot, plan, n, p->workspace_bytes)));
}

static enum run_status check(void *self, struct arena *a, int slot, struct tune_check *out)
{
    struct device *d = self;
    struct tune_whole whole = {0};
    enum run_status st = again(d, status_of(runner_run(d->r, slot)));
    if (st == RUN_OK) st = again(d, status_of(reference_judge(&d->reference, a, &whole)));
    if (st == RUN_REFUSED && whole.why) st = RUN_OK; /* the reference, not the plan */
    if (st != RUN_OK) return st;
    void **bytes = NEW_N(a, void *, d->job->ir->values.n + 1);
    for (size_t i = 0; i < d->tensors.n; i++)
        bytes[interface_value(d->job->ir, d->tensors.at[i].uid)->id] = runner_bytes(
            d->r, d->tensors.at[i].at);
    d->judge(d->s, a, d->job, bytes, d->seed, &whole, out);
    return RUN_OK;
}

static enum run_status time_it(void *self, int slot, double at_most_us, struct tune_sample *out)
{
    struct device *d = self;
    return again(d, status_of(runner_time(d->r, slot, at_most_us, &out->us, &out->mhz)));
}

static enum run_status fresh(void *self, uint64_t seed)
{
    struct device *d = self;
    d->seed = seed;
    reference_forget(&d->reference);
    fill_inputs(d);
    return status_of(runner_fresh(d->r));
}

static void unload(void *self, int slot)
{
    struct device *d = self;
    runner_unload(d->r, slot);
}

static const char *why(void *self)
{
    struct device *d = self;
    return runner_why(d->r);
}

static void close_it(void *self)
{
    struct device *d = self;
    runner_close(d->r);
}

struct tune_device *tune_device_open(struct session *s, const struct gpu_search *o,
                                     tune_judge_fn *judge)
{
    struct device *d = NEW(s->arena, struct device);
    d->s = s;
    d->judge = judge;
    d->r = runner_open(s, o);
    if (!d->r) return NULL;
    d->reference = (struct reference){.s = s, .r = d->r};
    d->face = (struct tune_device){.self = d,
                                   .uuid = d->r->uuid,
                                   .name = d->r->name,
                                   .description = d->r->description,
                                   .begin = begin,
                                   .load = load,
                                   .check = check,
                                   .time = time_it,
                                   .fresh = fresh,
                                   .unload = unload,
                                   .why = why,
                                   .close = close_it};
    return &d->face;
}
