/* fake_cudnn: a libcudnn and a libcudart without a device, for tests of generated launchers.
 *
 * Invariant: a call that breaks the rules of the real libraries ends the program with a message; a
 * call that is told to fail changes nothing. */
#include "fake_cudnn.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cuda_runtime_api.h>
#include <cudnn_graph.h>

enum { MAX_BOUND = 4096, MAX_HOST = 256, KEPT = 64 };

struct fake fake = {
    .driver = 13000,
    .version = CUDNN_VERSION,
    .field = {132, 232448, 1024, 65536, 2048, 2147483647, 65535, 65535, 9, 0},
};

#define BREACH(...) (fprintf(stderr, "breach: " __VA_ARGS__), fputc('\n', stderr), abort())

/* True when this call is the one that fails. */
static int fails(const char *name)
{
    if (++fake.n_calls != fake.fail_at) return 0;
    fake.failed = name;
    return 1;
}

/* ---- descriptors --------------------------------------------------------------------------- */

enum { MAGIC = 0x66616b65 };
struct cudnnContext {
    int magic;
    cudaStream_t stream;
};
struct descriptor {
    int magic;
    cudnnBackendDescriptorType_t type;
    int finalized, has_handle, has_workspace;
    char *text;
    size_t n_text;
    int64_t n_uids, n_pointers;
    int64_t uids[MAX_BOUND];
    void *pointers[MAX_BOUND];
    void *workspace;
};
struct host_value {
    int64_t uid;
    size_t bytes;
};
/* What one run took from its pack. */
struct taken {
    int64_t n;
    int64_t uids[MAX_BOUND];
    void *pointers[MAX_BOUND];
    void *workspace;
    cudnnBackendDescriptor_t plan;
    unsigned char value[MAX_HOST][8];
};

static struct cudnnContext the_handle = {.magic = MAGIC};
static struct taken kept[KEPT]; /* run number k at k % KEPT */
static struct taken *seen = kept;
static struct host_value host[MAX_HOST];
static int n_host;

struct cudnnContext *fake_handle(void) { return &the_handle; }
void *fake_stream_of_handle(void) { return the_handle.stream; }
void fake_set_stream(void *stream) { the_handle.stream = (cudaStream_t)stream; }
int fake_n_bound(void) { return (int)seen->n; }
int64_t fake_uid(int i) { return seen->uids[i]; }
void *fake_workspace(void) { return seen->workspace; }

void fake_look(int back)
{
    if (back < 0 || back >= KEPT || back >= fake.n_executed) BREACH("no run %d ago", back);
    seen = &kept[(fake.n_executed - 1 - back) % KEPT];
}

static void *bound(const struct taken *t, int64_t uid)
{
    for (int64_t i = 0; i < t->n; i++)
        if (t->uids[i] == uid) return t->pointers[i];
    return NULL;
}

void *fake_pointer(int64_t uid) { return bound(seen, uid); }

void fake_host_uid(int64_t uid, size_t bytes)
{
    if (n_host == MAX_HOST || bytes > 8) BREACH("too many host values");
    host[n_host].uid = uid;
    host[n_host++].bytes = bytes;
}

void fake_value(int64_t uid, void *to, size_t n)
{
    for (int i = 0; i < n_host; i++)
        if (host[i].uid == uid && n <= host[i].bytes && bound(seen, uid)) {
            memcpy(to, seen->value[i], n);
            return;
        }
    BREACH("uid %lld is not read by value", (long long)uid);
}

void fake_drop_stream(void)
{
    cudaStreamDestroy(the_handle.stream);
    the_handle.stream = NULL;
}

static struct descriptor *live(cudnnBackendDescriptor_t d)
{
    struct descriptor *x = (struct descriptor *)d;
    if (!x || x->magic != MAGIC) BREACH("that is no descriptor");
    return x;
}

const char *fake_plan(size_t *n)
{
    struct descriptor *d = live(seen->plan);
    *n = d->n_text;
    return d->text;
}

void *fake_malloc(size_t n)
{
    fake.n_mallocs++;
    return fails("malloc") ? NULL : malloc(n);
}

void *fake_calloc(size_t n, size_t size)
{
    fake.n_mallocs++;
    return fails("calloc") ? NULL : calloc(n, size);
}

static void check_handle(cudnnHandle_t handle)
{
    if (!handle || handle->magic != MAGIC) BREACH("that is no handle");
}

size_t cudnnGetVersion(void) { return fake.version; }
const char *cudnnGetErrorString(cudnnStatus_t st)
{
    return st ? "CUDNN_STATUS_FAKE" : "CUDNN_STATUS_SUCCESS";
}
void cudnnGetLastErrorString(char *text, size_t n)
{
    snprintf(text, n, "fake: %s", fake.failed ? fake.failed : "");
}

cudnnStatus_t cudnnCreate(cudnnHandle_t *handle)
{
    *handle = &the_handle;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnDestroy(cudnnHandle_t handle)
{
    check_handle(handle);
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetStream(cudnnHandle_t handle, cudaStream_t *stream)
{
    check_handle(handle);
    if (fails("cudnnGetStream")) return CUDNN_STATUS_INTERNAL_ERROR;
    *stream = handle->stream;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream)
{
    check_handle(handle);
    if (fails("cudnnSetStream")) return CUDNN_STATUS_INTERNAL_ERROR;
    handle->stream = stream;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t type,
                                           cudnnBackendDescriptor_t *out)
{
    if (type != CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR &&
        type != CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR)
        BREACH("descriptor type %d", (int)type);
    if (fails("cudnnBackendCreateDescriptor")) return CUDNN_STATUS_ALLOC_FAILED;
    struct descriptor *d = calloc(1, sizeof *d);
    d->magic = MAGIC;
    d->type = type;
    fake.n_live++;
    *out = (cudnnBackendDescriptor_t)d;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t descriptor)
{
    struct descriptor *d = live(descriptor);
    d->magic = 0;
    free(d->text);
    free(d);
    fake.n_live--;
    return CUDNN_STATUS_SUCCESS;
}

static void set_plan(struct descriptor *d, cudnnBackendAttributeName_t name,
                     cudnnBackendAttributeType_t type, int64_t n, const void *at)
{
    if (name == CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION) {
        if (type != CUDNN_TYPE_CHAR || n < 1)
            BREACH("the plan's text: type %d, count %lld", (int)type, (long long)n);
        if (memchr(at, 0, (size_t)n) || ((const char *)at)[n - 1] != '}')
            BREACH("the plan's text is not whole");
        free(d->text);
        d->text = malloc((size_t)n);
        memcpy(d->text, at, (size_t)n);
        d->n_text = (size_t)n;
    } else if (name == CUDNN_ATTR_EXECUTION_PLAN_HANDLE) {
        if (type != CUDNN_TYPE_HANDLE || n != 1)
            BREACH("the plan's handle: type %d, count %lld", (int)type, (long long)n);
        check_handle(*(const cudnnHandle_t *)at);
        d->has_handle = 1;
    } else {
        BREACH("attribute %d of a plan", (int)name);
    }
}

static void set_pack(struct descriptor *d, cudnnBackendAttributeName_t name,
                     cudnnBackendAttributeType_t type, int64_t n, const void *at)
{
    if (name == CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS) {
        if (type != CUDNN_TYPE_INT64 || n < 1 || n > MAX_BOUND)
            BREACH("uids: type %d, count %lld", (int)type, (long long)n);
        memcpy(d->uids, at, (size_t)n * sizeof *d->uids);
        d->n_uids = n;
        for (int64_t i = 0; i < n; i++)
            for (int64_t k = 0; k < i; k++)
                if (d->uids[i] == d->uids[k])
                    BREACH("uid %lld twice in a pack", (long long)d->uids[i]);
    } else if (name == CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS) {
        if (type != CUDNN_TYPE_VOID_PTR || n < 1 || n > MAX_BOUND)
            BREACH("pointers: type %d, count %lld", (int)type, (long long)n);
        memcpy(d->pointers, at, (size_t)n * sizeof *d->pointers);
        d->n_pointers = n;
        for (int64_t i = 0; i < n; i++)
            if (!d->pointers[i]) BREACH("a NULL pointer in a pack");
    } else if (name == CUDNN_ATTR_VARIANT_PACK_WORKSPACE) {
        if (type != CUDNN_TYPE_VOID_PTR || n != 1)
            BREACH("workspace: type %d, count %lld", (int)type, (long long)n);
        d->workspace = *(void *const *)at;
        d->has_workspace = 1;
    } else {
        BREACH("attribute %d of a variant pack", (int)name);
    }
}

cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t descriptor,
                                       cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, int64_t n, const void *at)
{
    struct descriptor *d = live(descriptor);
    if (d->finalized) BREACH("attribute %d is set after the descriptor was finalized", (int)name);
    if (fails("cudnnBackendSetAttribute")) return CUDNN_STATUS_BAD_PARAM;
    (d->type == CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR ? set_pack : set_plan)(d, name, type, n, at);
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t descriptor)
{
    struct descriptor *d = live(descriptor);
    if (d->finalized) BREACH("finalized twice");
    if (d->type == CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR && (!d->text || !d->has_handle))
        BREACH("the plan has no text or no handle");
    if (d->type == CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR &&
        (d->n_uids < 1 || d->n_uids != d->n_pointers || !d->has_workspace))
        BREACH("a pack of %lld uids, %lld pointers", (long long)d->n_uids,
               (long long)d->n_pointers);
    if (fails("cudnnBackendFinalize")) return CUDNN_STATUS_NOT_SUPPORTED;
    d->finalized = 1;
    fake.n_packs += d->type == CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendGetAttribute(cudnnBackendDescriptor_t const descriptor,
                                       cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, int64_t n, int64_t *got,
                                       void *at)
{
    struct descriptor *d = live(descriptor);
    if (!d->finalized)
        BREACH("attribute %d is asked before the descriptor is finalized", (int)name);
    if (d->type != CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR ||
        name != CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE || type != CUDNN_TYPE_INT64 || n != 1 ||
        !got || !at)
        BREACH("attribute %d is asked", (int)name);
    if (fails("cudnnBackendGetAttribute")) return CUDNN_STATUS_INTERNAL_ERROR;
    *got = 1;
    *(int64_t *)at = fake.workspace;
    return CUDNN_STATUS_SUCCESS;
}

/* What a run takes from its pack, at the moment when it is launched or recorded. */
static void take(cudnnHandle_t handle, cudnnBackendDescriptor_t plan, cudnnBackendDescriptor_t pack)
{
    struct descriptor *p = live(plan), *d = live(pack);
    check_handle(handle);
    if (p->type != CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR || !p->finalized)
        BREACH("the plan is not one, or not finalized");
    if (d->type != CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR || !d->finalized)
        BREACH("the pack is not one, or not finalized");
    seen = &kept[fake.n_executed++ % KEPT];
    seen->n = d->n_uids;
    memcpy(seen->uids, d->uids, (size_t)d->n_uids * sizeof *d->uids);
    memcpy(seen->pointers, d->pointers, (size_t)d->n_uids * sizeof *d->pointers);
    seen->workspace = d->workspace;
    seen->plan = plan;
    for (int i = 0; i < n_host; i++) {
        void *from = bound(seen, host[i].uid);
        if (from) memcpy(seen->value[i], from, host[i].bytes);
    }
}

/* ---- the CUDA runtime ---------------------------------------------------------------------- */

struct CUstream_st {
    int magic, capturing, n_nodes;
};
struct CUgraph_st {
    int magic, n_nodes;
};
struct CUgraphExec_st {
    int magic;
};

cudnnStatus_t cudnnBackendExecute(cudnnHandle_t handle, cudnnBackendDescriptor_t plan,
                                  cudnnBackendDescriptor_t pack)
{
    if (fails("cudnnBackendExecute")) return CUDNN_STATUS_EXECUTION_FAILED;
    take(handle, plan, pack);
    if (handle->stream && handle->stream->magic != MAGIC) BREACH("the handle's stream is gone");
    if (handle->stream && handle->stream->capturing) {
        fake.n_captured++;
        handle->stream->n_nodes++;
    }
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendPopulateCudaGraph(cudnnHandle_t handle, cudnnBackendDescriptor_t plan,
                                            cudnnBackendDescriptor_t pack, cudaGraph_t graph)
{
    if (!graph || graph->magic != MAGIC || graph->n_nodes)
        BREACH("a graph that is not empty is filled");
    if (fails("cudnnBackendPopulateCudaGraph")) return CUDNN_STATUS_NOT_SUPPORTED;
    take(handle, plan, pack);
    graph->n_nodes = 1;
    fake.n_populated++;
    return CUDNN_STATUS_SUCCESS;
}

const char *cudaGetErrorString(cudaError_t e) { return e ? "fake cuda error" : "no error"; }
cudaError_t cudaGetLastError(void) { return cudaSuccess; }

cudaError_t cudaGetDevice(int *device)
{
    if (fails("cudaGetDevice")) return cudaErrorNoDevice;
    *device = 3;
    return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int *version)
{
    if (fails("cudaDriverGetVersion")) return cudaErrorUnknown;
    *version = fake.driver;
    return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attr, int device)
{
    static const enum cudaDeviceAttr attrs[FAKE_N_FIELDS] = {
        cudaDevAttrMultiProcessorCount,
        cudaDevAttrMaxSharedMemoryPerBlockOptin,
        cudaDevAttrReservedSharedMemoryPerBlock,
        cudaDevAttrMaxRegistersPerBlock,
        cudaDevAttrMaxThreadsPerMultiProcessor,
        cudaDevAttrMaxGridDimX,
        cudaDevAttrMaxGridDimY,
        cudaDevAttrMaxGridDimZ,
        cudaDevAttrComputeCapabilityMajor,
        cudaDevAttrComputeCapabilityMinor};
    if (device != 3) BREACH("device %d, not the current one", device);
    if (fails("cudaDeviceGetAttribute")) return cudaErrorUnknown;
    for (int i = 0; i < FAKE_N_FIELDS; i++)
        if (attrs[i] == attr) {
            *value = fake.field[i];
            return cudaSuccess;
        }
    BREACH("device attribute %d", (int)attr);
    return cudaErrorUnknown;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *out, unsigned flags)
{
    if (flags != cudaStreamNonBlocking) BREACH("stream flags %u", flags);
    if (fails("cudaStreamCreateWithFlags")) return cudaErrorMemoryAllocation;
    cudaStream_t s = calloc(1, sizeof *s);
    s->magic = MAGIC;
    fake.n_live++;
    *out = s;
    return cudaSuccess;
}

static cudaStream_t live_stream(cudaStream_t s)
{
    if (!s || s->magic != MAGIC) BREACH("that is no stream");
    return s;
}

cudaError_t cudaStreamDestroy(cudaStream_t s)
{
    if (live_stream(s)->capturing) BREACH("a stream is destroyed while it captures");
    s->magic = 0;
    free(s);
    fake.n_live--;
    return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t s)
{
    (void)s;
    return cudaSuccess;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t s, enum cudaStreamCaptureMode mode)
{
    live_stream(s);
    if (mode != cudaStreamCaptureModeThreadLocal || s->capturing)
        BREACH("capture mode %d", (int)mode);
    if (fails("cudaStreamBeginCapture")) return cudaErrorUnknown;
    s->capturing = 1;
    s->n_nodes = 0;
    return cudaSuccess;
}

static cudaGraph_t new_graph(void)
{
    cudaGraph_t g = calloc(1, sizeof *g);
    g->magic = MAGIC;
    fake.n_live++;
    return g;
}

cudaError_t cudaStreamEndCapture(cudaStream_t s, cudaGraph_t *out)
{
    if (!live_stream(s)->capturing) BREACH("no capture to end");
    s->capturing = 0;
    *out = NULL;
    if (fails("cudaStreamEndCapture")) return cudaErrorStreamCaptureInvalidated;
    *out = new_graph();
    (*out)->n_nodes = s->n_nodes;
    return cudaSuccess;
}

cudaError_t cudaGraphCreate(cudaGraph_t *out, unsigned flags)
{
    if (flags) BREACH("graph flags %u", flags);
    if (fails("cudaGraphCreate")) return cudaErrorMemoryAllocation;
    *out = new_graph();
    return cudaSuccess;
}

cudaError_t cudaGraphDestroy(cudaGraph_t g)
{
    if (!g || g->magic != MAGIC) BREACH("that is no graph");
    g->magic = 0;
    free(g);
    fake.n_live--;
    return cudaSuccess;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *out, cudaGraph_t g, unsigned long long flags)
{
    if (!g || g->magic != MAGIC || !g->n_nodes || flags) BREACH("an empty graph is instantiated");
    if (fails("cudaGraphInstantiate")) return cudaErrorMemoryAllocation;
    cudaGraphExec_t e = calloc(1, sizeof *e);
    e->magic = MAGIC;
    fake.n_live++;
    fake.n_instantiated++;
    *out = e;
    return cudaSuccess;
}

static void live_exec(cudaGraphExec_t e)
{
    if (!e || e->magic != MAGIC) BREACH("that is no executable graph");
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t e)
{
    live_exec(e);
    e->magic = 0;
    free(e);
    fake.n_live--;
    return cudaSuccess;
}

cudaError_t cudaGraphExecUpdate(cudaGraphExec_t e, cudaGraph_t g,
                                cudaGraphExecUpdateResultInfo *info)
{
    live_exec(e);
    if (!g || g->magic != MAGIC || !g->n_nodes) BREACH("an update from an empty graph");
    memset(info, 0, sizeof *info);
    if (fake.no_update || fails("cudaGraphExecUpdate")) return cudaErrorGraphExecUpdateFailure;
    fake.n_updated++;
    return cudaSuccess;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t e, cudaStream_t stream)
{
    live_exec(e);
    (void)stream;
    if (fails("cudaGraphLaunch")) return cudaErrorUnknown;
    fake.n_launched++;
    return cudaSuccess;
}

/* ---- what only a launcher's main() calls: device memory is host memory ---------------------- */

cudaError_t cudaMalloc(void **p, size_t n)
{
    *p = aligned_alloc(256, (n + 511) / 256 * 256);
    return *p ? cudaSuccess : cudaErrorMemoryAllocation;
}

cudaError_t cudaMemcpy(void *to, const void *from, size_t n, enum cudaMemcpyKind kind)
{
    (void)kind;
    memcpy(to, from, n);
    return cudaSuccess;
}

cudaError_t cudaMemset(void *p, int value, size_t n)
{
    memset(p, value, n);
    return cudaSuccess;
}

cudaError_t cudaDeviceSynchronize(void) { return cudaSuccess; }

cudaError_t cudaEventCreate(cudaEvent_t *e)
{
    *e = (cudaEvent_t)(void *)&the_handle;
    return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t e) { return e ? cudaSuccess : cudaErrorInvalidValue; }

cudaError_t cudaEventRecord(cudaEvent_t e, cudaStream_t s)
{
    (void)s;
    return e ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t cudaEventSynchronize(cudaEvent_t e) { return e ? cudaSuccess : cudaErrorInvalidValue; }

cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t from, cudaEvent_t to)
{
    *ms = 0.25f;
    return from && to ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t cudaGraphGetNodes(cudaGraph_t g, cudaGraphNode_t *nodes, size_t *n)
{
    *n = (size_t)g->n_nodes;
    for (int i = 0; nodes && i < g->n_nodes; i++) nodes[i] = (cudaGraphNode_t)(void *)g;
    return cudaSuccess;
}

cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node, enum cudaGraphNodeType *type)
{
    *type = cudaGraphNodeTypeKernel;
    return node ? cudaSuccess : cudaErrorInvalidValue;
}
