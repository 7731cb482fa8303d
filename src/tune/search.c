/* search: one job from its list of candidates to an entry of the database.
 *
 * Invariant: the entry is written only after its plan, and only when a race was run to its end; the
 * log has every step before that, so a search that was ended goes on where it was. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "tune/internal.h"

static int64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

double search_seconds(const struct search *h)
{
    return (double)(now_ms() - h->start_ms) / 1e3;
}

bool search_stopped(const struct search *h)
{
    return h->u->stop && *h->u->stop;
}

static double best_of(const struct tune_report *r)
{
    double best = 0;
    for (size_t i = 0; i < r->candidates.n; i++) {
        const struct tune_candidate *c = &r->candidates.at[i];
        if (!c->screen.n) continue;
        double m = stats_median(c->screen.at, c->screen.n);
        if (best == 0 || m < best) best = m;
    }
    return best;
}

void search_progress(const struct search *h, const char *stage, int done, int total, double left_s)
{
    if (!h->u->progress) return;
    struct tune_progress p = {.job = h->j,
                              .stage = stage,
                              .done = done,
                              .total = total,
                              .best_us = best_of(h->r),
                              .elapsed_s = search_seconds(h),
                              .left_s = left_s};
    if (h->u->budget_s > 0 && (left_s < 0 || left_s > h->u->budget_s - p.elapsed_s))
        p.left_s = h->u->budget_s > p.elapsed_s ? h->u->budget_s - p.elapsed_s : 0;
    h->u->progress(h->u->data, &p);
}

/* ---- going on from a log -------------------------------------------------------------------- */

struct past {
    struct search *h;
    json_t *lines; /* of the log, kept until the candidates are listed */
};

static void remember(void *data, const json_t *line)
{
    struct past *p = data;
    json_array_append(p->lines, (json_t *)line);
}

static void recall_built(struct search *h, struct tune_candidate *c, const json_t *line)
{
    struct tune_pick pick;
    size_t n;
    if (pick_read(h->s->arena, json_object_get(line, "pick"), &pick) || !pick.plan[0]) return;
    if (!tune_plan_get(h->s, h->plans, pick.plan, &n)) return; /* built anew */
    c->pick = pick;
    c->build_ms = json_number_value(json_object_get(line, "ms"));
}

static void recall_checked(struct search *h, struct tune_candidate *c, const json_t *line)
{
    const char *verdict = json_string_value(json_object_get(line, "verdict"));
    const char *note = json_string_value(json_object_get(line, "note"));
    for (int v = CHECK_PASSED; verdict && v <= CHECK_WRONG; v++)
        if (strcmp(verdict, check_words[v]) == 0) {
            c->checked = true;
            c->check = (struct tune_check){v, json_number_value(json_object_get(line, "error")),
                                           note ? arena_strdup(h->s->arena, note) : NULL};
        }
}

static void recall_screened(struct search *h, struct tune_candidate *c, const json_t *line)
{
    const char *device = json_string_value(json_object_get(line, "device"));
    size_t i;
    json_t *us;
    if (!h->u->device || !device || strcmp(device, h->u->device->uuid) != 0) return;
    c->screen.n = 0;
    json_array_foreach(json_object_get(line, "us"), i, us)
        if (json_number_value(us) > 0) vec_push(h->s->arena, &c->screen, json_number_value(us));
}

/* Where two lines of a candidate speak of the same, the later one holds. */
static void recall(struct search *h, const json_t *lines)
{
    size_t i;
    json_t *line;
    json_array_foreach((json_t *)lines, i, line) {
        const char *did = json_string_value(json_object_get(line, "did"));
        const char *id = json_string_value(json_object_get(line, "candidate"));
        const char *status = json_string_value(json_object_get(line, "status"));
        const char *reason = json_string_value(json_object_get(line, "reason"));
        struct tune_candidate *c = id ? candidate_find(h->r, id, NULL) : NULL;
        if (!c || !did || (c->status && strcmp(c->status, "notes") == 0)) continue;
        if (strcmp(did, "built") == 0) recall_built(h, c, line);
        if (strcmp(did, "checked") == 0) recall_checked(h, c, line);
        if (strcmp(did, "screened") == 0) recall_screened(h, c, line);
        if (strcmp(did, "out") == 0 && status && strcmp(status, "not built") != 0) {
            c->status = arena_strdup(h->s->arena, status);
            c->reason = reason ? arena_strdup(h->s->arena, reason) : NULL;
        }
    }
    /* Twins are told apart anew; a race that begins again has its losers, but not its first choice
     * and incumbent, back only if they were never slower on this device. */
    for (size_t k = 0; k < h->r->candidates.n; k++) {
        struct tune_candidate *c = &h->r->candidates.at[k];
        bool slow = c->status && (!strcmp(c->status, "slower") || !strcmp(c->status, "hopeless"));
        if (slow && !c->screen.n) c->status = NULL; /* timed elsewhere */
    }
}

/* ---- one job --------------------------------------------------------------------------------- */

static bool save(struct search *h)
{
    const struct tune_report *r = h->r;
    struct tune_entry e = {.key = h->u->key,
                           .pick = r->candidates.at[r->winner].pick,
                           .figures = r->figures,
                           .tree = h->j->tree,
                           .search = h->u->exhaustive ? "exhaustive" : "heuristic",
                           .listed = r->listed,
                           .timed = r->timed};
    e.key.region = h->j->region;
    return tune_db_put(h->s, &h->u->db, &e) &&
           log_line(h->s, &h->log,
                    json_pack("{s:s, s:s, s:s}", "did", "done", "candidate",
                              r->candidates.at[r->winner].id, "entry", r->key));
}

static bool stages(struct search *h)
{
    struct past past = {.h = h, .lines = json_array()};
    bool ok = log_open(h->s, h->u, h->r, remember, &past, &h->log);
    if (ok) {
        ok = search_list(h);
        if (ok) recall(h, past.lines);
        ok = ok && search_build(h);
        if (ok && h->u->device && !search_stopped(h)) ok = search_trial(h);
        if (ok && h->r->winner >= 0) ok = save(h);
        close(h->log.fd);
    }
    json_decref(past.lines);
    return ok;
}

bool tune_run(struct session *s, const struct tune_setup *u, const struct tune_job *j,
              struct tune_report *out)
{
    struct search h = {.s = s, .u = u, .j = j, .r = out, .start_ms = now_ms(), .incumbent = -1};
    struct tune_key key = u->key;
    key.region = j->region;
    *out = (struct tune_report){.job = j, .setup = u, .winner = -1, .first = -1};
    out->race.winner = -1;
    tune_key_name(&key, out->key);
    tune_key_build_name(&key, out->build_key);
    h.plans = arena_printf(s->arena, "%s/plans", u->db.dir);
    h.request = (struct build_request){.graph = j->desc,
                                       .target = u->target,
                                       .search = u->search,
                                       .workspace_limit = u->key.workspace_limit,
                                       .deterministic = u->key.deterministic,
                                       .allow_tf32 = j->allow_tf32};
    struct tune_entry e;
    if (u->resume && u->device && tune_db_get(s, &u->db, &key, &e) &&
        (!u->exhaustive || strcmp(e.search, "exhaustive") == 0)) {
        out->known = true;
        out->figures = e.figures;
        return true;
    }
    bool ok = stages(&h);
    out->stopped = search_stopped(&h);
    out->seconds = search_seconds(&h);
    return ok;
}

/* ---- one tuner a GPU ------------------------------------------------------------------------- */

int tune_device_lock(struct session *s, const char *uuid, bool *busy)
{
    /* A name that all of a machine's users find. Another user's file in a sticky folder may be
     * opened but not created over, so opening comes first. */
    const char *path = arena_printf(s->arena, "/tmp/fgc-gpu-%s.lock", uuid);
    int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0 && errno == ENOENT) {
        fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
        if (fd >= 0) (void)fchmod(fd, 0666); /* whatever the umask */
    }
    *busy = false;
    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0) return fd;
    *busy = fd >= 0 && errno == EWOULDBLOCK;
    if (!*busy) diag(s, DIAG_file, NO_SPAN, "cannot lock '%s': %s", path, strerror(errno));
    if (fd >= 0) close(fd);
    return -1;
}
