/* bench: what a graph costs on this machine's GPU by its plans, and with nothing fused.
 *
 * Invariant: ways that are compared are timed in turns, in the same rounds, on the same tensors. */
#ifndef FGC_TUNE_BENCH_H
#define FGC_TUNE_BENCH_H

#include "gpu/runner.h"
#include "kernel/kernel.h"
#include "tune/tune.h"

struct bench_view { /* what the plan binds of another tensor */
    int64_t uid, of, offset; /* bytes */
};
struct bench_plan {
    const struct desc_graph *desc; /* what the plan was built of */
    const char *plan;
    size_t plan_bytes;
    int64_t engine, workspace_bytes;
    VEC(struct bench_view) views;
};
typedef VEC(struct bench_plan) bench_plans_vec;
struct bench_unfused {
    const char *why;               /* why there is no such way, or NULL */
    const struct graph *graph;     /* kernel_unfused's */
    struct kernel_program kernels; /* KERNEL_UNFUSED */
    bench_plans_vec anchors;       /* of the launches without a kernel, in order */
};
struct bench_way {
    const char *why; /* why it was not measured, or NULL */
    VEC(double) us;  /* on the GPU, a call, by round */
    double median, low, high;
    struct runner_wall wall;
    int64_t workspace_bytes; /* of plans, and what lies in memory between kernels */
};
struct bench_figures {
    struct bench_way fused, unfused;
    VEC(double) mhz;
    double difference; /* largest ||unfused - fused|| / ||fused|| of an output */
};
/* False with a diagnostic when the graph's own plans cannot be run. */
bool bench_graph(struct session *s, struct runner *r, const struct graph *g,
                 const bench_plans_vec *steps, const struct bench_unfused *unfused, int rounds,
                 struct bench_figures *out);
/* Microseconds of a single plan: the median of `rounds`. False with a diagnostic. */
bool bench_plan(struct session *s, struct runner *r, const struct graph *g,
                const struct bench_plan *p, int rounds, double *us);
/* Bytes that the operators read and write when each is a kernel of its own. */
double bench_traffic(const struct graph *unfused);

#endif
