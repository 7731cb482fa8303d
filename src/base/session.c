/* session: one run's shared state: interned strings and loaded sources.
 *
 * Invariant: the spans of all sources are disjoint and start at 1, so that one 32-bit offset names
 * a byte of one source. */
#include "base/base.h"

struct session *session_new(void)
{
    struct arena *a = arena_new();
    struct session *s = NEW(a, struct session);
    s->arena = a;
    s->interned = map_new(a);
    return s;
}

void session_free(struct session *s)
{
    arena_free(s->arena);
}

const char *intern_z(struct session *s, const char *text)
{
    char *known = map_get(s->interned, text);
    if (known) return known;
    known = arena_strdup(s->arena, text);
    map_put(s->interned, known, known);
    return known;
}

const char *intern(struct session *s, const char *text, size_t len)
{
    char small[64];
    if (len < sizeof small) {
        memcpy(small, text, len);
        small[len] = '\0';
        return intern_z(s, small);
    }
    struct arena_mark m = arena_mark(s->arena);
    const char *copy = arena_strndup(s->arena, text, len), *known = map_get(s->interned, copy);
    if (known) {
        arena_rewind(s->arena, m);
        return known;
    }
    map_put(s->interned, copy, (void *)copy);
    return copy;
}

static void find_lines(struct session *s, struct source *src)
{
    VEC(uint32_t) starts = {0};
    vec_push(s->arena, &starts, 0);
    for (size_t i = 0; i < src->len; i++) {
        bool cr = src->text[i] == '\r' && src->text[i + 1] != '\n';
        if (src->text[i] == '\n' || cr) vec_push(s->arena, &starts, (uint32_t)(i + 1));
    }
    src->line = starts.at;
    src->n_lines = starts.n;
}

struct source *source_add(struct session *s, const char *name, const char *text, size_t len)
{
    uint32_t base = 1;
    if (s->sources.n) {
        const struct source *last = s->sources.at[s->sources.n - 1];
        base = last->base + (uint32_t)last->len + 1; /* the end of file has a place of its own */
    }
    if (len > (256u << 20) - base) {
        diag(s, DIAG_file, NO_SPAN,
             "'%s' is too large: the sources of one run have at most 256 MiB", name);
        return NULL;
    }
    struct source *src = NEW(s->arena, struct source);
    char *copy = arena_alloc(s->arena, len + 2);
    if (len) memcpy(copy, text, len);
    *src = (struct source){
        .name = arena_strdup(s->arena, name), .text = copy, .len = len, .base = base};
    find_lines(s, src);
    vec_push(s->arena, &s->sources, src);
    return src;
}

struct source *source_load(struct session *s, const char *path)
{
    char *bytes;
    size_t n;
    if (!file_read(s, path, &bytes, &n)) return NULL;
    return source_add(s, strcmp(path, "-") == 0 ? "<stdin>" : path, bytes, n);
}

static const struct source *source_of(const struct session *s, uint32_t offset)
{
    size_t lo = 0, hi = s->sources.n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (s->sources.at[mid]->base <= offset)
            lo = mid + 1;
        else
            hi = mid;
    }
    if (lo == 0 || offset == 0) return NULL;
    const struct source *src = s->sources.at[lo - 1];
    return offset - src->base <= src->len ? src : NULL;
}

struct place source_place(const struct session *s, uint32_t offset)
{
    const struct source *src = source_of(s, offset);
    if (!src) return (struct place){0};
    uint32_t at = offset - src->base;
    size_t lo = 0, hi = src->n_lines; /* the last line that starts at or before `at` */
    while (hi - lo > 1) {
        size_t mid = lo + (hi - lo) / 2;
        if (src->line[mid] <= at)
            lo = mid;
        else
            hi = mid;
    }
    uint32_t column = 1;
    uint32_t from = src->line[lo];
    if (lo == 0 && src->len >= 3 && memcmp(src->text, "\xef\xbb\xbf", 3) == 0 && at >= 3) from = 3;
    for (uint32_t i = from; i < at; i++)
        if (((unsigned char)src->text[i] & 0xc0) != 0x80) column++;
    return (struct place){.source = src, .line = (uint32_t)lo + 1, .column = column};
}
