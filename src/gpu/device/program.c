/* program: kernels compiled from text by NVRTC, and plans of other slots, as one list of launches.
 *
 * Invariant: an argument is a tensor of the job, in the set that is asked for, or a buffer of the
 * program; numbers of both are checked when the program comes. */
#include "gpu/device/runner.h"

#include <dlfcn.h>
#include <stdlib.h>

enum { THREADS = 256 };

enum arg_kind { ARG_TENSOR, ARG_BUFFER, ARG_VALUE };
struct arg {
    enum arg_kind kind;
    int index;              /* of the tensor or the buffer */
    int64_t uid;            /* in the plan; kernels take their arguments in order */
    int64_t offset;         /* bytes from there */
    unsigned char value[8]; /* read by cuDNN from the host */
};
struct launch {
    CUfunction kernel; /* NULL: a plan */
    int64_t first, count, slot;
    int n;
    struct arg *arg;
    cudnnBackendDescriptor_t *pack; /* of a plan, by set */
};
struct runner_program {
    CUmodule module;
    CUdeviceptr *buffer;
    int64_t *buffer_bytes;
    int n_buffers, n;
    struct launch *launch;
};

static json_t *refused(const char *why)
{
    return json_pack("{s:s}", "refused", why);
}

/* ---- text to code --------------------------------------------------------------------------- */

/* NVRTC's functions, of the library that is open already; their types are its documentation's. */
struct nvrtc {
    int (*create)(void **, const char *, const char *, int, const char *const *,
                  const char *const *);
    int (*compile)(void *, int, const char *const *);
    int (*log_size)(void *, size_t *), (*log)(void *, char *);
    int (*code_size)(void *, size_t *), (*code)(void *, char *);
    int (*destroy)(void **);
};

static bool find_nvrtc(struct nvrtc *n)
{
    const struct {
        void *at;
        const char *name;
    } wanted[] = {{&n->create, "nvrtcCreateProgram"},     {&n->compile, "nvrtcCompileProgram"},
                  {&n->log_size, "nvrtcGetProgramLogSize"}, {&n->log, "nvrtcGetProgramLog"},
                  {&n->code_size, "nvrtcGetCUBINSize"},   {&n->code, "nvrtcGetCUBIN"},
                  {&n->destroy, "nvrtcDestroyProgram"}};
    for (size_t i = 0; i < COUNT_OF(wanted); i++)
        if (!(*(void **)wanted[i].at = dlsym(RTLD_DEFAULT, wanted[i].name))) return false;
    return true;
}

static json_t *compile_log(const struct nvrtc *n, void *program, int status)
{
    size_t size = 0;
    char *text = n->log_size(program, &size) == 0 ? calloc(1, size + 1) : NULL;
    if (text) n->log(program, text);
    json_t *j = json_pack("{s:o}", "refused",
                          json_sprintf("NVRTC refuses the plain kernels (status %d): %.600s",
                                       status, text ? text : ""));
    free(text);
    return j;
}

static json_t *compile(struct runner *r, struct runner_program *p, const char *text, bool contract)
{
    struct nvrtc n;
    void *program = NULL;
    char arch[40], *code = NULL;
    size_t size = 0;
    json_t *bad = NULL;
    if (!find_nvrtc(&n)) return refused("there is no NVRTC to compile plain kernels with");
    snprintf(arch, sizeof arch, "--gpu-architecture=sm_%d", r->sm);
    const char *options[] = {arch, contract ? "--fmad=true" : "--fmad=false", "-w"};
    int status = n.create(&program, text, "kernels.cu", 0, NULL, NULL);
    if (status == 0) status = n.compile(program, COUNT_OF(options), options);
    if (status != 0 && program) bad = compile_log(&n, program, status);
    if (status == 0) status = n.code_size(program, &size);
    if (status == 0) code = malloc(size + 1);
    if (status == 0 && code) status = n.code(program, code);
    if (program) n.destroy(&program);
    if (!bad && (status != 0 || !code)) bad = refused("NVRTC gives no code for the plain kernels");
    if (!bad) {
        CUresult e = r->cu.p_cuModuleLoadData(&p->module, code);
        if (e != CUDA_SUCCESS) bad = runner_cuda(r, e, "the plain kernels cannot be loaded");
    }
    free(code);
    return bad;
}

/* ---- reading a program ---------------------------------------------------------------------- */

static int tensor_index(const struct runner *r, int64_t uid)
{
    for (int i = 0; i < r->n_tensors; i++)
        if (r->tensor[i].uid == uid) return i;
    return -1;
}

/* {"tensor": uid, "offset": bytes} | {"buffer": number, "offset": bytes} | {"hex": bytes}, with "uid"
 * in a plan */
static bool read_arg(struct runner *r, const struct runner_program *p, const json_t *j,
                     struct arg *out)
{
    const json_t *tensor = json_object_get(j, "tensor"), *buffer = json_object_get(j, "buffer");
    out->uid = json_integer_value(json_object_get(j, "uid"));
    out->kind = tensor ? ARG_TENSOR : buffer ? ARG_BUFFER : ARG_VALUE;
    if (out->kind == ARG_VALUE) return runner_value(j, out->value);
    json_int_t at = json_integer_value(buffer);
    out->offset = json_integer_value(json_object_get(j, "offset"));
    out->index = tensor ? tensor_index(r, json_integer_value(tensor))
                        : at < p->n_buffers ? (int)at : -1;
    return out->index >= 0;
}

static json_t *read_launch(struct runner *r, struct runner_program *p, const json_t *j,
                           struct launch *l)
{
    const json_t *args = json_object_get(j, "args");
    const char *kernel = json_string_value(json_object_get(j, "kernel"));
    size_t i;
    json_t *one;
    l->first = json_integer_value(json_object_get(j, "first"));
    l->count = json_integer_value(json_object_get(j, "count"));
    l->slot = json_integer_value(json_object_get(j, "plan"));
    l->n = (int)json_array_size(args);
    l->arg = calloc(json_array_size(args) + 1, sizeof *l->arg);
    if (!l->arg || l->n > RUNNER_TENSORS) return refused("too many arguments");
    json_array_foreach((json_t *)args, i, one)
        if (!read_arg(r, p, one, &l->arg[i])) return refused("an argument is not there");
    if (!kernel) {
        l->pack = calloc(RUNNER_SETS, sizeof *l->pack);
        bool there = l->slot >= 0 && l->slot < RUNNER_SLOTS && r->slot[l->slot] &&
                     r->slot[l->slot]->plan;
        return l->pack && there ? NULL : refused("a plan of the program is not loaded");
    }
    if (!p->module || l->count <= 0 || l->count / THREADS >= INT32_MAX)
        return refused("a kernel of the program cannot be launched");
    CUresult e = r->cu.p_cuModuleGetFunction(&l->kernel, p->module, kernel);
    return e == CUDA_SUCCESS ? NULL : runner_cuda(r, e, "a plain kernel is not there");
}

static json_t *make_buffers(struct runner *r, struct runner_program *p, const json_t *sizes)
{
    size_t i;
    json_t *j;
    p->buffer = calloc(json_array_size(sizes) + 1, sizeof *p->buffer);
    p->buffer_bytes = calloc(json_array_size(sizes) + 1, sizeof *p->buffer_bytes);
    if (!p->buffer || !p->buffer_bytes) return refused("out of memory");
    json_array_foreach((json_t *)sizes, i, j) {
        json_int_t n = json_integer_value(j);
        if (n < 0) return refused("a buffer has no size");
        p->buffer_bytes[i] = n;
        CUresult e = r->cu.p_cuMemAlloc(&p->buffer[i], (size_t)n + 16);
        if (e != CUDA_SUCCESS) return runner_cuda(r, e, "the plain kernels' buffers do not fit");
        p->n_buffers++;
    }
    return NULL;
}

static json_t *read_program(struct runner *r, struct runner_program *p, const json_t *how)
{
    json_int_t at = json_integer_value(json_object_get(how, "at")),
               n = json_integer_value(json_object_get(how, "bytes"));
    const json_t *launches = json_object_get(how, "launches");
    size_t i;
    json_t *j;
    if (at < 0 || n < 0 || (size_t)at > r->shared_bytes || (size_t)n > r->shared_bytes - (size_t)at)
        return refused("the text lies outside of the shared memory");
    json_t *bad = make_buffers(r, p, json_object_get(how, "buffers"));
    char *text = bad || n == 0 ? NULL : strndup((const char *)r->shared + at, (size_t)n);
    if (text) bad = compile(r, p, text, json_is_true(json_object_get(how, "contract")));
    free(text);
    p->launch = calloc(json_array_size(launches) + 1, sizeof *p->launch);
    if (!bad && !p->launch) bad = refused("out of memory");
    json_array_foreach((json_t *)launches, i, j) {
        if (bad) break;
        p->n++;
        bad = read_launch(r, p, j, &p->launch[i]);
    }
    return bad;
}

json_t *runner_program(struct runner *r, int64_t slot, const json_t *how)
{
    if (slot < 0 || slot >= RUNNER_SLOTS) return refused("too many plans");
    json_decref(runner_unload(r, slot));
    struct runner_slot *s = calloc(1, sizeof *s);
    struct runner_program *p = calloc(1, sizeof *p);
    if (!s || !p) {
        free(s);
        free(p);
        return refused("out of memory");
    }
    s->program = p;
    r->slot[slot] = s;
    json_t *bad = read_program(r, p, how);
    if (!bad) return json_object();
    json_decref(runner_unload(r, slot));
    return bad;
}

void program_forget(struct runner *r, struct runner_program *p)
{
    for (int i = 0; i < p->n; i++)
        for (int set = 0; p->launch[i].pack && set < RUNNER_SETS; set++) {
            cudnnBackendDescriptor_t *pack = &p->launch[i].pack[set];
            if (*pack) r->c.cudnnBackendDestroyDescriptor(*pack);
            *pack = NULL;
        }
}

void program_free(struct runner *r, struct runner_program *p)
{
    program_forget(r, p);
    for (int i = 0; i < p->n; i++) {
        free(p->launch[i].arg);
        free(p->launch[i].pack);
    }
    for (int i = 0; i < p->n_buffers; i++) r->cu.p_cuMemFree(p->buffer[i]);
    if (p->module) r->cu.p_cuModuleUnload(p->module);
    free(p->launch);
    free(p->buffer);
    free(p->buffer_bytes);
    free(p);
}

/* ---- running one ---------------------------------------------------------------------------- */

static void *place_of(struct runner *r, const struct runner_program *p, struct arg *a, int set)
{
    if (a->kind == ARG_VALUE) return a->value;
    CUdeviceptr at = a->kind == ARG_TENSOR ? r->memory[set][a->index] : p->buffer[a->index];
    return (void *)(uintptr_t)(at + (CUdeviceptr)a->offset);
}

static json_t *launch_kernel(struct runner *r, const struct runner_program *p, struct launch *l,
                             int set)
{
    CUdeviceptr at[RUNNER_TENSORS];
    void *params[RUNNER_TENSORS + 2];
    long long first = l->first, count = l->count;
    for (int i = 0; i < l->n; i++) {
        at[i] = (CUdeviceptr)(uintptr_t)place_of(r, p, &l->arg[i], set);
        params[i] = &at[i];
    }
    params[l->n] = &first;
    params[l->n + 1] = &count;
    unsigned blocks = (unsigned)((l->count + THREADS - 1) / THREADS);
    CUresult e = r->cu.p_cuLaunchKernel(l->kernel, blocks, 1, 1, THREADS, 1, 1, 0, r->stream, params,
                                        NULL);
    return e == CUDA_SUCCESS ? NULL : runner_cuda(r, e, "a plain kernel does not run");
}

static json_t *launch_plan(struct runner *r, const struct runner_program *p, struct launch *l,
                           int set)
{
    const struct runner_slot *s = r->slot[l->slot];
    int64_t uid[RUNNER_TENSORS];
    void *at[RUNNER_TENSORS];
    cudnnStatus_t st = CUDNN_STATUS_SUCCESS;
    if (!s || !s->plan) return refused("a plan of the program is no longer loaded");
    for (int i = 0; i < l->n && !l->pack[set]; i++) {
        uid[i] = l->arg[i].uid;
        at[i] = place_of(r, p, &l->arg[i], set);
    }
    if (!l->pack[set]) st = runner_pack(r, s->workspace, l->n, uid, at, &l->pack[set]);
    if (st == CUDNN_STATUS_SUCCESS) st = r->execute(r->c.handle, s->plan, l->pack[set]);
    return st == CUDNN_STATUS_SUCCESS ? NULL : runner_cudnn(r, st, "a plan does not run");
}

json_t *program_call(struct runner *r, struct runner_slot *s, int set, int64_t from, int64_t to)
{
    struct runner_program *p = s->program;
    json_t *bad = NULL;
    if (to < 0 || to > p->n) to = p->n;
    for (int64_t i = from < 0 ? 0 : from; i < to && !bad; i++) {
        struct launch *l = &p->launch[i];
        bad = l->kernel ? launch_kernel(r, p, l, set) : launch_plan(r, p, l, set);
    }
    return bad;
}

static struct runner_slot *program_at(struct runner *r, int64_t slot)
{
    struct runner_slot *s = slot >= 0 && slot < RUNNER_SLOTS && r->n_sets ? r->slot[slot] : NULL;
    return s && s->program ? s : NULL;
}

json_t *runner_launch(struct runner *r, int64_t slot, int64_t from, int64_t to)
{
    struct runner_slot *s = program_at(r, slot);
    json_t *bad = s ? program_call(r, s, 0, from, to) : refused("no such program");
    if (bad) return bad;
    CUresult e = r->cu.p_cuStreamSynchronize(r->stream);
    return e == CUDA_SUCCESS ? json_object() : runner_cuda(r, e, "the plain kernels failed");
}

json_t *runner_fetch(struct runner *r, int64_t slot, const json_t *how)
{
    struct runner_slot *s = program_at(r, slot);
    json_int_t buffer = json_integer_value(json_object_get(how, "buffer")),
               n = json_integer_value(json_object_get(how, "bytes"));
    if (!s || buffer < 0 || buffer >= s->program->n_buffers) return refused("no such buffer");
    if (n < 0 || n > s->program->buffer_bytes[buffer] || (size_t)n > r->shared_bytes)
        return refused("the buffer is smaller");
    CUresult e = r->cu.p_cuMemcpyDtoH(r->shared, s->program->buffer[buffer], (size_t)n);
    return e == CUDA_SUCCESS ? json_object() : runner_cuda(r, e, "a buffer cannot be fetched");
}
