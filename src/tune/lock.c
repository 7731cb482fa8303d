/* lock: the text beside a specification that pins what tuning chose.
 *
 * Invariant: the reader takes exactly what the writer writes, comments and blanks aside: every line
 * of a plan is there, in order, once. What it does not understand is an error at its place. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "tune/internal.h"

enum { LOCK_FORMAT = 1, MAX_WORDS = 80 };

/* ---- writing --------------------------------------------------------------------------------- */

static void print_words(const char *key, const words_vec *w, struct buf *out)
{
    buf_printf(out, "  %s", key);
    for (size_t i = 0; i < w->n; i++) buf_printf(out, " %s", w->at[i]);
    buf_puts(out, "\n");
}

static void print_plan(const struct lock_plan *p, struct buf *out)
{
    buf_printf(out, "\nplan %s %s %d\n", p->graph, *p->variant ? p->variant : "-", p->step);
    buf_printf(out, "  region %s\n  tree %s\n  engine %" PRId64, p->region, p->tree,
               p->pick.engine);
    for (size_t i = 0; i < p->pick.knobs.n; i++)
        buf_printf(out, " %" PRId64 "=%" PRId64, p->pick.knobs.at[i].type,
                   p->pick.knobs.at[i].value);
    buf_puts(out, "\n");
    print_words("numerical", &p->pick.numerical, out);
    print_words("behavior", &p->pick.behavior, out);
    buf_printf(out, "  workspace %" PRId64 "\n  plan %s %" PRId64 "\n  time ",
               p->pick.workspace_bytes, p->pick.plan, p->pick.plan_bytes);
    buf_real(out, p->figures.median);
    buf_puts(out, " ");
    buf_real(out, p->figures.low);
    buf_puts(out, " ");
    buf_real(out, p->figures.high);
    buf_puts(out, " first ");
    buf_real(out, p->figures.first);
    buf_puts(out, "\n");
}

void lock_print(const struct tune_lock *l, struct buf *out)
{
    buf_printf(
        out,
        "fg-lock %d\n"
        "# Written by 'fgc lock'; it belongs beside the specification, under version control.\n"
        "# A plan's time: median, 95 %% interval, and the median of the heuristics' first\n"
        "# choice, in microseconds.\n",
        LOCK_FORMAT);
    for (size_t i = 0; i < l->targets.n; i++) {
        const struct lock_target *t = &l->targets.at[i];
        buf_printf(out, "\ntarget %s %s cudnn %" PRId64 " nvrtc %s driver %" PRId64 "\n", t->name,
                   t->description, t->cudnn, *t->nvrtc ? t->nvrtc : "-", t->driver);
        for (size_t k = 0; k < t->plans.n; k++) print_plan(&t->plans.at[k], out);
    }
}

/* ---- reading --------------------------------------------------------------------------------- */

struct word {
    const char *text;
    struct span span;
};
struct reader {
    struct session *s;
    const struct source *src;
    size_t at;                   /* of the next line */
    struct word word[MAX_WORDS]; /* of the line that was read */
    int n;
    struct span line;
    bool ok;
};

static struct diag *complain(struct reader *r, struct span at, const char *text)
{
    r->ok = false;
    return diag(r->s, DIAG_lock, at, "%s", text);
}

/* The next line that says something, as words. False at the end, or after an error. */
static bool next_line(struct reader *r)
{
    const char *text = r->src->text;
    while (r->ok && r->at < r->src->len) {
        size_t end = r->at;
        while (end < r->src->len && text[end] != '\n') end++;
        r->n = 0;
        for (size_t i = r->at; i < end;) {
            size_t from = i;
            while (i < end && text[i] != ' ') i++;
            struct span span = {r->src->base + (uint32_t)from, r->src->base + (uint32_t)i};
            if (i > from && text[from] == '#' && r->n == 0) break;
            if (i > from && r->n == MAX_WORDS) {
                complain(r, span, "a line of a lock has at most 80 words");
                return false;
            }
            if (i > from)
                r->word[r->n++] = (struct word){arena_strndup(r->s->arena, text + from, i - from),
                                                span};
            while (i < end && text[i] == ' ') i++;
        }
        r->line = (struct span){r->src->base + (uint32_t)r->at, r->src->base + (uint32_t)end};
        r->at = end + 1;
        if (r->n) return true;
    }
    r->n = 0;
    return false;
}

/* The line must begin with `key` and have from `least` to `most` words after it. */
static bool expect(struct reader *r, const char *key, int least, int most)
{
    if (!r->ok) return false;
    if (r->n == 0 || strcmp(r->word[0].text, key) != 0) {
        struct span at = r->n ? r->word[0].span : r->line;
        complain(r, at,
                 r->n ? arena_printf(r->s->arena, "expected '%s', got '%s'", key, r->word[0].text)
                      : arena_printf(r->s->arena, "expected '%s', the lock ends", key));
        return false;
    }
    if (r->n - 1 < least || r->n - 1 > most) {
        complain(r, r->line,
                 arena_printf(r->s->arena, "'%s' with %d words where %d%s are due", key, r->n - 1,
                              least, most > least ? " or more" : ""));
        return false;
    }
    return true;
}

static int64_t number(struct reader *r, const struct word *w, const char *text, int64_t least)
{
    char *end;
    errno = 0;
    long long v = strtoll(text, &end, 10);
    if (end != text && !*end && !errno && v >= least) return v;
    complain(r, w->span,
             arena_printf(r->s->arena, "'%s' is not a whole number from %" PRId64 " on", w->text,
                          least));
    return 0;
}

static double real(struct reader *r, const struct word *w)
{
    double v;
    if (real_parse(w->text, &v) && v >= 0) return v;
    complain(r, w->span, arena_printf(r->s->arena, "'%s' is not a time in microseconds", w->text));
    return 0;
}

static void hash(struct reader *r, const struct word *w, char out[65])
{
    if (!is_sha256(w->text))
        complain(r, w->span, "a SHA-256 has 64 digits from 0-9 and a-f");
    else
        memcpy(out, w->text, 65);
}

static void literal(struct reader *r, int i, const char *text)
{
    if (r->ok && strcmp(r->word[i].text, text) != 0)
        complain(r, r->word[i].span,
                 arena_printf(r->s->arena, "expected '%s', got '%s'", text, r->word[i].text));
}

static void read_knobs(struct reader *r, knobs_vec *out)
{
    for (int i = 2; r->ok && i < r->n; i++) {
        const char *eq = strchr(r->word[i].text, '=');
        if (!eq) {
            complain(r, r->word[i].span, "a knob is written KNOB=VALUE, two numbers");
            return;
        }
        char *type = arena_strndup(r->s->arena, r->word[i].text, (size_t)(eq - r->word[i].text));
        struct knob k = {number(r, &r->word[i], type, 0),
                         r->ok ? number(r, &r->word[i], eq + 1, INT32_MIN) : 0};
        vec_push(r->s->arena, out, k);
    }
}

static bool words_line(struct reader *r, const char *key, words_vec *out)
{
    next_line(r);
    if (!expect(r, key, 0, MAX_WORDS)) return false;
    for (int i = 1; i < r->n; i++) vec_push(r->s->arena, out, r->word[i].text);
    return true;
}

static bool field(struct reader *r, const char *key, int n)
{
    return next_line(r), expect(r, key, n, n);
}

/* The lines after "plan GRAPH VARIANT STEP". */
static void read_plan(struct reader *r, struct lock_plan *p)
{
    if (field(r, "region", 1)) hash(r, &r->word[1], p->region);
    if (field(r, "tree", 1)) hash(r, &r->word[1], p->tree);
    next_line(r);
    if (expect(r, "engine", 1, MAX_WORDS)) {
        p->pick.engine = number(r, &r->word[1], r->word[1].text, 0);
        read_knobs(r, &p->pick.knobs);
    }
    if (!words_line(r, "numerical", &p->pick.numerical)) return;
    if (!words_line(r, "behavior", &p->pick.behavior)) return;
    if (field(r, "workspace", 1))
        p->pick.workspace_bytes = number(r, &r->word[1], r->word[1].text, 0);
    if (field(r, "plan", 2)) {
        hash(r, &r->word[1], p->pick.plan);
        p->pick.plan_bytes = number(r, &r->word[2], r->word[2].text, 1);
    }
    if (!field(r, "time", 5)) return;
    literal(r, 4, "first");
    p->figures = (struct tune_figures){real(r, &r->word[1]), real(r, &r->word[2]),
                                       real(r, &r->word[3]), real(r, &r->word[5])};
}

static void read_target(struct reader *r, struct tune_lock *out)
{
    if (!expect(r, "target", 8, 8)) return;
    struct lock_target t = {.name = r->word[1].text};
    hash(r, &r->word[2], t.description);
    literal(r, 3, "cudnn");
    literal(r, 5, "nvrtc");
    literal(r, 7, "driver");
    t.cudnn = number(r, &r->word[4], r->word[4].text, 1);
    t.nvrtc = strcmp(r->word[6].text, "-") == 0 ? "" : r->word[6].text;
    t.driver = number(r, &r->word[8], r->word[8].text, 0);
    if (r->ok && lock_target_find(out, t.description))
        complain(r, r->word[2].span, "this target has a section already");
    if (r->ok) vec_push(r->s->arena, &out->targets, t);
}

static void read_all(struct reader *r, struct tune_lock *out)
{
    next_line(r);
    if (!expect(r, "fg-lock", 1, 1)) return;
    if (number(r, &r->word[1], r->word[1].text, 0) != LOCK_FORMAT) {
        complain(r, r->word[1].span,
                 arena_printf(r->s->arena, "this fgc reads locks of format %d", LOCK_FORMAT));
        return;
    }
    while (next_line(r)) {
        if (strcmp(r->word[0].text, "plan") != 0 || out->targets.n == 0) {
            read_target(r, out);
            continue;
        }
        if (!expect(r, "plan", 3, 3)) return;
        struct lock_target *t = &out->targets.at[out->targets.n - 1];
        struct lock_plan p = {.graph = r->word[1].text,
                              .variant = strcmp(r->word[2].text, "-") == 0 ? "" : r->word[2].text,
                              .step = (int)number(r, &r->word[3], r->word[3].text, 0)};
        if (r->ok && lock_plan_find(t, p.graph, p.variant, p.step))
            complain(r, r->line, "this plan is locked twice for one target");
        if (r->ok) read_plan(r, &p);
        if (r->ok) vec_push(r->s->arena, &t->plans, p);
    }
}

bool lock_read(struct session *s, const char *path, struct tune_lock *out)
{
    *out = (struct tune_lock){0};
    struct source *src = source_load(s, path);
    if (!src) return false;
    struct reader r = {.s = s, .src = src, .ok = true};
    r.line = (struct span){src->base, src->base};
    read_all(&r, out);
    return r.ok;
}

bool lock_read_if_any(struct session *s, const char *path, struct tune_lock *out)
{
    struct stat st;
    *out = (struct tune_lock){0};
    return stat(path, &st) != 0 ? errno == ENOENT || lock_read(s, path, out)
                                : lock_read(s, path, out);
}

/* ---- looking up -------------------------------------------------------------------------------
 */

struct lock_target *lock_target_find(const struct tune_lock *l, const char *description)
{
    for (size_t i = 0; i < l->targets.n; i++)
        if (strcmp(l->targets.at[i].description, description) == 0) return &l->targets.at[i];
    return NULL;
}

struct lock_plan *lock_plan_find(const struct lock_target *t, const char *graph,
                                 const char *variant, int step)
{
    for (size_t i = 0; t && i < t->plans.n; i++) {
        struct lock_plan *p = &t->plans.at[i];
        if (strcmp(p->graph, graph) == 0 && strcmp(p->variant, variant) == 0 && p->step == step)
            return p;
    }
    return NULL;
}

const char *lock_barred(struct arena *a, const struct lock_plan *p, int64_t workspace_limit,
                        const struct engine_bars *bars)
{
    if (workspace_limit >= 0 && p->pick.workspace_bytes > workspace_limit)
        return arena_printf(
            a, "it needs %" PRId64 " bytes of workspace, above the limit of %" PRId64 " bytes",
            p->pick.workspace_bytes, workspace_limit);
    return gpu_barred(bars, &p->pick.numerical, &p->pick.behavior);
}
