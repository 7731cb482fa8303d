/* driver: the command line, the pipeline, and one file a subcommand. */
#ifndef FGC_DRIVER_H
#define FGC_DRIVER_H

#include "emit/emit.h"
#include "interp/interp.h"
#include "pass/pass.h"
#include "sema/sema.h"
#include "tune/bench.h"
#include "tune/tune.h"

enum command {
#define COMMAND(name, operands, doc) CMD_##name,
#define OPTION(...)
#include "driver/options.def"
#undef COMMAND
#undef OPTION
    N_COMMANDS
};

typedef bool option_FLAG;
typedef const char *option_TEXT;
typedef VEC(const char *) option_LIST;
struct option_number {
    bool given;
    int64_t value;
};
typedef struct option_number option_BYTES;
typedef struct option_number option_SEED;

/* One member an option of options.def. */
struct options {
    enum command command;
    VEC(const char *) operands;
#define COMMAND(name, operands, doc)
#define OPTION(field, long_name, letter, arg, kind, commands, doc) option_##kind field;
#include "driver/options.def"
#undef COMMAND
#undef OPTION
    words_vec *requests; /* bundle's alone: what the helper is asked is recorded here */
};

/* Reads argv into *o. False with a usage diagnostic. */
bool options_parse(struct session *s, int argc, char **argv, struct options *o);
void options_help(enum command c, bool all, FILE *to);
/* Calls f(ctx, name with its dashes, value or NULL) for each option given that `c` takes, in the
 * table's order. */
void options_each(const struct options *o, enum command c,
                  void (*f)(void *ctx, const char *name, const char *value), void *ctx);

/* Rows of the table, for completion. */
struct command_view {
    const char *name, *operands, *doc;
};
const struct command_view *options_command(enum command c);
struct option_view {
    const char *name, *arg, *doc; /* arg: NULL for a flag */
    char letter;                  /* or 0 */
    bool taken;                   /* by the command asked about */
};
/* The ith row; false after the last. */
bool options_row(enum command c, size_t i, struct option_view *out);

/* Subcommands: return the exit status when it is not session_exit_status's to say (that of recorded
 * errors comes on top in main). */
#define COMMAND(name, operands, doc) int cmd_##name(struct session *s, const struct options *o);
#define OPTION(...)
#include "driver/options.def"
#undef COMMAND
#undef OPTION

/* ---- shared by subcommands ---------------------------------------------------------------- */

struct gpu_search driver_search(const struct options *o);
/* Parses and analyses one file for a target (NULL: none known). NULL when there were errors. */
struct module *driver_module(struct session *s, const struct options *o, const char *path,
                             const struct target *t);
/* The same for a source that was read already; fills the index and sets *tree unless they are NULL. */
struct module *driver_analyse(struct session *s, const struct options *o, struct source *src,
                              const struct target *t, struct sema_index *index, struct ast **tree);
/* Reads a plan. False with a diagnostic. */
bool driver_plan(struct session *s, const char *path, struct plan *p);
/* "x=path" -> name and path; false with a usage diagnostic. */
bool driver_pair(struct session *s, const char *option, const char *text, const char **name,
                 const char **value);

/* -MD and -MF, after the outputs were written; header: the launcher's. False with a diagnostic. */
bool depfile_write(struct session *s, const struct options *o, const char *header);

/* ---- differences of texts (diff.c) -------------------------------------------------------------- */

/* What turns a into b, as `diff -u`; false, and nothing printed, when they are equal. */
bool diff_unified(const char *name_a, const char *a, size_t n_a, const char *name_b, const char *b,
                  size_t n_b, struct buf *out);

/* ---- reports (junit.c) ------------------------------------------------------------------------- */

/* Text for HTML and XML; what XML cannot hold becomes '?'. */
void markup_put(struct buf *b, const char *text);
struct junit {
    struct buf cases;
    size_t tests, failures, errors;
};
/* One file's test case, of the diagnostics that are not flushed yet; status: of a plan's check. */
void junit_case(struct session *s, struct junit *j, const char *path, int status);
/* Ends the report. False with a diagnostic. */
bool junit_write(struct session *s, struct junit *j, const char *path);

/* ---- repeating a run (repeat.c) ---------------------------------------------------------------- */

/* Called first of all: keeps the command line, and catches what only a bug raises, so that it ends
 * with exit status 70 and the command that repeats it. */
void repeat_begin(int argc, char **argv);
/* "[VARIABLE=VALUE...] fgc ...", as a shell takes it; NULL before repeat_begin. */
const char *repeat_command(struct arena *a);
/* Puts a word in quotes where a shell needs them. */
void shell_word(struct buf *b, const char *word);

/* ---- pipeline ------------------------------------------------------------------------------ */

struct kernel {             /* one of a variant's kernels on its way */
    const struct graph *ir; /* what it computes, as the language means it */
    int step, n_steps;      /* which of the variant's it is; how many that has */
    struct graph *region;   /* after the passes */
    struct desc_graph *desc;
    struct build_result build;
};
struct compiled {           /* one variant */
    const struct graph *ir; /* as the language means it */
    VEC(struct kernel) kernels;
    temporaries_vec temporaries; /* what they hand on */
    int64_t temporary_bytes;
};
/* "graph 'mlp' with S=512", "step 2 of graph 'mlp'": for messages, in the arena. */
const char *kernel_title(struct session *s, const struct kernel *k);
/* ir -> passes -> descriptors -> plans. False with diagnostics. */
bool pipeline_lower(struct session *s, const struct graph *g, struct compiled *out);
bool pipeline_build(struct session *s, const struct options *o, const struct target *t,
                    struct kernel *k);
/* Compares the chosen plan's own print of its graph with what was asked for; false with a
 * diagnostic. */
bool pipeline_match(struct session *s, const struct kernel *k);
bool pipeline_allows_tf32(const struct graph *g);
/* Says why no engine takes the graph: each engine's own reason, and the operator that loses the
 * last engine, found by building prefixes. */
void refusal_explain(struct session *s, const struct options *o, const struct target *t,
                     const struct kernel *k);
/* Puts the module's built variants into one plan. */
void pipeline_plan(struct session *s, const struct module *m, const struct target *t,
                   const struct compiled *c, size_t n, struct plan *out);

/* ---- tuned plans (locked.c, jobs.c) --------------------------------------------------------- */

/* What tuning and locks speak of: each kernel of each graph and variant of a file, lowered. False with
 * diagnostics. */
typedef VEC(struct tune_job) jobs_vec;
bool jobs_of_file(struct session *s, const struct options *o, const struct target *t,
                  const char *path, jobs_vec *out);
void job_of(struct session *s, const char *path, const struct kernel *k, struct tune_job *out);
/* --db, $FGC_DB, or the user's cache folder. NULL with a diagnostic. */
const char *driver_db(struct session *s, const struct options *o);
/* Whether a job's outputs are right, element by element as far as that is quick. */
tune_judge_fn driver_judge;
struct build_request driver_request(const struct options *o, const struct target *t,
                                    const struct tune_job *j, const struct gpu_search *search);
/* The plan of an entry for this very writing of its region: the one that was tuned, or, when the
 * specification was since written in another order, the same engine built anew. NULL with a
 * diagnostic. */
char *driver_entry_plan(struct session *s, const struct options *o, const struct target *t,
                        const struct tune_db *db, const struct tune_job *j,
                        const struct tune_entry *e, size_t *n);
typedef VEC(struct tune_report) tune_reports_vec;
void tune_report_print(const struct tune_report *r, FILE *to);
/* Derived figures of one candidate; 0: none. roof: the share of what the target could do at best. */
struct tune_row {
    double us, spread, tflops, gbs, roof;
};
struct tune_row tune_row_of(const struct tune_report *r, const struct tune_candidate *c);
const char *tune_verdict(const struct tune_report *r, size_t i);
/* The candidates' indices, the fastest first. */
size_t *tune_order_of(const struct tune_report *r, struct arena *a);
void tune_outcome_print(const struct tune_report *r, FILE *to);
void tune_reports_html(const tune_reports_vec *v, struct buf *out);
void tune_reports_json(const tune_reports_vec *v, struct buf *out);
/* Instead of pipeline_build, under --locked: exactly what the lock names, or false with a
 * diagnostic that says what is missing. */
bool locked_build(struct session *s, const struct options *o, const struct target *t,
                  const struct tune_lock *lock, const char *path, struct kernel *k);
/* Instead of pipeline_build, under --tune: tunes what the database does not have yet, and takes the
 * winners. False with diagnostics. */
bool tuned_build(struct session *s, const struct options *o, const char *path, struct compiled *c,
                 size_t n);
/* Makes k->build of a plan that is known by its hash; "" for no NVRTC. */
void driver_take_plan(struct session *s, const char *chosen_by, const struct tune_pick *p,
                      const char *bytes, size_t n, int64_t cudnn, const char *nvrtc,
                      struct kernel *k);

/* ---- what can be run (runnable.c) ------------------------------------------------------------- */

/* The specification that a plan holds, analysed as it was when the plan was made. NULL with
 * diagnostics. */
struct module *driver_plan_module(struct session *s, const struct plan *p);
const struct graph *driver_graph(const struct module *m, const char *name, const char *variant);
struct runnable { /* one variant of a graph with its plans */
    const char *file, *target;
    const struct graph *ir;
    bench_plans_vec steps;
};
typedef VEC(struct runnable) runnables_vec;
/* Of a .plan, or of a specification, which is built for t. False with diagnostics. */
bool runnables_of_file(struct session *s, const struct options *o, const char *path,
                       const struct target *t, runnables_vec *out);
void session_hush(struct session *quiet); /* forgets its diagnostics */
struct bench_plan runnable_step(const struct kernel *k);
/* The graph operator by operator; what cannot be had is said in out->why. All of it is the quiet
 * session's, diagnostics too, which nobody prints. */
void unfused_of(struct session *quiet, const struct options *o, const struct target *t,
                const struct graph *ir, struct bench_unfused *out);

void candidates_print(struct session *s, const struct kernel *k, FILE *to);

#endif
