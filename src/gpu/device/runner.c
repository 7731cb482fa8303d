/* runner: opens the device, holds the tensors of a job in several sets of memory, and loads plans.
 *
 * Invariant: sizes and offsets of a command are checked against the shared memory before they are
 * used; a slot's packs are of the present memory, or none. */
#include "gpu/build/device.h"
#include "gpu/device/runner.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <stdlib.h>

static json_t *refused(const char *what, const char *why)
{
    return json_pack("{s:o}", "refused", json_sprintf("%s: %s", what, why));
}

/* Errors of the driver after which nothing in the context works any more. */
static bool is_sticky(CUresult r)
{
    return r == CUDA_ERROR_ILLEGAL_ADDRESS || r == CUDA_ERROR_LAUNCH_FAILED ||
           r == CUDA_ERROR_LAUNCH_TIMEOUT || r == CUDA_ERROR_MISALIGNED_ADDRESS ||
           r == CUDA_ERROR_ILLEGAL_INSTRUCTION || r == CUDA_ERROR_ASSERT ||
           r == CUDA_ERROR_HARDWARE_STACK_ERROR || r == CUDA_ERROR_INVALID_ADDRESS_SPACE ||
           r == CUDA_ERROR_INVALID_PC || r == CUDA_ERROR_ECC_UNCORRECTABLE;
}

json_t *runner_cuda(struct runner *r, CUresult e, const char *what)
{
    r->broken = r->broken || is_sticky(e);
    return refused(what, cuda_word(&r->cu, e));
}

json_t *runner_cudnn(struct runner *r, cudnnStatus_t st, const char *what)
{
    const char *more = cudnn_last_error(&r->c);
    return json_pack(
        "{s:o}", "refused",
        json_sprintf("%s: %s%s%.400s", what, status_word(&r->c, st), *more ? ": " : "", more));
}

/* ---- the device ------------------------------------------------------------------------------ */

/* The clock of the SMs, where NVML is there: it tells a throttled sample. */
static void open_nvml(struct runner *r, const char *uuid)
{
    void *h = dlopen("libnvidia-ml.so.1", RTLD_NOW);
    int (*init)(void) = NULL, (*find)(const char *, void **) = NULL;
    if (!h) return;
    *(void **)&init = dlsym(h, "nvmlInit_v2");
    *(void **)&find = dlsym(h, "nvmlDeviceGetHandleByUUID");
    *(void **)&r->clock = dlsym(h, "nvmlDeviceGetClockInfo");
    if (!init || !find || init() != 0 || find(uuid, &r->nvml_device) != 0) r->clock = NULL;
}

static int attribute(struct runner *r, CUdevice dev, CUdevice_attribute a)
{
    int v = 0;
    return r->cu.p_cuDeviceGetAttribute(&v, a, dev) == CUDA_SUCCESS ? v : 0;
}

static json_t *introduce(struct runner *r, CUdevice dev)
{
    char name[256] = "", text[48] = "GPU-";
    CUuuid uuid = {{0}};
    size_t memory = 0, at = 4;
    r->cu.p_cuDeviceGetName(name, sizeof name, dev);
    r->cu.p_cuDeviceGetUuid(&uuid, dev);
    r->cu.p_cuDeviceTotalMem(&memory, dev);
    for (int i = 0; i < 16; i++)
        at += (size_t)snprintf(text + at, sizeof text - at, "%s%02x",
                               i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
                               (unsigned char)uuid.bytes[i]);
    r->l2_bytes = (size_t)attribute(r, dev, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
    open_nvml(r, text);
    r->sm = 10 * attribute(r, dev, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) +
            attribute(r, dev, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
    return json_pack("{s:s, s:s, s:i, s:i, s:i, s:I}", "name", name, "uuid", text, "driver",
                     r->driver, "sm", r->sm, "multiprocessors", attribute(r, dev, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT),
                     "memory_bytes", (json_int_t)memory);
}

json_t *runner_open(struct runner *r, const json_t *request)
{
    json_t *libs = json_object();
    const char *why = "";
    CUdevice dev = 0;
    CUcontext context;
    r->c.arena = r->arena;
    if (!json_is_object(request)) return json_pack("{s:s}", "refused", "the request is not JSON");
    if (!cuda_open(&r->cu, &why)) return refused("there is no CUDA driver", why);
    CUresult e = r->cu.p_cuInit(0);
    if (e == CUDA_SUCCESS) e = r->cu.p_cuDriverGetVersion(&r->driver);
    if (e == CUDA_SUCCESS) e = r->cu.p_cuDeviceGet(&dev, 0);
    if (e != CUDA_SUCCESS) return runner_cuda(r, e, "there is no GPU");
    e = r->cu.p_cuDevicePrimaryCtxRetain(&context, dev);
    if (e == CUDA_SUCCESS) e = r->cu.p_cuCtxSetCurrent(context);
    if (e == CUDA_SUCCESS) e = r->cu.p_cuStreamCreate(&r->stream, CU_STREAM_NON_BLOCKING);
    if (e == CUDA_SUCCESS) e = r->cu.p_cuEventCreate(&r->begin, CU_EVENT_DEFAULT);
    if (e == CUDA_SUCCESS) e = r->cu.p_cuEventCreate(&r->end, CU_EVENT_DEFAULT);
    if (e != CUDA_SUCCESS) return runner_cuda(r, e, "GPU 0 cannot be used");
    if (!libraries_open(&r->c, request, libs))
        return json_pack("{s:s}", "refused", json_string_value(json_object_get(libs, "error")));
    *(void **)&r->execute = dlsym(RTLD_DEFAULT, "cudnnBackendExecute");
    *(void **)&r->set_stream = dlsym(RTLD_DEFAULT, "cudnnSetStream");
    if (!r->execute || !r->set_stream)
        return json_pack("{s:s}", "refused", "this cuDNN cannot execute plans");
    cudnnStatus_t st = r->c.cudnnCreate(&r->c.handle);
    if (st == CUDNN_STATUS_SUCCESS) st = r->set_stream(r->c.handle, r->stream);
    if (st != CUDNN_STATUS_SUCCESS) return runner_cudnn(r, st, "cuDNN does not start");
    json_t *hello = introduce(r, dev);
    json_object_set(hello, "cudnn", json_object_get(libs, "cudnn_version"));
    device_dump(&r->c, hello);
    return hello;
}

/* ---- memory ---------------------------------------------------------------------------------- */

static void free_sets(struct runner *r, CUdeviceptr memory[][RUNNER_TENSORS], int n)
{
    for (int s = 0; s < n; s++)
        for (int i = 0; i < r->n_tensors; i++)
            if (memory[s][i]) r->cu.p_cuMemFree(memory[s][i]);
}

static void forget_packs(struct runner *r, struct runner_slot *slot)
{
    for (int s = 0; s < RUNNER_SETS; s++) {
        if (slot->pack[s]) r->c.cudnnBackendDestroyDescriptor(slot->pack[s]);
        slot->pack[s] = NULL;
    }
    if (slot->program) program_forget(r, slot->program);
    if (slot->graph) r->cu.p_cuGraphExecDestroy(slot->graph);
    slot->graph = NULL;
}

/* As many sets that the inputs of all are more than three times the L2, and that they fit. */
static int count_sets(struct runner *r)
{
    size_t inputs = 0, all = 0, free_bytes = 0, total = 0;
    for (int i = 0; i < r->n_tensors; i++) {
        all += r->tensor[i].bytes + 512;
        inputs += r->tensor[i].output ? 0 : r->tensor[i].bytes;
    }
    if (r->cu.p_cuMemGetInfo(&free_bytes, &total) != CUDA_SUCCESS) return 1;
    size_t n = inputs ? 3 * r->l2_bytes / inputs + 1 : 1;
    while (n > 1 && n > free_bytes / 3 / all)
        n--; /* a third: the next data comes before this goes */
    return n > RUNNER_SETS ? RUNNER_SETS : (int)n;
}

static CUresult fill_set(struct runner *r, int s, CUdeviceptr *memory, const CUdeviceptr *first)
{
    CUresult e = CUDA_SUCCESS;
    for (int i = 0; i < r->n_tensors && e == CUDA_SUCCESS; i++) {
        const struct runner_tensor *t = &r->tensor[i];
        e = r->cu.p_cuMemAlloc(&memory[i], t->bytes ? t->bytes : 1);
        if (e != CUDA_SUCCESS || t->output) continue;
        e = s == 0 ? r->cu.p_cuMemcpyHtoD(memory[i], r->shared + t->at, t->bytes)
                   : r->cu.p_cuMemcpyDtoD(memory[i], first[i], t->bytes);
    }
    return e;
}

/* New memory with the shared tensors' values, while the old still stands, so that addresses differ.
 */
static json_t *upload(struct runner *r)
{
    CUdeviceptr(*next)[RUNNER_TENSORS] = calloc(RUNNER_SETS, sizeof *next);
    if (!next) return json_pack("{s:s}", "refused", "out of memory");
    int n = count_sets(r);
    CUresult e = CUDA_SUCCESS;
    for (int s = 0; s < n && e == CUDA_SUCCESS; s++) e = fill_set(r, s, next[s], next[0]);
    free_sets(r, e == CUDA_SUCCESS ? r->memory : next, e == CUDA_SUCCESS ? r->n_sets : n);
    if (e == CUDA_SUCCESS) {
        memcpy(r->memory, next, RUNNER_SETS * sizeof *next);
        r->n_sets = n;
    }
    free(next);
    for (int i = 0; i < RUNNER_SLOTS; i++)
        if (r->slot[i]) forget_packs(r, r->slot[i]);
    return e == CUDA_SUCCESS ? json_pack("{s:i}", "sets", r->n_sets)
                             : runner_cuda(r, e, "the tensors do not fit");
}

static bool read_tensor(struct runner *r, const json_t *j, struct runner_tensor *t)
{
    json_int_t bytes = json_integer_value(json_object_get(j, "bytes")),
               at = json_integer_value(json_object_get(j, "at"));
    *t = (struct runner_tensor){.uid = json_integer_value(json_object_get(j, "uid")),
                                .bytes = (size_t)bytes,
                                .at = (size_t)at,
                                .output = json_is_true(json_object_get(j, "output"))};
    return bytes >= 0 && at >= 0 && t->at <= r->shared_bytes && t->bytes <= r->shared_bytes - t->at;
}

bool runner_value(const json_t *j, unsigned char out[8])
{
    const char *hex = json_string_value(json_object_get(j, "hex"));
    memset(out, 0, 8);
    if (!hex || strlen(hex) > 16 || strlen(hex) % 2) return false;
    for (size_t i = 0; hex[2 * i]; i++) {
        unsigned x;
        if (sscanf(hex + 2 * i, "%2x", &x) != 1) return false;
        out[i] = (unsigned char)x;
    }
    return true;
}

json_t *runner_begin(struct runner *r, const json_t *job)
{
    const json_t *tensors = json_object_get(job, "tensors"),
                 *values = json_object_get(job, "values");
    for (int i = 0; i < RUNNER_SLOTS; i++) json_decref(runner_unload(r, i));
    free_sets(r, r->memory, r->n_sets);
    memset(r->memory, 0, sizeof r->memory);
    r->n_sets = r->n_tensors = r->n_values = 0;
    if (json_array_size(tensors) > RUNNER_TENSORS || json_array_size(values) > RUNNER_TENSORS)
        return json_pack("{s:s}", "refused", "too many tensors");
    size_t i;
    json_t *j;
    json_array_foreach((json_t *)tensors, i, j)
        if (!read_tensor(r, j, &r->tensor[i]))
            return json_pack("{s:s}", "refused", "a tensor lies outside of the shared memory");
    json_array_foreach((json_t *)values, i, j) {
        r->value_uid[i] = json_integer_value(json_object_get(j, "uid"));
        if (!runner_value(j, r->value[i]))
            return json_pack("{s:s}", "refused", "a value is not hexadecimal");
    }
    r->n_tensors = (int)json_array_size(tensors);
    r->n_values = (int)json_array_size(values);
    return upload(r);
}

json_t *runner_fresh(struct runner *r)
{
    return upload(r);
}

/* ---- plans ----------------------------------------------------------------------------------- */

/* The plan's text for this driver: cuDNN refuses any other version, and kernels run on every newer
 * one. */
static char *for_driver(struct runner *r, const char *plan, size_t n)
{
    static const char key[] = "\"driverVer\":";
    char *text = arena_strndup(r->arena, plan, n), *at = strstr(text, key);
    if (!at) return NULL;
    char *digits = at + sizeof key - 1, *end = digits;
    while (*end >= '0' && *end <= '9') end++;
    *digits = '\0';
    return arena_printf(r->arena, "%s%d%s", text, r->driver, end);
}

static cudnnStatus_t load_plan(struct runner *r, struct runner_slot *slot, const char *text,
                               int64_t *workspace)
{
    cudnnHandle_t handle = r->c.handle;
    int64_t got = 0;
    cudnnStatus_t st = r->c.cudnnBackendCreateDescriptor(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR,
                                                         &slot->plan);
    if (st == CUDNN_STATUS_SUCCESS)
        st = r->c.cudnnBackendSetAttribute(slot->plan,
                                           CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION,
                                           CUDNN_TYPE_CHAR, (int64_t)strlen(text), text);
    if (st == CUDNN_STATUS_SUCCESS)
        st = r->c.cudnnBackendSetAttribute(slot->plan, CUDNN_ATTR_EXECUTION_PLAN_HANDLE,
                                           CUDNN_TYPE_HANDLE, 1, &handle);
    if (st == CUDNN_STATUS_SUCCESS) st = r->c.cudnnBackendFinalize(slot->plan);
    if (st == CUDNN_STATUS_SUCCESS)
        st = r->c.cudnnBackendGetAttribute(slot->plan, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE,
                                           CUDNN_TYPE_INT64, 1, &got, workspace);
    return st;
}

json_t *runner_load(struct runner *r, int64_t slot, const json_t *how)
{
    json_int_t at = json_integer_value(json_object_get(how, "at")),
               n = json_integer_value(json_object_get(how, "bytes"));
    if (slot < 0 || slot >= RUNNER_SLOTS) return json_pack("{s:s}", "refused", "too many plans");
    if (at < 0 || n <= 0 || (size_t)at > r->shared_bytes ||
        (size_t)n > r->shared_bytes - (size_t)at)
        return json_pack("{s:s}", "refused", "the plan lies outside of the shared memory");
    json_decref(runner_unload(r, slot));
    struct arena_mark mark = arena_mark(r->arena);
    char *text = for_driver(r, (const char *)r->shared + at, (size_t)n);
    struct runner_slot *s = calloc(1, sizeof *s);
    int64_t workspace = 0, least = json_integer_value(json_object_get(how, "workspace"));
    cudnnStatus_t st = text && s ? load_plan(r, s, text, &workspace) : CUDNN_STATUS_BAD_PARAM;
    arena_rewind(r->arena, mark);
    if (!s) return json_pack("{s:s}", "refused", "out of memory");
    r->slot[slot] = s;
    if (st != CUDNN_STATUS_SUCCESS) {
        json_t *why = runner_cudnn(r, st, "the plan is not loaded");
        json_decref(runner_unload(r, slot));
        return why;
    }
    if (workspace < least) workspace = least;
    CUresult e = r->cu.p_cuMemAlloc(&s->workspace, (size_t)workspace + 256);
    if (e == CUDA_SUCCESS) return json_pack("{s:I}", "workspace", (json_int_t)workspace);
    json_decref(runner_unload(r, slot));
    return runner_cuda(r, e, "the workspace does not fit");
}

json_t *runner_unload(struct runner *r, int64_t slot)
{
    struct runner_slot *s = slot >= 0 && slot < RUNNER_SLOTS ? r->slot[slot] : NULL;
    if (!s) return json_object();
    forget_packs(r, s);
    if (s->program) program_free(r, s->program);
    if (s->plan) r->c.cudnnBackendDestroyDescriptor(s->plan);
    if (s->workspace) r->cu.p_cuMemFree(s->workspace);
    free(s);
    r->slot[slot] = NULL;
    return json_object();
}
