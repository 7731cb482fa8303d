/* cmd_tune: the search for the fastest plans, job by job, and what of it is shown meanwhile.
 *
 * Invariant: a signal ends the search at the next step; what was done stays in the log. */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "driver/driver.h"

enum { MOST_CANDIDATES = 2000 }; /* of an exhaustive search; --max-candidates says otherwise */

static volatile int stop; /* set by the handler: the one global, for signals have no argument */

static void on_signal(int number)
{
    (void)number;
    stop = 1;
}

/* The first Ctrl-C ends the search in order, the second one at once. */
static void catch_signals(void)
{
    struct sigaction a = {.sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND};
    sigaction(SIGINT, &a, NULL);
    sigaction(SIGTERM, &a, NULL);
    sigaction(SIGHUP, &a, NULL);
}

/* ---- progress ------------------------------------------------------------------------------- */

struct view {
    bool json, line;
    size_t job, n_jobs;
    double last_s;
    const char *stage;
};

static void show(void *data, const struct tune_progress *p)
{
    struct view *v = data;
    bool changed = v->stage != p->stage;
    if (!changed && p->elapsed_s - v->last_s < (v->json ? 0.5 : 0.1) && p->done != p->total) return;
    v->last_s = p->elapsed_s;
    v->stage = p->stage;
    if (v->json) {
        fprintf(stderr,
                "{\"event\": \"progress\", \"job\": %zu, \"jobs\": %zu, \"graph\": \"%s\", "
                "\"variant\": "
                "\"%s\", \"step\": %d, \"stage\": \"%s\", \"done\": %d, \"total\": %d, "
                "\"best_us\": %.3f, "
                "\"elapsed_s\": %.2f",
                v->job + 1, v->n_jobs, p->job->graph, p->job->variant, p->job->step, p->stage,
                p->done, p->total, p->best_us, p->elapsed_s);
        if (p->left_s >= 0) fprintf(stderr, ", \"left_s\": %.1f", p->left_s);
        fprintf(stderr, "}\n");
    } else if (v->line) {
        fprintf(stderr, "\r\033[K%zu/%zu %s%s%s: %s %d", v->job + 1, v->n_jobs, p->job->graph,
                *p->job->variant ? " " : "", p->job->variant, p->stage, p->done);
        if (p->total) fprintf(stderr, " of %d", p->total);
        if (p->best_us > 0) fprintf(stderr, ", best %.1f us", p->best_us);
        fprintf(stderr, ", %.0f s", p->elapsed_s);
        if (p->left_s >= 0) fprintf(stderr, ", %.0f s left", p->left_s);
    }
}

/* ---- options -------------------------------------------------------------------------------- */

struct shard {
    int64_t i, n;
};

static bool read_shard(struct session *s, const char *text, struct shard *out)
{
    char *end = NULL;
    *out = (struct shard){0, 1};
    if (!text) return true;
    errno = 0;
    out->i = strtoll(text, &end, 10);
    bool ok = end != text && *end == '/' && !errno;
    const char *second = end + 1;
    if (ok) out->n = strtoll(second, &end, 10);
    if (ok && end != second && !*end && !errno && out->i >= 0 && out->i < out->n) return true;
    diag(s, DIAG_usage, NO_SPAN, "--shard is I/N, with I from 0 to N - 1, got '%s'", text);
    return false;
}

static bool one_of(struct session *s, const char *option, const char *text, const char *words)
{
    if (!text || word_index(words, text) >= 0) return true;
    diag(s, DIAG_usage, NO_SPAN, "--%s is one of: %s; got '%s'", option, words, text);
    return false;
}

static bool check_options(struct session *s, const struct options *o)
{
    if (o->command == CMD_tune && o->operands.n == 0) {
        diag(s, DIAG_usage, NO_SPAN, "a FILE.fg is needed");
        return false;
    }
    return one_of(s, "search", o->search, "heuristic exhaustive") &&
           one_of(s, "progress", o->progress, "line json none");
}

/* ---- the run -------------------------------------------------------------------------------- */

/* All that does not hang on the job. The device is opened only when needed. */
static bool prepare(struct session *s, const struct options *o, bool build_only,
                    const struct gpu_search *search, struct target *t, struct gpu_probe *here,
                    struct tune_setup *u)
{
    const char *dir = driver_db(s, o);
    const char *name = o->target ? o->target : build_only ? "nvidia-h200" : "host";
    if (!dir) return false;
    if (!build_only && !(u->device = tune_device_open(s, search, driver_judge))) {
        if (s->diags.n && o->command == CMD_tune)
            diag_hint(s, s->diags.at[s->diags.n - 1],
                      "--build-only builds the candidates without a GPU");
        return false;
    }
    if (!target_load(s, name, search, t) || !gpu_probe(s, search, true, here)) return false;
    if (u->device && u->device->description && strcmp(u->device->description, t->json) != 0) {
        diag(s, DIAG_target, NO_SPAN, "target '%s' is not the GPU of this machine, '%s'", name,
             u->device->name);
        return false;
    }
    if (!here->cudnn_version) {
        diag(s, DIAG_no_cudnn, NO_SPAN, "%s", here->error ? here->error : "cuDNN was not found");
        return false;
    }
    if (!tune_db_open(s, dir, true, &u->db)) return false;
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    u->key = (struct tune_key){
        .target = t->json,
        .cudnn = here->cudnn_version,
        .nvrtc = here->lib[LIB_NVRTC].version ? here->lib[LIB_NVRTC].version : "",
        .driver = here->driver_version,
        .workspace_limit = o->workspace_limit.given ? o->workspace_limit.value : -1,
        .deterministic = o->deterministic,
    };
    u->target = t;
    u->search = search;
    u->exhaustive = o->search && strcmp(o->search, "exhaustive") == 0;
    u->resume = o->resume;
    u->max_candidates = o->max_candidates.given ? (int)o->max_candidates.value
                        : u->exhaustive         ? MOST_CANDIDATES
                                                : 0;
    u->budget_s = o->budget.given ? (double)o->budget.value : 0;
    u->parallel = o->jobs.given ? (int)o->jobs.value : cpus > 0 ? (int)cpus : 1;
    u->policy = &race_policy_default;
    u->stop = &stop;
    u->matches = plan_matches;
    u->progress = show;
    return true;
}

static void list_jobs(const jobs_vec *jobs, const struct shard *shard)
{
    for (size_t i = 0; i < jobs->n; i++) {
        const struct tune_job *j = &jobs->at[i];
        if ((int64_t)i % shard->n != shard->i) continue;
        printf("%zu %s %s %s %d %.16s\n", i, j->file, j->graph, *j->variant ? j->variant : "-",
               j->step, j->region_hash);
    }
}

static void run_jobs(struct session *s, const struct options *o, const struct tune_setup *u,
                     const jobs_vec *jobs, const struct shard *shard, tune_reports_vec *reports)
{
    struct view v = {.json = o->progress && strcmp(o->progress, "json") == 0,
                     .line = o->progress ? strcmp(o->progress, "line") == 0 : isatty(STDERR_FILENO),
                     .n_jobs = jobs->n};
    struct tune_setup own = *u;
    FILE *to = o->command == CMD_tune ? stdout : stderr; /* a plan may go to standard output */
    own.data = &v;
    for (size_t i = 0; i < jobs->n && !stop; i++) {
        if ((int64_t)i % shard->n != shard->i) continue;
        struct tune_report r;
        v.job = i;
        v.last_s = 0;
        v.stage = NULL;
        bool ok = tune_run(s, &own, &jobs->at[i], &r);
        r.setup = u;
        if (v.line) fprintf(stderr, "\r\033[K");
        if (ok) vec_push(s->arena, reports, r);
        if (ok && !o->json && !o->quiet) tune_report_print(&r, to);
        fflush(stdout);
        if (ok && r.winner < 0 && u->device && !r.known && !r.stopped)
            diag(s, DIAG_no_engine, jobs->at[i].ir->span,
                 "%s: of %d candidates none is built, correct and timed", jobs->at[i].title, r.listed);
        if (s->n_errors) diag_flush(s, stderr);
    }
    if (stop) {
        struct diag *d = diag(s, DIAG_tune_stopped, NO_SPAN, "stopped by a signal");
        diag_hint(s, d, "what was done is kept: --resume goes on from there");
    }
}

static void tune_all(struct session *s, const struct options *o, const struct shard *shard,
                     const struct gpu_search *search, tune_reports_vec *reports)
{
    struct target t;
    struct gpu_probe here;
    struct tune_setup u = {.db = {NULL}};
    jobs_vec jobs = {0};
    if (prepare(s, o, o->build_only, search, &t, &here, &u)) {
        for (size_t i = 0; i < o->operands.n; i++) jobs_of_file(s, o, &t, o->operands.at[i], &jobs);
        if (s->n_errors == 0) run_jobs(s, o, &u, &jobs, shard, reports);
    }
    if (o->json && (s->n_errors == 0 || reports->n)) {
        struct buf b = {0};
        tune_reports_json(reports, &b);
        fwrite(b.at, 1, b.n, stdout);
        buf_fini(&b);
    }
    if (o->html && reports->n) {
        struct buf b = {0};
        tune_reports_html(reports, &b);
        file_write(s, o->html, b.at, b.n);
        buf_fini(&b);
    }
    if (u.device) u.device->close(u.device->self);
}

typedef VEC(struct kernel *) kernels_vec;

bool tuned_build(struct session *s, const struct options *o, const char *path, struct compiled *c,
                 size_t n)
{
    struct target t;
    struct gpu_probe here;
    struct gpu_search search = driver_search(o);
    struct tune_setup u = {.db = {NULL}};
    struct shard all = {0, 1};
    jobs_vec jobs = {0};
    tune_reports_vec reports = {0};
    catch_signals();
    bool ok = check_options(s, o) && prepare(s, o, false, &search, &t, &here, &u);
    kernels_vec kernels = {0};
    for (size_t i = 0; ok && i < n; i++)
        for (size_t k = 0; k < c[i].kernels.n; k++) {
            struct tune_job j;
            job_of(s, path, &c[i].kernels.at[k], &j);
            vec_push(s->arena, &jobs, j);
            vec_push(s->arena, &kernels, &c[i].kernels.at[k]);
        }
    u.resume = true;
    if (ok) run_jobs(s, o, &u, &jobs, &all, &reports);
    if (u.device) u.device->close(u.device->self);
    for (size_t i = 0; ok && i < kernels.n && s->n_errors == 0; i++) {
        struct tune_entry e;
        struct tune_key k = u.key;
        size_t bytes;
        k.region = jobs.at[i].region;
        char *plan = tune_db_get(s, &u.db, &k, &e)
                         ? driver_entry_plan(s, o, &t, &u.db, &jobs.at[i], &e, &bytes)
                         : NULL;
        if (plan) driver_take_plan(s, "tuned", &e.pick, plan, bytes, k.cudnn, k.nvrtc, kernels.at[i]);
        ok = plan && pipeline_match(s, kernels.at[i]);
    }
    return ok && s->n_errors == 0;
}

int cmd_tune(struct session *s, const struct options *o)
{
    struct shard shard;
    struct target t;
    struct gpu_search search = driver_search(o);
    jobs_vec jobs = {0};
    tune_reports_vec reports = {0};
    if (!check_options(s, o) || !read_shard(s, o->shard, &shard)) return 0;
    if (!o->list_jobs) {
        catch_signals();
        tune_all(s, o, &shard, &search, &reports);
        return 0;
    }
    if (!target_load(s, o->target ? o->target : "nvidia-h200", &search, &t)) return 0;
    for (size_t i = 0; i < o->operands.n; i++) jobs_of_file(s, o, &t, o->operands.at[i], &jobs);
    if (s->n_errors == 0) list_jobs(&jobs, &shard);
    return 0;
}
