/* document: the open texts, positions in them, their changes, and one analysis of each.
 *
 * Invariant: an analysis lives in a session of its own, freed when the next one is made: edits
 * leave nothing behind. A document's text is what the client has, byte for byte. */
#include "lsp/internal.h"

#include <stdlib.h>

/* ---- positions --------------------------------------------------------------------------- */

/* Bytes of the character at p, and how many units of the client's it counts for. */
static uint32_t step(const struct server *v, const char *p, size_t left, int64_t *units)
{
    unsigned char c = (unsigned char)*p;
    uint32_t n = c < 0x80 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
    if (n > left) n = (uint32_t)left;
    *units = v->utf8 ? n : n == 4 ? 2 : 1;
    return n;
}

static bool line_ends(char c)
{
    return c == '\n' || c == '\r';
}

uint32_t document_offset(const struct server *v, const char *text, size_t len, int64_t line,
                         int64_t character)
{
    size_t i = 0;
    for (; line > 0 && i < len; i++) {
        bool pair = text[i] == '\r' && i + 1 < len && text[i + 1] == '\n';
        if (line_ends(text[i]) && !pair) line--;
    }
    if (line > 0) return (uint32_t)len;
    while (i < len && !line_ends(text[i]) && character > 0) {
        int64_t units;
        uint32_t n = step(v, text + i, len - i, &units);
        if (units > character) break; /* inside a surrogate pair: its start */
        character -= units;
        i += n;
    }
    return (uint32_t)i;
}

static json_t *position(const struct server *v, const struct source *src, uint32_t offset)
{
    if (offset > src->len) offset = (uint32_t)src->len;
    size_t lo = 0, hi = src->n_lines;
    while (hi - lo > 1) {
        size_t mid = lo + (hi - lo) / 2;
        if (src->line[mid] <= offset)
            lo = mid;
        else
            hi = mid;
    }
    int64_t character = 0, units;
    for (uint32_t i = src->line[lo]; i < offset; character += units)
        i += step(v, src->text + i, src->len - i, &units);
    return json_pack("{sI sI}", "line", (json_int_t)lo, "character", (json_int_t)character);
}

json_t *document_range(const struct server *v, const struct source *src, uint32_t begin,
                       uint32_t end)
{
    return json_pack("{so so}", "start", position(v, src, begin), "end",
                     position(v, src, end < begin ? begin : end));
}

bool position_read(const json_t *position, int64_t *line, int64_t *character)
{
    const json_t *l = json_object_get(position, "line"),
                 *c = json_object_get(position, "character");
    if (!json_is_integer(l) || !json_is_integer(c)) return false;
    *line = json_integer_value(l);
    *character = json_integer_value(c);
    return *line >= 0 && *character >= 0;
}

/* ---- addresses --------------------------------------------------------------------------- */

static int hex(char c)
{
    return c >= '0' && c <= '9'                 ? c - '0'
           : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10
                                                : -1;
}

const char *uri_path(struct arena *a, const char *uri)
{
    if (strncmp(uri, "file://", 7) != 0) return NULL;
    const char *p = strchr(uri + 7, '/');
    if (!p) return NULL;
    char *out = arena_alloc(a, strlen(p) + 1), *to = out;
    for (; *p; p++) {
        int high = *p == '%' ? hex(p[1]) : -1, low = high >= 0 ? hex(p[2]) : -1;
        if (low < 0) {
            *to++ = *p;
        } else {
            *to++ = (char)(high * 16 + low);
            p += 2;
        }
    }
    *to = '\0';
    return strlen(out) == (size_t)(to - out) ? out : NULL;
}

json_t *path_uri(const char *path)
{
    struct buf b = {0};
    buf_puts(&b, "file://");
    path_to_uri(path, &b);
    json_t *uri = json_string(b.at);
    buf_fini(&b);
    return uri;
}

/* ---- open documents ---------------------------------------------------------------------- */

struct document *document_find(struct server *v, const char *uri)
{
    for (size_t i = 0; uri && i < v->documents.n; i++)
        if (strcmp(v->documents.at[i]->uri, uri) == 0) return v->documents.at[i];
    return NULL;
}

struct document *document_open(struct server *v, const char *uri, const char *text, size_t n)
{
    struct document *d = document_find(v, uri);
    if (!d) {
        d = calloc(1, sizeof *d);
        char *copy = strdup(uri);
        if (!d || !copy) {
            free(d);
            free(copy);
            return NULL;
        }
        d->uri = copy;
        vec_push(v->s->arena, &v->documents, d);
    }
    d->text.n = 0;
    buf_put(&d->text, text, n);
    d->stale = true;
    return d;
}

void document_fini(struct document *d)
{
    if (d->session) session_free(d->session);
    buf_fini(&d->text);
    free(d->uri);
    free(d);
}

void document_close(struct server *v, struct document *d)
{
    for (size_t i = 0; i < v->documents.n; i++)
        if (v->documents.at[i] == d) v->documents.at[i] = v->documents.at[--v->documents.n];
    document_fini(d);
}

bool document_change(struct server *v, struct document *d, const json_t *change)
{
    const json_t *range = json_object_get(change, "range"), *text = json_object_get(change, "text");
    if (!json_is_string(text)) return false;
    size_t n = json_string_length(text), from = 0, to = d->text.n;
    int64_t line, character;
    if (range && !json_is_null(range)) {
        if (!position_read(json_object_get(range, "start"), &line, &character)) return false;
        from = document_offset(v, d->text.at, d->text.n, line, character);
        if (!position_read(json_object_get(range, "end"), &line, &character)) return false;
        to = document_offset(v, d->text.at, d->text.n, line, character);
        if (to < from) return false;
    }
    struct buf b = {0};
    buf_put(&b, d->text.at, from);
    buf_put(&b, json_string_value(text), n);
    buf_put(&b, d->text.at + to, d->text.n - to);
    buf_fini(&d->text);
    d->text = b;
    d->stale = true;
    return true;
}

/* ---- analysis ---------------------------------------------------------------------------- */

void document_analyse(struct server *v, struct document *d)
{
    if (!d->stale) return;
    if (d->session) session_free(d->session);
    d->session = session_new();
    d->arena = d->session->arena;
    d->index = sema_index_new(d->arena);
    d->ast = NULL;
    const char *path = uri_path(d->arena, d->uri);
    d->source = source_add(d->session, path ? path : d->uri, d->text.at ? d->text.at : "",
                           d->text.n);
    if (d->source) d->ast = v->host->check(v->host->self, d->session, d->source, d->index);
    units_make(d, d->ast);
    d->stale = false;
    publish_diagnostics(v, d);
}

struct document *document_at(struct server *v, const json_t *params, uint32_t *offset)
{
    const json_t *id = json_object_get(params, "textDocument");
    struct document *d = document_find(v, json_string_value(json_object_get(id, "uri")));
    int64_t line, character;
    if (!d) return NULL;
    if (offset) {
        if (!position_read(json_object_get(params, "position"), &line, &character)) return NULL;
        *offset = document_offset(v, d->text.at, d->text.n, line, character);
    }
    document_analyse(v, d);
    return d;
}
