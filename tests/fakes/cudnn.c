/* cudnn: a libcudnn.so.9 that runs plans on this machine's processor, for tests of fgc-device: what a plan does is
 * in the library that FAKE_PLAN names, as plan(text, n, uids, pointers); without it, nothing. */
#include <cudnn_graph.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BREACH(...) (fprintf(stderr, "breach: " __VA_ARGS__), fputc('\n', stderr), abort())

struct descriptor {
    cudnnBackendDescriptorType_t type;
    int finalized;
    char *text;
    int64_t n, n_at, uid[4096];
    void *at[4096];
};
struct run {
    struct descriptor *plan, *pack;
};

size_t cudnnGetVersion(void) { return 91900; }
const char *cudnnGetErrorString(cudnnStatus_t st) { return st ? "CUDNN_STATUS_FAKE" : "CUDNN_STATUS_SUCCESS"; }
void cudnnGetLastErrorString(char *text, size_t n) { snprintf(text, n, "%s", ""); }
cudnnStatus_t cudnnSetCallback(unsigned mask, void *data, cudnnCallback_t f)
{
    (void)mask;
    (void)data;
    (void)f;
    return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnCreate(cudnnHandle_t *h) { return *h = malloc(1), CUDNN_STATUS_SUCCESS; }
cudnnStatus_t cudnnDestroy(cudnnHandle_t h) { return free(h), CUDNN_STATUS_SUCCESS; }
cudnnStatus_t cudnnSetStream(cudnnHandle_t h, cudaStream_t s)
{
    (void)h;
    (void)s;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t type, cudnnBackendDescriptor_t *out)
{
    if (type != CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR && type != CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR)
        return CUDNN_STATUS_NOT_SUPPORTED;
    struct descriptor *d = calloc(1, sizeof *d);
    d->type = type;
    *out = (cudnnBackendDescriptor_t)d;
    return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t x)
{
    struct descriptor *d = (struct descriptor *)x;
    free(d->text);
    free(d);
    return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t x, cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                                       int64_t n, const void *values)
{
    struct descriptor *d = (struct descriptor *)x;
    if (d->finalized) BREACH("a finalized descriptor is changed");
    if (name == CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION) d->text = strndup(values, (size_t)n);
    if (type != CUDNN_TYPE_CHAR && n > 4096) BREACH("too many tensors");
    if (name == CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS) memcpy(d->uid, values, (size_t)(d->n = n) * 8);
    if (name == CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS) memcpy(d->at, values, (size_t)(d->n_at = n) * 8);
    return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnBackendGetAttribute(cudnnBackendDescriptor_t x, cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                                       int64_t n, int64_t *got, void *values)
{
    (void)x;
    (void)type;
    (void)n;
    if (name != CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE) return CUDNN_STATUS_NOT_SUPPORTED;
    *got = 1;
    *(int64_t *)values = 0;
    return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t x)
{
    struct descriptor *d = (struct descriptor *)x;
    if (d->type == CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR && (d->n == 0 || d->n != d->n_at)) BREACH("a pack of %ld uids and %ld pointers", (long)d->n, (long)d->n_at);
    d->finalized = 1;
    return CUDNN_STATUS_SUCCESS;
}

static void run(void *data)
{
    static void *library;
    static void (*plan)(const char *, int64_t, const int64_t *, void *const *);
    struct run *r = data;
    if (!library && getenv("FAKE_PLAN") && *getenv("FAKE_PLAN")) {
        library = dlopen(getenv("FAKE_PLAN"), RTLD_NOW);
        if (!library) BREACH("%s", dlerror());
        *(void **)&plan = dlsym(library, "plan");
    }
    if (plan) plan(r->plan->text, r->pack->n, r->pack->uid, r->pack->at);
}

cudnnStatus_t cudnnBackendExecute(cudnnHandle_t h, cudnnBackendDescriptor_t plan, cudnnBackendDescriptor_t pack)
{
    void (*enqueue)(void (*)(void *), void *) = NULL;
    struct run *r = malloc(sizeof *r); /* kept: a graph may have it */
    (void)h;
    *r = (struct run){(struct descriptor *)plan, (struct descriptor *)pack};
    if (!r->plan->finalized || !r->pack->finalized) BREACH("what is not finalized is executed");
    *(void **)&enqueue = dlsym(RTLD_DEFAULT, "fake_enqueue");
    enqueue(run, r);
    return CUDNN_STATUS_SUCCESS;
}
