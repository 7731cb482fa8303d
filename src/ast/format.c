/* format: the canonical text of a file: statements, items, comments and empty lines.
 *
 * Invariant: every comment is kept, in order; formatting what was formatted changes nothing. A run
 * of declarations lines up like a table; graphs and functions stand apart by an empty line. */
#include "ast/format.h"

#include <inttypes.h>

/* ---- comments and blank lines ------------------------------------------------------------ */

static const char *text_at(const struct writer *w, uint32_t offset)
{
    return w->ast->source->text + (offset - w->ast->source->base);
}

/* True when an empty line stands between the two offsets. */
static bool blank_between(const struct writer *w, uint32_t from, uint32_t to)
{
    int lines = 0;
    for (uint32_t i = from; i < to; i++) {
        char c = *text_at(w, i);
        if (c == '\n' || (c == '\r' && *text_at(w, i + 1) != '\n'))
            lines++;
        else if (c != ' ' && c != '\t' && c != '\r')
            lines = 0;
        if (lines > 1) return true;
    }
    return false;
}

static void put_comment_text(struct writer *w, struct span c)
{
    buf_put(w->out, text_at(w, c.begin), c.end - c.begin);
}

/* An empty line where the text has one or more, or where one is due. */
static void empty_line(struct writer *w, uint32_t begin)
{
    if (w->done && (w->apart || blank_between(w, w->done, begin))) buf_puts(w->out, "\n");
    w->apart = false;
}

/* Comments that stand before `begin` and were not printed, each on its own line. */
static void comments_before(struct writer *w, uint32_t begin, int indent)
{
    for (; w->comment < w->ast->comments.n; w->comment++) {
        struct span c = w->ast->comments.at[w->comment].span;
        if (c.begin >= begin) break;
        empty_line(w, c.begin);
        buf_printf(w->out, "%*s", indent, "");
        put_comment_text(w, c);
        buf_puts(w->out, "\n");
        w->done = c.end;
    }
}

/* Comments inside a statement would get lost in its new line breaks: they go above it. Its line's
 * own comment stays behind it. */
static void lead_in(struct writer *w, struct span at, int indent, bool may_blank)
{
    size_t before = w->comment;
    comments_before(w, at.begin, indent);
    if (may_blank || w->comment > before) empty_line(w, at.begin);
    size_t first = w->comment;
    while (w->comment < w->ast->comments.n && w->ast->comments.at[w->comment].span.end <= at.end) {
        buf_printf(w->out, "%*s", indent, "");
        put_comment_text(w, w->ast->comments.at[w->comment++].span);
        buf_puts(w->out, "\n");
    }
    if (w->comment > first) w->done = at.begin;
    w->line_at = w->out->n;
}

/* True when nothing but blanks, and the '}' of a body on one line, stands between. */
static bool is_end_comment(const struct writer *w, uint32_t from, uint32_t to)
{
    for (uint32_t i = from; i < to; i++)
        if (*text_at(w, i) != ' ' && *text_at(w, i) != '\t' && *text_at(w, i) != '}') return false;
    return true;
}

static void lead_out(struct writer *w, uint32_t end)
{
    if (w->comment < w->ast->comments.n) {
        struct span c = w->ast->comments.at[w->comment].span;
        if (c.begin >= end && is_end_comment(w, end, c.begin)) {
            buf_puts(w->out, "  ");
            put_comment_text(w, c);
            w->comment++;
            end = c.end;
        }
    }
    buf_puts(w->out, "\n");
    w->done = end;
}

/* ---- statements -------------------------------------------------------------------------- */

/* Wrapped after a comma when too many for a line. */
static void put_names(struct writer *w, const names_vec *names)
{
    for (size_t i = 0; i < names->n; i++) {
        if (i) buf_puts(w->out, ",");
        if (i && format_column(w) + strlen(names->at[i].text) + 6 > WIDTH)
            format_new_line(w, 2 * STEP);
        else if (i)
            buf_puts(w->out, " ");
        buf_puts(w->out, names->at[i].text);
    }
}

/* How a run of declarations lines up: widths of names, of types up to the clauses, and of each
 * axis's dim where all dims of the run are names. What is wider than MOST stands for itself. */
struct columns {
    size_t names, heads, n_dims, dim[8];
};
enum { MOST = 48 };

static void pad(struct buf *out, size_t from, size_t width)
{
    for (size_t n = out->n - from; n < width; n++) buf_puts(out, " ");
}

static void put_dims(const struct type_expr *t, const struct columns *c, struct buf *out)
{
    for (size_t i = 0; i < t->dims.n; i++) {
        size_t at = out->n;
        if (t->dims.at[i])
            format_flat(t->dims.at[i], out);
        else
            buf_puts(out, "_");
        if (i + 1 == t->dims.n) return;
        buf_puts(out, ",");
        if (c->n_dims) pad(out, at, c->dim[i] + 1);
        buf_puts(out, " ");
    }
}

static void put_head_flat(const struct type_expr *t, const struct columns *c, struct buf *out)
{
    buf_puts(out, t->elem.text);
    if (!t->has_brackets) return;
    buf_puts(out, "[");
    if (t->infer_all) buf_puts(out, "...");
    put_dims(t, c, out);
    buf_puts(out, "]");
}

/* Element type and dims; one dim a line where they do not fit. */
static void put_head(struct writer *w, const struct type_expr *t, const struct columns *c)
{
    struct buf b = {0};
    put_head_flat(t, c, &b);
    if (format_column(w) + b.n <= WIDTH || t->dims.n == 0) {
        buf_puts(w->out, b.at);
    } else {
        buf_puts(w->out, t->elem.text);
        buf_puts(w->out, "[");
        for (size_t i = 0; i < t->dims.n; i++) {
            format_new_line(w, 2 * STEP);
            if (t->dims.at[i])
                format_expr(w, t->dims.at[i], 2 * STEP, 1);
            else
                buf_puts(w->out, "_");
            buf_puts(w->out, ",");
        }
        format_new_line(w, STEP);
        buf_puts(w->out, "]");
    }
    buf_fini(&b);
}

static void put_clauses(const struct type_expr *t, struct buf *out)
{
    for (size_t i = 0; i < t->clauses.n; i++) {
        if (i) buf_puts(out, " ");
        buf_puts(out, t->clauses.at[i].name.text);
        if (t->clauses.at[i].has_parens) format_args(&t->clauses.at[i].args, out);
    }
}

static bool is_declaration(const struct stmt *s)
{
    return s->kind == STMT_INPUT || s->kind == STMT_OUTPUT || s->kind == STMT_SCALAR;
}

static size_t names_width(const names_vec *names)
{
    size_t n = names->n ? 2 * (names->n - 1) : 0;
    for (size_t i = 0; i < names->n; i++) n += strlen(names->at[i].text);
    return n;
}

static void widen(size_t *width, size_t n)
{
    if (n <= MOST && n > *width) *width = n;
}

/* True when t's dims are names, as many as in the run's first type, and begin in the same column.
 */
static bool is_table_row(const struct type_expr *t, const struct type_expr *first)
{
    size_t n_dims = first->dims.n;
    if (t->dims.n != n_dims || strlen(t->elem.text) != strlen(first->elem.text)) return false;
    for (size_t i = 0; i < n_dims; i++)
        if (!t->dims.at[i] || t->dims.at[i]->kind != EXPR_NAME) return false;
    return true;
}

static void dims_table(const struct item *it, size_t first, size_t last, struct columns *c)
{
    const struct type_expr *head = it->body.at[first]->type;
    size_t n = head->dims.n;
    if (n > COUNT_OF(c->dim)) return;
    for (size_t k = first; k <= last; k++)
        if (!is_table_row(it->body.at[k]->type, head)) return;
    c->n_dims = n;
    for (size_t k = first; k <= last; k++)
        for (size_t i = 0; i < n; i++)
            widen(&c->dim[i], names_width(&it->body.at[k]->type->dims.at[i]->path));
}

/* The run of declarations without an empty line between them that begins at i. */
static struct columns columns_of(const struct writer *w, const struct item *it, size_t i)
{
    size_t last = i;
    while (last + 1 < it->body.n && is_declaration(it->body.at[last + 1]) &&
           !blank_between(w, it->body.at[last]->span.end, it->body.at[last + 1]->span.begin))
        last++;
    struct columns c = {0};
    dims_table(it, i, last, &c);
    for (size_t k = i; k <= last; k++) {
        const struct stmt *s = it->body.at[k];
        widen(&c.names, names_width(&s->names));
        if (s->type->clauses.n == 0) continue;
        struct buf b = {0};
        put_head_flat(s->type, &c, &b);
        widen(&c.heads, b.n);
        buf_fini(&b);
    }
    return c;
}

static void put_declaration(struct writer *w, const struct stmt *s, const struct columns *c)
{
    static const char *const words[] = {
        [STMT_INPUT] = "input  ", [STMT_OUTPUT] = "output ", [STMT_SCALAR] = "scalar "};
    buf_puts(w->out, words[s->kind]);
    size_t at = w->out->n;
    put_names(w, &s->names);
    pad(w->out, at, c->names);
    buf_puts(w->out, " : ");
    at = w->out->n;
    put_head(w, s->type, c);
    if (s->type->clauses.n) {
        pad(w->out, at, c->heads);
        buf_puts(w->out, " ");
        put_clauses(s->type, w->out);
    }
    if (s->value) {
        buf_puts(w->out, " = ");
        format_expr(w, s->value, STEP, 0);
    }
}

static void put_results(struct writer *w, const exprs_vec *results)
{
    buf_puts(w->out, "return");
    for (size_t i = 0; i < results->n; i++) {
        struct buf b = {0};
        format_flat(results->at[i], &b);
        if (i) buf_puts(w->out, ",");
        if (i && format_column(w) + b.n + 2 > WIDTH)
            format_new_line(w, 2 * STEP);
        else
            buf_puts(w->out, " ");
        format_expr(w, results->at[i], i ? 2 * STEP : STEP, i + 1 < results->n);
        buf_fini(&b);
    }
}

static void put_other(struct writer *w, const struct stmt *s)
{
    if (s->kind == STMT_CONST) buf_puts(w->out, "const ");
    if (s->kind == STMT_COMPUTE) buf_puts(w->out, "compute ");
    if (s->kind == STMT_REQUIRE) buf_puts(w->out, "require ");
    put_names(w, &s->names);
    if (s->type) {
        static const struct columns none = {0};
        buf_puts(w->out, " : ");
        put_head(w, s->type, &none);
        if (s->type->clauses.n) buf_puts(w->out, " ");
        put_clauses(s->type, w->out);
    }
    if (s->kind == STMT_CONST || s->kind == STMT_BIND) buf_puts(w->out, " = ");
    if (s->value) format_expr(w, s->value, STEP, 0);
    if (s->kind == STMT_RETURN) put_results(w, &s->results);
}

static void put_body(struct writer *w, const struct item *it)
{
    struct columns c = {0};
    for (size_t i = 0; i < it->body.n; i++) {
        const struct stmt *s = it->body.at[i];
        struct span at = {s->span.begin, s->span.end};
        lead_in(w, at, STEP, i > 0);
        buf_printf(w->out, "%*s", STEP, "");
        if (is_declaration(s)) {
            if (i == 0 || !is_declaration(it->body.at[i - 1]) ||
                blank_between(w, it->body.at[i - 1]->span.end, s->span.begin))
                c = columns_of(w, it, i);
            put_declaration(w, s, &c);
        } else {
            put_other(w, s);
        }
        lead_out(w, at.end);
    }
}

/* ---- items ------------------------------------------------------------------------------- */

static void put_param(struct writer *w, const struct param *p, size_t reserve)
{
    buf_puts(w->out, p->name.text);
    if (p->def || p->choices) {
        buf_puts(w->out, p->def ? " = " : " in ");
        format_expr(w, p->def ? p->def : p->choices, STEP, reserve);
    }
}

/* "(params) {": on one line, or one a line. */
static void put_params(struct writer *w, const struct item *it)
{
    size_t mark = w->out->n, line = w->line_at;
    buf_puts(w->out, "(");
    for (size_t i = 0; i < it->params.n; i++) {
        if (i) buf_puts(w->out, ", ");
        put_param(w, &it->params.at[i], 0);
    }
    if (w->line_at == line && format_column(w) + 3 <= WIDTH) {
        buf_puts(w->out, ") {");
        return;
    }
    w->out->n = mark;
    w->line_at = line;
    buf_puts(w->out, "(");
    for (size_t i = 0; i < it->params.n; i++) {
        format_new_line(w, STEP);
        put_param(w, &it->params.at[i], 1);
        buf_puts(w->out, ",");
    }
    if (it->params.n) format_new_line(w, 0);
    buf_puts(w->out, ") {");
}

static void put_string(const char *text, struct buf *out)
{
    buf_puts(out, "\"");
    for (; *text; text++) {
        if (*text == '"' || *text == '\\') buf_puts(out, "\\");
        buf_put(out, text, 1);
    }
    buf_puts(out, "\"");
}

static void put_callable(struct writer *w, const struct item *it)
{
    static const char *const words[] = {
        [ITEM_GRAPH] = "graph", [ITEM_FN] = "fn", [ITEM_EPILOGUE] = "epilogue"};
    uint32_t brace = it->head.end, end = it->span.end;
    w->apart = true;
    lead_in(w, it->head, 0, true);
    buf_printf(w->out, "%s %s", words[it->kind], it->name.text);
    put_params(w, it);
    lead_out(w, brace);
    w->done =
        brace; /* an empty line after the brace is dropped: the body's first lead-in adds none */
    put_body(w, it);
    comments_before(w, end, STEP);
    buf_puts(w->out, "}");
    lead_out(w, end);
    w->apart = true;
}

static void put_import(const names_vec *path, struct buf *out)
{
    for (size_t i = 0; i < path->n; i++) {
        if (i) buf_puts(out, ".");
        buf_puts(out, path->at[i].text);
    }
}

static void put_item(struct writer *w, const struct item *it)
{
    if (it->kind == ITEM_ERROR) return;
    if (it->kind == ITEM_GRAPH || it->kind == ITEM_FN || it->kind == ITEM_EPILOGUE) {
        put_callable(w, it);
        return;
    }
    struct span at = {it->span.begin, it->span.end};
    lead_in(w, at, 0, true);
    if (it->kind == ITEM_IMPORT) {
        buf_puts(w->out, "import ");
        if (it->import_file)
            put_string(it->import_file, w->out);
        else
            put_import(&it->import_path, w->out);
    } else {
        buf_printf(w->out, "const %s = ", it->name.text);
        format_expr(w, it->value, 0, 0);
    }
    lead_out(w, at.end);
}

/* Where `fg 1` stands. */
static struct span version_span(const struct ast *a)
{
    const struct source *src = a->source;
    uint32_t i = src->len >= 3 && memcmp(src->text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    bool in_comment = false;
    for (; i < src->len; i++) {
        char c = src->text[i];
        in_comment = c == '#' || (in_comment && c != '\n' && c != '\r');
        if (c == 'f' && !in_comment) break;
    }
    uint32_t end = i;
    while (end < src->len && src->text[end] != '1') end++;
    return (struct span){src->base + i, src->base + end + 1};
}

void ast_format(const struct ast *a, struct buf *out)
{
    struct writer w = {.ast = a, .out = out};
    struct span version = version_span(a);
    lead_in(&w, version, 0, true);
    buf_printf(out, "fg %" PRId64, a->version);
    lead_out(&w, version.end);
    for (size_t i = 0; i < a->items.n; i++) {
        put_item(&w, a->items.at[i]);
    }
    comments_before(&w, a->source->base + (uint32_t)a->source->len + 1, 0);
}
