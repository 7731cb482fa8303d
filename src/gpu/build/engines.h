/* engines: heuristics and plans of one graph, inside the helper. */
#ifndef FGC_GPU_BUILD_ENGINES_H
#define FGC_GPU_BUILD_ENGINES_H

#include "gpu/build/cudnn_api.h"

struct build {
    const struct desc_graph *graph;
    const char *target;      /* normalised device description */
    bool host;               /* a real device: its handle instead of the description */
    int64_t workspace_limit; /* bytes; < 0: none */
};

/* {"configs": [{mode, rank, engine, knobs, numerical, behavior}...], "refusals": [...]}: the lists
 * of heuristics A, B and FALLBACK, each pair of engine and knobs once. */
json_t *engines_list(struct cudnn *c, const struct build *b);
/* {"plan", "workspace_bytes", "build_ms"} or {"status", "reasons"} for one engine and its knobs. */
json_t *engines_build(struct cudnn *c, const struct build *b, const json_t *config);
/* {"engines": [{engine, knobs: [[type, least, most, stride]...], numerical, behavior}...]}: every
 * engine of the library that takes the graph at all. */
json_t *engines_ranges(struct cudnn *c, const struct build *b);
/* {"tried": [workspace bytes, or -1 where the configuration is refused]}, one for each {engine,
 * knobs} of the batch. Nothing is compiled. */
json_t *engines_try(struct cudnn *c, const struct build *b, const json_t *batch);

cudnnBackendDescriptor_t device_properties(struct cudnn *c, const char *json);
void reasons_from_text(struct arena *a, const char *text, json_t *refusals);

#endif
