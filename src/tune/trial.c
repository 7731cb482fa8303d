/* trial: the built candidates on the device: each loaded and checked alone, then the race.
 *
 * Invariant: what was not found correct is never timed; a candidate that ends or blocks the
 * device's process is out, and the others are loaded again. */
#include <math.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "tune/internal.h"

enum { MOST_LOADED = 256 }; /* plans on the device at once */
#define MOST_WORKSPACE ((int64_t)8 << 30)

const char *const check_words[] = {"passed", "mistrusted", "wrong"};

struct trial {
    struct search *h;
    struct tune_device *d;
    struct race race;
    int *slot_of;   /* racer -> candidate */
    bool *loaded;   /* by candidate */
    uint64_t *used; /* by candidate: when it was last at work */
    uint64_t now;
    uint64_t seed;
    bool gone;
};

static void put_out(struct trial *t, struct tune_candidate *c, const char *status,
                    const char *reason)
{
    c->status = status;
    c->reason = reason ? arena_strdup(t->h->s->arena, reason) : NULL;
    log_line(t->h->s, &t->h->log,
             json_pack("{s:s, s:s, s:s, s:s?}", "did", "out", "candidate", c->id, "status",
                       c->status, "reason", c->reason));
}

/* What a status means for the candidate that was at work; false when it is out. */
static bool fared(struct trial *t, struct tune_candidate *c, enum run_status status)
{
    if (status == RUN_OK) return true;
    if (status == RUN_GONE) {
        t->gone = true;
        return false;
    }
    if (status != RUN_REFUSED) /* the process is a new one, and empty */
        memset(t->loaded, 0, t->h->r->candidates.n);
    put_out(t, c,
            status == RUN_REFUSED ? "refused"
            : status == RUN_CRASH ? "crash"
                                  : "hang",
            t->d->why(t->d->self));
    return false;
}

static void unload(struct trial *t, int i)
{
    if (t->loaded[i]) t->d->unload(t->d->self, i);
    t->loaded[i] = false;
}

/* Room for one more on the device: what was at work longest ago goes, and is loaded again when it
 * is due. */
static void make_room(struct trial *t, int64_t workspace)
{
    for (;;) {
        int n = 0, oldest = -1;
        int64_t bytes = workspace;
        for (size_t i = 0; i < t->h->r->candidates.n; i++) {
            if (!t->loaded[i]) continue;
            n++;
            bytes += t->h->r->candidates.at[i].pick.workspace_bytes;
            if (oldest < 0 || t->used[i] < t->used[oldest]) oldest = (int)i;
        }
        if (oldest < 0 || (n < MOST_LOADED && bytes <= MOST_WORKSPACE)) return;
        unload(t, oldest);
    }
}

static bool load(struct trial *t, int i)
{
    struct tune_candidate *c = &t->h->r->candidates.at[i];
    t->used[i] = ++t->now;
    if (t->loaded[i]) return true;
    make_room(t, c->pick.workspace_bytes);
    size_t n;
    char *plan = tune_plan_get(t->h->s, t->h->plans, c->pick.plan, &n);
    if (!plan) {
        put_out(t, c, "not built", "its plan is no longer in the database");
        return false;
    }
    if (!fared(t, c, t->d->load(t->d->self, i, &c->pick, plan, n))) return false;
    return t->loaded[i] = true;
}

static void check(struct trial *t, int i)
{
    struct search *h = t->h;
    struct tune_candidate *c = &h->r->candidates.at[i];
    if (!c->checked) {
        if (!load(t, i) || !fared(t, c, t->d->check(t->d->self, h->s->arena, i, &c->check))) return;
        c->checked = true;
        log_line(h->s, &h->log,
                 json_pack("{s:s, s:s, s:s, s:f, s:s?}", "did", "checked", "candidate", c->id,
                           "verdict", check_words[c->check.verdict], "error",
                           isfinite(c->check.error) ? c->check.error : 1e300, "note",
                           c->check.note));
    }
    if (c->check.verdict != CHECK_PASSED) {
        put_out(t, c, check_words[c->check.verdict], c->check.note);
        unload(t, i);
    }
}

static void check_all(struct trial *t)
{
    struct search *h = t->h;
    int total = 0, done = 0;
    for (size_t i = 0; i < h->r->candidates.n; i++)
        total += !h->r->candidates.at[i].status && h->r->candidates.at[i].pick.plan[0];
    for (size_t i = 0; i < h->r->candidates.n && !t->gone && !search_stopped(h); i++) {
        struct tune_candidate *c = &h->r->candidates.at[i];
        if (c->status || !c->pick.plan[0]) continue;
        check(t, (int)i);
        search_progress(h, "check", ++done, total, -1);
    }
}

/* ---- the race ------------------------------------------------------------------------------- */

static json_t *reals(const double *x, size_t n)
{
    json_t *j = json_array();
    for (size_t i = 0; i < n; i++) json_array_append_new(j, json_real(x[i]));
    return j;
}

static void log_times(struct trial *t, const char *did, const char *id, const double *x, size_t n)
{
    log_line(t->h->s, &t->h->log,
             json_pack("{s:s, s:s, s:s, s:o}", "did", did, "candidate", id, "device", t->d->uuid,
                       "us", reals(x, n)));
}

/* A racer's samples go back to its candidate, and to the log when there are new ones. */
static void keep_screen(struct trial *t, int k)
{
    struct tune_candidate *c = &t->h->r->candidates.at[t->slot_of[k]];
    const struct racer *x = &t->race.racer[k];
    if (x->screen.n > c->screen.n) {
        c->screen.n = 0;
        for (size_t i = 0; i < x->screen.n; i++)
            vec_push(t->h->s->arena, &c->screen, x->screen.at[i]);
        log_times(t, "screened", c->id, c->screen.at, c->screen.n);
    }
    if (x->out && !c->status) {
        put_out(t, c, x->out, NULL);
        unload(t, t->slot_of[k]);
    }
}

/* After a round: many lines, one sync. */
static void keep_all(struct trial *t)
{
    t->h->log.lazy = true;
    for (int k = 0; k < t->race.n; k++) keep_screen(t, k);
    t->h->log.lazy = false;
    log_sync(t->h->s, &t->h->log);
}

static void show(struct trial *t)
{
    struct race *r = &t->race;
    struct search *h = t->h;
    int done = 0, in = 0;
    for (int k = 0; k < r->n; k++) in += !r->racer[k].out;
    done = r->phase == RACE_FINAL ? r->round : r->n - in;
    search_progress(h, r->phase == RACE_FINAL ? "final" : "screen", done,
                    r->phase == RACE_FINAL ? r->policy.max_rounds : r->n, -1);
}

static bool out_of_time(const struct search *h)
{
    return h->u->budget_s > 0 && search_seconds(h) > h->u->budget_s;
}

static void refresh(struct trial *t)
{
    keep_all(t);
    enum run_status st = t->d->fresh(t->d->self, ++t->seed);
    if (st != RUN_OK) {
        memset(t->loaded, 0, t->h->r->candidates.n);
        t->gone = st == RUN_GONE || t->d->begin(t->d->self, t->h->j, t->seed) != RUN_OK;
    }
    race_refreshed(&t->race);
}

static void run_race(struct trial *t)
{
    struct race *r = &t->race;
    double at_most;
    int round = 0;
    while (r->phase != RACE_DONE && !t->gone && !search_stopped(t->h)) {
        if (r->phase == RACE_SCREEN && !r->hurry && out_of_time(t->h))
            r->hurry = t->h->r->hurried = true;
        int k = race_next(r, &at_most);
        if (k < 0 && r->phase == RACE_FRESH) {
            refresh(t);
            continue;
        }
        if (k < 0) continue;
        struct tune_candidate *c = &t->h->r->candidates.at[t->slot_of[k]];
        struct tune_sample sample = {0};
        if (!load(t, t->slot_of[k]) ||
            !fared(t, c, t->d->time(t->d->self, t->slot_of[k], at_most, &sample))) {
            race_drop(r, k, c->status ? c->status : "gone");
            continue;
        }
        race_record(r, sample.us, sample.mhz);
        if (r->at >= r->order.n && r->phase == RACE_SCREEN && r->round != round) {
            round = r->round;
            keep_all(t);
        }
        show(t);
    }
    keep_all(t);
}

/* ---- the verdict ---------------------------------------------------------------------------- */

static void keep_finals(struct trial *t)
{
    for (int k = 0; k < t->race.n; k++) {
        struct tune_candidate *c = &t->h->r->candidates.at[t->slot_of[k]];
        const struct racer *x = &t->race.racer[k];
        for (size_t i = 0; i < x->final.n; i++) vec_push(t->h->s->arena, &c->final, x->final.at[i]);
        if (x->final.n) log_times(t, "final", c->id, x->final.at, x->final.n);
        t->h->r->timed += c->screen.n || c->final.n;
    }
}

/* Microseconds to the nanosecond, which is more than events tell. */
static double nanoseconds(double us)
{
    return floor(us * 1000 + 0.5) / 1000;
}

static void decide(struct trial *t)
{
    struct tune_report *r = t->h->r;
    keep_finals(t);
    if (t->race.phase != RACE_DONE) return; /* stopped */
    r->race = race_result(&t->race);
    if (r->race.winner < 0) return;
    r->winner = t->slot_of[r->race.winner];
    r->first = t->slot_of[t->race.first];
    const struct tune_candidate *w = &r->candidates.at[r->winner], *f = &r->candidates.at[r->first];
    struct interval i = stats_median_interval(w->final.at, w->final.n, 1);
    r->figures = (struct tune_figures){
        .median = nanoseconds(stats_median(w->final.at, w->final.n)),
        .low = nanoseconds(i.low),
        .high = nanoseconds(i.high),
        .first = f->final.n ? nanoseconds(stats_median(f->final.at, f->final.n)) : 0};
}

static void start_race(struct trial *t)
{
    struct tune_report *r = t->h->r;
    int n = 0, incumbent = -1;
    for (size_t i = 0; i < r->candidates.n; i++) {
        const struct tune_candidate *c = &r->candidates.at[i];
        if (c->status || !c->checked) continue;
        if ((int)i == t->h->incumbent) incumbent = n;
        t->slot_of[n++] = (int)i;
    }
    race_init(t->h->s->arena, &t->race, n, incumbent < 0 && n ? 0 : incumbent, t->h->u->policy);
    for (int k = 0; k < n; k++) {
        const struct tune_candidate *c = &r->candidates.at[t->slot_of[k]];
        for (size_t i = 0; i < c->screen.n; i++)
            vec_push(t->h->s->arena, &t->race.racer[k].screen, c->screen.at[i]);
    }
}

/* The GPU for this process alone, or < 0: stopped, or a diagnostic. */
static int hold_device(struct search *h)
{
    int fd;
    bool busy;
    while ((fd = tune_device_lock(h->s, h->u->device->uuid, &busy)) < 0 && busy &&
           !search_stopped(h)) {
        struct timespec t = {0, 200 * 1000 * 1000};
        search_progress(h, "wait", 0, 0, -1);
        nanosleep(&t, NULL);
    }
    return fd;
}

bool search_trial(struct search *h)
{
    size_t n = h->r->candidates.n;
    struct trial t = {.h = h, .d = h->u->device, .seed = h->u->policy->seed};
    t.slot_of = NEW_N(h->s->arena, int, n + 1);
    t.loaded = NEW_N(h->s->arena, bool, n + 1);
    t.used = NEW_N(h->s->arena, uint64_t, n + 1);
    int held = hold_device(h);
    if (held < 0) return search_stopped(h);
    enum run_status st = t.d->begin(t.d->self, h->j, t.seed);
    if (st != RUN_OK) {
        close(held);
        diag(h->s, DIAG_no_device, h->j->ir->span, "graph '%s' cannot be run on '%s': %s",
             h->j->graph, t.d->name, t.d->why(t.d->self));
        return false;
    }
    check_all(&t);
    if (!t.gone && !search_stopped(h)) {
        start_race(&t);
        run_race(&t);
        decide(&t);
    }
    for (size_t i = 0; i < n; i++) unload(&t, (int)i);
    close(held);
    if (!t.gone) return true;
    diag(h->s, DIAG_no_device, h->j->ir->span, "'%s' does not answer any more: %s", t.d->name,
         t.d->why(t.d->self));
    return false;
}
