/* jobs: what of a specification is tuned and locked, and where the results lie. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "driver/driver.h"

void job_of(struct session *s, const char *path, const struct kernel *k, struct tune_job *out)
{
    *out = (struct tune_job){
        .file = path,
        .graph = k->ir->name,
        .variant = k->ir->variant,
        .step = k->step,
        .title = kernel_title(s, k),
        .ir = k->ir,
        .lowered = k->region,
        .desc = k->desc,
        .allow_tf32 = pipeline_allows_tf32(k->ir),
    };
    out->region = tune_region(s->arena, k->region);
    sha256_hex(out->region, strlen(out->region), out->region_hash);
    struct buf tree = {0};
    desc_print(k->desc, &tree);
    sha256_hex(tree.at, tree.n, out->tree);
    buf_fini(&tree);
}

bool jobs_of_file(struct session *s, const struct options *o, const struct target *t,
                  const char *path, jobs_vec *out)
{
    struct module *m = driver_module(s, o, path, t);
    bool ok = m != NULL;
    for (size_t i = 0; m && i < m->graphs.n; i++) {
        struct compiled c;
        if (!pipeline_lower(s, m->graphs.at[i], &c)) {
            ok = false;
            continue;
        }
        for (size_t k = 0; k < c.kernels.n; k++) {
            struct tune_job j;
            job_of(s, path, &c.kernels.at[k], &j);
            vec_push(s->arena, out, j);
        }
    }
    return ok;
}

const char *driver_db(struct session *s, const struct options *o)
{
    const char *db = o->db ? o->db : getenv("FGC_DB");
    if (db && *db) return db;
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    if ((!cache || *cache != '/') && home && *home == '/')
        cache = arena_printf(s->arena, "%s/.cache", home);
    if (!cache || *cache != '/') {
        diag(s, DIAG_usage, NO_SPAN,
             "--db DIR is needed: there is neither FGC_DB nor a home folder");
        return NULL;
    }
    if (o->command != CMD_lock) { /* the last folder is made by who writes into it */
        mkdir(cache, 0777);
        mkdir(arena_printf(s->arena, "%s/fgc", cache), 0777);
    }
    return arena_printf(s->arena, "%s/fgc/tune", cache);
}

struct build_request driver_request(const struct options *o, const struct target *t,
                                    const struct tune_job *j, const struct gpu_search *search)
{
    return (struct build_request){
        .graph = j->desc,
        .target = t,
        .search = search,
        .workspace_limit = o->workspace_limit.given ? o->workspace_limit.value : -1,
        .deterministic = o->deterministic,
        .allow_tf32 = j->allow_tf32,
    };
}

char *driver_entry_plan(struct session *s, const struct options *o, const struct target *t,
                        const struct tune_db *db, const struct tune_job *j,
                        const struct tune_entry *e, size_t *n)
{
    struct gpu_search search = driver_search(o);
    if (strcmp(e->tree, j->tree) == 0) {
        char *bytes = tune_plan_get(s, arena_printf(s->arena, "%s/plans", db->dir), e->pick.plan,
                                    n);
        if (bytes) return bytes;
    }
    struct build_request r = driver_request(o, t, j, &search);
    struct build_result got;
    r.what = BUILD_ONE;
    r.engine = e->pick.engine;
    r.knobs = e->pick.knobs;
    if (!gpu_build(s, s->arena, &r, &got)) return NULL;
    if (got.chosen >= 0) {
        *n = got.candidates.at[0].plan_bytes;
        return (char *)got.candidates.at[0].plan;
    }
    struct diag *d = diag(
        s, DIAG_lock_miss, j->ir->span,
        "%s: the plan that was tuned is not there, and its engine %" PRId64
        " cannot be built here",
        j->title, e->pick.engine);
    const struct candidate *k = got.candidates.n ? &got.candidates.at[0] : NULL;
    if (k) diag_note(s, d, NO_SPAN, "%s", k->reasons.n ? k->reasons.at[0] : k->status);
    diag_hint(s, d, "tune it again, as it is written now");
    return NULL;
}
