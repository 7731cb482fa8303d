/* bench: programs of plans, and of plain kernels around bare plans, timed in turns.
 *
 * Invariant: a plan's tensors are bound by its own descriptor tree; what crosses from one plan to
 * the next lies in a buffer of the program. */
#include <math.h>
#include <stdlib.h>

#include "tune/bench.h"
#include "tune/internal.h"

enum { FUSED, UNFUSED, FIRST_PLAN }; /* the runner's slots */

struct bench {
    struct session *s;
    struct runner *r;
    const struct graph *g;
    struct tensors data;
    int n_plans; /* loaded so far */
};

/* ---- programs of plans ----------------------------------------------------------------------- */

/* What two plans share and no interface has. */
struct crossing {
    int64_t uid;
    int buffer;
};
typedef VEC(struct crossing) crossings_vec;

static bool tensor_bytes(const struct desc *t, int64_t *bytes)
{
    const struct desc_attr *dim = desc_get(t, DESC_ATTR_TENSOR_DIMENSIONS),
                           *stride = desc_get(t, DESC_ATTR_TENSOR_STRIDES);
    enum dtype type = tensors_type(desc_get(t, DESC_ATTR_TENSOR_DATA_TYPE)->word);
    int64_t extent;
    return dims_extent(dim->n, dim->i, stride->i, &extent) &&
           i64_mul(extent, dtypes[type].bits / 8, bytes);
}

static int buffer_of(struct bench *b, struct runner_program *p, crossings_vec *crossings,
                     const struct desc *t, int64_t uid)
{
    int64_t bytes;
    for (size_t i = 0; i < crossings->n; i++)
        if (crossings->at[i].uid == uid) return crossings->at[i].buffer;
    if (!tensor_bytes(t, &bytes)) return -1;
    vec_push(b->s->arena, &p->buffers, bytes);
    struct crossing c = {uid, (int)p->buffers.n - 1};
    vec_push(b->s->arena, crossings, c);
    return c.buffer;
}

static void push_value(struct bench *b, struct runner_launch *l, struct runner_value_at v)
{
    vec_push(b->s->arena, &l->args,
             ((struct runner_arg){.kind = RUNNER_VALUE, .uid = v.uid, .value = v}));
}

static enum runner_status load(struct bench *b, const struct bench_plan *plan, int *slot)
{
    *slot = FIRST_PLAN + b->n_plans++;
    return runner_load(b->r, *slot, plan->plan, plan->plan_bytes, plan->workspace_bytes);
}

static void push_constants(struct bench *b, struct runner_launch *l, const struct desc_graph *tree)
{
    for (size_t i = 0; i < tree->constants.n; i++)
        push_value(b, l, tensors_constant(&tree->constants.at[i]));
}

/* One plan of the graph's own: interface, constants, and what crosses from step to step. */
static enum runner_status add_step(struct bench *b, const struct bench_plan *plan,
                                   struct runner_program *p, crossings_vec *crossings)
{
    struct runner_launch l = {.kernel = NULL};
    enum runner_status st = load(b, plan, &l.plan);
    for (size_t i = 0; i < plan->desc->descs.n; i++) {
        const struct desc *t = plan->desc->descs.at[i];
        if (t->kind != DESC_KIND_TENSOR || desc_get(t, DESC_ATTR_TENSOR_IS_VIRTUAL)) continue;
        int64_t uid = desc_get(t, DESC_ATTR_TENSOR_UNIQUE_ID)->i[0];
        struct runner_arg a = {.kind = RUNNER_TENSOR, .uid = uid, .of = uid};
        for (size_t k = 0; k < plan->views.n; k++)
            if (plan->views.at[k].uid == uid) {
                a.of = plan->views.at[k].of;
                a.offset = plan->views.at[k].offset;
            }
        const struct value *v = tensors_value(b->g, a.of);
        bool constant = false;
        for (size_t k = 0; k < plan->desc->constants.n; k++)
            constant = constant || plan->desc->constants.at[k].uid == uid;
        if (constant) continue;
        if (v && v->role == VAL_SCALAR) {
            push_value(b, &l, tensors_scalar(v));
            continue;
        }
        if (!v) {
            a.kind = RUNNER_BUFFER;
            a.of = buffer_of(b, p, crossings, t, a.of);
        }
        vec_push(b->s->arena, &l.args, a);
    }
    push_constants(b, &l, plan->desc);
    vec_push(b->s->arena, &p->launches, l);
    return st;
}

/* Plain kernels, with a bare plan in the place of each anchor, whose uids count its operands and
 * results from 1. */
static enum runner_status add_anchors(struct bench *b, const struct bench_unfused *u,
                                      struct runner_program *p)
{
    enum runner_status st = RUNNER_OK;
    for (size_t i = 0, n = 0; i < p->launches.n && st == RUNNER_OK; i++) {
        struct runner_launch *l = &p->launches.at[i];
        if (l->kernel) continue;
        const struct bench_plan *plan = &u->anchors.at[n++];
        for (size_t k = 0; k < l->args.n; k++) l->args.at[k].uid = (int64_t)k + 1;
        push_constants(b, l, plan->desc);
        st = load(b, plan, &l->plan);
    }
    return st;
}

/* ---- timing ---------------------------------------------------------------------------------- */

static bool begin(struct bench *b)
{
    tensors_begin(&b->data, b->s, b->r, b->g);
    b->data.seed = 1;
    const values_vec *both[] = {&b->g->inputs, &b->g->outputs};
    bool ok = true;
    for (int k = 0; k < 2; k++)
        for (size_t i = 0; i < both[k]->n; i++) ok = ok && tensors_add(&b->data, both[k]->at[i]);
    ok = ok && runner_layout(b->r, &b->data.tensors);
    if (ok) tensors_fill(&b->data);
    ok = ok && runner_begin(b->r, &b->data.tensors, &b->data.values) == RUNNER_OK;
    if (!ok)
        diag(b->s, DIAG_no_device, b->g->span, "graph '%s' cannot be run on '%s': %s", b->g->name,
             b->r->name, runner_why(b->r));
    return ok;
}

static int64_t bytes_of(const struct runner_program *p, const bench_plans_vec *plans)
{
    int64_t n = 0;
    for (size_t i = 0; i < p->buffers.n; i++) n += p->buffers.at[i];
    for (size_t i = 0; i < plans->n; i++) n += plans->at[i].workspace_bytes;
    return n;
}

static enum runner_status sample(struct bench *b, int slot, struct bench_way *w, double *mhz)
{
    double us = 0;
    enum runner_status st = runner_time(b->r, slot, 0, &us, mhz);
    if (st == RUNNER_OK) vec_push(b->s->arena, &w->us, us);
    return st;
}

static void finish(struct bench_way *w)
{
    if (w->us.n == 0) return;
    struct interval i = stats_median_interval(w->us.at, w->us.n, 1);
    w->median = stats_median(w->us.at, w->us.n);
    w->low = i.low;
    w->high = i.high;
}

static bool refused(struct bench *b)
{
    diag(b->s, DIAG_no_device, b->g->span, "the plans of graph '%s' do not run on '%s': %s",
         b->g->name, b->r->name, runner_why(b->r));
    return false;
}

/* The unfused way is left out where it cannot be had; a process that it ended is a loss of all. */
static bool prepare_unfused(struct bench *b, const struct bench_unfused *u, struct bench_way *w)
{
    struct runner_program p;
    w->why = u->why;
    if (w->why) return true;
    program_of_kernels(b->s->arena, &u->kernels, true, &p);
    p.contract = true;
    w->workspace_bytes = bytes_of(&p, &u->anchors);
    enum runner_status st = add_anchors(b, u, &p);
    if (st == RUNNER_OK) st = runner_program(b->r, UNFUSED, &p);
    if (st == RUNNER_OK) st = runner_wall(b->r, UNFUSED, &w->wall);
    if (st == RUNNER_OK) return true;
    w->why = arena_strdup(b->s->arena, runner_why(b->r));
    return st == RUNNER_REFUSED;
}

/* ||x - y|| / ||y|| over elements as they lie in memory, at most a million of them. */
static double distance(enum dtype type, const void *x, const void *y, size_t bytes)
{
    int64_t n = (int64_t)(bytes * 8 / dtypes[type].bits), step = n / 1000000 + 1;
    double error2 = 0, norm2 = 0;
    bool any = false;
    for (int64_t i = 0; i < n; i += step) {
        double a = dtype_load(type, x, i), b = dtype_load(type, y, i);
        if (isfinite(a) != isfinite(b)) return INFINITY;
        if (!isfinite(a)) continue; /* what no element's stride reaches */
        any = true;
        error2 += (a - b) * (a - b);
        norm2 += b * b;
    }
    if (!any) return INFINITY;
    return norm2 > 0 ? sqrt(error2 / norm2) : sqrt(error2);
}

/* Both ways on the same inputs: what differs is rounding between kernels, or a fault. */
static enum runner_status compare(struct bench *b, double *difference)
{
    enum runner_status st = runner_run(b->r, FUSED);
    runner_tensors_vec *t = &b->data.tensors;
    void **kept = calloc(t->n + 1, sizeof *kept);
    *difference = 0;
    for (size_t i = 0; kept && st == RUNNER_OK && i < t->n; i++)
        if (t->at[i].output && (kept[i] = malloc(t->at[i].bytes + 1)))
            memcpy(kept[i], runner_bytes(b->r, t->at[i].at), t->at[i].bytes);
    if (st == RUNNER_OK) st = runner_run(b->r, UNFUSED);
    for (size_t i = 0; kept && i < t->n; i++) {
        if (!kept[i]) continue;
        double d = distance(tensors_value(b->g, t->at[i].uid)->type,
                            runner_bytes(b->r, t->at[i].at), kept[i], t->at[i].bytes);
        if (d > *difference) *difference = d;
        free(kept[i]);
    }
    free(kept);
    return st;
}

static bool prepare_fused(struct bench *b, const bench_plans_vec *steps, struct bench_way *w)
{
    struct runner_program p = {.text = NULL};
    crossings_vec crossings = {0};
    enum runner_status st = RUNNER_OK;
    for (size_t i = 0; i < steps->n && st == RUNNER_OK; i++)
        st = add_step(b, &steps->at[i], &p, &crossings);
    if (st == RUNNER_OK) st = runner_program(b->r, FUSED, &p);
    if (st == RUNNER_OK) st = runner_wall(b->r, FUSED, &w->wall);
    w->workspace_bytes = bytes_of(&p, steps);
    return st == RUNNER_OK;
}

bool bench_graph(struct session *s, struct runner *r, const struct graph *g,
                 const bench_plans_vec *steps, const struct bench_unfused *unfused, int rounds,
                 struct bench_figures *out)
{
    struct bench b = {.s = s, .r = r, .g = g};
    *out = (struct bench_figures){.fused = {.why = NULL}};
    if (!begin(&b)) return false;
    if (!prepare_fused(&b, steps, &out->fused)) return refused(&b);
    if (!prepare_unfused(&b, unfused, &out->unfused)) return refused(&b);
    if (!out->unfused.why && compare(&b, &out->difference) != RUNNER_OK) return refused(&b);
    for (int i = 0; i < rounds; i++) {
        double mhz = 0, ignored;
        if (sample(&b, FUSED, &out->fused, &mhz) != RUNNER_OK) return refused(&b);
        vec_push(s->arena, &out->mhz, mhz);
        if (out->unfused.why) continue;
        if (sample(&b, UNFUSED, &out->unfused, &ignored) != RUNNER_OK) return refused(&b);
    }
    finish(&out->fused);
    finish(&out->unfused);
    return true;
}

bool bench_plan(struct session *s, struct runner *r, const struct graph *g,
                const struct bench_plan *p, int rounds, double *us)
{
    struct bench b = {.s = s, .r = r, .g = g};
    struct bench_way w = {.why = NULL};
    bench_plans_vec one = {0};
    double mhz;
    vec_push(s->arena, &one, *p);
    if (!begin(&b)) return false;
    if (!prepare_fused(&b, &one, &w)) return refused(&b);
    for (int i = 0; i < rounds; i++)
        if (sample(&b, FUSED, &w, &mhz) != RUNNER_OK) return refused(&b);
    finish(&w);
    *us = w.median;
    return true;
}

static double bytes(const struct value *v)
{
    int64_t n = 0;
    if (!v || v->role == VAL_CONST || v->role == VAL_SCALAR) return 0;
    return dims_count(v->rank, v->dim, &n) ? (double)n * dtypes[v->type].bits / 8 : 0;
}

double bench_traffic(const struct graph *g)
{
    double all = 0;
    for (size_t i = 0; i < g->ops.n; i++) {
        const struct op *op = g->ops.at[i];
        for (int k = 0; k < ops[op->id].n_in; k++)
            if (!(ops[op->id].traits & OPT_index)) all += bytes(op->in[k]);
        for (int k = 0; k < ops[op->id].n_out; k++) all += bytes(op->out[k]);
    }
    return all;
}
