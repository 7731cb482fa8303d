/* tune, inside: what the room's files share. */
#ifndef FGC_TUNE_INTERNAL_H
#define FGC_TUNE_INTERNAL_H

#include <jansson.h>

#include "gpu/runner.h"
#include "kernel/kernel.h"
#include "tune/tune.h"

/* The key as JSON, all parts; build: without what decides times only. */
json_t *key_json(const struct tune_key *k, bool build);
/* json_print's text, in the arena. */
char *json_text(struct arena *a, const json_t *j, size_t *n);
json_t *pick_json(const struct tune_pick *p);
/* NULL when sound, else what is wrong. */
const char *pick_read(struct arena *a, const json_t *j, struct tune_pick *out);
bool is_sha256(const char *s);

/* ---- log: what was done for a job, a line each ----------------------------------------------- */

struct tune_log {
    int fd;
    const char *path;
    bool lazy; /* log_sync comes later */
};
/* Opens the job's log for this process alone. resume: calls back, in order, for each line since the
 * last fresh start. False with a diagnostic. */
bool log_open(struct session *s, const struct tune_setup *u, const struct tune_report *r,
              void (*see)(void *, const json_t *), void *data, struct tune_log *out);
/* Appends one line and syncs it; takes j over. False with a diagnostic. */
bool log_line(struct session *s, const struct tune_log *l, json_t *j);
bool log_sync(struct session *s, const struct tune_log *l);

/* ---- the interface's tensors on the device ---------------------------------------------------- */

struct tensors {
    struct session *s;
    struct runner *r;
    const struct graph *g;
    uint64_t seed;
    runner_tensors_vec tensors;
    runner_values_vec values;
};
void tensors_begin(struct tensors *d, struct session *s, struct runner *r, const struct graph *g);
/* An input or output. False when it is too large. */
bool tensors_add(struct tensors *d, const struct value *v);
/* Random values for the inputs, by the seed; to be called after runner_layout. */
void tensors_fill(struct tensors *d);
/* The input, output or scalar of a uid, or NULL. */
const struct value *tensors_value(const struct graph *g, int64_t uid);
enum dtype tensors_type(const char *cudnn); /* of cuDNN's word */
struct runner_value_at tensors_scalar(const struct value *v);
struct runner_value_at tensors_constant(const struct desc_constant *c);

/* ---- every element, by plain kernels on the device ------------------------------------------- */

struct reference {
    struct session *s;
    struct runner *r;
    struct kernel_program kernels;
    bool ready;      /* values and bounds of the job's present inputs are on the device */
    const char *why; /* why there is none for this job, or NULL */
};
/* For another job: nothing is computed yet. */
void reference_begin(struct reference *f, const struct tune_job *j);
/* Computes what is not there; to be called while no plan is loaded, for where it fails with the
 * device's process, all that is loaded is lost. */
enum runner_status reference_compute(struct reference *f);
/* The inputs change. */
void reference_forget(struct reference *f);
/* Judges what lies in the outputs of the job's first set of memory. */
enum runner_status reference_judge(struct reference *f, struct arena *a, struct tune_whole *out);
/* The launches as the runner takes them; anchors that are left to the caller have no kernel. shares:
 * a view lies in the tensor that it looks into; else it is a tensor of its own. */
void program_of_kernels(struct arena *a, const struct kernel_program *k, bool shares,
                        struct runner_program *out);

/* ---- the stages of a search -------------------------------------------------------------------
 */

struct search {
    struct session *s;
    const struct tune_setup *u;
    const struct tune_job *j;
    struct tune_report *r;
    struct tune_log log;
    struct build_request request;
    const char *plans; /* folder */
    int64_t start_ms;
    int incumbent; /* index, -1: the database had none */
};
const char *pick_id(struct arena *a, const struct tune_pick *p);
struct tune_candidate *candidate_find(const struct tune_report *r, const char *id, int *index);
void search_progress(const struct search *h, const char *stage, int done, int total, double left_s);
bool search_stopped(const struct search *h);
double search_seconds(const struct search *h);
/* list.c: what there is to try. build.c: plans of it. trial.c: check, race, verdict. */
bool search_list(struct search *h);
bool search_build(struct search *h);
bool search_trial(struct search *h);

#endif
