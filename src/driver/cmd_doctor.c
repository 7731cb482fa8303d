/* cmd_doctor: what was searched and found, and the one thing to mend first. */
#include "driver/driver.h"

#include <inttypes.h>

static const char *const lib_names[N_GPU_LIBS] = {[LIB_CUDNN] = "cuDNN",
                                                  [LIB_NVRTC] = "NVRTC",
                                                  [LIB_CUDART] = "CUDA runtime",
                                                  [LIB_CUDA] = "CUDA driver"};

static void print_tried(const struct gpu_probe *p, enum gpu_lib lib)
{
    for (size_t i = 0; i < p->tried.n; i++) {
        const struct gpu_tried *t = &p->tried.at[i];
        if (t->lib != lib) continue;
        printf("  %s %s (%s)%s%s\n", t->error ? "-" : "+", t->path, t->where, t->error ? ": " : "",
               t->error ? t->error : "");
    }
}

static void print_lib(const struct gpu_probe *p, enum gpu_lib lib)
{
    const struct gpu_found *f = &p->lib[lib];
    printf("%s: %s%s%s\n", lib_names[lib],
           f->version ? f->version
           : f->path  ? "found"
                      : "not found",
           f->path ? ", " : "", f->path ? f->path : "");
    print_tried(p, lib);
}

/* bf16 has f32's range and is as fast as f16 from sm_80 on; before, only f16 has tensor cores. */
static const char *half_type(int sm)
{
    return sm >= 80 ? "bf16" : sm >= 70 ? "f16" : "f32 (no 16-bit tensor cores)";
}

static void print_devices(const struct gpu_probe *p)
{
    if (p->driver_version)
        printf("driver: supports CUDA %d.%d\n", p->driver_version / 1000,
               p->driver_version % 1000 / 10);
    if (p->n_devices == 0)
        printf("GPUs: none%s%s\n", p->device_error ? ": " : "",
               p->device_error ? p->device_error : "");
    for (int i = 0; i < p->n_devices; i++) {
        const struct gpu_device *g = &p->device[i];
        printf("GPU %d: %s, compute capability %d.%d, %d multiprocessors, %" PRId64
               " MiB; element type of choice: %s\n",
               i, g->name, g->sm / 10, g->sm % 10, g->multiprocessors, g->memory_bytes >> 20,
               half_type(g->sm));
    }
}

/* The first thing in the way, as one sentence; NULL when nothing is. */
static const char *advice(const struct gpu_probe *p)
{
    if (!p->lib[LIB_CUDNN].path)
        return "run tools/get-cudnn, which puts cuDNN and NVRTC into ./deps, or say where cuDNN 9 "
               "is with --cudnn=PATH or FGC_CUDNN";
    if (p->error)
        return "install one whole cuDNN 9 and name its folder with --cudnn=PATH, so that no part "
               "comes from another";
    if (!p->lib[LIB_NVRTC].path)
        return "install NVRTC (part of the CUDA toolkit; tools/get-cudnn fetches it) or name its "
               "folder with --cuda=PATH: without it only "
               "precompiled engines can be used";
    return NULL;
}

int cmd_doctor(struct session *s, const struct options *o)
{
    struct gpu_probe p;
    struct gpu_search search = driver_search(o);
    if (!gpu_probe(s, &search, true, &p)) return 0;
    print_lib(&p, LIB_CUDNN);
    print_lib(&p, LIB_NVRTC);
    if (p.error) printf("problem: %s\n", p.error);
    if (p.mapped.n) printf("mapped files:\n");
    for (size_t i = 0; i < p.mapped.n; i++) printf("  %s\n", p.mapped.at[i]);
    print_devices(&p);
    const char *mend = advice(&p);
    if (mend) {
        printf("to mend first: %s\n", mend);
        return 3;
    }
    printf(p.n_devices ? "all is well: plans can be compiled here and run here\n"
                       : "plans can be compiled here for described GPUs; running them needs a GPU "
                         "and its driver\n");
    return 0;
}
