/* plan, inside: what container and manifest share. */
#ifndef FGC_PLAN_INTERNAL_H
#define FGC_PLAN_INTERNAL_H

#include <jansson.h>

#include "plan/plan.h"

#define PLAN_FORMAT 1
enum { MAX_ENTRIES = 4096, MAX_GRAPHS = 256, MAX_VARIANTS = 64, MAX_TENSORS = 256, MAX_STEPS = 64 };
#define MAX_PLAN_BYTES ((size_t)1 << 30)

struct entry {
    const char *name;
    const char *bytes;
    size_t n;
};
typedef VEC(struct entry) entries_vec;

/* Every entry but the manifest, in the container's order. */
entries_vec plan_entries(struct arena *a, const struct plan *p);
const char *plan_ir_name(struct arena *a, const struct plan_graph *g, const struct plan_variant *v);
const char *plan_step_name(struct arena *a, const struct plan *p, const struct plan_graph *g,
                           const struct plan_variant *v, size_t step);

json_t *manifest_write(struct arena *a, const struct plan *p);
/* Fills all of *p but the texts that are entries of their own, whose names are the canonical ones. Believes
 * nothing: NULL when sound, else what is wrong. */
const char *manifest_read(struct arena *a, const json_t *root, struct plan *p);

#endif
