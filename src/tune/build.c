/* build: plans of the candidates, several helpers at once.
 *
 * Invariant: a candidate whose engine ends or blocks its helper is out and nothing else is; a plan
 * is in the database's folder before the log says that it was built. */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#include "tune/internal.h"

struct pool {
    struct search *h;
    pthread_mutex_t mutex; /* guards all below, and the search with its session */
    size_t next;
    int done, total;
    double start_s;
    bool failed; /* the log or the database cannot be written, or there is no cuDNN */
};

/* The helper's answer for one candidate, in an arena of the thread. */
struct answer {
    bool ok;
    struct build_result got;
    const char *died; /* the helper ended or hung: in words */
    bool hung;
    const char *world; /* nothing can be built at all */
};

static struct answer ask(const struct search *h, const struct tune_candidate *c,
                         struct session *own)
{
    struct answer a = {.ok = false};
    struct build_request r = h->request;
    r.what = BUILD_ONE;
    r.engine = c->pick.engine;
    r.knobs = c->pick.knobs;
    r.time_limit_s = h->u->time_limit_s;
    a.ok = gpu_build(own, own->arena, &r, &a.got) && a.got.candidates.n;
    if (a.ok || !own->diags.n) return a;
    const struct diag *d = own->diags.at[0];
    if (d->id != DIAG_helper)
        a.world = d->text;
    else
        a.died = d->text;
    a.hung = a.died && strstr(d->text, "not done after");
    return a;
}

static const char *keep(const struct search *h, const char *text)
{
    return text ? arena_strdup(h->s->arena, text) : NULL;
}

static words_vec keep_words(const struct search *h, const words_vec *w)
{
    words_vec out = {0};
    for (size_t i = 0; i < w->n; i++) vec_push(h->s->arena, &out, keep(h, w->at[i]));
    return out;
}

/* Takes a built plan over: it must be of the graph that was asked for. False: cannot be stored. */
static bool take_plan(struct search *h, struct tune_candidate *c, const struct candidate *k)
{
    struct buf why = {0};
    if (!h->u->matches(k->plan, k->plan_bytes, h->j->desc, &why)) {
        c->status = "mismatch";
        c->reason = keep(h, why.at);
        buf_fini(&why);
        return true;
    }
    buf_fini(&why);
    if (!tune_plan_put(h->s, h->plans, k->plan, k->plan_bytes, c->pick.plan)) return false;
    c->pick.plan_bytes = (int64_t)k->plan_bytes;
    c->pick.workspace_bytes = k->workspace_bytes;
    if (k->numerical.n || !c->pick.numerical.n) c->pick.numerical = keep_words(h, &k->numerical);
    if (k->behavior.n || !c->pick.behavior.n) c->pick.behavior = keep_words(h, &k->behavior);
    c->build_ms = k->build_ms;
    return true;
}

static json_t *line_of(const struct tune_candidate *c)
{
    if (!c->status)
        return json_pack("{s:s, s:s, s:o, s:f}", "did", "built", "candidate", c->id, "pick",
                         pick_json(&c->pick), "ms", c->build_ms);
    return json_pack("{s:s, s:s, s:s, s:s?}", "did", "out", "candidate", c->id, "status", c->status,
                     "reason", c->reason);
}

/* Under the mutex. */
static void take(struct pool *p, size_t i, const struct answer *a)
{
    struct search *h = p->h;
    struct tune_candidate *c = &h->r->candidates.at[i];
    if (a->world) {
        if (!p->failed) diag(h->s, DIAG_no_cudnn, NO_SPAN, "%s", a->world);
        p->failed = true;
        return;
    }
    if (!a->ok) {
        c->status = a->hung ? "timeout" : "crash";
        c->reason = keep(h, a->died ? a->died : "the program that builds plans gave no answer");
    } else if (!a->got.candidates.at[0].plan) {
        const struct candidate *k = &a->got.candidates.at[0];
        c->status = keep(h, k->status);
        c->reason = k->reasons.n ? keep(h, k->reasons.at[0]) : NULL;
    } else if (!take_plan(h, c, &a->got.candidates.at[0])) {
        p->failed = true;
        return;
    }
    if (!log_line(h->s, &h->log, line_of(c))) p->failed = true;
    p->done++;
    search_progress(h, "build", p->done, p->total,
                    (search_seconds(h) - p->start_s) / p->done * (p->total - p->done));
}

static bool to_build(const struct tune_candidate *c)
{
    return !c->status && !c->pick.plan[0];
}

/* Where there is a budget, half of it is for building when timing comes after. The first in order
 * of evidence are begun whatever the time. */
static bool out_of_time(const struct pool *p, size_t i)
{
    double share = p->h->u->device ? 0.5 : 1;
    return p->h->u->budget_s > 0 && i > 0 && search_seconds(p->h) > share * p->h->u->budget_s;
}

static void *work(void *data)
{
    struct pool *p = data;
    for (;;) {
        pthread_mutex_lock(&p->mutex);
        while (p->next < p->h->r->candidates.n && !to_build(&p->h->r->candidates.at[p->next]))
            p->next++;
        size_t i = p->next;
        bool end = p->failed || search_stopped(p->h) || i >= p->h->r->candidates.n;
        if (!end && out_of_time(p, i)) end = p->h->r->hurried = true;
        if (!end) p->next++;
        pthread_mutex_unlock(&p->mutex);
        if (end) return NULL;
        struct session *own = session_new();
        struct answer a = ask(p->h, &p->h->r->candidates.at[i], own);
        pthread_mutex_lock(&p->mutex);
        take(p, i, &a);
        pthread_mutex_unlock(&p->mutex);
        session_free(own);
    }
}

/* Plans of equal bytes are one candidate: the later one goes. */
static void drop_twins(struct search *h)
{
    for (size_t i = 0; i < h->r->candidates.n; i++) {
        struct tune_candidate *c = &h->r->candidates.at[i];
        if (c->status || !c->pick.plan[0]) continue;
        h->r->built++;
        for (size_t k = 0; k < i; k++) {
            const struct tune_candidate *other = &h->r->candidates.at[k];
            if (other->status || strcmp(other->pick.plan, c->pick.plan) != 0) continue;
            c->status = "same";
            c->reason = arena_printf(h->s->arena, "its plan is that of %s", other->id);
            if (h->incumbent == (int)i) h->incumbent = (int)k;
            break;
        }
    }
}

bool search_build(struct search *h)
{
    enum { MOST_THREADS = 32 };
    struct pool p = {.h = h, .start_s = search_seconds(h)};
    pthread_t thread[MOST_THREADS];
    struct sigaction ignore = {.sa_handler = SIG_IGN}, before;
    int n = h->u->parallel < 1 ? 1 : h->u->parallel > MOST_THREADS ? MOST_THREADS : h->u->parallel;
    for (size_t i = 0; i < h->r->candidates.n; i++) p.total += to_build(&h->r->candidates.at[i]);
    if (n > p.total) n = p.total;
    json_decref(json_object()); /* jansson seeds its hashes at the first object: here, alone */
    sigaction(SIGPIPE, &ignore, &before); /* each helper's talk does, and sets it back */
    pthread_mutex_init(&p.mutex, NULL);
    for (int i = 0; i < n; i++)
        if (pthread_create(&thread[i], NULL, work, &p) != 0) {
            n = i;
            break;
        }
    if (n == 0 && p.total) work(&p);
    for (int i = 0; i < n; i++) pthread_join(thread[i], NULL);
    pthread_mutex_destroy(&p.mutex);
    sigaction(SIGPIPE, &before, NULL);
    drop_twins(h);
    return !p.failed;
}
