/* diag: records what is to be said and prints it at its place.
 *
 * Invariant: at most 20 errors between two flushes; of two errors at one offset only the first is
 * kept. A dropped diagnostic is still a valid object, so that notes can be hung on it. */
#include "base/diag.h"

#include <stdlib.h>

enum { MAX_ERRORS = 20, TAB = 8 };

const struct diag_info diag_infos[N_DIAGS] = {
#define DIAG(id, severity, klass, title, page) {#id, title, page, SEV_##severity, DIAG_##klass},
#include "base/diag.def"
#undef DIAG
};

static size_t n_shown(const struct session *s)
{
    size_t n = 0;
    for (size_t i = 0; i < s->diags.n; i++) n += s->diags.at[i]->severity == SEV_ERROR;
    return n;
}

static bool repeats(const struct session *s, struct span at)
{
    if (at.end == 0) return false;
    for (size_t i = 0; i < s->diags.n; i++) {
        const struct diag *d = s->diags.at[i];
        if (d->severity == SEV_ERROR && d->span.end && d->span.begin == at.begin) return true;
    }
    return false;
}

struct diag *diag(struct session *s, enum diag_id id, struct span at, const char *fmt, ...)
{
    struct diag *d = NEW(s->arena, struct diag);
    d->id = id;
    d->severity = diag_infos[id].severity;
    if (d->severity == SEV_WARNING && s->werror) d->severity = SEV_ERROR;
    d->span = at;
    char text[2048];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    d->text = arena_strdup(s->arena, text);
    if (d->severity == SEV_ERROR) {
        if (repeats(s, at)) return d;
        unsigned bit = diag_infos[id].klass == DIAG_INPUT   ? 1
                       : diag_infos[id].klass == DIAG_USAGE ? 2
                                                            : 4;
        s->classes |= bit;
        s->n_errors++;
        if (s->diags_full || n_shown(s) >= MAX_ERRORS) {
            s->diags_full = true;
            return d;
        }
    } else if (s->diags_full) {
        return d;
    }
    if (d->severity == SEV_WARNING) s->n_warnings++;
    vec_push(s->arena, &s->diags, d);
    return d;
}

static void add_note(struct session *s, struct diag *d, struct span at, bool hint, const char *fmt,
                     va_list args)
{
    char text[2048];
    vsnprintf(text, sizeof text, fmt, args);
    struct diag_note n = {.span = at, .text = arena_strdup(s->arena, text), .is_hint = hint};
    vec_push(s->arena, &d->notes, n);
}

void diag_note(struct session *s, struct diag *d, struct span at, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    add_note(s, d, at, false, fmt, args);
    va_end(args);
}

void diag_hint(struct session *s, struct diag *d, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    add_note(s, d, NO_SPAN, true, fmt, args);
    va_end(args);
}

void diag_fix(struct session *s, struct diag *d, struct span at, const char *with, const char *fmt,
              ...)
{
    va_list args;
    va_start(args, fmt);
    add_note(s, d, NO_SPAN, true, fmt, args);
    va_end(args);
    d->notes.at[d->notes.n - 1].fix_at = at;
    d->notes.at[d->notes.n - 1].fix = arena_strdup(s->arena, with);
}

void diag_did_you_mean(struct session *s, struct diag *d, struct span at, const char *word)
{
    if (word) diag_fix(s, d, at, word, "did you mean '%s'?", word);
}

const char *diag_name(struct arena *a, enum diag_id id)
{
    char *name = arena_strdup(a, diag_infos[id].id);
    for (char *p = name; *p; p++)
        if (*p == '_') *p = '-';
    return name;
}

static size_t line_end(const struct source *src, size_t from)
{
    while (from < src->len && src->text[from] != '\n' && src->text[from] != '\r') from++;
    return from;
}

static bool continues(char c)
{
    return ((unsigned char)c & 0xc0) == 0x80;
}

/* Of a line that is very long, the part around b: *from and *end are moved to whole characters. */
static void clip(const struct source *src, size_t b, size_t *from, size_t *end)
{
    enum { LONGEST = 200, BEFORE = 100 };
    if (*end - *from <= LONGEST) return;
    if (b - *from > BEFORE) *from = b - BEFORE;
    if (*end - *from > LONGEST) *end = *from + LONGEST;
    while (*from < b && continues(src->text[*from])) ++*from;
    while (*end > b && continues(src->text[*end])) --*end;
}

/* The line with the span's first byte, and a caret line under it. Control bytes print as '?'. */
static void print_excerpt(const struct session *s, struct span sp, struct place p, FILE *to)
{
    const struct source *src = p.source;
    size_t from = src->line[p.line - 1], end = line_end(src, from);
    if (p.line == 1 && end - from >= 3 && memcmp(src->text, "\xef\xbb\xbf", 3) == 0) from += 3;
    size_t b = sp.begin - src->base, e = sp.end - src->base;
    if (b > end) b = end;
    if (b < from) b = from;
    clip(src, b, &from, &end);
    if (e > end) e = end;
    fprintf(to, "%5u | ", (unsigned)p.line);
    size_t column = 0, first = 0, last = 0;
    for (size_t i = from; i <= end; i++) {
        if (i == b) first = column;
        if (i == e) last = column;
        if (i == end || continues(src->text[i])) {
            if (i < end) fputc(src->text[i], to);
            continue;
        }
        unsigned char c = (unsigned char)src->text[i];
        if (c == '\t') {
            size_t next = (column / TAB + 1) * TAB;
            for (; column < next; column++) fputc(' ', to);
            continue;
        }
        fputc(c < 0x20 || c == 0x7f ? '?' : c, to);
        column++;
    }
    if (last <= first) last = first + 1;
    fprintf(to, "\n      | %*s%s^", (int)first, "", s->colour ? "\033[32m" : "");
    for (size_t i = first + 1; i < last; i++) fputc('~', to);
    fprintf(to, "%s\n", s->colour ? "\033[0m" : "");
}

static void print_head(const struct session *s, struct place p, const char *word,
                       const char *colour, const char *text, FILE *to)
{
    if (p.source)
        fprintf(to, "%s:%u:%u: ", p.source->name, (unsigned)p.line, (unsigned)p.column);
    else
        fputs("fgc: ", to);
    fprintf(to, "%s%s:%s %s", s->colour ? colour : "", word, s->colour ? "\033[0m" : "", text);
}

static void print_id(enum diag_id id, FILE *to)
{
    fputs(" [", to);
    for (const char *p = diag_infos[id].id; *p; p++) fputc(*p == '_' ? '-' : *p, to);
    fputs("]\n", to);
}

static void print_one(const struct session *s, const struct diag *d, FILE *to)
{
    static const char *const words[] = {"error", "warning", "note"};
    static const char *const colours[] = {"\033[1;31m", "\033[1;35m", "\033[1;36m"};
    struct place p = source_place(s, d->span.end ? d->span.begin : 0);
    print_head(s, p, words[d->severity], colours[d->severity], d->text, to);
    print_id(d->id, to);
    if (p.source) print_excerpt(s, d->span, p, to);
    for (size_t i = 0; i < d->notes.n; i++) {
        const struct diag_note *n = &d->notes.at[i];
        if (n->is_hint) {
            fprintf(to, "  hint: %s\n", n->text);
            continue;
        }
        struct place np = source_place(s, n->span.end ? n->span.begin : 0);
        if (!np.source) {
            fprintf(to, "  note: %s\n", n->text);
            continue;
        }
        print_head(s, np, "note", colours[SEV_NOTE], n->text, to);
        fputc('\n', to);
        print_excerpt(s, n->span, np, to);
    }
}

void diag_render(const struct session *s, const struct diag *d, struct buf *out)
{
    struct session plain = *s;
    char *text = NULL;
    size_t n = 0;
    plain.colour = false;
    FILE *to = open_memstream(&text, &n);
    if (!to) return;
    print_one(&plain, d, to);
    if (fclose(to) == 0) buf_put(out, text, n);
    free(text);
}

void diag_settle(struct session *s)
{
    if (s->diags_full) { /* not through diag(): it would be dropped like the others */
        struct diag *d = NEW(s->arena, struct diag);
        d->id = DIAG_too_many_errors;
        d->text = arena_printf(s->arena, "more than %d errors; the rest is not shown", MAX_ERRORS);
        vec_push(s->arena, &s->diags, d);
        s->diags_full = false;
    }
    /* Insertion sort by place: nearly sorted already, and stable. What has no place comes last. */
    for (size_t i = 1; i < s->diags.n; i++)
        for (size_t k = i; k > 0; k--) {
            struct diag *a = s->diags.at[k - 1], *b = s->diags.at[k];
            uint32_t ka = a->span.end ? a->span.begin : UINT32_MAX;
            uint32_t kb = b->span.end ? b->span.begin : UINT32_MAX;
            if (ka <= kb) break;
            s->diags.at[k - 1] = b;
            s->diags.at[k] = a;
        }
}

void diag_flush(struct session *s, FILE *to)
{
    diag_settle(s);
    for (size_t i = 0; i < s->diags.n; i++) {
        if (s->form == DIAG_FORM_text)
            print_one(s, s->diags.at[i], to);
        else if (s->form == DIAG_FORM_json)
            diag_put_json(s, s->diags.at[i], to);
        else
            vec_push(s->arena, &s->kept, s->diags.at[i]);
    }
    s->diags.n = 0;
}

void diag_finish(struct session *s, FILE *to, const char *command)
{
    diag_flush(s, to);
    if (s->form == DIAG_FORM_text && command)
        fprintf(to, "repeat: %s\n", command);
    else if (s->form == DIAG_FORM_json && command)
        diag_put_json_command(command, to);
    else if (s->form == DIAG_FORM_sarif)
        diag_put_sarif(s, command, to);
}

int session_exit_status(const struct session *s)
{
    return s->classes & 1 ? 1 : s->classes & 2 ? 2 : s->classes & 4 ? 3 : 0;
}

/* Optimal string alignment distance, cut off at `most`. */
static size_t distance(const char *a, const char *b, size_t most)
{
    size_t n = strlen(a), m = strlen(b), row[3][65];
    if (n > 64 || m > 64 || (n > m ? n - m : m - n) > most) return most + 1;
    for (size_t j = 0; j <= m; j++) row[1][j] = j;
    for (size_t i = 1; i <= n; i++) {
        size_t *now = row[(i + 1) % 3], *up = row[i % 3], *upup = row[(i + 2) % 3];
        now[0] = i;
        for (size_t j = 1; j <= m; j++) {
            size_t d = up[j - 1] + (a[i - 1] != b[j - 1]);
            if (up[j] + 1 < d) d = up[j] + 1;
            if (now[j - 1] + 1 < d) d = now[j - 1] + 1;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
                upup[j - 2] + 1 < d)
                d = upup[j - 2] + 1;
            now[j] = d;
        }
    }
    return row[(n + 1) % 3][m];
}

const char *closest_name(const char *word, const char *const *names, size_t n)
{
    size_t len = strlen(word), best = len / 3 + 1;
    const char *found = NULL;
    for (size_t i = 0; i < n; i++) {
        if (!names[i]) continue;
        size_t d = distance(word, names[i], best);
        if (d < best || (d == best && !found)) {
            best = d;
            found = names[i];
        }
    }
    return found && best < strlen(found) ? found : NULL;
}
