/* hover: what the word under the cursor is, and which argument of which call is being written. */
#include "lsp/internal.h"

static bool word_parts(struct document *d, const struct cursor *c, struct text_parts *p)
{
    struct arena *a = d->arena;
    static const enum word_kind kinds[] = {WORD_statement, WORD_item, WORD_constant, WORD_function,
                                           WORD_mask};
    enum dtype t = dtype_find(c->word);
    if (t != DT_none) {
        *p = (struct text_parts){dtypes[t].name,
                                 arena_printf(a, "%s; %d bits",
                                              dtypes[t].doc ? dtypes[t].doc : "compute type",
                                              dtypes[t].bits)};
        return true;
    }
    const struct word_info *w = c->spot == SPOT_CLAUSE ? fg_word_find(WORD_layout, c->word) : NULL;
    for (size_t i = 0; i < COUNT_OF(kinds) && !w; i++) w = fg_word_find(kinds[i], c->word);
    if (w) *p = (struct text_parts){w->name, w->doc};
    return w != NULL;
}

/* An attribute's name or one of its choices. */
static bool attribute_parts(struct document *d, const struct cursor *c, struct text_parts *p)
{
    const char *name = c->is_attribute ? c->word : c->attribute;
    if (!c->callee || !name || !(c->is_attribute || c->spot == SPOT_VALUE)) return false;
    struct callee f = callee_find(d, c->callee, c->begin);
    int i = f.op != OP_none ? op_attr_index(f.op, name) : -1;
    if (i < 0) return false;
    if (!c->is_attribute &&
        (!ops[f.op].attr[i].choices || word_index(ops[f.op].attr[i].choices, c->word) < 0))
        return false;
    *p = describe_attribute(d->arena, f.op, i);
    return true;
}

/* The result of a call, noted at the operator's name. */
static void add_result(struct document *d, const struct cursor *c, struct text_parts *p)
{
    const char *fact = sema_index_at(d->index, d->source->base + c->begin);
    if (fact)
        p->prose = arena_printf(d->arena, "gives `%.*s`\n\n%s", (int)strcspn(fact, "\n"), fact,
                                p->prose);
}

/* The comment that the file opens with, below its `fg 1`. */
static struct text_parts describe_file(const struct unit *u)
{
    const struct outline *o = &u->outline;
    struct buf b = {0};
    for (size_t i = 0; i < o->comments.n && o->comments.at[i].first; i++) {
        const struct lexeme *c = &o->comments.at[i];
        if (i > 0 && memchr(o->text + o->comments.at[i - 1].end + 1, '\n',
                            c->begin - o->comments.at[i - 1].end - 1))
            break;
        buf_printf(&b, "%.*s\n", (int)(c->end - c->begin - 1), o->text + c->begin + 1);
    }
    struct text_parts p = {arena_printf(o->a, "import %s", u->ast->name),
                           arena_strdup(o->a, b.n ? b.at : "")};
    buf_fini(&b);
    return p;
}

static bool hover_parts(struct document *d, const struct cursor *c, uint32_t offset,
                        struct text_parts *p)
{
    if (attribute_parts(d, c, p)) return true;
    struct found f = cursor_target(d, c, offset);
    if (f.unit) {
        *p = f.decl ? describe_decl(d, f) : describe_file(f.unit);
        return true;
    }
    if (c->begin == c->end || c->spot == SPOT_MEMBER) return false;
    enum op_id id = op_find(c->word);
    if (id == OP_none) return word_parts(d, c, p);
    *p = describe_op(d->arena, id);
    add_result(d, c, p);
    return true;
}

json_t *answer_hover(struct server *v, const json_t *params)
{
    uint32_t offset;
    struct document *d = document_at(v, params, &offset);
    if (!d) return NULL;
    if (!d->source) return json_null();
    struct cursor c;
    struct text_parts p;
    cursor_find(&c, &d->units.at[0].outline, offset);
    if (!hover_parts(d, &c, offset, &p)) return json_null();
    json_t *out = json_pack("{so}", "contents", markup(v, p));
    if (c.begin < c.end)
        json_object_set_new(out, "range", document_range(v, d->source, c.begin, c.end));
    return out;
}

/* ---- signature help ---------------------------------------------------------------------- */

struct signature {
    struct buf label;
    json_t *parameters;
    int n, active;
};

static void add_parameter(struct signature *s, const char *text, const char *doc, bool active)
{
    if (s->n++) buf_puts(&s->label, ", ");
    if (active) s->active = s->n - 1;
    buf_puts(&s->label, text);
    json_t *p = json_pack("{so}", "label", json_utf8(text));
    if (doc) json_object_set_new(p, "documentation", json_utf8(doc));
    json_array_append_new(s->parameters, p);
}

static void operator_signature(struct signature *s, struct arena *a, enum op_id id,
                               const struct cursor *c)
{
    const struct op_info *op = &ops[id];
    int place = c->argument + c->chained;
    for (int i = 0; i < op->n_in; i++)
        add_parameter(s, op->in[i].name, NULL, !c->attribute && place == i);
    for (int i = 0; i < op_n_attrs(id); i++)
        add_parameter(s, arena_printf(a, "%s=", op->attr[i].name), op->attr[i].doc,
                      c->attribute && strcmp(c->attribute, op->attr[i].name) == 0);
}

static void function_signature(struct signature *s, struct found f, const struct cursor *c)
{
    size_t n;
    const struct outline *o = &f.unit->outline;
    const struct decl *p = decl_parameters(o, f.decl, &n);
    size_t place = (size_t)(c->argument + c->chained);
    for (size_t i = 0; i < n; i++)
        add_parameter(s, arena_strndup(o->a, o->text + p[i].from, p[i].to - p[i].from), NULL,
                      c->attribute ? strcmp(c->attribute, p[i].name) == 0 : place == i);
}

json_t *answer_signature_help(struct server *v, const json_t *params)
{
    uint32_t offset;
    struct document *d = document_at(v, params, &offset);
    if (!d) return NULL;
    struct cursor c;
    cursor_find(&c, &d->units.at[0].outline, offset);
    struct callee f = {.op = OP_none};
    if (c.callee && d->source) f = callee_find(d, c.callee, c.begin);
    if (!f.f.unit && f.op == OP_none) return json_null();
    struct signature s = {.parameters = json_array(), .active = -1};
    buf_printf(&s.label, "%s(", c.callee);
    if (f.f.unit)
        function_signature(&s, f.f, &c);
    else
        operator_signature(&s, d->arena, f.op, &c);
    buf_puts(&s.label, ")");
    json_t *one = json_pack("{so so}", "label", json_utf8(s.label.at), "parameters", s.parameters);
    const char *doc = f.f.unit ? outline_doc(&f.f.unit->outline, f.f.decl) : ops[f.op].doc;
    if (doc) json_object_set_new(one, "documentation", json_utf8(doc));
    buf_fini(&s.label);
    json_t *out = json_pack("{s[o] si}", "signatures", one, "activeSignature", 0);
    if (s.active >= 0) json_object_set_new(out, "activeParameter", json_integer(s.active));
    return out;
}
