/* ---- runtime: plain C99 that is C++ too; knows nothing but cuDNN and the CUDA runtime ----------
 */

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cuda_runtime_api.h>
#include <cudnn_graph.h>

#define FGC_MAX_RANK 8
#define FGC_SLOTS 8 /* finalized variant packs kept, one for each set of pointers seen last */

enum fgc_role { FGC_INPUT, FGC_SCALAR, FGC_OUTPUT };
enum fgc_type {
    FGC_F64,
    FGC_F32,
    FGC_F16,
    FGC_BF16,
    FGC_E4M3,
    FGC_E5M2,
    FGC_E8M0,
    FGC_I64,
    FGC_I32,
    FGC_I8,
    FGC_U8,
    FGC_BOOL
};
struct fgc_tensor {
    const char *name;
    enum fgc_role role;
    enum fgc_type type;
    enum fgc_type field_type; /* a scalar's in args: f64, f32, i64 or i32 */
    int read;                 /* 0: no operator reads it, and the plan has it not */
    size_t elem_bytes;
    int64_t uid;
    int rank;
    int64_t dim[FGC_MAX_RANK], stride[FGC_MAX_RANK];
    size_t align;  /* bytes that the address must be a multiple of */
    size_t bytes;  /* from the first element to the end of the last */
    size_t field;  /* offset in the graph's args */
    double def;    /* scalars */
};
struct fgc_constant {
    int64_t uid;
    unsigned char value[8];
};
struct fgc_variant {
    const char *name;
    const int64_t *params; /* values of the parameters that choose the variant */
    const struct fgc_tensor *tensors;
    size_t n_tensors;
    const struct fgc_constant *constants;
    size_t n_constants;
    const unsigned char *plan; /* NULL: in a file beside the program */
    size_t plan_bytes, plan_at;
    const char *plan_sha256;
    size_t driver_at, driver_len; /* digits of the driver's version in the plan */
    int64_t workspace;
    int native_graph; /* the engine can fill a CUDA graph itself */
};
struct fgc_device {
    int sm, multiprocessors, shared_optin, shared_reserved, regs_per_block, threads_per_mp;
    int grid[3];
};
struct fgc_family { /* one graph */
    const char *name;
    size_t args_bytes;
    const struct fgc_variant *variants;
    size_t n_variants;
    const char *const *param_names;
    size_t n_params;
    size_t cudnn_version;
    int cuda_version; /* that compiled the kernels; 0: none were */
    struct fgc_device device;
    const char *plan_file;
};

struct fgc_slot {
    cudnnBackendDescriptor_t pack; /* NULL: empty */
    const void *workspace;
    unsigned long used;
};
struct fgc_object {
    const struct fgc_family *family;
    const struct fgc_variant *variant;
    cudnnBackendDescriptor_t plan;
    size_t workspace;
    size_t n_bound;               /* tensors that are read, then constants */
    int64_t *uids;                /* n_bound */
    void **pointers;              /* FGC_SLOTS rows of n_bound */
    unsigned char (*values)[8]; /* n_bound, for scalars and constants; its address never changes */
    struct fgc_slot slot[FGC_SLOTS];
    unsigned long clock;
    char error[512];
};
struct fgc_graph {
    struct fgc_object *object;
    cudnnHandle_t handle;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
};

static int fgc_fail(struct fgc_object *m, int status, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    vsnprintf(m->error, sizeof m->error, fmt, args);
    va_end(args);
    return status;
}

static int fgc_cudnn(struct fgc_object *m, cudnnStatus_t st, const char *what)
{
    char text[256] = "";
    if (st == CUDNN_STATUS_SUCCESS) return FGC_OK;
    cudnnGetLastErrorString(text, sizeof text - 1);
    return fgc_fail(m, FGC_ERROR_CUDNN, "%s: %s%s%s", what, cudnnGetErrorString(st),
                    text[0] ? ": " : "", text);
}

static int fgc_cuda(struct fgc_object *m, cudaError_t e, const char *what)
{
    if (e == cudaSuccess) return FGC_OK;
    return fgc_fail(m, FGC_ERROR_CUDA, "%s: %s", what, cudaGetErrorString(e));
}

/* ---- values ------------------------------------------------------------------------------- */

/* Binary16 and bfloat16 from float, to nearest even. */
static uint16_t fgc_bf16_bits(float x)
{
    uint32_t u;
    memcpy(&u, &x, sizeof u);
    if ((u & 0x7fffffffu) > 0x7f800000u) return (uint16_t)((u >> 16) | 0x40u);
    u += 0x7fffu + ((u >> 16) & 1u);
    return (uint16_t)(u >> 16);
}

static uint16_t fgc_f16_bits(float x)
{
    uint32_t u, sign, a;
    memcpy(&u, &x, sizeof u);
    sign = (u >> 16) & 0x8000u;
    a = u & 0x7fffffffu;
    if (a > 0x7f800000u) return (uint16_t)(sign | 0x7e00u);
    if (a >= 0x477ff000u) return (uint16_t)(sign | 0x7c00u); /* 65520 and above */
    if (a >= 0x38800000u) {
        a += 0xfffu + ((a >> 13) & 1u);
        return (uint16_t)(sign | ((a - 0x38000000u) >> 13));
    } else { /* below 2^-14: count in units of 2^-24 */
        uint32_t exponent = a >> 23, fraction = (a & 0x7fffffu) | 0x800000u, shift, half, rest, q;
        if (exponent < 102u) return (uint16_t)sign;
        shift = 126u - exponent;
        half = 1u << (shift - 1u);
        q = fraction >> shift;
        rest = fraction & ((1u << shift) - 1u);
        if (rest > half || (rest == half && (q & 1u))) q++;
        return (uint16_t)(sign | q);
    }
}

/* A scalar's field in args -> the bytes that cuDNN reads. Variants of a graph may differ in a
 * scalar's type; the field has the widest. */
static void fgc_scalar(const struct fgc_tensor *t, const unsigned char *args, unsigned char out[8])
{
    double d = 0;
    float f;
    int64_t l = 0;
    int32_t i;
    uint16_t h;
    int whole = 0;
    const unsigned char *from = args + t->field;
    switch (t->field_type) {
    case FGC_F64: memcpy(&d, from, sizeof d); break;
    case FGC_I64: memcpy(&l, from, sizeof l); whole = 1; break;
    case FGC_I32: memcpy(&i, from, sizeof i); l = i; whole = 1; break;
    default: memcpy(&f, from, sizeof f); d = (double)f; break;
    }
    f = whole ? (float)l : (float)d;
    switch (t->type) {
    case FGC_F64: d = whole ? (double)l : d; memcpy(out, &d, sizeof d); break;
    case FGC_F16: h = fgc_f16_bits(f); memcpy(out, &h, sizeof h); break;
    case FGC_BF16: h = fgc_bf16_bits(f); memcpy(out, &h, sizeof h); break;
    case FGC_I64: l = whole ? l : (int64_t)d; memcpy(out, &l, sizeof l); break;
    case FGC_I32: i = whole ? (int32_t)l : (int32_t)d; memcpy(out, &i, sizeof i); break;
    default: memcpy(out, &f, sizeof f); break;
    }
}

static void *fgc_pointer(const struct fgc_tensor *t, const unsigned char *args)
{
    void *p;
    memcpy(&p, args + t->field, sizeof p);
    return p;
}

/* ---- before a launch ----------------------------------------------------------------------- */

static int fgc_check_pointers(struct fgc_object *m, const unsigned char *args,
                              const void *workspace)
{
    const struct fgc_variant *v = m->variant;
    size_t i, k;
    for (i = 0; i < v->n_tensors; i++) {
        const struct fgc_tensor *t = &v->tensors[i];
        uintptr_t p;
        if (t->role == FGC_SCALAR || !t->read) continue;
        p = (uintptr_t)fgc_pointer(t, args);
        if (!p) return fgc_fail(m, FGC_ERROR_ARGUMENT, "'%s' is NULL", t->name);
        if (p % t->align)
            return fgc_fail(
                m, FGC_ERROR_ARGUMENT,
                "'%s' lies %lu bytes past a multiple of %lu; the plan needs its address to be one",
                t->name, (unsigned long)(p % t->align), (unsigned long)t->align);
        for (k = 0; k < v->n_tensors; k++) {
            const struct fgc_tensor *u = &v->tensors[k];
            uintptr_t q;
            if (k == i || u->role == FGC_SCALAR || !u->read || t->role != FGC_OUTPUT) continue;
            q = (uintptr_t)fgc_pointer(u, args);
            if (p < q + u->bytes && q < p + t->bytes)
                return fgc_fail(m, FGC_ERROR_ARGUMENT,
                                "output '%s' overlaps '%s': [%#lx, +%lu) and [%#lx, +%lu)", t->name,
                                u->name, (unsigned long)p, (unsigned long)t->bytes,
                                (unsigned long)q, (unsigned long)u->bytes);
        }
    }
    if (m->workspace && !workspace)
        return fgc_fail(m, FGC_ERROR_ARGUMENT, "the workspace is NULL; %lu bytes are needed",
                        (unsigned long)m->workspace);
    if (m->workspace && (uintptr_t)workspace % 256)
        return fgc_fail(m, FGC_ERROR_ARGUMENT,
                        "the workspace lies %lu bytes past a multiple of 256",
                        (unsigned long)((uintptr_t)workspace % 256));
    for (i = 0; i < v->n_tensors && m->workspace; i++) {
        const struct fgc_tensor *t = &v->tensors[i];
        uintptr_t p = (uintptr_t)workspace, q;
        if (t->role == FGC_SCALAR || !t->read) continue;
        q = (uintptr_t)fgc_pointer(t, args);
        if (p < q + t->bytes && q < p + m->workspace)
            return fgc_fail(m, FGC_ERROR_ARGUMENT,
                            "the workspace overlaps '%s': [%#lx, +%lu) and [%#lx, +%lu)", t->name,
                            (unsigned long)p, (unsigned long)m->workspace, (unsigned long)q,
                            (unsigned long)t->bytes);
    }
    return FGC_OK;
}

static int fgc_make_pack(struct fgc_object *m, struct fgc_slot *s, void **pointers, void *workspace)
{
    cudnnBackendDescriptor_t pack = NULL;
    cudnnStatus_t st = cudnnBackendCreateDescriptor(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, &pack);
    if (st == CUDNN_STATUS_SUCCESS)
        st = cudnnBackendSetAttribute(pack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64,
                                      (int64_t)m->n_bound, m->uids);
    if (st == CUDNN_STATUS_SUCCESS)
        st = cudnnBackendSetAttribute(pack, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS,
                                      CUDNN_TYPE_VOID_PTR, (int64_t)m->n_bound, pointers);
    if (st == CUDNN_STATUS_SUCCESS)
        st = cudnnBackendSetAttribute(pack, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR,
                                      1, &workspace);
    if (st == CUDNN_STATUS_SUCCESS) st = cudnnBackendFinalize(pack);
    if (st != CUDNN_STATUS_SUCCESS) {
        int status = fgc_cudnn(m, st, "a variant pack cannot be made");
        if (pack) cudnnBackendDestroyDescriptor(pack);
        return status;
    }
    s->pack = pack;
    s->workspace = workspace;
    return FGC_OK;
}

static int fgc_same_pointers(const struct fgc_variant *v, const unsigned char *args,
                             void *const *row)
{
    size_t i;
    for (i = 0; i < v->n_tensors; i++) {
        const struct fgc_tensor *t = &v->tensors[i];
        if (!t->read) continue;
        if (t->role != FGC_SCALAR && *row != fgc_pointer(t, args)) return 0;
        row++;
    }
    return 1;
}

/* The pack for these arguments: one of the last eight, or a new one in the place of the oldest.
 * Scalars are read by cuDNN when it launches, from storage that stays where it is. */
static int fgc_pack(struct fgc_object *m, const void *args, void *workspace,
                    cudnnBackendDescriptor_t *pack)
{
    const struct fgc_variant *v = m->variant;
    const unsigned char *bytes = (const unsigned char *)args;
    struct fgc_slot *oldest = &m->slot[0];
    size_t size, i, k, s;
    void **row;
    int status;
    if (!m->plan)
        return fgc_fail(m, FGC_ERROR_ARGUMENT, "the object has no plan; its creation failed");
    if (!args) return fgc_fail(m, FGC_ERROR_ARGUMENT, "args is NULL");
    memcpy(&size, bytes, sizeof size);
    if (size != m->family->args_bytes)
        return fgc_fail(
            m, FGC_ERROR_ARGUMENT,
            "args.size is %lu, not %lu: they were not initialised, or by another header",
            (unsigned long)size, (unsigned long)m->family->args_bytes);
    for (i = k = 0; i < v->n_tensors; k += v->tensors[i++].read != 0)
        if (v->tensors[i].role == FGC_SCALAR && v->tensors[i].read)
            fgc_scalar(&v->tensors[i], bytes, m->values[k]);
    for (s = 0; s < FGC_SLOTS; s++) {
        struct fgc_slot *slot = &m->slot[s];
        if (slot->pack && slot->workspace == workspace &&
            fgc_same_pointers(v, bytes, m->pointers + s * m->n_bound)) {
            slot->used = ++m->clock;
            *pack = slot->pack;
            return FGC_OK;
        }
        if (slot->used < oldest->used) oldest = slot;
    }
    status = fgc_check_pointers(m, bytes, workspace);
    if (status != FGC_OK) return status;
    if (oldest->pack) cudnnBackendDestroyDescriptor(oldest->pack);
    oldest->pack = NULL;
    row = m->pointers + (size_t)(oldest - m->slot) * m->n_bound;
    for (k = 0; k < m->n_bound; k++) row[k] = m->values[k];
    for (i = k = 0; i < v->n_tensors; k += v->tensors[i++].read != 0)
        if (v->tensors[i].role != FGC_SCALAR && v->tensors[i].read)
            row[k] = fgc_pointer(&v->tensors[i], bytes);
    status = fgc_make_pack(m, oldest, row, workspace);
    if (status != FGC_OK) return status;
    oldest->used = ++m->clock;
    *pack = oldest->pack;
    return FGC_OK;
}

/* ---- making and ending an object ------------------------------------------------------------ */

static int fgc_check_field(struct fgc_object *m, const char *what, int found, int needed)
{
    if (found == needed) return FGC_OK;
    return fgc_fail(m, FGC_ERROR_DEVICE, "%s is %d on this GPU; the plan was made for %d", what,
                    found, needed);
}

/* What cuDNN compares when it loads a plan, said in words before it refuses without any. */
static int fgc_check_device(struct fgc_object *m)
{
    static const struct {
        enum cudaDeviceAttr attr;
        const char *name;
    } fields[] = {
        {cudaDevAttrMultiProcessorCount, "the number of multiprocessors"},
        {cudaDevAttrMaxSharedMemoryPerBlockOptin, "shared memory a block (opt-in, bytes)"},
        {cudaDevAttrReservedSharedMemoryPerBlock, "reserved shared memory a block (bytes)"},
        {cudaDevAttrMaxRegistersPerBlock, "registers a block"},
        {cudaDevAttrMaxThreadsPerMultiProcessor, "threads a multiprocessor"},
        {cudaDevAttrMaxGridDimX, "the largest grid in x"},
        {cudaDevAttrMaxGridDimY, "the largest grid in y"},
        {cudaDevAttrMaxGridDimZ, "the largest grid in z"},
    };
    const struct fgc_device *d = &m->family->device;
    int needed[8], device = 0, major = 0, minor = 0, driver = 0, status, i;
    needed[0] = d->multiprocessors;
    needed[1] = d->shared_optin;
    needed[2] = d->shared_reserved;
    needed[3] = d->regs_per_block;
    needed[4] = d->threads_per_mp;
    for (i = 0; i < 3; i++) needed[5 + i] = d->grid[i];
    status = fgc_cuda(m, cudaGetDevice(&device), "there is no CUDA device");
    if (status == FGC_OK)
        status = fgc_cuda(m,
                          cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device),
                          "the device cannot be asked");
    if (status == FGC_OK)
        status = fgc_cuda(m,
                          cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device),
                          "the device cannot be asked");
    if (status == FGC_OK)
        status = fgc_check_field(m, "the compute capability (times 10)", 10 * major + minor, d->sm);
    for (i = 0; i < 8 && status == FGC_OK; i++) {
        int found = 0;
        status = fgc_cuda(m, cudaDeviceGetAttribute(&found, fields[i].attr, device),
                          "the device cannot be asked");
        if (status == FGC_OK) status = fgc_check_field(m, fields[i].name, found, needed[i]);
    }
    if (status == FGC_OK)
        status = fgc_cuda(m, cudaDriverGetVersion(&driver), "the driver cannot be asked");
    if (status == FGC_OK && driver < m->family->cuda_version)
        return fgc_fail(
            m, FGC_ERROR_DEVICE,
            "the driver supports CUDA %d.%d; the plan's kernels were compiled by CUDA %d.%d",
            driver / 1000, driver % 1000 / 10, m->family->cuda_version / 1000,
            m->family->cuda_version % 1000 / 10);
    return status;
}

/* The plan's text with the running driver's version in it: cuDNN refuses any other, though the
 * kernels run on every newer driver. */
static int fgc_plan_text(struct fgc_object *m, const unsigned char *plan, char **out, size_t *n)
{
    const struct fgc_variant *v = m->variant;
    size_t behind = v->driver_at + v->driver_len;
    char digits[16], *text;
    int driver = 0, len;
    int status = fgc_cuda(m, cudaDriverGetVersion(&driver), "the driver cannot be asked");
    if (status != FGC_OK) return status;
    len = snprintf(digits, sizeof digits, "%d", driver);
    if (len <= 0 || !v->driver_len || behind > v->plan_bytes)
        return fgc_fail(m, FGC_ERROR_PLAN, "the plan names no driver version");
    text = (char *)malloc(v->plan_bytes + (size_t)len + 1);
    if (!text) return fgc_fail(m, FGC_ERROR_MEMORY, "out of memory");
    memcpy(text, plan, v->driver_at);
    memcpy(text + v->driver_at, digits, (size_t)len);
    memcpy(text + v->driver_at + (size_t)len, plan + behind, v->plan_bytes - behind);
    *n = v->plan_bytes - v->driver_len + (size_t)len;
    text[*n] = '\0';
    *out = text;
    return FGC_OK;
}

static unsigned char *fgc_plan_from_file(struct fgc_object *m);

static int fgc_load(struct fgc_object *m, cudnnHandle_t handle)
{
    const struct fgc_variant *v = m->variant;
    unsigned char *read = v->plan ? NULL : fgc_plan_from_file(m);
    const unsigned char *plan = v->plan ? v->plan : read;
    size_t n = 0;
    int64_t got = 0, workspace = -1;
    char *text = NULL;
    cudnnStatus_t st;
    int status;
    if (!plan) return FGC_ERROR_PLAN;
    status = fgc_plan_text(m, plan, &text, &n);
    free(read);
    if (status != FGC_OK) return status;
    st = cudnnBackendCreateDescriptor(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, &m->plan);
    if (st == CUDNN_STATUS_SUCCESS)
        st = cudnnBackendSetAttribute(m->plan, CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION,
                                      CUDNN_TYPE_CHAR, (int64_t)n, text);
    if (st == CUDNN_STATUS_SUCCESS)
        st = cudnnBackendSetAttribute(m->plan, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE,
                                      1, &handle);
    if (st == CUDNN_STATUS_SUCCESS) st = cudnnBackendFinalize(m->plan);
    free(text);
    if (st == CUDNN_STATUS_SUCCESS)
        st = cudnnBackendGetAttribute(m->plan, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE,
                                      CUDNN_TYPE_INT64, 1, &got, &workspace);
    if (st != CUDNN_STATUS_SUCCESS) {
        status = fgc_cudnn(m, st, "cuDNN does not load the plan");
        if (m->plan) cudnnBackendDestroyDescriptor(m->plan);
        m->plan = NULL;
        return status;
    }
    m->workspace = workspace > v->workspace ? (size_t)workspace : (size_t)v->workspace;
    return FGC_OK;
}

static int fgc_bind(struct fgc_object *m)
{
    const struct fgc_variant *v = m->variant;
    size_t i, k = 0;
    m->n_bound = v->n_constants;
    for (i = 0; i < v->n_tensors; i++) m->n_bound += v->tensors[i].read != 0;
    m->uids = (int64_t *)calloc(m->n_bound + 1, sizeof *m->uids);
    m->values = (unsigned char(*)[8])calloc(m->n_bound + 1, 8);
    m->pointers = (void **)calloc((m->n_bound + 1) * FGC_SLOTS, sizeof *m->pointers);
    if (!m->uids || !m->values || !m->pointers)
        return fgc_fail(m, FGC_ERROR_MEMORY, "out of memory");
    for (i = 0; i < v->n_tensors; i++)
        if (v->tensors[i].read) m->uids[k++] = v->tensors[i].uid;
    for (i = 0; i < v->n_constants; i++) {
        m->uids[k] = v->constants[i].uid;
        memcpy(m->values[k++], v->constants[i].value, 8);
    }
    return FGC_OK;
}

static void fgc_destroy(struct fgc_object *m)
{
    size_t i;
    if (!m) return;
    for (i = 0; i < FGC_SLOTS; i++)
        if (m->slot[i].pack) cudnnBackendDestroyDescriptor(m->slot[i].pack);
    if (m->plan) cudnnBackendDestroyDescriptor(m->plan);
    free(m->uids);
    free(m->values);
    free(m->pointers);
    free(m);
}

static int fgc_no_variant(struct fgc_object *m, const int64_t *params)
{
    char text[256] = "";
    size_t i, n = 0;
    for (i = 0; i < m->family->n_params && n < sizeof text; i++) {
        int len = snprintf(text + n, sizeof text - n, "%s%s=%lld", i ? ", " : "",
                           m->family->param_names[i], (long long)params[i]);
        if (len < 0) break;
        n += (size_t)len;
    }
    return fgc_fail(m, FGC_ERROR_VARIANT, "graph '%s' has no variant for %s", m->family->name,
                    text);
}

/* The object is there even when this fails, to hold the message; NULL only without memory. */
static int fgc_create(struct fgc_object **out, const struct fgc_family *family,
                      cudnnHandle_t handle, const struct fgc_variant *variant,
                      const int64_t *params)
{
    struct fgc_object *m = (struct fgc_object *)calloc(1, sizeof *m);
    int status;
    *out = m;
    if (!m) return FGC_ERROR_MEMORY;
    m->family = family;
    m->variant = variant;
    if (!variant) return fgc_no_variant(m, params);
    if (!handle) return fgc_fail(m, FGC_ERROR_ARGUMENT, "the cuDNN handle is NULL");
    if (cudnnGetVersion() != family->cudnn_version)
        return fgc_fail(m, FGC_ERROR_VERSION,
                        "cuDNN %lu is loaded; the plan was made by, and loads in, %lu only",
                        (unsigned long)cudnnGetVersion(), (unsigned long)family->cudnn_version);
    status = fgc_check_device(m);
    if (status == FGC_OK) status = fgc_bind(m);
    if (status == FGC_OK) status = fgc_load(m, handle);
    return status;
}

static const struct fgc_variant *fgc_find_variant(const struct fgc_family *f, const int64_t *params)
{
    size_t i, k;
    for (i = 0; i < f->n_variants; i++) {
        for (k = 0; k < f->n_params; k++)
            if (f->variants[i].params[k] != params[k]) break;
        if (k == f->n_params) return &f->variants[i];
    }
    return NULL;
}

static int fgc_run(struct fgc_object *m, cudnnHandle_t handle, const void *args, void *workspace)
{
    cudnnBackendDescriptor_t pack = NULL;
    cudnnStatus_t st;
    int status;
    if (!m) return FGC_ERROR_ARGUMENT;
    if (!handle) return fgc_fail(m, FGC_ERROR_ARGUMENT, "the cuDNN handle is NULL");
    status = fgc_pack(m, args, workspace, &pack);
    if (status != FGC_OK) return status;
    st = cudnnBackendExecute(handle, m->plan, pack);
    return st == CUDNN_STATUS_SUCCESS ? FGC_OK : fgc_cudnn(m, st, "the launch failed");
}
