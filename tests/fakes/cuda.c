/* cuda: a libcuda.so.1 whose device is this machine's memory and processor, for tests of fgc-device.
 *
 * Device memory is malloc's and starts as 0xee bytes; what is enqueued is done at once, or kept in the
 * graph that is being captured; events are a clock. A module is a shared library that fakes/nvrtc.c made, its
 * kernels functions that run all threads. Breaches (memory that is not the device's, a launch of nothing) end
 * the program. */
#include <cuda.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BREACH(...) (fprintf(stderr, "breach: " __VA_ARGS__), fputc('\n', stderr), abort())

/* ---- work, done or kept -------------------------------------------------------------------------- */

struct work {
    void (*run)(void *);
    void *data;
};
struct CUgraph_st {
    struct work *at;
    size_t n;
};
static struct CUgraph_st *capturing;

/* fakes/cudnn.c enqueues through this, too; data must stay. */
void fake_enqueue(void (*run)(void *), void *data);
void fake_enqueue(void (*run)(void *), void *data)
{
    if (!capturing) {
        run(data);
        return;
    }
    capturing->at = realloc(capturing->at, (capturing->n + 1) * sizeof *capturing->at);
    capturing->at[capturing->n++] = (struct work){run, data};
}

CUresult cuStreamCreate(CUstream *s, unsigned flags)
{
    (void)flags;
    *s = (CUstream)malloc(1);
    return CUDA_SUCCESS;
}
CUresult cuStreamSynchronize(CUstream s)
{
    (void)s;
    if (capturing) BREACH("a wait in a capture");
    return CUDA_SUCCESS;
}
CUresult cuStreamBeginCapture(CUstream s, CUstreamCaptureMode mode)
{
    (void)s;
    (void)mode;
    if (capturing) BREACH("a capture in a capture");
    capturing = calloc(1, sizeof *capturing);
    return CUDA_SUCCESS;
}
CUresult cuStreamEndCapture(CUstream s, CUgraph *graph)
{
    (void)s;
    *graph = capturing;
    capturing = NULL;
    return CUDA_SUCCESS;
}
CUresult cuGraphInstantiateWithFlags(CUgraphExec *exec, CUgraph graph, unsigned long long flags)
{
    (void)flags;
    if (graph->n == 0) BREACH("an empty graph");
    struct CUgraph_st *copy = malloc(sizeof *copy);
    *copy = *graph;
    copy->at = malloc(graph->n * sizeof *copy->at);
    memcpy(copy->at, graph->at, graph->n * sizeof *copy->at);
    *exec = (CUgraphExec)copy;
    return CUDA_SUCCESS;
}
CUresult cuGraphLaunch(CUgraphExec exec, CUstream s)
{
    struct CUgraph_st *g = (struct CUgraph_st *)exec;
    (void)s;
    for (size_t i = 0; i < g->n; i++) g->at[i].run(g->at[i].data);
    return CUDA_SUCCESS;
}
CUresult cuGraphDestroy(CUgraph graph)
{
    free(graph->at);
    free(graph);
    return CUDA_SUCCESS;
}
CUresult cuGraphExecDestroy(CUgraphExec exec)
{
    return cuGraphDestroy((CUgraph)exec);
}

struct CUevent_st {
    struct timespec t;
};
CUresult cuEventCreate(CUevent *e, unsigned flags)
{
    (void)flags;
    *e = calloc(1, sizeof **e);
    return CUDA_SUCCESS;
}
CUresult cuEventRecord(CUevent e, CUstream s)
{
    (void)s;
    clock_gettime(CLOCK_MONOTONIC, &e->t);
    return CUDA_SUCCESS;
}
CUresult cuEventSynchronize(CUevent e)
{
    (void)e;
    return CUDA_SUCCESS;
}
CUresult cuEventElapsedTime(float *ms, CUevent a, CUevent b)
{
    *ms = (float)(b->t.tv_sec - a->t.tv_sec) * 1e3f + (float)(b->t.tv_nsec - a->t.tv_nsec) * 1e-6f;
    return CUDA_SUCCESS;
}

/* ---- the device ---------------------------------------------------------------------------------- */

CUresult cuInit(unsigned flags)
{
    (void)flags;
    return CUDA_SUCCESS;
}
CUresult cuDriverGetVersion(int *v)
{
    *v = 13000;
    return CUDA_SUCCESS;
}
CUresult cuDeviceGet(CUdevice *d, int i)
{
    *d = i;
    return CUDA_SUCCESS;
}
CUresult cuDeviceGetName(char *name, int n, CUdevice d)
{
    (void)d;
    snprintf(name, (size_t)n, "a processor");
    return CUDA_SUCCESS;
}
CUresult cuDeviceGetUuid(CUuuid *u, CUdevice d)
{
    (void)d;
    memset(u, 0x11, sizeof *u);
    return CUDA_SUCCESS;
}
CUresult cuDeviceGetAttribute(int *v, CUdevice_attribute a, CUdevice d)
{
    (void)d;
    *v = a == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR ? 9
         : a == CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT   ? 132
         : a == CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE          ? 1 << 16
                                                           : 0;
    return CUDA_SUCCESS;
}
CUresult cuDeviceTotalMem(size_t *n, CUdevice d)
{
    (void)d;
    *n = (size_t)1 << 34;
    return CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxRetain(CUcontext *c, CUdevice d)
{
    (void)d;
    *c = (CUcontext)malloc(1);
    return CUDA_SUCCESS;
}
CUresult cuCtxSetCurrent(CUcontext c)
{
    (void)c;
    return CUDA_SUCCESS;
}
CUresult cuGetErrorName(CUresult r, const char **name)
{
    (void)r;
    *name = "FAKE_ERROR";
    return CUDA_SUCCESS;
}

/* ---- memory -------------------------------------------------------------------------------------- */

/* FAKE_MEMORY: no allocation is larger. */
CUresult cuMemAlloc(CUdeviceptr *p, size_t n)
{
    const char *most = getenv("FAKE_MEMORY");
    if (most && n > strtoull(most, NULL, 10)) return CUDA_ERROR_OUT_OF_MEMORY;
    size_t *at = malloc(n + 64);
    if (!at) return CUDA_ERROR_OUT_OF_MEMORY;
    memset(at, 0xee, n + 64);
    at[0] = n;
    *p = (CUdeviceptr)(at + 8);
    return CUDA_SUCCESS;
}
CUresult cuMemFree(CUdeviceptr p)
{
    free((size_t *)p - 8);
    return CUDA_SUCCESS;
}
CUresult cuMemGetInfo(size_t *left, size_t *all)
{
    *left = (size_t)1 << 32;
    *all = (size_t)1 << 34;
    return CUDA_SUCCESS;
}
static void inside(CUdeviceptr p, size_t n)
{
    if (((size_t *)p)[-8] < n) BREACH("%zu bytes where there are %zu", n, ((size_t *)p)[-8]);
}
CUresult cuMemcpyHtoD(CUdeviceptr to, const void *from, size_t n)
{
    inside(to, n);
    memcpy((void *)to, from, n);
    return CUDA_SUCCESS;
}
CUresult cuMemcpyDtoH(void *to, CUdeviceptr from, size_t n)
{
    inside(from, n);
    memcpy(to, (void *)from, n);
    return CUDA_SUCCESS;
}
CUresult cuMemcpyDtoD(CUdeviceptr to, CUdeviceptr from, size_t n)
{
    inside(to, n);
    inside(from, n);
    memcpy((void *)to, (void *)from, n);
    return CUDA_SUCCESS;
}
CUresult cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, size_t n, CUstream s)
{
    (void)s;
    return cuMemcpyDtoD(to, from, n);
}
CUresult cuMemsetD8(CUdeviceptr p, unsigned char x, size_t n)
{
    inside(p, n);
    memset((void *)p, x, n);
    return CUDA_SUCCESS;
}

/* ---- kernels ------------------------------------------------------------------------------------- */

struct CUfunc_st {
    void (*run)(void **, long long, long long);
    int n;
};
CUresult cuModuleLoadData(CUmodule *m, const void *code)
{
    *m = dlopen(code, RTLD_NOW | RTLD_LOCAL);
    if (!*m) fprintf(stderr, "%s\n", dlerror());
    return *m ? CUDA_SUCCESS : CUDA_ERROR_INVALID_IMAGE;
}
CUresult cuModuleUnload(CUmodule m)
{
    dlclose(m);
    return CUDA_SUCCESS;
}
CUresult cuModuleGetFunction(CUfunction *f, CUmodule m, const char *name)
{
    char run[300], n[300];
    snprintf(run, sizeof run, "run_%s", name);
    snprintf(n, sizeof n, "args_%s", name);
    const int *args = dlsym(m, n);
    *f = calloc(1, sizeof **f);
    *(void **)&(*f)->run = dlsym(m, run);
    if (!(*f)->run || !args) return CUDA_ERROR_NOT_FOUND;
    (*f)->n = *args;
    return CUDA_SUCCESS;
}

struct launch {
    CUfunction f;
    long long first, count;
    void *at[];
};
static void run(void *data)
{
    struct launch *l = data;
    l->f->run(l->at, l->first, l->count);
}
CUresult cuLaunchKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared,
                        CUstream s, void **params, void **extra)
{
    struct launch *l = malloc(sizeof *l + (size_t)f->n * sizeof l->at[0]); /* kept: a graph may have it */
    (void)s;
    (void)shared;
    l->f = f;
    for (int i = 0; i < f->n; i++) l->at[i] = *(void **)params[i];
    l->first = *(long long *)params[f->n];
    l->count = *(long long *)params[f->n + 1];
    if (gy * gz * by * bz != 1 || extra || l->count < 1) BREACH("a launch of another shape");
    if ((long long)gx * bx < l->count || ((long long)gx - 1) * bx >= l->count)
        BREACH("%lld threads in %u blocks of %u", l->count, gx, bx);
    fake_enqueue(run, l);
    return CUDA_SUCCESS;
}
