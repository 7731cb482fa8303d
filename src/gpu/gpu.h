/* gpu: the only room that knows CUDA and cuDNN. Finds the libraries, describes targets, and builds
 * plans in a helper process (libexec/fgc/fgc-build). The calling process never loads cuDNN: it
 * sends a request and gets a plan or a refusal. */
#ifndef FGC_GPU_H
#define FGC_GPU_H

#include "desc/desc.h"

struct knob {
    int64_t type, value;
};
typedef VEC(struct knob) knobs_vec;
typedef VEC(const char *) words_vec;
/* ---- libraries --------------------------------------------------------------------------- */

struct gpu_search {
    const char *cudnn; /* --cudnn: a file or a folder; NULL: look */
    const char *cuda;  /* --cuda: prefix; NULL: look */
    bool no_python;    /* do not ask python3 for its nvidia/ folders */
    words_vec *sent;   /* NULL, or takes a copy of each request to the helper, JSON */
};
enum gpu_lib { LIB_CUDNN, LIB_NVRTC, LIB_CUDART, LIB_CUDA, N_GPU_LIBS };
struct gpu_tried { /* one step of the search, for doctor */
    enum gpu_lib lib;
    const char *where; /* "--cudnn", "FGC_CUDNN", "loader", "/usr/local/cuda", "python3" */
    const char *path;
    const char *error; /* NULL: this one was taken */
};
struct gpu_found {
    const char *path;    /* real path of the mapped file (proof: /proc/PID/maps); NULL: not found */
    const char *version; /* "9.19.0", "13.0" */
};
struct gpu_probe {
    struct gpu_found lib[N_GPU_LIBS];
    int64_t cudnn_version; /* 91900 */
    int driver_version;    /* 13000; 0 when there is no driver */
    VEC(struct gpu_tried) tried;
    words_vec mapped;   /* every libcudnn*, libnvrtc*, libcudart*, libcuda* file mapped */
    struct gpu_device { /* compute capability 9.0 is sm 90 */
        const char *name;
        int sm, multiprocessors;
        int64_t memory_bytes;
    } device[16];
    int n_devices;
    const char *device_error; /* why there is none */
    const char *error;        /* what is wrong with cuDNN itself, NULL when nothing is */
};
/* Runs the helper to load everything and report. False with a diagnostic only when the helper
 * cannot run at all; what was not found is in the result. */
bool gpu_probe(struct session *s, const struct gpu_search *o, bool real_driver,
               struct gpu_probe *out);

/* ---- targets ----------------------------------------------------------------------------- */

struct target {
    const char *name; /* "nvidia-h200", the file's stem, or "host" */
    const char *json; /* normalised DEVICEPROP JSON: what cuDNN does not compare has fixed values */
    int sm;           /* 90 */
    int multiprocessors;
    bool host; /* build with the real driver and a handle */
};
/* "nvidia-h200" (and every file in targets/), a path to a .json, or "host". */
bool target_load(struct session *s, const char *spec, const struct gpu_search *o,
                 struct target *out);
/* Checks a device description (JSON text) and fills json, sm and multiprocessors. NULL when sound,
 * else what is wrong. */
const char *target_check(struct arena *a, const char *text, struct target *out);
/* The device's own description, as cuDNN prints it (for `fgc target --dump`). */
bool target_dump(struct session *s, const struct gpu_search *o, const char **json);
bool target_has_type(const void *target, enum dtype t); /* sema's prefer() */

/* ---- building ---------------------------------------------------------------------------- */

enum build_what {
    BUILD_FIRST, /* heuristics A, B, FALLBACK: the first that builds */
    BUILD_ALL,   /* every one of them, built and listed */
    BUILD_COUNT, /* only how many engine configs the heuristics support; nothing is compiled */
    BUILD_ONE,   /* exactly this engine and these knobs (a lock) */
};
struct build_request {
    const struct desc_graph *graph;
    const struct target *target;
    const struct gpu_search *search;
    enum build_what what;
    int64_t workspace_limit; /* bytes; < 0: none */
    bool deterministic;      /* bar engines with the NONDETERMINISTIC note */
    bool allow_tf32; /* false: bar engines with the TENSOR_CORE note when f32 is computed exactly */
    int64_t engine;  /* BUILD_ONE */
    knobs_vec knobs; /* BUILD_ONE */
    int time_limit_s; /* a hung helper is killed; 0: 300 */
};
struct candidate {
    const char *mode; /* "A", "B", "FALLBACK", "lock", "tuned" */
    int rank;         /* position in that mode's list, from 0; -1: there was no list */
    int64_t engine;
    knobs_vec knobs;
    words_vec numerical,
        behavior; /* note names without prefix: "TENSOR_CORE", "RUNTIME_COMPILATION" */
    int64_t workspace_bytes;
    double build_ms;
    const char *status; /* NULL: built; else cuDNN's status name, or "workspace", "notes", "crash",
                           "timeout", "listed" */
    words_vec reasons;  /* cause first, call path dropped */
    const char *plan;   /* normalised plan JSON; NULL unless built */
    size_t plan_bytes;
};
struct refusal {    /* an engine that heuristics tried and refused */
    int64_t engine; /* -1: the whole graph (descriptor or graph finalize) */
    const char *status;
    words_vec reasons;
    const char *descriptor; /* desc id whose finalize failed, or NULL */
    bool architecture;      /* made for another GPU: hidden from people */
};
struct build_result {
    VEC(struct candidate) candidates;
    int chosen; /* index of the first built, -1: none */
    VEC(struct refusal) refusals;
    int64_t
        n_supported; /* BUILD_COUNT and others: configs heuristics returned, all modes, distinct */
    int64_t cudnn_version;
    const char *nvrtc_version; /* "13.0" */
    bool reproducible;         /* address randomisation was off and the memory layout fixed */
    const char *not_reproducible_why;
};
/* False with a diagnostic when the helper could not run or there is no cuDNN; a graph for which no
 * engine builds is true with chosen == -1. */
bool gpu_build(struct session *s, struct arena *a, const struct build_request *r,
               struct build_result *out);

/* Notes for which an engine may not run: the one rule, for engines that heuristics offer and for
 * those that a lock names. */
struct engine_bars {
    bool deterministic, exact_f32, no_cublaslt;
};
/* From the request's graph, deterministic and allow_tf32. */
struct engine_bars gpu_bars(const struct build_request *r);
/* Why an engine with these notes is barred, or NULL. */
const char *gpu_barred(const struct engine_bars *b, const words_vec *numerical,
                       const words_vec *behavior);

/* ---- surveys, for the tuner: nothing is compiled -------------------------------------------- */

/* Of the request only graph, target, search, deterministic and allow_tf32 are read. Each is false
 * with a diagnostic when the helper could not run. */

/* What heuristics A, B and FALLBACK list, each pair of engine and knobs once, in their order;
 * status "listed", or "notes" with the reason for those that the request bars. chosen is -1. */
bool gpu_list(struct session *s, struct arena *a, const struct build_request *r,
              struct build_result *out);
struct knob_range { /* least, least + stride ... up to most */
    int64_t type, least, most, stride;
};
struct engine_info {
    int64_t engine;
    VEC(struct knob_range) knobs;
    words_vec numerical, behavior;
    const char *barred; /* why the request bars it, or NULL */
};
typedef VEC(struct engine_info) engines_vec;
/* Every engine of the library that takes the graph. */
bool gpu_engines(struct session *s, struct arena *a, const struct build_request *r,
                 engines_vec *out);
struct engine_config {
    int64_t engine;
    knobs_vec knobs;
    int64_t workspace_bytes; /* gpu_try's answer; -1: refused */
};
/* Which of n configurations cuDNN accepts. *died: the helper's process ended on one of them, and
 * which is not known; the answers are not set then. */
bool gpu_try(struct session *s, const struct build_request *r, struct engine_config *configs,
             size_t n, bool *died);

#endif
