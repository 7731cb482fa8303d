/* plan: the .plan container: manifest, source, IR and cuDNN's plans in one canonical ZIP.
 *
 * A byte-reproducible writer and a strict reader: digest first, then canonical form (writing again
 * what was read gives the same bytes), then every size, count, name and hash. */
#ifndef FGC_PLAN_H
#define FGC_PLAN_H

#include "gpu/gpu.h"

enum plan_role { PLAN_INPUT, PLAN_SCALAR, PLAN_OUTPUT };
struct plan_tensor {
    const char *name, *doc;
    enum plan_role role;
    int64_t uid;
    enum dtype type;
    int rank;
    int64_t dim[MAX_RANK], stride[MAX_RANK];
    int64_t align; /* bytes; tensors */
    double def;    /* scalars */
    bool has_default;
};
struct plan_constant { /* host scalars the plan needs besides the interface */
    int64_t uid;
    const char *type; /* cuDNN word: FLOAT, INT32 ... */
    double value;
};
struct plan_view { /* a tensor or temporary again, from another address on */
    int64_t uid, of; /* as this step binds it; whose memory it is */
    int64_t offset, bytes;
};
struct plan_step {
    int64_t engine;
    knobs_vec knobs;
    words_vec numerical, behavior;
    int64_t workspace_bytes;
    const char *chosen_by; /* "heuristic A rank 0" */
    VEC(struct plan_constant) constants;
    VEC(struct plan_view) views;
    const char *plan; /* cuDNN's plan JSON, normalised */
    size_t plan_bytes;
    size_t driver_at; /* offset and length of the driver version's digits in `plan` */
    size_t driver_len;
};
struct plan_temporary { /* what one step makes and later ones read; it lies in the workspace */
    const char *name;     /* "" for what has none in the source */
    int64_t uid;
    enum dtype type;
    int rank;
    int64_t dim[MAX_RANK], stride[MAX_RANK];
    int64_t offset; /* bytes from the workspace's beginning, a multiple of 256 */
    int64_t made_by;
    VEC(int64_t) read_by; /* steps, ascending, all behind made_by */
};
struct plan_variant {
    const char *name; /* "" or "S=512" */
    VEC(struct graph_param) params;
    VEC(struct plan_tensor) tensors; /* inputs, scalars, outputs, in order */
    VEC(struct plan_temporary) temporaries; /* none where there is one step */
    VEC(struct plan_step) steps;            /* run in this order */
    const char *ir; /* printed IR */
    bool reproducible;
};
struct plan_graph {
    const char *name, *doc;
    VEC(struct plan_variant) variants;
};
/* A plan's target is named by what is left of it once it is normalised, "sm90-132" (architecture
 * and multiprocessors): descriptions that differ only in what a plan does not depend on, names of
 * files included, give equal plans. */
const char *plan_target_name(struct arena *a, const struct target *t);
struct plan_import { /* a file that the source imports, or that such a file imports */
    const char *name; /* "std.act", or the path from the source's folder */
    const char *text; /* canonical */
};
struct plan {
    const char *fgc_version;
    int64_t cudnn_version;
    const char *nvrtc_version;
    struct target target; /* one target a plan file as built so far; name: plan_target_name */
    const char *source;   /* canonical .fg text */
    VEC(struct plan_import) imports; /* each after what it imports */
    VEC(struct plan_graph) graphs;
};

/* The container's bytes. False with a diagnostic (limits: 4,096 entries, 1 GiB). */
bool plan_encode(struct session *s, struct arena *a, const struct plan *p, char **bytes, size_t *n);
/* Strict: anything but what plan_encode writes is refused with a diagnostic saying what was
 * expected and found. `name` is for messages. */
bool plan_decode(struct session *s, struct arena *a, const char *name, const char *bytes, size_t n,
                 struct plan *out);
/* Which versions wrote a plan, from its first bytes alone (512 suffice): cheap, and not checked
 * against the digest. Works for later formats too. False when it does not begin like a plan. */
struct plan_versions {
    int64_t format, cudnn;
    const char *fgc, *nvrtc;
};
bool plan_peek(struct arena *a, const char *head, size_t n, struct plan_versions *out);
/* For people; for tools (the manifest with sizes). */
void plan_show(const struct plan *p, struct buf *out);
void plan_show_json(const struct plan *p, struct buf *out);

/* Compares cuDNN's own print of the operation graph, inside the plan's JSON, with what was asked
 * for. What differs goes to why. */
bool plan_matches(const char *plan, size_t n, const struct desc_graph *g, struct buf *why);

/* From its first element to the end of its last; sizes were checked. */
int64_t plan_temporary_bytes(const struct plan_temporary *t);
/* Bytes of workspace for running the variant: the temporaries, and behind them, from *steps_at
 * (NULL: not wanted), what the hungriest step needs. Both are multiples of 256 where there are
 * temporaries. */
int64_t plan_workspace(const struct plan_variant *v, int64_t *steps_at);
/* Whether cuDNN's print of the step's graph has a tensor of that uid; whether it has that or a view
 * of it. */
bool plan_step_binds(const struct plan_step *step, int64_t uid);
bool plan_step_uses(const struct plan_step *step, int64_t uid);

enum plan_fit { PLAN_RUNS, PLAN_REBUILD_ADVISED, PLAN_REFUSED };
/* Compares the fields that cuDNN compares when it loads (list in show.c), cuDNN's version, which
 * must be equal, and the driver's (13000), which must be of the CUDA major version that compiled
 * the kernels, or a later one. Differences, "found X, needs Y", go to out. A version that is 0 is
 * not compared. */
enum plan_fit plan_check(const struct plan *p, const struct target *t, int64_t cudnn_version,
                         int64_t driver_version, struct buf *out);

#endif
