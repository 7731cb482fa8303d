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
 * the order of inputs and of independent statements (where outputs have equal types and formulas,
 * as far as 120 orders of them tell). `g` has gone through the passes. */
char *tune_region(struct arena *a, const struct graph *g);

struct tune_key {
    const char *region;      /* canonical text */
    const char *target;      /* normalised description */
    int64_t cudnn;           /* 91900 */
    const char *nvrtc;       /* "13.0"; "" when there is none */
    int64_t driver;          /* 13000; 0: not known, see tune_db_get */
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
    char plan[65]; /* SHA-256 of cuDNN's plan, normalised; "" when not built */
    int64_t plan_bytes;
};
struct tune_figures {         /* microseconds a run; 0: not measured */
    double median, low, high; /* low, high: 95 % interval of the median */
    double first;             /* median of the heuristics' first choice, in the same rounds */
};
struct tune_entry {
    struct tune_key key;
    struct tune_pick pick;
    struct tune_figures figures;
    const char *tree;      /* SHA-256 of the descriptor tree that the plan was built from */
    const char *search;    /* "heuristic" or "exhaustive" */
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

/* ---- jobs ---------------------------------------------------------------------------------- */

/* One region to be tuned. */
struct tune_job {
    const char *file;
    const char *graph, *variant; /* variant: "" for none */
    int step;
    const char *title; /* "step 1 of graph 'mlp' with S=512": for messages */
    const struct graph *ir;      /* as the language means it */
    const struct graph *lowered; /* after the passes */
    const struct desc_graph *desc;
    const char *region; /* tune_region's text */
    char region_hash[65], tree[65];
    bool allow_tf32;
};

/* ---- lock ----------------------------------------------------------------------------------- */

/* MODEL.fg.lock: which engine, knobs and plan each graph has, by target. Text, a plan a paragraph:
 *   fg-lock 1
 *   target sm90-132 SHA256 cudnn 91900 nvrtc 13.0 driver 13000
 *   plan conv_bias_relu N=32 0
 *     region SHA256
 *     tree SHA256
 *     engine 41 2=5 13=1
 *     numerical TENSOR_CORE
 *     behavior
 *     workspace 131
 *     plan SHA256 2963
 *     time 52.125 51.9 52.4 first 60.0
 * Words are separated by blanks; '#' begins a comment line. Times are microseconds. */
struct lock_plan {
    const char *graph, *variant; /* variant: "" for none; written "-" */
    int step;                    /* from 0 */
    char region[65], tree[65];   /* SHA-256 of tune_region's text and of the descriptor tree */
    struct tune_pick pick;
    struct tune_figures figures;
};
struct lock_target {
    const char *name; /* plan_target_name */
    char description[65];
    int64_t cudnn, driver;
    const char *nvrtc;
    VEC(struct lock_plan) plans;
};
struct tune_lock {
    VEC(struct lock_target) targets;
};
/* Strict. False with a diagnostic at the place; a file that is not there is said so. */
bool lock_read(struct session *s, const char *path, struct tune_lock *out);
/* True when there was no file, and *out is empty then. */
bool lock_read_if_any(struct session *s, const char *path, struct tune_lock *out);
void lock_print(const struct tune_lock *l, struct buf *out);
/* The section of a target, by its description; NULL when there is none. */
struct lock_target *lock_target_find(const struct tune_lock *l, const char *description);
/* The plan of a step; NULL when there is none. */
struct lock_plan *lock_plan_find(const struct lock_target *t, const char *graph,
                                 const char *variant, int step);
/* Why the options bar a locked plan, or NULL. */
const char *lock_barred(struct arena *a, const struct lock_plan *p, int64_t workspace_limit,
                        const struct engine_bars *bars);

/* ---- statistics: pure functions of recorded numbers ----------------------------------------- */

struct interval {
    double low, high;
};
/* Of n >= 1 numbers; quantile by linear interpolation, q from 0 to 1. */
double stats_median(const double *x, size_t n);
double stats_quantile(const double *x, size_t n, double q);
/* Interquartile range over median: the spread that is printed and that ends a race. */
double stats_spread(const double *x, size_t n);
/* Percentile bootstrap, 95 %, 2,000 resamples drawn by the seed: of the median; of the ratio of the
 * medians of pairs measured in the same rounds (x[i] with y[i]), rounds drawn as a whole. */
struct interval stats_median_interval(const double *x, size_t n, uint64_t seed);
struct interval stats_ratio_interval(const double *x, const double *y, size_t n, uint64_t seed);
/* Of positive numbers. */
double stats_geomean(const double *x, size_t n);
/* True when the clock of some sample is more than 3 % below the highest: the GPU slowed itself.
 * Unknown clocks are 0 and count for nothing. */
bool stats_throttled(const double *mhz, size_t n, struct interval *range);

/* ---- race: who is timed next, and who wins -------------------------------------------------- */

struct race_policy {
    double cutoff;    /* a first sample above cutoff times the best is hopeless */
    int rung_samples; /* rounds before a half is dropped */
    int finalists;    /* who are timed anew on fresh data, besides incumbent and default */
    int final_rounds, max_rounds;
    double spread; /* the finals end when the medians are known this well (half width, relative) */
    double min_gain; /* never less than this counts as faster */
    uint64_t seed;
};
extern const struct race_policy race_policy_default;
enum race_phase { RACE_SCREEN, RACE_FRESH, RACE_FINAL, RACE_DONE };
struct racer {
    const char *out; /* why it is no longer timed, or NULL */
    bool finalist;
    VEC(double) screen, final; /* microseconds; the finals' by round */
};
/* Racers stand in the order of evidence: 0 is the heuristics' first choice that is in the race. */
struct race {
    struct arena *a;
    struct race_policy policy;
    struct racer *racer;
    int n, incumbent, first;
    enum race_phase phase;
    VEC(int) order;       /* of this round; the incumbent twice in the finals */
    size_t at;            /* next in order */
    int round;            /* of the phase */
    bool again;           /* the racer that is due is the incumbent's second run of the round */
    VEC(double) again_us; /* the incumbent's second runs: what "equal" looks like */
    VEC(double) mhz;
    double best_us; /* smallest median so far */
    bool hurry;     /* the budget is spent: no more rungs */
};
/* n racers, none out; `out` and `screen` may be filled from a log before the first race_next. */
void race_init(struct arena *a, struct race *r, int n, int incumbent, const struct race_policy *p);
/* Who is to be timed now, and at most how long one run may take (0: no limit); -1 when the phase
 * has changed: RACE_FRESH asks for new data and then race_refreshed, RACE_DONE ends it. */
int race_next(struct race *r, double *at_most_us);
void race_record(struct race *r, double us, double mhz);
/* The racer that was due is out of the race (crash, hang, refusal). */
void race_drop(struct race *r, int racer, const char *why);
void race_refreshed(struct race *r);
struct race_result {
    int winner;   /* -1: nobody was timed */
    bool kept;    /* the incumbent stays: nothing beat it by more than the noise */
    double noise; /* relative: what the incumbent differs from itself, at least min_gain */
    struct interval against; /* winner's over first choice's time */
    struct interval again;   /* the incumbent's over its own */
    bool throttled;
    struct interval mhz;
};
struct race_result race_result(const struct race *r);

/* ---- space: every engine and knob ------------------------------------------------------------ */

/* All configurations of an engine, at most `most`, in an order that comes to the likely ones first:
 * none set; one knob at a time; then all combinations. A knob with more than 64 values takes its
 * ends and powers of two. */
typedef VEC(struct engine_config) configs_vec;
void space_of_engine(struct arena *a, const struct engine_info *e, size_t most, configs_vec *out);
/* All that differ from a configuration of the engine in one knob. */
void space_near(struct arena *a, const struct engine_info *e, const knobs_vec *from, size_t most,
                configs_vec *out);
bool knobs_equal(const knobs_vec *x, const knobs_vec *y);

/* ---- devices -------------------------------------------------------------------------------- */

/* What a device does for the tuner. A plan that crashes or hangs costs itself: the device's process
 * is ended and started anew, and every slot is empty then. */
enum run_status {
    RUN_OK,
    RUN_REFUSED, /* cuDNN or the driver will not; why() says it */
    RUN_CRASH,
    RUN_HANG,
    RUN_GONE, /* the device itself does not answer any more: the whole run ends */
};
enum check_verdict { CHECK_PASSED, CHECK_MISTRUSTED, CHECK_WRONG };
extern const char *const check_words[]; /* "passed", "mistrusted", "wrong" */
struct tune_check {
    enum check_verdict verdict;
    double error;     /* largest error over its bound; 1 and below is within */
    const char *note; /* which output, or why the check cannot tell; in `a` */
    const char *scope; /* "every element", or "samples: " and why; in `a`, or NULL */
};
struct tune_sample {
    double us;  /* a run, by events over graph replays; at least this much where it was cut short */
    double mhz; /* of the SMs, during the sample; 0: not known */
};
struct tune_device {
    void *self;
    const char *uuid, *name;
    const char *description; /* normalised; NULL: not known */
    /* The job that slots are loaded for: inputs and reference are made of it. */
    enum run_status (*begin)(void *self, const struct tune_job *j, uint64_t seed);
    enum run_status (*load)(void *self, int slot, const struct tune_pick *p, const char *plan,
                            size_t n);
    enum run_status (*check)(void *self, struct arena *a, int slot, struct tune_check *out);
    /* at_most_us: a run that takes longer need not be timed well; 0: no limit. */
    enum run_status (*time)(void *self, int slot, double at_most_us, struct tune_sample *out);
    enum run_status (*fresh)(void *self, uint64_t seed); /* new data in other memory */
    void (*unload)(void *self, int slot);
    const char *(*why)(void *self); /* of the last status that was not RUN_OK */
    void (*close)(void *self);
};
/* What plain kernels on the device say of every element. */
struct tune_whole_output {
    const struct value *value;
    double worst, got, want, bound; /* the largest error over its bound, and where: */
    int64_t at;
    double wrong;          /* elements out of their bounds */
    double relative, rule; /* ||error|| / ||reference||, and its bound; 0: none */
};
struct tune_whole {
    const char *why; /* why there is nothing, or NULL */
    VEC(struct tune_whole_output) outputs;
};
/* Judges the outputs of a job that lie in `bytes`, by value id of its ir, as the interface lays
 * them out, and what was found of all their elements: of a room that this one does not see. */
typedef void tune_judge_fn(struct session *s, struct arena *a, const struct tune_job *j,
                           void *const *bytes, uint64_t seed, const struct tune_whole *whole,
                           struct tune_check *out);
/* This machine's GPU. NULL with a diagnostic when there is none. */
struct tune_device *tune_device_open(struct session *s, const struct gpu_search *o,
                                     tune_judge_fn *judge);

/* ---- search -----------------------------------------------------------------------------------
 */

struct tune_candidate {
    const char *id;   /* "41:2=5,13=1": engine and knobs */
    const char *mode; /* "A", "B", "FALLBACK", "database", "knobs" */
    int rank;         /* in that mode's list */
    struct tune_pick pick;
    const char *status; /* NULL: as good as its times; else why it is out: cuDNN's status, "notes",
                         * "workspace", "crash", "timeout", "mismatch", "same", "wrong", "hang",
                         * "mistrusted", "hopeless", "slower", "not built" */
    const char *reason; /* in words, or NULL */
    double build_ms;
    bool checked;
    struct tune_check check;
    VEC(double) screen, final; /* microseconds */
};
struct tune_progress {
    const struct tune_job *job;
    const char *stage; /* "list", "try", "build", "wait" for the GPU, "check", "screen", "final" */
    int done, total;   /* of the stage; total 0: not known */
    double best_us, elapsed_s, left_s; /* left_s < 0: not known */
};
struct tune_setup {
    struct tune_db db;
    struct tune_key key;         /* all but the region */
    const struct target *target; /* what plans are built for */
    const struct gpu_search *search;
    struct tune_device *device; /* NULL: build only */
    bool exhaustive, resume;
    int max_candidates; /* 0: no limit */
    double budget_s;    /* for one region; 0: none */
    int parallel;       /* helpers that build at once */
    int time_limit_s;   /* for one build; 0: the room's own */
    const struct race_policy *policy;
    const volatile int *stop; /* not 0: end soon, keeping what is done */
    /* plan_matches, of a room above */
    bool (*matches)(const char *plan, size_t n, const struct desc_graph *g, struct buf *why);
    void (*progress)(void *data, const struct tune_progress *p);
    void *data;
};
struct tune_report {
    const struct tune_job *job;
    const struct tune_setup *setup;
    char key[65], build_key[65];
    VEC(struct tune_candidate) candidates; /* in order of evidence */
    int winner, first;                     /* indices; -1: none */
    struct race_result race;
    struct tune_figures figures;
    int listed, built, timed;
    bool cut;     /* max_candidates left some out */
    bool stopped; /* by a signal */
    bool hurried; /* by the budget */
    bool known;   /* --resume: the database had it already, nothing was done */
    double seconds;
};
/* Lists, builds, checks and times the candidates of a job, and writes the winner into the database.
 * False with a diagnostic when nothing can be done; a job without a candidate that builds is true
 * with winner == -1. */
bool tune_run(struct session *s, const struct tune_setup *u, const struct tune_job *j,
              struct tune_report *out);
/* The lock for the device of a UUID, on this machine, held until the descriptor is closed; < 0 with
 * *busy when another process has it, else with a diagnostic. */
int tune_device_lock(struct session *s, const char *uuid, bool *busy);

/* ---- work -------------------------------------------------------------------------------------
 */

struct tune_work {
    double flops; /* of the anchors, two a multiply-add; a causal mask counts its pairs */
    double bytes; /* each input read once, each output written once */
};
struct tune_work tune_work_of(const struct graph *g);
/* Seconds at the least that the target takes, by the ceilings measured on it; 0 where none were. */
double tune_roof(const struct graph *g, const struct target *t);

#endif
