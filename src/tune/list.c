/* list: the candidates of a job, in the order of evidence.
 *
 * First what the database holds for the region, then cuDNN's own lists, then, when everything is
 * asked for, every engine and knob that cuDNN accepts. Invariant: an engine with its knobs stands
 * there once, by the first evidence for it; nothing that notes bar is built. */
#include <inttypes.h>

#include "tune/internal.h"

enum {
    MOST_OF_ENGINE = 16384, /* configurations of one engine that are asked about, 0.3 ms each */
    BATCH = 512,            /* in one question, which takes 40 ms to put */
};

const char *pick_id(struct arena *a, const struct tune_pick *p)
{
    struct buf b = {0};
    buf_printf(&b, "%" PRId64, p->engine);
    for (size_t i = 0; i < p->knobs.n; i++)
        buf_printf(&b, "%c%" PRId64 "=%" PRId64, i ? ',' : ':', p->knobs.at[i].type,
                   p->knobs.at[i].value);
    char *id = arena_strndup(a, b.at, b.n);
    buf_fini(&b);
    return id;
}

struct tune_candidate *candidate_find(const struct tune_report *r, const char *id, int *index)
{
    for (size_t i = 0; i < r->candidates.n; i++)
        if (strcmp(r->candidates.at[i].id, id) == 0) {
            if (index) *index = (int)i;
            return &r->candidates.at[i];
        }
    return NULL;
}

static bool full(const struct search *h)
{
    return h->u->max_candidates > 0 && (int)h->r->candidates.n >= h->u->max_candidates;
}

/* The candidate, added unless it is there or there is no room. */
static struct tune_candidate *add(struct search *h, const char *mode, int rank, int64_t engine,
                                  const knobs_vec *knobs)
{
    struct tune_candidate c = {.mode = mode, .rank = rank};
    c.pick.engine = engine;
    for (size_t i = 0; i < knobs->n; i++) vec_push(h->s->arena, &c.pick.knobs, knobs->at[i]);
    c.id = pick_id(h->s->arena, &c.pick);
    if ((full(h) && strcmp(mode, "database") != 0) || candidate_find(h->r, c.id, NULL)) return NULL;
    vec_push(h->s->arena, &h->r->candidates, c);
    return &h->r->candidates.at[h->r->candidates.n - 1];
}

static bool add_listed(struct search *h)
{
    struct build_result got;
    if (!gpu_list(h->s, h->s->arena, &h->request, &got)) return false;
    for (size_t i = 0; i < got.candidates.n; i++) {
        const struct candidate *k = &got.candidates.at[i];
        struct tune_candidate *c = add(h, k->mode, k->rank, k->engine, &k->knobs);
        if (!c) continue;
        c->pick.numerical = k->numerical;
        c->pick.behavior = k->behavior;
        if (strcmp(k->status, "listed") != 0) {
            c->status = k->status;
            c->reason = k->reasons.n ? k->reasons.at[0] : NULL;
        }
    }
    return true;
}

/* What the database holds is in the race whatever the lists say, and is the one to beat. */
static void add_known(struct search *h)
{
    struct tune_entry e;
    struct tune_key k = h->u->key;
    k.region = h->j->region;
    if (!tune_db_get(h->s, &h->u->db, &k, &e)) return;
    add(h, "database", 0, e.pick.engine, &e.pick.knobs);
    candidate_find(h->r, pick_id(h->s->arena, &e.pick), &h->incumbent);
}

/* Asks which of n configurations cuDNN accepts. Where the asking itself ends the helper's process,
 * the halves are asked apart, until the one that does it is alone, and out. */
static bool ask(struct search *h, struct engine_config *c, size_t n)
{
    struct session *own = session_new(); /* a crash is an answer here, not an error */
    bool died = false, ok = gpu_try(own, &h->request, c, n, &died);
    bool crashed = died || (!ok && own->diags.n && own->diags.at[0]->id == DIAG_helper);
    const char *why = !ok && !crashed && own->diags.n
                          ? arena_strdup(h->s->arena, own->diags.at[0]->text)
                          : NULL;
    session_free(own);
    if (why) {
        diag(h->s, DIAG_no_cudnn, NO_SPAN, "%s", why);
        return false;
    }
    if (!crashed) return true;
    if (n == 1) {
        c->workspace_bytes = -1;
        return true;
    }
    return ask(h, c, n / 2) && ask(h, c + n / 2, n - n / 2);
}

/* One engine's configurations, those asked about so far. */
struct engine_space {
    const struct engine_info *e;
    configs_vec all;
    size_t at;
};

static bool add_batch(struct search *h, struct engine_space *x)
{
    int64_t limit = h->u->key.workspace_limit;
    size_t from = x->at, n = x->all.n - from < BATCH ? x->all.n - from : BATCH;
    x->at += n;
    if (!ask(h, x->all.at + from, n)) return false;
    for (size_t i = from; i < from + n; i++) {
        const struct engine_config *k = &x->all.at[i];
        if (k->workspace_bytes < 0 || (limit >= 0 && k->workspace_bytes > limit)) continue;
        struct tune_candidate *c = add(h, "knobs", (int)i, x->e->engine, &k->knobs);
        if (!c) continue;
        c->pick.numerical = x->e->numerical;
        c->pick.behavior = x->e->behavior;
    }
    return true;
}

/* The engines take turns, so that a limit cuts the unlikely ends of all and no engine whole. */
static bool add_everything(struct search *h)
{
    engines_vec engines = {0};
    if (!gpu_engines(h->s, h->s->arena, &h->request, &engines)) return false;
    struct engine_space *space = NEW_N(h->s->arena, struct engine_space, engines.n + 1);
    size_t total = 0, asked = 0;
    for (size_t i = 0; i < engines.n; i++) {
        space[i].e = &engines.at[i];
        if (engines.at[i].barred) continue;
        for (int k = 0; k < h->r->listed; k++) /* what is next to a good guess is a good guess */
            if (h->r->candidates.at[k].pick.engine == engines.at[i].engine)
                space_near(h->s->arena, &engines.at[i], &h->r->candidates.at[k].pick.knobs,
                           MOST_OF_ENGINE, &space[i].all);
        space_of_engine(h->s->arena, &engines.at[i], MOST_OF_ENGINE, &space[i].all);
        total += space[i].all.n;
    }
    while (asked < total && !search_stopped(h))
        for (size_t i = 0; i < engines.n && !search_stopped(h); i++) {
            size_t before = space[i].at;
            if (before == space[i].all.n) continue;
            if (full(h)) {
                h->r->cut = true;
                return true;
            }
            if (!add_batch(h, &space[i])) return false;
            asked += space[i].at - before;
            search_progress(h, "try", (int)asked, (int)total, -1);
        }
    return true;
}

bool search_list(struct search *h)
{
    search_progress(h, "list", 0, 0, -1);
    if (!add_listed(h)) return false;
    int room = h->u->max_candidates;
    if (room > 0 && (int)h->r->candidates.n >= room) h->r->cut = true;
    add_known(h);
    h->r->listed = (int)h->r->candidates.n;
    if (h->u->exhaustive && !add_everything(h)) return false;
    h->r->listed = (int)h->r->candidates.n;
    for (size_t i = 0; i < h->r->candidates.n && h->r->first < 0; i++)
        if (!h->r->candidates.at[i].status) h->r->first = (int)i;
    return true;
}
