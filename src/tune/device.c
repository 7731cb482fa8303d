/* device: this machine's GPU, for the tuner: plans run by gpu/runner on random data, results judged by whoever opened the device.
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
    struct tensors data;
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

/* What the plan binds: the tree's tensors that are not virtual. */
static bool list_tensors(struct device *d)
{
    const struct desc_graph *tree = d->job->desc;
    tensors_begin(&d->data, d->s, d->r, d->job->ir);
    for (size_t i = 0; i < tree->descs.n; i++) {
        const struct desc *t = tree->descs.at[i];
        if (t->kind != DESC_KIND_TENSOR || desc_get(t, DESC_ATTR_TENSOR_IS_VIRTUAL)) continue;
        const struct value *v = tensors_value(d->job->ir,
                                              desc_get(t, DESC_ATTR_TENSOR_UNIQUE_ID)->i[0]);
        if (!v) continue; /* a constant, below */
        if (v->role == VAL_SCALAR)
            vec_push(d->s->arena, &d->data.values, tensors_scalar(v));
        else if (!tensors_add(&d->data, v))
            return false;
    }
    for (size_t i = 0; i < tree->constants.n; i++)
        vec_push(d->s->arena, &d->data.values, tensors_constant(&tree->constants.at[i]));
    return runner_layout(d->r, &d->data.tensors);
}

/* ---- the face ---------------------------------------------------------------------------------
 */

static enum run_status begin(void *self, const struct tune_job *j, uint64_t seed)
{
    struct device *d = self;
    d->job = j;
    d->data.seed = seed;
    if (!list_tensors(d)) return RUN_REFUSED;
    tensors_fill(&d->data);
    reference_begin(&d->reference, j);
    d->empty = true;
    return status_of(runner_begin(d->r, &d->data.tensors, &d->data.values));
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
    if (runner_begin(d->r, &d->data.tensors, &d->data.values) != RUNNER_OK) return RUN_GONE;
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
    for (size_t i = 0; i < d->data.tensors.n; i++)
        bytes[tensors_value(d->job->ir, d->data.tensors.at[i].uid)->id] = runner_bytes(
            d->r, d->data.tensors.at[i].at);
    d->judge(d->s, a, d->job, bytes, d->data.seed, &whole, out);
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
    d->data.seed = seed;
    reference_forget(&d->reference);
    tensors_fill(&d->data);
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
