/* tune: finds the fastest plan of a region on a device, keeps what was found, and picks it again.
 *
 * Keys and the database here; the search itself in race.c (pure: it sees recorded times only) and
 * search.c. Invariant: nothing is taken from the database, a log or a lock unless every part that
 * decides it is equal and its checksum holds; what does not hold is a miss, never an error. */
#ifndef FGC_TUNE_H
#define FGC_TUNE_H

#include "gpu/gpu.h"

/* Raised when the same region may lower to another descriptor tree, or the same tree may build to
 * another plan: entries of other revisions are then no longer found. tests/cli/lowering-revision.py
 * fails when the goldens of tests/lower change and this does not. */
#define TUNE_LOWERING 1
/* How candidates are measured; raised when times of the old and the new way do not compare. */
#define TUNE_POLICY 1

/* ---- keys ---------------------------------------------------------------------------------- */

/* The region's canonical text: types, dims, strides, alignments, operators with their attributes,
 * constants, which scalars and optional results exist; no name, no place, no uid. Independent of
 * the order of inputs and of independent statements (where outputs have equal types and formulas, as
 * far as 120 orders of them tell). `g` has gone through the passes. */
char *tune_region(struct arena *a, const struct graph *g);

struct tune_key {
    const char *region; /* canonical text */
    const char *target; /* normalised description */
    int64_t cudnn;      /* 91900 */
    const char *nvrtc;  /* "13.0"; "" when there is none */
    int64_t driver;     /* 13000; 0: not known, see tune_db_get */
    int64_t workspace_limit; /* bytes; < 0: none */
    bool deterministic;
};
/* SHA-256 of the key's JSON, lowering revision and measuring policy included. */
void tune_key_name(const struct tune_key *k, char out[65]);
/* The same without driver and policy: what decides plans, not times. Names logs. */
void tune_key_build_name(const struct tune_key *k, char out[65]);

/* ---- database ------------------------------------------------------------------------------ */

/* A folder: KEY.json an entry, plans/SHA256 the plans, logs/KEY.jsonl what a tuner has done. Any
 * number of processes and machines may write it at once: files appear whole, by renaming. */
struct tune_db {
    const char *dir;
};
/* One engine with its knobs, and the plan built of it. */
struct tune_pick {
    int64_t engine;
    knobs_vec knobs;
    words_vec numerical, behavior;
    int64_t workspace_bytes;
    char plan[65];      /* SHA-256 of cuDNN's plan, normalised; "" when not built */
    int64_t plan_bytes;
};
struct tune_figures { /* microseconds a run; 0: not measured */
    double median, low, high; /* low, high: 95 % interval of the median */
    double first;             /* median of the heuristics' first choice, in the same rounds */
};
struct tune_entry {
    struct tune_key key;
    struct tune_pick pick;
    struct tune_figures figures;
    const char *tree;   /* SHA-256 of the descriptor tree that the plan was built from */
    const char *search; /* "heuristic" or "exhaustive" */
    int64_t listed, timed; /* candidates */
};
/* Makes the folders when `create`. False with a diagnostic. */
bool tune_db_open(struct session *s, const char *dir, bool create, struct tune_db *out);
/* Writes the entry, replacing an older one. False with a diagnostic; the old one stands then. */
bool tune_db_put(struct session *s, const struct tune_db *db, const struct tune_entry *e);
/* False when there is none; one that is damaged, cut or of another key is none, with a warning.
 * key->driver == 0: the entry of the newest driver. */
bool tune_db_get(struct session *s, const struct tune_db *db, const struct tune_key *key,
                 struct tune_entry *out);
/* What the database has of the region instead of `key`, for a message ("it has one for cuDNN 91800,
 * here is 91900"); NULL when nothing. */
const char *tune_db_near(struct session *s, const struct tune_db *db, const struct tune_key *key);

/* Plans by content in any folder: dir/SHA256. put returns false with a diagnostic; get NULL when
 * there is none, with a warning when its bytes are not those its name says. */
bool tune_plan_put(struct session *s, const char *dir, const char *bytes, size_t n, char hash[65]);
char *tune_plan_get(struct session *s, const char *dir, const char *hash, size_t *n);

#endif
