/* tune, inside: what the room's files share. */
#ifndef FGC_TUNE_INTERNAL_H
#define FGC_TUNE_INTERNAL_H

#include <jansson.h>

#include "tune/tune.h"

/* The key as JSON, all parts; build: without what decides times only. */
json_t *key_json(const struct tune_key *k, bool build);
/* json_print's text, in the arena. */
char *json_text(struct arena *a, const json_t *j, size_t *n);
json_t *pick_json(const struct tune_pick *p);
/* NULL when sound, else what is wrong. */
const char *pick_read(struct arena *a, const json_t *j, struct tune_pick *out);
bool is_sha256(const char *s);

#endif
