/* cmd_lock: pins what the tuning database has for a specification, in a file beside it.
 *
 * Invariant: the lock is written only when every graph has its plan, and after the plans were
 * copied; sections of other targets stay as they are. */
#include <errno.h>
#include <inttypes.h>
#include <sys/stat.h>

#include "driver/driver.h"

struct lock_job {
    const struct options *o;
    const struct target *t;
    struct tune_db db;
    struct gpu_search search;
    struct gpu_probe here; /* versions of this machine */
    words_vec stores;      /* folders that the plans are copied to */
};

static void complain(struct session *s, const struct lock_job *l, const struct tune_job *j,
                     const struct tune_key *k)
{
    struct diag *d = diag(s, DIAG_lock_miss, j->ir->span,
                          "graph '%s'%s%s: nothing was tuned for it", j->graph,
                          *j->variant ? " with " : "", j->variant);
    const char *near = tune_db_near(s, &l->db, k);
    if (near) diag_note(s, d, NO_SPAN, "database '%s': %s", l->db.dir, near);
    diag_hint(s, d, "fgc tune %s --db %s, on the machine with the GPU", j->file, l->db.dir);
}

static bool lock_one(struct session *s, struct lock_job *l, const struct tune_job *j,
                     struct tune_lock *lock)
{
    struct build_request r = driver_request(l->o, l->t, j, &l->search);
    struct engine_bars bars = gpu_bars(&r);
    struct tune_key k = {.region = j->region,
                         .target = l->t->json,
                         .cudnn = l->here.cudnn_version,
                         .nvrtc = l->here.lib[LIB_NVRTC].version ? l->here.lib[LIB_NVRTC].version
                                                                 : "",
                         .driver = l->here.driver_version,
                         .workspace_limit = r.workspace_limit,
                         .deterministic = r.deterministic};
    struct tune_entry e;
    struct lock_plan p = {.graph = j->graph, .variant = j->variant, .step = j->step};
    size_t n;
    struct tune_key any = k; /* a plan does not hang on the driver, only its speed does */
    any.driver = 0;
    if (!tune_db_get(s, &l->db, &k, &e) && !(k.driver && tune_db_get(s, &l->db, &any, &e))) {
        complain(s, l, j, &k);
        return false;
    }
    char *bytes = driver_entry_plan(s, l->o, l->t, &l->db, j, &e, &n);
    if (!bytes) return false;
    memcpy(p.region, j->region_hash, sizeof p.region);
    memcpy(p.tree, j->tree, sizeof p.tree);
    p.pick = e.pick;
    p.figures = e.figures;
    p.pick.plan_bytes = (int64_t)n;
    sha256_hex(bytes, n, p.pick.plan);
    const char *why = lock_barred(s->arena, &p, r.workspace_limit, &bars);
    struct buf differs = {0};
    if (!why && !plan_matches(bytes, n, j->desc, &differs))
        why = arena_printf(s->arena, "its plan is of another graph: %s", differs.at);
    buf_fini(&differs);
    if (why) {
        diag(s, DIAG_lock_barred, j->ir->span, "graph '%s': engine %" PRId64 ": %s", j->graph,
             p.pick.engine, why);
        return false;
    }
    for (size_t i = 0; i < l->stores.n; i++)
        if (!tune_plan_put(s, l->stores.at[i], bytes, n, p.pick.plan)) return false;
    char description[65];
    sha256_hex(l->t->json, strlen(l->t->json), description);
    struct lock_target *lt = lock_target_find(lock, description);
    lt->driver = e.key.driver;
    vec_push(s->arena, &lt->plans, p);
    return true;
}

/* The lock with an empty section for this target; what of it the run does not speak of (--graph)
 * stays. */
static void clear_section(struct session *s, const struct lock_job *l, const jobs_vec *jobs,
                          struct tune_lock *lock)
{
    char description[65];
    sha256_hex(l->t->json, strlen(l->t->json), description);
    struct lock_target *old = lock_target_find(lock, description);
    struct lock_target fresh = {
        .name = plan_target_name(s->arena, l->t),
        .cudnn = l->here.cudnn_version,
        .nvrtc = l->here.lib[LIB_NVRTC].version ? l->here.lib[LIB_NVRTC].version : ""};
    memcpy(fresh.description, description, sizeof description);
    bool keeps = old && l->o->graph.n && old->cudnn == fresh.cudnn &&
                 strcmp(old->nvrtc, fresh.nvrtc) == 0;
    for (size_t i = 0; keeps && i < old->plans.n; i++) {
        bool named = false;
        for (size_t k = 0; k < jobs->n; k++)
            named |= strcmp(jobs->at[k].graph, old->plans.at[i].graph) == 0;
        if (!named) vec_push(s->arena, &fresh.plans, old->plans.at[i]);
    }
    if (old)
        *old = fresh;
    else
        vec_push(s->arena, &lock->targets, fresh);
}

static bool make_store(struct session *s, struct lock_job *l, const char *dir)
{
    if (mkdir(dir, 0777) != 0 && errno != EEXIST) {
        diag(s, DIAG_file, NO_SPAN, "cannot make the folder '%s': %s", dir, strerror(errno));
        return false;
    }
    vec_push(s->arena, &l->stores, dir);
    return true;
}

static void lock_file(struct session *s, struct lock_job *l, const char *path)
{
    jobs_vec jobs = {0};
    struct tune_lock lock;
    const char *lock_path = arena_printf(s->arena, "%s.lock", path);
    if (!jobs_of_file(s, l->o, l->t, path, &jobs) || !lock_read_if_any(s, lock_path, &lock)) return;
    l->stores.n = 0;
    if (l->o->vendor && !make_store(s, l, arena_printf(s->arena, "%s.plans", path))) return;
    if (l->o->store && !make_store(s, l, l->o->store)) return;
    clear_section(s, l, &jobs, &lock);
    bool ok = true;
    for (size_t i = 0; i < jobs.n; i++) ok &= lock_one(s, l, &jobs.at[i], &lock);
    if (!ok) return;
    struct buf text = {0};
    lock_print(&lock, &text);
    if (file_write(s, lock_path, text.at, text.n) && !l->o->quiet)
        printf("%s: %zu plan%s for %s\n", lock_path, jobs.n, jobs.n == 1 ? "" : "s", l->t->name);
    buf_fini(&text);
}

int cmd_lock(struct session *s, const struct options *o)
{
    struct target t;
    struct lock_job l = {.o = o, .t = &t, .search = driver_search(o)};
    if (o->operands.n == 0) {
        diag(s, DIAG_usage, NO_SPAN, "a FILE.fg is needed");
        return 0;
    }
    const char *dir = driver_db(s, o);
    if (!dir || !tune_db_open(s, dir, false, &l.db)) return 0;
    if (!target_load(s, o->target ? o->target : "nvidia-h200", &l.search, &t)) return 0;
    if (!gpu_probe(s, &l.search, true, &l.here)) return 0;
    if (!l.here.cudnn_version) {
        diag(s, DIAG_no_cudnn, NO_SPAN, "cuDNN was not found: it says which plans are looked for");
        return 0;
    }
    for (size_t i = 0; i < o->operands.n; i++) lock_file(s, &l, o->operands.at[i]);
    return 0;
}
