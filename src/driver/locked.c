/* locked: builds what a lock names, and nothing else.
 *
 * Invariant: the plan's bytes have the hash that the lock gives, wherever they were found; what
 * cannot be had is said by name, and no file is written then. */
#include <inttypes.h>

#include "driver/driver.h"

static struct diag *miss(struct session *s, const struct tune_job *j, const char *why)
{
    return diag(s, DIAG_lock_miss, j->ir->span, "%s: %s", j->title, why);
}

static const struct lock_plan *find(struct session *s, const struct target *t,
                                    const struct tune_lock *lock, const struct lock_target *lt,
                                    const struct tune_job *j)
{
    if (!lt) {
        struct diag *d = miss(
            s, j,
            arena_printf(s->arena, "'%s.lock' has no section for target '%s'", j->file, t->name));
        for (size_t i = 0; i < lock->targets.n; i++)
            diag_note(s, d, NO_SPAN, "it has one for %s, cuDNN %" PRId64, lock->targets.at[i].name,
                      lock->targets.at[i].cudnn);
        return NULL;
    }
    const struct lock_plan *p = lock_plan_find(lt, j->graph, j->variant, j->step);
    if (!p) {
        struct diag *d = miss(s, j, arena_printf(s->arena, "'%s.lock' does not have it", j->file));
        diag_hint(s, d, "fgc lock %s --db DIR adds what was tuned", j->file);
    } else if (strcmp(p->region, j->region_hash) != 0) {
        struct diag *d = miss(s, j,
                              "it is not the graph that was locked: what it computes, or its "
                              "shapes, layouts or types, were changed since");
        diag_hint(s, d, "tune it and lock it again");
        return NULL;
    } else if (strcmp(p->tree, j->tree) != 0) {
        struct diag *d = miss(s, j,
                              "it was written in another order since it was locked, and a plan "
                              "has the order in it");
        diag_hint(s, d, "fgc lock %s --db DIR locks it as it is now", j->file);
        return NULL;
    }
    return p;
}

/* The plan's bytes: beside the lock, from the store, from the database. */
static char *find_bytes(struct session *s, const struct options *o, const char *path,
                        const struct lock_plan *p, words_vec *tried, size_t *n)
{
    const char *dirs[] = {arena_printf(s->arena, "%s.plans", path), o->store,
                          o->db ? arena_printf(s->arena, "%s/plans", o->db) : NULL};
    for (size_t i = 0; i < COUNT_OF(dirs); i++) {
        if (!dirs[i]) continue;
        char *bytes = tune_plan_get(s, dirs[i], p->pick.plan, n);
        if (bytes && (int64_t)*n == p->pick.plan_bytes) return bytes;
        vec_push(s->arena, tried, dirs[i]);
    }
    return NULL;
}

/* Builds the locked engine here. Its bytes are the plan only if they have its hash. */
static char *rebuild(struct session *s, const struct options *o, const struct target *t,
                     const struct tune_job *j, const struct lock_plan *p, size_t *n,
                     const char **why)
{
    struct gpu_search search = driver_search(o);
    struct build_request r = driver_request(o, t, j, &search);
    struct build_result got;
    struct session *own = session_new(); /* what goes wrong here is a reason, not an error */
    char hash[65], *bytes = NULL;
    r.what = BUILD_ONE;
    r.engine = p->pick.engine;
    r.knobs = p->pick.knobs;
    *why = "cuDNN cannot be asked here";
    if (gpu_build(own, s->arena, &r, &got) && got.candidates.n) {
        const struct candidate *k = &got.candidates.at[0];
        if (k->plan) sha256_hex(k->plan, k->plan_bytes, hash);
        if (k->plan && strcmp(hash, p->pick.plan) == 0) {
            bytes = (char *)k->plan;
            *n = k->plan_bytes;
        } else if (k->plan) {
            *why = arena_printf(s->arena,
                                "engine %" PRId64 ", built here with cuDNN %" PRId64
                                ", gives another plan",
                                k->engine, got.cudnn_version);
        } else {
            *why = arena_printf(s->arena, "engine %" PRId64 " cannot be built here: %s", k->engine,
                                k->reasons.n ? k->reasons.at[0] : k->status);
        }
    } else if (own->diags.n) {
        *why = arena_strdup(s->arena, own->diags.at[0]->text);
    }
    session_free(own);
    return bytes;
}

/* The result of a build that was none: a plan that is known by its hash. */
void driver_take_plan(struct session *s, const char *chosen_by, const struct tune_pick *p,
                      const char *bytes, size_t n, int64_t cudnn, const char *nvrtc,
                      struct kernel *out)
{
    struct candidate k = {.mode = chosen_by,
                          .rank = -1,
                          .engine = p->engine,
                          .knobs = p->knobs,
                          .numerical = p->numerical,
                          .behavior = p->behavior,
                          .workspace_bytes = p->workspace_bytes,
                          .plan = bytes,
                          .plan_bytes = n};
    out->build = (struct build_result){.n_supported = 1,
                                     .cudnn_version = cudnn,
                                     .nvrtc_version = *nvrtc ? nvrtc : NULL,
                                     .reproducible = true}; /* its bytes are pinned */
    vec_push(s->arena, &out->build.candidates, k);
}

bool locked_build(struct session *s, const struct options *o, const struct target *t,
                  const struct tune_lock *lock, const char *path, struct kernel *k)
{
    struct tune_job j;
    char description[65];
    size_t n;
    job_of(s, path, k, &j);
    sha256_hex(t->json, strlen(t->json), description);
    const struct lock_target *lt = lock_target_find(lock, description);
    const struct lock_plan *p = find(s, t, lock, lt, &j);
    if (!p) return false;
    struct gpu_search search = driver_search(o);
    struct build_request r = driver_request(o, t, &j, &search);
    struct engine_bars bars = gpu_bars(&r);
    const char *why = lock_barred(s->arena, p, r.workspace_limit, &bars);
    if (why) {
        diag(s, DIAG_lock_barred, j.ir->span, "%s: engine %" PRId64 ": %s", j.title, p->pick.engine,
             why);
        return false;
    }
    words_vec tried = {0};
    char *bytes = find_bytes(s, o, path, p, &tried, &n);
    if (!bytes) bytes = rebuild(s, o, t, &j, p, &n, &why);
    if (!bytes) {
        struct diag *d = miss(s, &j,
                              arena_printf(s->arena, "its plan %s is not there", p->pick.plan));
        for (size_t i = 0; i < tried.n; i++) diag_note(s, d, NO_SPAN, "not in '%s'", tried.at[i]);
        diag_note(s, d, NO_SPAN, "%s", why);
        diag_hint(s, d, "fgc lock --vendor copies the plans to '%s.plans'", path);
        return false;
    }
    driver_take_plan(s, "lock", &p->pick, bytes, n, lt->cudnn, lt->nvrtc, k);
    return pipeline_match(s, k);
}
