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
enum fgc_source { FGC_TENSOR, FGC_CONSTANT, FGC_TEMPORARY };
struct fgc_operand { /* what a step's uid is bound to */
    enum fgc_source source;
    size_t at;     /* its row of tensors or constants, or its offset in the workspace */
    size_t offset; /* bytes from there, of a view */
};
struct fgc_step { /* one of cuDNN's plans */
    const int64_t *uids;
    const struct fgc_operand *operands; /* one a uid */
    size_t n_operands;
    const unsigned char *plan; /* NULL: in a file beside the program */
    size_t plan_bytes, plan_at;
    const char *plan_sha256;
    size_t driver_at, driver_len; /* digits of the driver's version in the plan */
    int64_t workspace;            /* its own, behind the temporaries */
    int native_graph;             /* the engine can fill a CUDA graph itself */
};
struct fgc_variant {
    const char *name;
    const int64_t *params; /* values of the parameters that choose the variant */
    const struct fgc_tensor *tensors;
    size_t n_tensors;
    const unsigned char (*constants)[8]; /* host values, as cuDNN reads them */
    size_t n_constants;
    const struct fgc_step *steps; /* run in this order */
    size_t n_steps;
    size_t temporaries; /* bytes at the workspace's beginning that steps hand on in */
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
    cudnnBackendDescriptor_t *packs; /* one a step */
    void **pointers;                 /* one a tensor, those that the packs are of */
    const void *workspace;
    unsigned long used; /* 0: empty */
};
struct fgc_object {
    const struct fgc_family *family;
    const struct fgc_variant *variant;
    cudnnBackendDescriptor_t *plans; /* one a step */
    int loaded;                      /* all of them are there */
    size_t workspace;
    cudnnBackendDescriptor_t *packs; /* FGC_SLOTS rows, one a step */
    void **pointers;                 /* FGC_SLOTS rows, one a tensor; then one a step's operand */
    /* One a tensor, for the scalars, then the constants. Its address never changes: cuDNN reads
     * it when it launches. */
    unsigned char (*values)[8];
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

/* The variant pack of one step, for the slot's pointers. */
static int fgc_make_pack(struct fgc_object *m, const struct fgc_slot *slot, size_t step,
                         void *workspace, cudnnBackendDescriptor_t *out)
{
    const struct fgc_variant *v = m->variant;
    const struct fgc_step *s = &v->steps[step];
    void **bound = m->pointers + FGC_SLOTS * v->n_tensors;
    void *own = workspace ? (char *)workspace + v->temporaries : NULL;
    cudnnBackendDescriptor_t pack = NULL;
    cudnnStatus_t st = cudnnBackendCreateDescriptor(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, &pack);
    size_t i;
    for (i = 0; i < s->n_operands; i++) {
        const struct fgc_operand *o = &s->operands[i];
        if (o->source == FGC_TEMPORARY)
            bound[i] = (char *)workspace + o->at + o->offset;
        else if (o->source == FGC_CONSTANT)
            bound[i] = m->values[v->n_tensors + o->at];
        else
            bound[i] = (char *)slot->pointers[o->at] + o->offset;
    }
    if (st == CUDNN_STATUS_SUCCESS)
        st = cudnnBackendSetAttribute(pack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64,
                                      (int64_t)s->n_operands, s->uids);
    if (st == CUDNN_STATUS_SUCCESS)
        st = cudnnBackendSetAttribute(pack, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS,
                                      CUDNN_TYPE_VOID_PTR, (int64_t)s->n_operands, bound);
    if (st == CUDNN_STATUS_SUCCESS)
        st = cudnnBackendSetAttribute(pack, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR,
                                      1, &own);
    if (st == CUDNN_STATUS_SUCCESS) st = cudnnBackendFinalize(pack);
    if (st != CUDNN_STATUS_SUCCESS) {
        int status = fgc_cudnn(m, st, "a variant pack cannot be made");
        if (pack) cudnnBackendDestroyDescriptor(pack);
        return status;
    }
    *out = pack;
    return FGC_OK;
}

static int fgc_same_pointers(const struct fgc_variant *v, const unsigned char *args,
                             void *const *pointers)
{
    size_t i;
    for (i = 0; i < v->n_tensors; i++) {
        const struct fgc_tensor *t = &v->tensors[i];
        if (t->read && t->role != FGC_SCALAR && pointers[i] != fgc_pointer(t, args)) return 0;
    }
    return 1;
}

static void fgc_empty_slot(struct fgc_object *m, struct fgc_slot *slot)
{
    size_t i;
    for (i = 0; i < m->variant->n_steps; i++) {
        if (slot->packs[i]) cudnnBackendDestroyDescriptor(slot->packs[i]);
        slot->packs[i] = NULL;
    }
    slot->used = 0;
}

static int fgc_fill_slot(struct fgc_object *m, struct fgc_slot *slot, const unsigned char *args,
                         void *workspace)
{
    const struct fgc_variant *v = m->variant;
    int status = FGC_OK;
    size_t i;
    fgc_empty_slot(m, slot);
    for (i = 0; i < v->n_tensors; i++)
        slot->pointers[i] = v->tensors[i].role == FGC_SCALAR ? m->values[i]
                                                             : fgc_pointer(&v->tensors[i], args);
    for (i = 0; i < v->n_steps && status == FGC_OK; i++)
        status = fgc_make_pack(m, slot, i, workspace, &slot->packs[i]);
    slot->workspace = workspace;
    if (status != FGC_OK) fgc_empty_slot(m, slot);
    return status;
}

/* The packs for these arguments, one a step: of the last eight sets, or new ones in the place of
 * the oldest. */
static int fgc_pack(struct fgc_object *m, const void *args, void *workspace,
                    cudnnBackendDescriptor_t **packs)
{
    const struct fgc_variant *v = m->variant;
    const unsigned char *bytes = (const unsigned char *)args;
    struct fgc_slot *oldest = &m->slot[0];
    size_t size, i, s;
    int status;
    if (!m->loaded)
        return fgc_fail(m, FGC_ERROR_ARGUMENT, "the object has no plan; its creation failed");
    if (!args) return fgc_fail(m, FGC_ERROR_ARGUMENT, "args is NULL");
    memcpy(&size, bytes, sizeof size);
    if (size != m->family->args_bytes)
        return fgc_fail(
            m, FGC_ERROR_ARGUMENT,
            "args.size is %lu, not %lu: they were not initialised, or by another header",
            (unsigned long)size, (unsigned long)m->family->args_bytes);
    for (i = 0; i < v->n_tensors; i++)
        if (v->tensors[i].role == FGC_SCALAR && v->tensors[i].read)
            fgc_scalar(&v->tensors[i], bytes, m->values[i]);
    for (s = 0; s < FGC_SLOTS; s++) {
        struct fgc_slot *slot = &m->slot[s];
        if (slot->used && slot->workspace == workspace &&
            fgc_same_pointers(v, bytes, slot->pointers)) {
            slot->used = ++m->clock;
            *packs = slot->packs;
            return FGC_OK;
        }
        if (slot->used < oldest->used) oldest = slot;
    }
    status = fgc_check_pointers(m, bytes, workspace);
    if (status == FGC_OK) status = fgc_fill_slot(m, oldest, bytes, workspace);
    if (status != FGC_OK) return status;
    oldest->used = ++m->clock;
    *packs = oldest->packs;
    return FGC_OK;
}

/* Launches every step on the handle's stream. */
static int fgc_execute(struct fgc_object *m, cudnnHandle_t handle,
                       cudnnBackendDescriptor_t *packs, const char *what)
{
    size_t i;
    for (i = 0; i < m->variant->n_steps; i++) {
        cudnnStatus_t st = cudnnBackendExecute(handle, m->plans[i], packs[i]);
        if (st != CUDNN_STATUS_SUCCESS) return fgc_cudnn(m, st, what);
    }
    return FGC_OK;
}

static int fgc_run(struct fgc_object *m, cudnnHandle_t handle, const void *args, void *workspace)
{
    cudnnBackendDescriptor_t *packs = NULL;
    int status;
    if (!m) return FGC_ERROR_ARGUMENT;
    if (!handle) return fgc_fail(m, FGC_ERROR_ARGUMENT, "the cuDNN handle is NULL");
    status = fgc_pack(m, args, workspace, &packs);
    return status == FGC_OK ? fgc_execute(m, handle, packs, "the launch failed") : status;
}
