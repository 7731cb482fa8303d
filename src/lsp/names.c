/* names: what a name stands for, in the document or in a file that it imports.
 *
 * Invariant: nearest wins, as in the language: the item's names, the file's, its imports'. An
 * imported file is seen as it was read for the analysis: saved, not as another window has it. */
#include "lsp/internal.h"

#include <stdlib.h>

bool is_shared(const struct decl *d)
{
    return d->item < 0 && (d->kind == DECL_FN || d->kind == DECL_EPILOGUE || d->kind == DECL_CONST);
}

/* "std.act" -> "act", "lib/mine.fg" -> "mine". */
static const char *qualifier(struct arena *a, const struct item *item)
{
    if (item->import_file == NULL) return item->import_path.at[item->import_path.n - 1].text;
    const char *slash = strrchr(item->import_file, '/'),
               *stem = slash ? slash + 1 : item->import_file;
    return arena_strndup(a, stem, strcspn(stem, "."));
}

void units_make(struct document *d, const struct ast *ast)
{
    struct arena *a = d->arena;
    struct unit own = {.source = d->source};
    outline_make(&own.outline, a, d->source ? d->source->text : "", d->source ? d->source->len : 0);
    d->units.at = NULL;
    d->units.n = d->units.cap = 0;
    vec_push(a, &d->units, own);
    for (size_t i = 0; ast && i < ast->items.n; i++) {
        const struct item *item = ast->items.at[i];
        if (item->kind != ITEM_IMPORT || !item->imported) continue;
        const struct ast *of = item->imported;
        struct unit u = {.source = of->source,
                         .ast = of,
                         .qualifier = qualifier(a, item),
                         .from = item->span.begin - d->source->base,
                         .to = item->span.end - d->source->base};
        outline_make(&u.outline, a, of->source->text, of->source->len);
        vec_push(a, &d->units, u);
    }
}

static const struct decl *shared_name(const struct unit *u, const char *name)
{
    for (size_t i = 0; i < u->outline.decls.n; i++) {
        const struct decl *d = &u->outline.decls.at[i];
        if (is_shared(d) && strcmp(d->name, name) == 0) return d;
    }
    return NULL;
}

struct found name_find(const struct document *d, const char *name, uint32_t offset)
{
    const char *dot = strrchr(name, '.'), *plain = dot ? dot + 1 : name;
    const char *before = dot;
    while (before && before > name && before[-1] != '.') before--;
    const struct decl *own = dot ? NULL : outline_find(&d->units.at[0].outline, name, offset);
    if (own) return (struct found){&d->units.at[0], own};
    for (size_t i = 1; i < d->units.n; i++) {
        const struct unit *u = &d->units.at[i];
        size_t n = strlen(u->qualifier);
        if (dot && ((size_t)(dot - before) != n || memcmp(before, u->qualifier, n) != 0)) continue;
        const struct decl *x = shared_name(u, plain);
        if (x) return (struct found){u, x};
    }
    return (struct found){NULL, NULL};
}

struct callee callee_find(const struct document *d, const char *name, uint32_t offset)
{
    struct callee c = {.f = name_find(d, name, offset), .op = OP_none};
    const struct decl *x = c.f.decl;
    if (x && x->kind != DECL_FN && x->kind != DECL_EPILOGUE) return (struct callee){.op = OP_none};
    if (!x) c.op = op_find(name);
    return c;
}

const struct decl *decl_parameters(const struct outline *o, const struct decl *f, size_t *n)
{
    const struct decl *first = f + 1, *end = o->decls.at + o->decls.n;
    int item = (int)(f - o->decls.at);
    *n = 0;
    while (first + *n < end && first[*n].item == item && first[*n].kind == DECL_PARAM) ++*n;
    return first;
}

static struct found parameter(const struct document *d, const struct cursor *c)
{
    struct callee f = callee_find(d, c->callee, c->begin);
    size_t n = 0;
    const struct decl *p = f.f.decl ? decl_parameters(&f.f.unit->outline, f.f.decl, &n) : NULL;
    for (size_t i = 0; i < n; i++)
        if (strcmp(p[i].name, c->word) == 0) return (struct found){f.f.unit, &p[i]};
    return (struct found){NULL, NULL};
}

struct found cursor_target(const struct document *d, const struct cursor *c, uint32_t offset)
{
    static const struct found nothing;
    if (d->units.n == 0 || !d->source) return nothing;
    const struct outline *o = &d->units.at[0].outline;
    for (size_t i = 1; i < d->units.n; i++)
        if (d->units.at[i].from <= offset && offset < d->units.at[i].to)
            return (struct found){&d->units.at[i], NULL};
    if (c->begin == c->end) return nothing;
    if (c->is_attribute && c->callee) return parameter(d, c);
    if (c->spot == SPOT_CLAUSE) return nothing;
    if (c->spot == SPOT_MEMBER)
        return name_find(d, arena_printf(d->arena, "%s.%s", c->qualifier, c->word), c->begin);
    size_t next = outline_token(o, c->end);
    bool qualifies = next < o->tokens.n && o->tokens.at[next].begin == c->end &&
                     lexeme_is(o, &o->tokens.at[next], ".");
    for (size_t i = 1; i < d->units.n && qualifies; i++)
        if (strcmp(d->units.at[i].qualifier, c->word) == 0)
            return (struct found){&d->units.at[i], NULL};
    return name_find(d, c->word, c->begin);
}

json_t *unit_uri(const struct server *v, const struct document *d, const struct source *src)
{
    if (src == d->source) return json_string(d->uri);
    const char *path = src->name;
    for (size_t i = 0; d->ast && i < d->ast->imports.n; i++)
        if (d->ast->imports.at[i]->source == src && d->ast->imports.at[i]->is_library)
            path = v->host->library(v->host->self, d->arena, d->ast->imports.at[i]);
    char *whole = path ? realpath(path, NULL) : NULL;
    json_t *uri = whole ? path_uri(whole) : NULL;
    free(whole);
    return uri;
}
