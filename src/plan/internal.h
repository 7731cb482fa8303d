/* plan, inside: what writing, reading and showing share. */
#ifndef FGC_PLAN_INTERNAL_H
#define FGC_PLAN_INTERNAL_H

#include <jansson.h>

#include "plan/plan.h"

#define PLAN_FORMAT 1
enum { MAX_ENTRIES = 4096, MAX_GRAPHS = 256, MAX_IMPORTS = 256, MAX_VARIANTS = 64, MAX_TENSORS = 256, MAX_STEPS = 64, MAX_TEMPORARIES = 256 };
#define MAX_PLAN_BYTES ((size_t)1 << 30)

/* The archive's tail: the end-of-central-directory record and the comment, "fgplan1 " and 64
 * digits. */
enum { COMMENT_BYTES = 8 + 64, END_BYTES = 22, TAIL_BYTES = END_BYTES + COMMENT_BYTES };
#define PLAN_MAGIC "fgplan"

struct entry {
    const char *name;
    const char *bytes;
    size_t n;
};
typedef VEC(struct entry) entries_vec;

const char *plan_ir_name(struct arena *a, const struct plan_graph *g, const struct plan_variant *v);
const char *plan_import_name(struct arena *a, size_t i);
const char *plan_step_name(struct arena *a, const struct plan *p, const struct plan_graph *g,
                           const struct plan_variant *v, size_t step);
/* Every entry but the manifest, in the container's order. */
entries_vec plan_entries(struct arena *a, const struct plan *p);
/* The entries of an archive of exactly the form that plan_encode writes: records in one piece,
 * every field at its one value, nothing between, before or behind. Names and bytes are copies that
 * end with NUL. NULL when so, else what is wrong (in the arena). The digest is the caller's to
 * check. */
const char *archive_walk(struct arena *a, const char *bytes, size_t n, entries_vec *out);

/* NULL when the variant's temporaries are sound: steps that exist, each made before it is read,
 * no two that share memory while both are needed, no uid twice. Needs no step's text. */
const char *temporaries_check(struct arena *a, const struct plan_variant *v);
/* NULL when each step's JSON binds exactly the temporaries that it makes or reads. */
const char *temporaries_bound(struct arena *a, const struct plan_variant *v);
/* NULL when the step's JSON belongs to the plan: cuDNN's version, the engine and the device's
 * description are the manifest's, and the driver's digits lie where the step says. */
const char *step_check(struct arena *a, const struct plan *p, const struct plan_step *step);

/* The manifest's text. NULL with *why set when manifest_read would not take it. */
const char *manifest_text(struct arena *a, const struct plan *p, const char **why);
/* Fills all of *p but the texts that are entries of their own. Believes nothing: NULL when sound,
 * else what is wrong. */
const char *manifest_read(struct arena *a, const json_t *root, struct plan *p);
/* NULL when the manifest's list of entries says what they are (`rest`: all but itself). */
const char *manifest_entries(struct arena *a, const json_t *root, const entries_vec *rest);

/* The fields of a device's description that cuDNN compares for equality when it loads a plan. */
#define N_COMPARED 7
extern const char *const plan_compared[N_COMPARED];

#endif
