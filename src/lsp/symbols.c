/* symbols: where names are defined and used; the outline of a file; renaming; formatting. */
#include "lsp/internal.h"

/* ---- one name ---------------------------------------------------------------------------- */

/* What the word at the offset stands for. */
static struct found target(struct document *d, uint32_t offset)
{
    struct cursor c;
    cursor_find(&c, &d->units.at[0].outline, offset);
    return cursor_target(d, &c, offset);
}

/* Its declaration, when that is in this document. */
static const struct decl *declaration(struct document *d, uint32_t offset)
{
    struct found f = target(d, offset);
    return f.unit && !f.unit->ast ? f.decl : NULL;
}

static json_t *location(const struct server *v, const struct document *d, uint32_t begin,
                        uint32_t end)
{
    return json_pack("{ss so}", "uri", d->uri, "range", document_range(v, d->source, begin, end));
}

json_t *answer_definition(struct server *v, const json_t *params)
{
    uint32_t offset;
    struct document *d = document_at(v, params, &offset);
    if (!d) return NULL;
    struct found f = target(d, offset);
    json_t *uri = f.unit ? unit_uri(v, d, f.unit->source) : NULL;
    if (!uri) return json_null();
    uint32_t begin = f.decl ? f.decl->begin : 0, end = f.decl ? f.decl->end : 0;
    return json_pack("{so so}", "uri", uri, "range", document_range(v, f.unit->source, begin, end));
}

/* Calls back for every token that means the same declaration. */
typedef void use_fn(void *self, const struct lexeme *t, bool definition);
static void each_use(struct document *d, const struct decl *x, use_fn *use, void *self)
{
    const struct outline *o = &d->units.at[0].outline;
    for (size_t i = 0; i < o->tokens.n; i++) {
        const struct lexeme *t = &o->tokens.at[i];
        if (t->kind != TOKEN_NAME || !lexeme_is(o, t, x->name)) continue;
        if (declaration(d, t->begin) != x) continue;
        bool defines = t->begin == x->begin;
        for (size_t k = 0; k < o->decls.n && !defines; k++)
            defines = o->decls.at[k].begin == t->begin;
        use(self, t, defines);
    }
}

struct uses {
    struct server *v;
    struct document *d;
    json_t *list;
    const char *name; /* the new one */
    bool definition;  /* wanted too */
};

static void add_reference(void *self, const struct lexeme *t, bool definition)
{
    struct uses *u = self;
    if (!definition || u->definition)
        json_array_append_new(u->list, location(u->v, u->d, t->begin, t->end));
}

json_t *answer_references(struct server *v, const json_t *params)
{
    uint32_t offset;
    struct document *d = document_at(v, params, &offset);
    if (!d) return NULL;
    const struct decl *x = declaration(d, offset);
    struct uses u = {v, d, json_array(), NULL, true};
    const json_t *context = json_object_get(params, "context");
    u.definition = !json_is_false(json_object_get(context, "includeDeclaration"));
    if (x) each_use(d, x, add_reference, &u);
    return u.list;
}

static void add_highlight(void *self, const struct lexeme *t, bool definition)
{
    struct uses *u = self;
    json_array_append_new(u->list, json_pack("{so si}", "range",
                                             document_range(u->v, u->d->source, t->begin, t->end),
                                             "kind", definition ? 3 : 2));
}

json_t *answer_highlight(struct server *v, const json_t *params)
{
    uint32_t offset;
    struct document *d = document_at(v, params, &offset);
    if (!d) return NULL;
    const struct decl *x = declaration(d, offset);
    struct uses u = {v, d, json_array(), NULL, true};
    if (x) each_use(d, x, add_highlight, &u);
    return u.list;
}

static void add_edit(void *self, const struct lexeme *t, bool definition)
{
    struct uses *u = self;
    (void)definition;
    json_array_append_new(u->list, json_pack("{so ss}", "range",
                                             document_range(u->v, u->d->source, t->begin, t->end),
                                             "newText", u->name));
}

static bool is_name(const char *p)
{
    size_t n = strspn(p, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789");
    return n > 0 && n <= 63 && p[n] == '\0' && !(*p >= '0' && *p <= '9') && strcmp(p, "_") != 0;
}

json_t *answer_rename(struct server *v, const json_t *params)
{
    uint32_t offset;
    struct document *d = document_at(v, params, &offset);
    const char *name = json_string_value(json_object_get(params, "newName"));
    if (!d || !name || !is_name(name)) return NULL;
    const struct decl *x = declaration(d, offset);
    if (!x || x->kind == DECL_IMPORT) return json_null();
    struct uses u = {v, d, json_array(), name, true};
    each_use(d, x, add_edit, &u);
    return json_pack("{s{so}}", "changes", d->uri, u.list);
}

static json_t *word_range(const struct server *v, const struct document *d, uint32_t offset)
{
    struct cursor c;
    cursor_find(&c, &d->units.at[0].outline, offset);
    return document_range(v, d->source, c.begin, c.end);
}

json_t *answer_prepare_rename(struct server *v, const json_t *params)
{
    uint32_t offset;
    struct document *d = document_at(v, params, &offset);
    if (!d) return NULL;
    const struct decl *x = declaration(d, offset);
    return x && x->kind != DECL_IMPORT ? word_range(v, d, offset) : json_null();
}

/* ---- the outline ------------------------------------------------------------------------- */

static int symbol_kind(enum decl_kind k)
{
    static const int kinds[N_DECL_KINDS] = {
        [DECL_PARAM] = 26, [DECL_CONST] = 14,   [DECL_INPUT] = 8, [DECL_SCALAR] = 16,
        [DECL_OUTPUT] = 8, [DECL_BINDING] = 13, [DECL_FN] = 12,   [DECL_EPILOGUE] = 12,
        [DECL_GRAPH] = 5,  [DECL_IMPORT] = 2,
    };
    return kinds[k];
}

static const char *detail(const struct document *d, const struct decl *x)
{
    const char *fact = sema_index_at(d->index, d->source->base + x->begin);
    if (!fact) return *decl_words[x->kind] ? decl_words[x->kind] : "binding";
    return arena_strndup(d->arena, fact, strcspn(fact, "\n"));
}

static json_t *symbol(const struct server *v, const struct document *d, const struct decl *x)
{
    return json_pack(
        "{so si so so so}", "name", json_utf8(x->name), "kind", symbol_kind(x->kind), "range",
        document_range(v, d->source, x->from, x->to > x->end ? x->to : x->end), "selectionRange",
        document_range(v, d->source, x->begin, x->end), "detail", json_utf8(detail(d, x)));
}

static json_t *flat_symbol(const struct server *v, const struct document *d, const struct decl *x)
{
    json_t *s = json_pack("{so si so}", "name", json_utf8(x->name), "kind", symbol_kind(x->kind),
                          "location", location(v, d, x->begin, x->end));
    if (x->item >= 0)
        json_object_set_new(s, "containerName",
                            json_utf8(d->units.at[0].outline.decls.at[x->item].name));
    return s;
}

json_t *answer_symbols(struct server *v, const json_t *params)
{
    struct document *d = document_at(v, params, NULL);
    if (!d) return NULL;
    json_t *list = json_array(), *children = NULL;
    const struct outline *o = &d->units.at[0].outline;
    for (size_t i = 0; d->source && i < o->decls.n; i++) {
        const struct decl *x = &o->decls.at[i];
        if (outline_find(o, x->name, x->begin) != x && x->kind == DECL_BINDING) continue;
        if (!v->hierarchical) {
            json_array_append_new(list, flat_symbol(v, d, x));
            continue;
        }
        json_t *s = symbol(v, d, x);
        json_array_append_new(x->item >= 0 && children ? children : list, s);
        if (x->item >= 0) continue;
        children = json_array();
        json_object_set_new(s, "children", children);
    }
    return list;
}

/* ---- formatting -------------------------------------------------------------------------- */

/* One edit of the lines that differ; none when the text is not fg or is canonical already. */
json_t *answer_formatting(struct server *v, const json_t *params)
{
    struct document *d = document_at(v, params, NULL);
    if (!d) return NULL;
    struct session *s = session_new();
    struct source *src = source_add(s, d->uri, d->text.at, d->text.n);
    struct ast *ast = src ? ast_parse(s, src) : NULL;
    json_t *edits = json_array();
    struct buf b = {0};
    if (ast && s->n_errors == 0) ast_format(ast, &b);
    if (b.n) {
        size_t from = 0, to = src->len, end = b.n;
        while (from < to && from < end && src->text[from] == b.at[from]) from++;
        while (from > 0 && src->text[from - 1] != '\n') from--;
        while (to > from && end > from && src->text[to - 1] == b.at[end - 1]) to--, end--;
        while (to < src->len && to > 0 && src->text[to - 1] != '\n') to++, end++;
        if (from < to || from < end)
            json_array_append_new(edits,
                                  json_pack("{so so}", "range",
                                            document_range(v, src, (uint32_t)from, (uint32_t)to),
                                            "newText", json_stringn(b.at + from, end - from)));
    }
    buf_fini(&b);
    session_free(s);
    return edits;
}
