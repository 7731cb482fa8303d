/* device: what the real driver says of the machine's GPUs, through libcuda alone. */
#include "gpu/build/device.h"

#include <cuda.h>
#include <dlfcn.h>

#define DRIVER_FUNCTIONS(F)                                                       \
    F(cuInit)                                                                     \
    F(cuDriverGetVersion)                                                         \
    F(cuDeviceGetCount)                                                           \
    F(cuDeviceGet) F(cuDeviceGetName) F(cuDeviceGetAttribute) F(cuDeviceTotalMem) \
        F(cuGetErrorName)
/* cuda.h maps names to versioned ones by macros; the strings below go through them too. */
#define STRING(x) STRING_(x)
#define STRING_(x) #x

struct driver {
#define MEMBER(name) __typeof__(&name) p_##name;
    DRIVER_FUNCTIONS(MEMBER)
#undef MEMBER
};

static const char *error_name(const struct driver *d, CUresult r)
{
    const char *name = NULL;
    return d->p_cuGetErrorName && d->p_cuGetErrorName(r, &name) == CUDA_SUCCESS && name
               ? name
               : "an unknown error";
}

static bool open_driver(struct driver *d, json_t *reply)
{
    void *h = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
    if (!h) {
        json_object_set_new(reply, "device_error", json_string(dlerror()));
        return false;
    }
    bool all = true;
#define LOOK(name)                                   \
    *(void **)&d->p_##name = dlsym(h, STRING(name)); \
    all = all && d->p_##name;
    DRIVER_FUNCTIONS(LOOK)
#undef LOOK
    Dl_info info;
    if (d->p_cuInit && dladdr(*(void **)&d->p_cuInit, &info))
        json_object_set_new(json_object_get(reply, "found"), "cuda",
                            json_pack("{s:s, s:n}", "path", info.dli_fname, "version"));
    if (!all)
        json_object_set_new(reply, "device_error",
                            json_string("libcuda.so.1 lacks functions of a CUDA driver"));
    return all;
}

static json_t *describe(const struct driver *d, int i)
{
    CUdevice dev;
    char name[256] = "";
    int major = 0, minor = 0, mps = 0;
    size_t memory = 0;
    if (d->p_cuDeviceGet(&dev, i) != CUDA_SUCCESS) return NULL;
    d->p_cuDeviceGetName(name, sizeof name, dev);
    d->p_cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, dev);
    d->p_cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, dev);
    d->p_cuDeviceGetAttribute(&mps, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, dev);
    d->p_cuDeviceTotalMem(&memory, dev);
    return json_pack("{s:s, s:i, s:i, s:I}", "name", name, "sm", 10 * major + minor,
                     "multiprocessors", mps, "memory_bytes", (json_int_t)memory);
}

void device_list(json_t *reply)
{
    struct driver d = {0};
    int version = 0, n = 0;
    json_t *list = json_array();
    json_object_set_new(reply, "devices", list);
    if (!open_driver(&d, reply)) return;
    CUresult r = d.p_cuInit(0);
    if (d.p_cuDriverGetVersion(&version) == CUDA_SUCCESS)
        json_object_set_new(reply, "driver_version", json_integer(version));
    if (r == CUDA_SUCCESS) r = d.p_cuDeviceGetCount(&n);
    if (r != CUDA_SUCCESS)
        json_object_set_new(reply, "device_error", json_sprintf("cuInit: %s", error_name(&d, r)));
    for (int i = 0; r == CUDA_SUCCESS && i < n && i < 16; i++) {
        json_t *one = describe(&d, i);
        if (one) json_array_append_new(list, one);
    }
}

void device_dump(struct cudnn *c, json_t *reply)
{
    cudnnBackendDescriptor_t d = NULL;
    int device = 0;
    int64_t n = 0, got = 0;
    cudnnStatus_t st = c->cudnnBackendCreateDescriptor(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR, &d);
    if (st == CUDNN_STATUS_SUCCESS)
        st = c->cudnnBackendSetAttribute(d, CUDNN_ATTR_DEVICEPROP_DEVICE_ID, CUDNN_TYPE_INT32, 1,
                                         &device);
    if (st == CUDNN_STATUS_SUCCESS) st = c->cudnnBackendFinalize(d);
    if (st == CUDNN_STATUS_SUCCESS)
        st = c->cudnnBackendGetAttribute(d, CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION,
                                         CUDNN_TYPE_CHAR, 0, &n, NULL);
    char *text = arena_alloc(c->arena, (size_t)n + 1);
    if (st == CUDNN_STATUS_SUCCESS)
        st = c->cudnnBackendGetAttribute(d, CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION,
                                         CUDNN_TYPE_CHAR, n, &got, text);
    if (st != CUDNN_STATUS_SUCCESS) {
        json_object_set_new(reply, "error",
                            json_sprintf("cuDNN cannot describe GPU 0: %s: %s", status_word(c, st),
                                         cudnn_last_error(c)));
        return;
    }
    json_object_set_new(reply, "device", json_string(text));
}
