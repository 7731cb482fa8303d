/* time: runs of a loaded plan: once, for its values, and in CUDA graphs, for its time.
 *
 * Invariant: what is timed is a replay of a graph of many calls that go through the sets of memory
 * in turn, so that neither the host nor one set's place in the L2 counts; the stream is idle when a
 * sample begins. */
#include "gpu/device/runner.h"

/* CLEAR_US: what a call enqueued alone takes is the host's time below this, and says nothing of the
 * plan. */
enum { LEAST_US = 3000, MOST_CALLS = 256, CLEAR_US = 100 };

static cudnnStatus_t make_pack(struct runner *r, struct runner_slot *s, int set)
{
    int64_t uid[2 * RUNNER_TENSORS];
    void *at[2 * RUNNER_TENSORS],
        *workspace = (void *)(uintptr_t)((s->workspace + 255) / 256 * 256);
    int n = 0;
    for (int i = 0; i < r->n_tensors; i++, n++) {
        uid[n] = r->tensor[i].uid;
        at[n] = (void *)(uintptr_t)r->memory[set][i];
    }
    for (int i = 0; i < r->n_values; i++, n++) {
        uid[n] = r->value_uid[i];
        at[n] = r->value[i];
    }
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
                                           CUDNN_TYPE_VOID_PTR, 1, &workspace);
    if (st == CUDNN_STATUS_SUCCESS) st = r->c.cudnnBackendFinalize(pack);
    s->pack[set] = pack;
    return st;
}

static cudnnStatus_t call(struct runner *r, struct runner_slot *s, int set)
{
    cudnnStatus_t st = s->pack[set] ? CUDNN_STATUS_SUCCESS : make_pack(r, s, set);
    return st == CUDNN_STATUS_SUCCESS ? r->execute(r->c.handle, s->plan, s->pack[set]) : st;
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
    cudnnStatus_t st = call(r, s, 0);
    if (st != CUDNN_STATUS_SUCCESS) return runner_cudnn(r, st, "the plan does not run");
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
    }
}

/* ---- timing ---------------------------------------------------------------------------------- */

/* Microseconds of `n` calls enqueued one by one. */
static json_t *stream_us(struct runner *r, struct runner_slot *s, int n, double *us)
{
    float ms = 0;
    CUresult e = r->cu.p_cuEventRecord(r->begin, r->stream);
    for (int i = 0; i < n; i++) {
        cudnnStatus_t st = call(r, s, i % r->n_sets);
        if (st != CUDNN_STATUS_SUCCESS) return runner_cudnn(r, st, "the plan does not run");
    }
    if (e == CUDA_SUCCESS) e = r->cu.p_cuEventRecord(r->end, r->stream);
    if (e == CUDA_SUCCESS) e = r->cu.p_cuEventSynchronize(r->end);
    if (e == CUDA_SUCCESS) e = r->cu.p_cuEventElapsedTime(&ms, r->begin, r->end);
    *us = (double)ms * 1e3 / n;
    return e == CUDA_SUCCESS ? NULL : runner_cuda(r, e, "the plan's run failed");
}

static json_t *capture(struct runner *r, struct runner_slot *s)
{
    CUgraph graph = NULL;
    double n = LEAST_US / (s->one_us > 0.5 ? s->one_us : 0.5);
    s->calls = n > MOST_CALLS ? MOST_CALLS : n < 1 ? 1 : (int)n;
    if (s->calls < r->n_sets && s->one_us * r->n_sets < 10 * LEAST_US) s->calls = r->n_sets;
    for (int i = 0; i < r->n_sets; i++)
        if (!s->pack[i] && make_pack(r, s, i) != CUDNN_STATUS_SUCCESS)
            return json_pack("{s:s}", "refused", "a variant pack cannot be made");
    CUresult e = r->cu.p_cuStreamBeginCapture(r->stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
    if (e != CUDA_SUCCESS) return runner_cuda(r, e, "capture cannot begin");
    cudnnStatus_t st = CUDNN_STATUS_SUCCESS;
    for (int i = 0; i < s->calls && st == CUDNN_STATUS_SUCCESS; i++) st = call(r, s, i % r->n_sets);
    e = r->cu.p_cuStreamEndCapture(r->stream, &graph);
    if (st != CUDNN_STATUS_SUCCESS) return runner_cudnn(r, st, "the plan cannot be captured");
    if (e == CUDA_SUCCESS) e = r->cu.p_cuGraphInstantiateWithFlags(&s->graph, graph, 0);
    if (graph) r->cu.p_cuGraphDestroy(graph);
    return e == CUDA_SUCCESS ? NULL : runner_cuda(r, e, "the plan cannot be captured");
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
