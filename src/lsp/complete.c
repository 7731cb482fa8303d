/* complete: what may be written at the cursor, by the kind of place it is.
 *
 * Invariant: an item replaces the word at the cursor up to the cursor; the client filters. */
#include "lsp/internal.h"

extern const struct embedded embedded_stdlib[]; /* made from stdlib/ by tools/embed */

/* Kinds of the protocol. */
enum {
    KIND_FUNCTION = 3,
    KIND_FIELD = 5,
    KIND_VARIABLE = 6,
    KIND_MODULE = 9,
    KIND_PROPERTY = 10,
    KIND_ENUM_MEMBER = 20,
    KIND_KEYWORD = 14,
    KIND_CONSTANT = 21,
    KIND_TYPE = 25
};

struct list {
    struct server *v;
    struct document *d;
    const struct cursor *c;
    json_t *items;
};

/* rank orders the groups: "0" first. */
static json_t *add(struct list *l, const char *label, int kind, char rank, const char *detail)
{
    json_t *item = json_pack("{so si so}", "label", json_utf8(label), "kind", kind, "sortText",
                             json_sprintf("%c%s", rank, label));
    if (detail) json_object_set_new(item, "detail", json_utf8(detail));
    json_array_append_new(l->items, item);
    return item;
}

static void insert(struct list *l, json_t *item, const char *text)
{
    uint32_t end = l->c->end;
    json_object_set_new(item, "textEdit",
                        json_pack("{so ss}", "range",
                                  document_range(l->v, l->d->source, l->c->begin, end), "newText",
                                  text));
}

static void document_item(struct list *l, json_t *item, struct text_parts p)
{
    json_object_set_new(item, "documentation", markup(l->v, p));
}

static void add_words(struct list *l, enum word_kind kind, int item_kind, char rank)
{
    for (size_t i = 0; i < n_fg_words; i++)
        if (fg_words[i].kind == kind) add(l, fg_words[i].name, item_kind, rank, fg_words[i].doc);
}

static void add_types(struct list *l, char rank, bool compute)
{
    for (int t = DT_none + 1; t < N_DTYPES; t++)
        if (t != DT_tf32 || compute) add(l, dtypes[t].name, KIND_TYPE, rank, dtypes[t].doc);
}

/* An output can be read below its binding. */
static bool is_bound(const struct list *l, const struct decl *d, uint32_t before)
{
    const struct outline *o = &l->d->units.at[0].outline;
    for (size_t i = 0; i < o->decls.n; i++)
        if (o->decls.at[i].kind == DECL_BINDING && o->decls.at[i].item == d->item &&
            strcmp(o->decls.at[i].name, d->name) == 0 && o->decls.at[i].to < before)
            return true;
    return false;
}

static bool is_function(const struct decl *d)
{
    return d->kind == DECL_FN || d->kind == DECL_EPILOGUE;
}

/* Names that can be read here: of the item, if they are defined above, and of the file. */
static void add_name(struct list *l, struct found f)
{
    struct text_parts p = describe_decl(l->d, f);
    json_t *item = add(l, f.decl->name, is_function(f.decl) ? KIND_FUNCTION : KIND_VARIABLE,
                       f.unit->ast ? '2' : '1', p.code);
    if (*p.prose) document_item(l, item, p);
}

static void add_shared(struct list *l, const struct unit *u, bool callable, bool values)
{
    for (size_t i = 0; i < u->outline.decls.n; i++) {
        const struct decl *d = &u->outline.decls.at[i];
        if (is_shared(d) && (is_function(d) ? callable : values)) add_name(l, (struct found){u, d});
    }
}

/* What an import brings, after its name and a dot. */
static void add_members(struct list *l)
{
    for (size_t i = 1; i < l->d->units.n; i++)
        if (strcmp(l->d->units.at[i].qualifier, l->c->qualifier) == 0)
            add_shared(l, &l->d->units.at[i], true, true);
}

static void add_names(struct list *l, bool callable, bool values)
{
    const struct unit *own = &l->d->units.at[0];
    const struct outline *o = &own->outline;
    for (size_t i = 0; i < o->decls.n; i++) {
        const struct decl *d = &o->decls.at[i];
        bool here = d->item < 0 || (d->item == l->c->item && d->begin < l->c->begin);
        if (!here || d->kind == DECL_GRAPH || d->kind == DECL_IMPORT) continue;
        if (d->item >= 0 && outline_find(o, d->name, d->begin) != d)
            continue; /* an output's binding */
        if (d->from <= l->c->begin && l->c->begin <= d->to && d->kind != DECL_PARAM) continue;
        if (is_function(d) ? !callable : !values) continue;
        if (d->kind == DECL_OUTPUT && !is_bound(l, d, l->c->begin)) continue;
        add_name(l, (struct found){own, d});
    }
    for (size_t i = 1; i < l->d->units.n; i++) {
        add_shared(l, &l->d->units.at[i], callable, values);
        add(l, l->d->units.at[i].qualifier, KIND_MODULE, '6', l->d->units.at[i].ast->name);
    }
}

static void add_operators(struct list *l)
{
    for (int i = OP_none + 1; i < N_OPS; i++) {
        struct text_parts p = describe_op(l->d->arena, (enum op_id)i);
        json_t *item = add(l, ops[i].name, KIND_FUNCTION, '3', p.code);
        document_item(l, item, p);
    }
}

static void add_expression(struct list *l)
{
    add_names(l, true, true);
    add_operators(l);
    add_types(l, '4', false);
    add_words(l, WORD_constant, KIND_CONSTANT, '5');
    add_words(l, WORD_function, KIND_FUNCTION, '5');
}

/* ---- in a call --------------------------------------------------------------------------- */

/* Is NAME= among the call's arguments? */
static bool is_given(const struct list *l, const char *name)
{
    const struct outline *o = &l->d->units.at[0].outline;
    int depth = 0;
    for (size_t i = outline_token(o, l->c->open) + 1; i + 1 < o->tokens.n && depth >= 0; i++) {
        const struct lexeme *t = &o->tokens.at[i];
        if (depth == 0 && t->begin != l->c->begin && lexeme_is(o, t, name) &&
            lexeme_is(o, t + 1, "=") && !t[1].first)
            return true;
        if (lexeme_is(o, t, "(") || lexeme_is(o, t, "[")) depth++;
        if (lexeme_is(o, t, ")") || lexeme_is(o, t, "]")) depth--;
    }
    return false;
}

static void add_attribute(struct list *l, const char *name, struct text_parts p)
{
    if (is_given(l, name)) return;
    json_t *item = add(l, name, KIND_PROPERTY, '0', p.prose);
    struct buf b = {0};
    buf_printf(&b, "%s=", name);
    insert(l, item, l->c->is_attribute ? name : b.at);
    buf_fini(&b);
}

static void add_attributes(struct list *l)
{
    struct callee f = callee_find(l->d, l->c->callee, l->c->begin);
    struct arena *a = l->d->arena;
    for (int i = 0; f.op != OP_none && i < op_n_attrs(f.op); i++)
        add_attribute(l, ops[f.op].attr[i].name, describe_attribute(a, f.op, i));
    size_t n = 0;
    const struct decl *p = f.f.decl ? decl_parameters(&f.f.unit->outline, f.f.decl, &n) : NULL;
    for (size_t i = 0; i < n; i++)
        add_attribute(
            l, p[i].name,
            (struct text_parts){NULL, arena_printf(a, "parameter of %s", f.f.decl->name)});
}

/* After attribute=: its own words alone where it has some. */
static void add_values(struct list *l)
{
    struct callee f = callee_find(l->d, l->c->callee, l->c->begin);
    int i = f.op != OP_none ? op_attr_index(f.op, l->c->attribute) : -1;
    char word[64];
    if (i < 0) {
        add_expression(l);
        return;
    }
    const struct attr_info *at = &ops[f.op].attr[i];
    switch (at->kind) {
    case ATTR_CHOICE:
        for (int k = 0; *word_at(at->choices, k, word); k++)
            add(l, word, KIND_ENUM_MEMBER, '0', at->doc);
        return;
    case ATTR_BOOL:
        add(l, "true", KIND_CONSTANT, '0', NULL);
        add(l, "false", KIND_CONSTANT, '0', NULL);
        return;
    case ATTR_DTYPE: add_types(l, '0', strcmp(at->name, "compute") == 0); break;
    case ATTR_MASK: add_words(l, WORD_mask, KIND_ENUM_MEMBER, '0'); break;
    case ATTR_AXES: add(l, "all", KIND_ENUM_MEMBER, '0', "every axis"); break;
    default: break;
    }
    add_names(l, true, true);
    add_words(l, WORD_function, KIND_FUNCTION, '5');
}

/* ---- statements -------------------------------------------------------------------------- */

static void add_items(struct list *l)
{
    static const struct {
        const char *word, *body;
    } snippets[] = {
        {"graph", "graph ${1:name}(${2:N = 32}) {\n    input  ${3:x} : ${4:bf16[N, 64]}\n    "
                  "output ${5:y} : ${4:bf16[N, 64]}\n\n    ${5:y} = $0\n}"},
        {"fn", "fn ${1:name}(${2:x}) {\n    return $0\n}"},
        {"epilogue", "epilogue ${1:name}(${2:acc}) {\n    return $0\n}"},
    };
    for (size_t i = 0; i < n_fg_words; i++) {
        if (fg_words[i].kind != WORD_item) continue;
        json_t *item = add(l, fg_words[i].name, KIND_KEYWORD, '0', fg_words[i].doc);
        for (size_t k = 0; k < COUNT_OF(snippets) && l->v->snippets; k++)
            if (strcmp(snippets[k].word, fg_words[i].name) == 0) {
                insert(l, item, snippets[k].body);
                json_object_set_new(item, "insertTextFormat", json_integer(2));
            }
    }
    if (l->c->begin == 0)
        add(l, "fg 1", KIND_KEYWORD, '0', "the language's version, first in every file");
}

/* First words that belong in this item, and outputs that nothing binds yet. */
static void add_statements(struct list *l)
{
    const struct outline *o = &l->d->units.at[0].outline;
    bool graph = l->c->item >= 0 && o->decls.at[l->c->item].kind == DECL_GRAPH;
    static const char *const of_fn[] = {"const", "require", "return"};
    for (size_t i = 0; i < n_fg_words; i++) {
        bool in_fn = false;
        if (fg_words[i].kind != WORD_statement) continue;
        for (size_t k = 0; k < COUNT_OF(of_fn); k++)
            in_fn |= strcmp(of_fn[k], fg_words[i].name) == 0;
        if (graph ? strcmp(fg_words[i].name, "return") != 0 : in_fn)
            add(l, fg_words[i].name, KIND_KEYWORD, '1', fg_words[i].doc);
    }
    for (size_t i = 0; i < o->decls.n; i++) {
        const struct decl *d = &o->decls.at[i];
        if (d->kind != DECL_OUTPUT || d->item != l->c->item) continue;
        if (!is_bound(l, d, UINT32_MAX))
            add(l, d->name, KIND_VARIABLE, '0', "an output that nothing binds yet");
    }
}

static void add_libraries(struct list *l)
{
    for (const struct embedded *e = embedded_stdlib; e->name; e++)
        add(l, arena_strndup(l->d->arena, e->name, strcspn(e->name, ".")), KIND_MODULE, '0', NULL);
}

static void add_place(struct list *l)
{
    switch (l->c->spot) {
    case SPOT_TOP: add_items(l); break;
    case SPOT_BODY: add_statements(l); break;
    case SPOT_TYPE:
        add_types(l, '0', true);
        add_names(l, false, true);
        break;
    case SPOT_CLAUSE: add_words(l, WORD_layout, KIND_KEYWORD, '0'); break;
    case SPOT_DIM: add_names(l, false, true); break;
    case SPOT_CALLEE:
        add_names(l, true, false);
        add_operators(l);
        break;
    case SPOT_ARGUMENT:
        add_attributes(l);
        add_expression(l);
        break;
    case SPOT_EXPR: add_expression(l); break;
    case SPOT_VALUE: add_values(l); break;
    case SPOT_MEMBER: add_members(l); break;
    case SPOT_LIBRARY: add_libraries(l); break;
    case SPOT_IMPORT: add(l, "std", KIND_MODULE, '0', "the library"); break;
    case SPOT_NONE: break;
    }
}

json_t *answer_completion(struct server *v, const json_t *params)
{
    uint32_t offset;
    struct document *d = document_at(v, params, &offset);
    if (!d) return NULL;
    struct cursor c;
    cursor_find(&c, &d->units.at[0].outline, offset);
    c.end = offset; /* what stands behind the cursor stays */
    struct list l = {v, d, &c, json_array()};
    if (d->source && c.spot != SPOT_NONE) add_place(&l);
    return json_pack("{sb so}", "isIncomplete", 0, "items", l.items);
}
