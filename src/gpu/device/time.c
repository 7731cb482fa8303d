/* time: runs of a loaded plan: once, for its values, and in CUDA graphs, for its time.
 *
 * Invariant: what is timed is a replay of a graph of many calls that go through the sets of memory
 * in turn, so that neither the host nor one set's place in the L2 counts; the stream is idle when a
 * sample begins. */
#include "gpu/device/runner.h"

#include <stdlib.h>
#include <time.h>

/* CLEAR_US: what a call enqueued alone takes is the host's time below this, and says nothing of the
 * plan. */
enum { LEAST_US = 3000, MOST_CALLS = 256, CLEAR_US = 100 };

cudnnStatus_t runner_pack(struct runner *r, CUdeviceptr workspace, int n, const int64_t *uid,
                          void *const *at, cudnnBackendDescriptor_t *out)
{
    void *aligned = (void *)(uintptr_t)((workspace + 255) / 256 * 256);
    cudnnBackendDescriptor_t pack = NULL;
    cudnnStatus_t st = r->c.cudnnBackendCreateDescriptor(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR,
                                                         &pack);
    if (st == CUDNN_STATUS_SUCCESS)
        st = r->c.cudnnBackendSetAttribute(pack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS,
                                           CUDNN_TYPE_INT64, n, uid);
    if (st == CUDNN_STATUS_SUCCESS)
        st = r->c.cudnnBackendSetAttribute(pack, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS,
                                           CUDNN_TYPE_VOID_PTR, n, at);
    if (st == CUDNN_STATUS_SUCCESS)
        st = r->c.cudnnBackendSetAttribute(pack, CUDNN_ATTR_VARIANT_PACK_WORKSPACE,
                                           CUDNN_TYPE_VOID_PTR, 1, &aligned);
    if (st == CUDNN_STATUS_SUCCESS) st = r->c.cudnnBackendFinalize(pack);
    if (st != CUDNN_STATUS_SUCCESS && pack) r->c.cudnnBackendDestroyDescriptor(pack);
    *out = st == CUDNN_STATUS_SUCCESS ? pack : NULL;
    return st;
}

static cudnnStatus_t make_pack(struct runner *r, struct runner_slot *s, int set)
{
    int64_t uid[2 * RUNNER_TENSORS];
    void *at[2 * RUNNER_TENSORS];
    int n = 0;
    for (int i = 0; i < r->n_tensors; i++, n++) {
        uid[n] = r->tensor[i].uid;
        at[n] = (void *)(uintptr_t)r->memory[set][i];
    }
    for (int i = 0; i < r->n_values; i++, n++) {
        uid[n] = r->value_uid[i];
        at[n] = r->value[i];
    }
    return runner_pack(r, s->workspace, n, uid, at, &s->pack[set]);
}

json_t *runner_call(struct runner *r, struct runner_slot *s, int set)
{
    if (s->program) return program_call(r, s, set, 0, -1);
    cudnnStatus_t st = s->pack[set] ? CUDNN_STATUS_SUCCESS : make_pack(r, s, set);
    if (st == CUDNN_STATUS_SUCCESS) st = r->execute(r->c.handle, s->plan, s->pack[set]);
    return st == CUDNN_STATUS_SUCCESS ? NULL : runner_cudnn(r, st, "the plan does not run");
}

static struct runner_slot *slot_at(struct runner *r, int64_t slot)
{
    return slot >= 0 && slot < RUNNER_SLOTS && r->n_sets ? r->slot[slot] : NULL;
}

json_t *runner_run(struct runner *r, int64_t slot)
{
    struct runner_slot *s = slot_at(r, slot);
    if (!s) return json_pack("{s:s}", "refused", "no such plan");
    CUresult e = CUDA_SUCCESS;
    for (int i = 0; i < r->n_tensors && e == CUDA_SUCCESS; i++) /* what is not written shows */
        if (r->tensor[i].output) e = r->cu.p_cuMemsetD8(r->memory[0][i], 0xff, r->tensor[i].bytes);
    if (e != CUDA_SUCCESS) return runner_cuda(r, e, "the outputs cannot be cleared");
    json_t *bad = runner_call(r, s, 0);
    if (bad) return bad;
    e = r->cu.p_cuStreamSynchronize(r->stream);
    for (int i = 0; i < r->n_tensors && e == CUDA_SUCCESS; i++)
        if (r->tensor[i].output)
            e = r->cu.p_cuMemcpyDtoH(r->shared + r->tensor[i].at, r->memory[0][i],
                                     r->tensor[i].bytes);
    return e == CUDA_SUCCESS ? json_object() : runner_cuda(r, e, "the plan's run failed");
}

void runner_corrupt(struct runner *r)
{
    for (int i = 0; i < r->n_tensors; i++) {
        const struct runner_tensor *t = &r->tensor[i];
        for (size_t k = 0; t->output && k < t->bytes; k += 3) r->shared[t->at + k] ^= 0x40;
        if (t->output) r->cu.p_cuMemcpyHtoD(r->memory[0][i], r->shared + t->at, t->bytes);
    }
}

/* ---- timing ---------------------------------------------------------------------------------- */

/* Microseconds of `n` calls enqueued one by one. */
static json_t *stream_us(struct runner *r, struct runner_slot *s, int n, double *us)
{
    float ms = 0;
    CUresult e = r->cu.p_cuEventRecord(r->begin, r->stream);
    for (int i = 0; i < n; i++) {
        json_t *bad = runner_call(r, s, i % r->n_sets);
        if (bad) return bad;
    }
    if (e == CUDA_SUCCESS) e = r->cu.p_cuEventRecord(r->end, r->stream);
    if (e == CUDA_SUCCESS) e = r->cu.p_cuEventSynchronize(r->end);
    if (e == CUDA_SUCCESS) e = r->cu.p_cuEventElapsedTime(&ms, r->begin, r->end);
    *us = (double)ms * 1e3 / n;
    return e == CUDA_SUCCESS ? NULL : runner_cuda(r, e, "the plan's run failed");
}

/* n calls as a graph; every pack is made before. */
static json_t *capture_calls(struct runner *r, struct runner_slot *s, int n, CUgraphExec *out)
{
    CUgraph graph = NULL;
    json_t *bad = NULL;
    CUresult e = r->cu.p_cuStreamBeginCapture(r->stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
    if (e != CUDA_SUCCESS) return runner_cuda(r, e, "capture cannot begin");
    for (int i = 0; i < n && !bad; i++) bad = runner_call(r, s, i % r->n_sets);
    e = r->cu.p_cuStreamEndCapture(r->stream, &graph);
    if (e == CUDA_SUCCESS && !bad) e = r->cu.p_cuGraphInstantiateWithFlags(out, graph, 0);
    if (graph) r->cu.p_cuGraphDestroy(graph);
    if (bad) return bad;
    return e == CUDA_SUCCESS ? NULL : runner_cuda(r, e, "the plan cannot be captured");
}

static json_t *capture(struct runner *r, struct runner_slot *s)
{
    json_t *bad = NULL;
    double n = LEAST_US / (s->one_us > 0.5 ? s->one_us : 0.5), us;
    s->calls = n > MOST_CALLS ? MOST_CALLS : n < 1 ? 1 : (int)n;
    if (s->calls < r->n_sets && s->one_us * r->n_sets < 10 * LEAST_US) s->calls = r->n_sets;
    bad = stream_us(r, s, r->n_sets, &us);
    return bad ? bad : capture_calls(r, s, s->calls, &s->graph);
}

static json_t *replay(struct runner *r, struct runner_slot *s, double *us)
{
    float ms = 0;
    CUresult e = r->cu.p_cuEventRecord(r->begin, r->stream);
    if (e == CUDA_SUCCESS) e = r->cu.p_cuGraphLaunch(s->graph, r->stream);
    if (e == CUDA_SUCCESS) e = r->cu.p_cuEventRecord(r->end, r->stream);
    if (e == CUDA_SUCCESS) e = r->cu.p_cuEventSynchronize(r->end);
    if (e == CUDA_SUCCESS) e = r->cu.p_cuEventElapsedTime(&ms, r->begin, r->end);
    *us = (double)ms * 1e3 / s->calls;
    return e == CUDA_SUCCESS ? NULL : runner_cuda(r, e, "the plan's run failed");
}

/* A replay on an idle stream. The first of a plan is preceded by some that count for nothing; where
 * a call alone takes longer than at_most_us (0: no limit) that is the answer, and nothing is
 * captured. */
json_t *runner_time(struct runner *r, int64_t slot, double at_most_us)
{
    struct runner_slot *s = slot_at(r, slot);
    double us = 0;
    unsigned mhz = 0;
    json_t *bad = NULL;
    if (!s) return json_pack("{s:s}", "refused", "no such plan");
    if (!s->graph) {
        if (!(bad = stream_us(r, s, 1, &us)))
            bad = stream_us(r, s, 1, &s->one_us); /* the first loads code */
        if (!bad && at_most_us > 0 && s->one_us > at_most_us && s->one_us > CLEAR_US)
            return json_pack("{s:f, s:i}", "us", s->one_us, "mhz", 0);
        if (!bad) bad = stream_us(r, s, 3, &s->one_us);
        if (!bad) bad = capture(r, s);
        if (!bad) bad = replay(r, s, &us);
    }
    if (!bad) bad = replay(r, s, &us);
    if (bad) return bad;
    if (r->clock && r->clock(r->nvml_device, 1, &mhz) != 0) mhz = 0; /* 1: NVML_CLOCK_SM */
    return json_pack("{s:f, s:i}", "us", us, "mhz", (int)mhz);
}

/* ---- the host's time ------------------------------------------------------------------------- */

static double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *x, int n)
{
    qsort(x, (size_t)n, sizeof *x, by_size);
    return x[n / 2];
}

/* Calls waited for one by one, and replays of `one` likewise. */
static json_t *waited(struct runner *r, struct runner_slot *s, CUgraphExec one, double *us)
{
    enum { N = 101 };
    double sample[N];
    for (int i = 0; i < N; i++) {
        double start = now_us();
        json_t *bad = NULL;
        CUresult e = CUDA_SUCCESS;
        if (one)
            e = r->cu.p_cuGraphLaunch(one, r->stream);
        else
            bad = runner_call(r, s, i % r->n_sets);
        if (bad) return bad;
        if (e == CUDA_SUCCESS) e = r->cu.p_cuStreamSynchronize(r->stream);
        if (e != CUDA_SUCCESS) return runner_cuda(r, e, "the plan's run failed");
        sample[i] = now_us() - start;
    }
    *us = median(sample, N);
    return NULL;
}

/* Calls that are only enqueued: so few at a time that the queue never fills. */
static json_t *enqueued(struct runner *r, struct runner_slot *s, double *us)
{
    enum { N = 15, CALLS = 50 };
    double sample[N];
    for (int i = 0; i < N; i++) {
        double start = now_us();
        for (int k = 0; k < CALLS; k++) {
            json_t *bad = runner_call(r, s, k % r->n_sets);
            if (bad) return bad;
        }
        sample[i] = (now_us() - start) / CALLS;
        CUresult e = r->cu.p_cuStreamSynchronize(r->stream);
        if (e != CUDA_SUCCESS) return runner_cuda(r, e, "the plan's run failed");
    }
    *us = median(sample, N);
    return NULL;
}

json_t *runner_wall(struct runner *r, int64_t slot)
{
    struct runner_slot *s = slot_at(r, slot);
    CUgraphExec one = NULL;
    double call = 0, host = 0, replayed = 0, us;
    if (!s) return json_pack("{s:s}", "refused", "no such plan");
    json_t *bad = stream_us(r, s, r->n_sets, &us); /* loads code, makes packs */
    if (!bad) bad = waited(r, s, NULL, &call);
    if (!bad) bad = enqueued(r, s, &host);
    if (!bad) bad = capture_calls(r, s, 1, &one);
    if (!bad) bad = waited(r, s, one, &replayed);
    if (!bad) bad = waited(r, s, one, &replayed); /* the first replays upload the graph */
    if (one) r->cu.p_cuGraphExecDestroy(one);
    return bad ? bad
               : json_pack("{s:f, s:f, s:f}", "call_us", call, "host_us", host, "replay_us",
                           replayed);
}

json_t *runner_copy(struct runner *r, int64_t bytes)
{
    enum { N = 13 };
    CUdeviceptr from = 0, to = 0;
    double sample[N];
    CUresult e = bytes > 0 ? r->cu.p_cuMemAlloc(&from, (size_t)bytes) : CUDA_ERROR_INVALID_VALUE;
    if (e == CUDA_SUCCESS) e = r->cu.p_cuMemAlloc(&to, (size_t)bytes);
    if (e == CUDA_SUCCESS) e = r->cu.p_cuMemsetD8(from, 0x35, (size_t)bytes);
    for (int i = -1; i < N && e == CUDA_SUCCESS; i++) {
        float ms = 0;
        e = r->cu.p_cuEventRecord(r->begin, r->stream);
        if (e == CUDA_SUCCESS)
            e = r->cu.p_cuMemcpyDtoDAsync(to, from, (size_t)bytes, r->stream);
        if (e == CUDA_SUCCESS) e = r->cu.p_cuEventRecord(r->end, r->stream);
        if (e == CUDA_SUCCESS) e = r->cu.p_cuEventSynchronize(r->end);
        if (e == CUDA_SUCCESS) e = r->cu.p_cuEventElapsedTime(&ms, r->begin, r->end);
        if (i >= 0) sample[i] = (double)ms * 1e3;
    }
    if (from) r->cu.p_cuMemFree(from);
    if (to) r->cu.p_cuMemFree(to);
    return e == CUDA_SUCCESS ? json_pack("{s:f}", "us", median(sample, N))
                             : runner_cuda(r, e, "a copy cannot be timed");
}
