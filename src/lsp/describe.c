/* describe: what operators, attributes and declared names are, in words. */
#include "lsp/internal.h"

/* ---- the table's ------------------------------------------------------------------------- */

struct text_parts describe_op(struct arena *a, enum op_id id)
{
    const struct op_info *op = &ops[id];
    struct buf code = {0}, prose = {0};
    op_signature(id, &code);
    buf_printf(&prose, "%s\n\nformula: %s\n\nelement types: %s", op->doc, op->formula, op->types);
    for (int i = 0; i < op_n_attrs(id); i++)
        buf_printf(&prose, "%s- %s: %s%s%s", i ? "\n" : "\n\n", op->attr[i].name,
                   op->attr[i].doc ? op->attr[i].doc : "", op->attr[i].choices ? "; one of " : "",
                   op->attr[i].choices ? op->attr[i].choices : "");
    if (op->limits) buf_printf(&prose, "\n\nlimits: %s", op->limits);
    if (op->cudnn_min)
        buf_printf(&prose, "\n\nneeds cuDNN %d.%d", op->cudnn_min / 10000,
                   op->cudnn_min / 100 % 100);
    struct text_parts p = {arena_strdup(a, code.at), arena_strdup(a, prose.at)};
    buf_fini(&code);
    buf_fini(&prose);
    return p;
}

struct text_parts describe_attribute(struct arena *a, enum op_id id, int attr)
{
    static const char *const kinds[] = {
        [ATTR_INT] = "an integer",        [ATTR_REAL] = "a number",
        [ATTR_BOOL] = "true or false",    [ATTR_INTS] = "a list of integers",
        [ATTR_CHOICE] = "a word",         [ATTR_AXES] = "a list of axes, or all",
        [ATTR_DTYPE] = "an element type", [ATTR_MASK] = "a mask",
    };
    const struct attr_info *i = &ops[id].attr[attr];
    struct buf b = {0};
    buf_printf(&b, "%s; %s%s", i->doc ? i->doc : i->name, kinds[i->kind],
               i->required ? ", required" : "");
    if (i->choices) buf_printf(&b, "; one of %s", i->choices);
    if (!i->required && (i->kind == ATTR_INT || i->kind == ATTR_REAL))
        buf_printf(&b, "; %g when left out", i->def);
    struct text_parts p = {arena_printf(a, "%s(%s=)", ops[id].name, i->name),
                           arena_strdup(a, b.at)};
    buf_fini(&b);
    return p;
}

/* ---- the file's -------------------------------------------------------------------------- */

/* Source text with runs of blanks and line ends as one blank, without comments. */
static const char *one_line(const struct outline *o, uint32_t from, uint32_t to)
{
    struct buf b = {0};
    uint32_t last = from;
    buf_puts(&b, "");
    for (size_t i = outline_token(o, from); i < o->tokens.n && o->tokens.at[i].begin < to; i++) {
        const struct lexeme *t = &o->tokens.at[i];
        if (t->begin > last && b.n) buf_puts(&b, " ");
        buf_put(&b, o->text + t->begin, t->end - t->begin);
        last = t->end;
        if (b.n > 400) {
            buf_puts(&b, " ...");
            break;
        }
    }
    const char *text = arena_strdup(o->a, b.at ? b.at : "");
    buf_fini(&b);
    return text;
}

/* The type, and what else the analysis noted, split at the first line end. */
static const char *split(struct arena *a, const char *fact, const char **rest)
{
    const char *end = strchr(fact, '\n');
    *rest = end ? end + 1 : NULL;
    return end ? arena_strndup(a, fact, (size_t)(end - fact)) : fact;
}

struct text_parts describe_decl(const struct document *doc, struct found f)
{
    const struct outline *o = &f.unit->outline;
    const struct decl *d = f.decl;
    struct arena *a = o->a;
    struct buf code = {0}, prose = {0};
    const char *fact = sema_index_at(doc->index, f.unit->source->base + d->begin), *rest = NULL;
    const char *type = fact ? split(a, fact, &rest) : NULL, *text = outline_doc(o, d);
    bool value = d->kind == DECL_PARAM || d->kind == DECL_CONST;
    if (d->head != d->end)
        buf_puts(&code, one_line(o, d->from, d->head));
    else if (type) {
        buf_printf(&code, "%s%s%s %s %s", decl_words[d->kind], *decl_words[d->kind] ? " " : "",
                   d->name, value && !strchr(type, '[') ? "=" : ":", type);
        const char *written = one_line(o, d->from, d->to);
        size_t n = strlen(written);
        if (strcmp(written, d->name) != 0 &&
            (code.n < n || strcmp(code.at + code.n - n, written) != 0))
            buf_printf(&prose, "`%s`", written);
    } else {
        buf_puts(&code, one_line(o, d->from, d->to));
    }
    size_t n = code.n;
    while (n > 0 && (code.at[n - 1] == '{' || code.at[n - 1] == ' ')) code.at[--n] = '\0';
    if (rest) buf_printf(&prose, "%s%s", prose.n ? "\n\n" : "", rest);
    if (f.unit->ast) buf_printf(&prose, "%sfrom %s", prose.n ? "\n\n" : "", f.unit->ast->name);
    if (text) buf_printf(&prose, "%s%s", prose.n ? "\n\n" : "", text);
    struct text_parts p = {arena_strdup(a, code.at ? code.at : d->name),
                           arena_strdup(a, prose.at ? prose.at : "")};
    buf_fini(&code);
    buf_fini(&prose);
    return p;
}

json_t *markup(const struct server *v, struct text_parts p)
{
    struct buf b = {0};
    buf_printf(&b, v->markdown ? "```fg\n%s\n```" : "%s", p.code);
    if (p.prose && *p.prose) buf_printf(&b, "\n%s%s", v->markdown ? "\n" : "", p.prose);
    json_t *m = json_pack("{ss so}", "kind", v->markdown ? "markdown" : "plaintext", "value",
                          json_utf8(b.at));
    buf_fini(&b);
    return m;
}
