/* format: the canonical text of a file.
 *
 * Invariant: every comment is kept, in order; formatting what was formatted changes nothing. A
 * statement is printed on one line when it fits 100 columns; else it is broken before the operators
 * of its loosest level, and calls that are still too long take one argument a line. */
#include "ast/ast.h"

#include <inttypes.h>

enum { WIDTH = 100, STEP = 4 };

struct writer {
    const struct ast *ast;
    struct buf *out;
    size_t comment;  /* next to print */
    size_t line_at;  /* where the current line starts in out */
    uint32_t done;   /* source offset up to which everything is printed */
};

/* ---- expressions, flat ------------------------------------------------------------------- */

static void flat(const struct expr *e, struct buf *out);

static void put_path(const names_vec *p, struct buf *out)
{
    for (size_t i = 0; i < p->n; i++) buf_printf(out, "%s%s", i ? "." : "", p->at[i].text);
}

static void put_args(const args_vec *a, struct buf *out)
{
    buf_puts(out, "(");
    for (size_t i = 0; i < a->n; i++) {
        if (i) buf_puts(out, ", ");
        if (a->at[i].name.text) buf_printf(out, "%s=", a->at[i].name.text);
        flat(a->at[i].value, out);
    }
    buf_puts(out, ")");
}

static void put_items(const exprs_vec *v, struct buf *out)
{
    for (size_t i = 0; i < v->n; i++) {
        if (i) buf_puts(out, ", ");
        if (v->at[i])
            flat(v->at[i], out);
        else
            buf_puts(out, "_");
    }
}

/* An expression without its left operand: what follows it, or the whole when it has none. */
static void flat_tail(const struct expr *e, struct buf *out)
{
    switch (e->kind) {
    case EXPR_ERROR: break;
    case EXPR_NAME: put_path(&e->path, out); break;
    case EXPR_INT:
    case EXPR_REAL: buf_puts(out, e->literal); break;
    case EXPR_LIST:
        buf_puts(out, "[");
        put_items(&e->items, out);
        buf_puts(out, "]");
        break;
    case EXPR_CALL:
        put_path(&e->path, out);
        put_args(&e->args, out);
        break;
    case EXPR_CHAIN:
        buf_puts(out, "|> ");
        put_path(&e->path, out);
        if (e->has_parens) put_args(&e->args, out);
        break;
    case EXPR_UNARY:
        buf_printf(out, "%s%s", ast_op_names[e->op], e->op == AST_NOT ? " " : "");
        flat(e->right, out);
        break;
    case EXPR_PAREN:
        buf_puts(out, "(");
        flat(e->right, out);
        buf_puts(out, ")");
        break;
    case EXPR_BINARY:
        buf_printf(out, "%s ", ast_op_names[e->op]);
        flat(e->right, out);
        break;
    case EXPR_IN:
        buf_puts(out, "in ");
        flat(e->right, out);
        break;
    }
}

typedef VEC(const struct expr *) spine_vec;

/* e, its left operand, that one's, ... : chains may be very long, so no recursion. */
static spine_vec spine_of(struct arena *a, const struct expr *e)
{
    spine_vec s = {0};
    for (; e; e = e->left) vec_push(a, &s, e);
    return s;
}

static void flat(const struct expr *e, struct buf *out)
{
    struct arena *a = arena_new();
    spine_vec s = spine_of(a, e);
    for (size_t i = s.n; i > 0; i--) {
        if (i < s.n) buf_puts(out, " ");
        flat_tail(s.at[i - 1], out);
    }
    arena_free(a);
}

/* ---- expressions, broken ----------------------------------------------------------------- */

static int level(const struct expr *e)
{
    if (e->kind == EXPR_CHAIN) return 0;
    if (e->kind == EXPR_IN) return 4;
    if (e->kind != EXPR_BINARY) return 9;
    switch (e->op) {
    case AST_OR: return 1;
    case AST_AND: return 2;
    case AST_ADD:
    case AST_SUB: return 5;
    case AST_MUL:
    case AST_DIV:
    case AST_FLOORDIV:
    case AST_MOD: return 6;
    default: return 4;
    }
}

static void new_line(struct writer *w, int indent)
{
    buf_printf(w->out, "\n%*s", indent, "");
    w->line_at = w->out->n - (size_t)indent;
}

static size_t column(const struct writer *w)
{
    return w->out->n - w->line_at;
}

static void print_expr(struct writer *w, const struct expr *e, int indent, size_t reserve);

static bool fits(struct writer *w, const struct expr *e, bool only_tail, size_t reserve)
{
    struct buf b = {0};
    (only_tail ? flat_tail : flat)(e, &b);
    bool ok = column(w) + b.n + reserve <= WIDTH;
    buf_fini(&b);
    return ok;
}

/* A call or list that is too long: one argument a line. */
static void print_tail(struct writer *w, const struct expr *e, int indent)
{
    if (fits(w, e, true, 0) || (e->kind != EXPR_CALL && e->kind != EXPR_CHAIN && e->kind != EXPR_LIST) ||
        (e->kind == EXPR_LIST ? e->items.n == 0 : e->args.n == 0)) {
        flat_tail(e, w->out);
        return;
    }
    if (e->kind == EXPR_CHAIN) buf_puts(w->out, "|> ");
    put_path(&e->path, w->out);
    buf_puts(w->out, e->kind == EXPR_LIST ? "[" : "(");
    size_t n = e->kind == EXPR_LIST ? e->items.n : e->args.n;
    for (size_t i = 0; i < n; i++) {
        new_line(w, indent + STEP);
        if (e->kind != EXPR_LIST && e->args.at[i].name.text) buf_printf(w->out, "%s=", e->args.at[i].name.text);
        print_expr(w, e->kind == EXPR_LIST ? e->items.at[i] : e->args.at[i].value, indent + STEP, 1);
        buf_puts(w->out, ",");
    }
    new_line(w, indent);
    buf_puts(w->out, e->kind == EXPR_LIST ? "]" : ")");
}

static void print_expr(struct writer *w, const struct expr *e, int indent, size_t reserve)
{
    if (fits(w, e, false, reserve)) {
        flat(e, w->out);
        return;
    }
    struct arena *a = arena_new();
    spine_vec s = spine_of(a, e);
    int loosest = level(s.at[0]);
    for (size_t i = s.n; i > 0; i--) {
        const struct expr *x = s.at[i - 1];
        bool breaks = i < s.n && level(x) == loosest;
        if (breaks)
            new_line(w, indent + STEP);
        else if (i < s.n)
            buf_puts(w->out, " ");
        print_tail(w, x, breaks ? indent + STEP : indent);
    }
    arena_free(a);
}

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

/* Comments that stand before `begin` and were not printed, each on its own line. */
static void comments_before(struct writer *w, uint32_t begin, int indent)
{
    for (; w->comment < w->ast->comments.n; w->comment++) {
        struct span c = w->ast->comments.at[w->comment].span;
        if (c.begin >= begin) break;
        if (w->done && blank_between(w, w->done, c.begin)) buf_puts(w->out, "\n");
        buf_printf(w->out, "%*s", indent, "");
        put_comment_text(w, c);
        buf_puts(w->out, "\n");
        w->done = c.end;
    }
}

/* Comments inside a statement would get lost in its new line breaks: they go above it. Its line's own
 * comment stays behind it. */
static void lead_in(struct writer *w, struct span at, int indent, bool may_blank)
{
    comments_before(w, at.begin, indent);
    if (may_blank && w->done && blank_between(w, w->done, at.begin)) buf_puts(w->out, "\n");
    size_t first = w->comment;
    while (w->comment < w->ast->comments.n && w->ast->comments.at[w->comment].span.end <= at.end) {
        buf_printf(w->out, "%*s", indent, "");
        put_comment_text(w, w->ast->comments.at[w->comment++].span);
        buf_puts(w->out, "\n");
    }
    if (w->comment > first) w->done = at.begin;
    w->line_at = w->out->n;
}

static bool same_line(const struct writer *w, uint32_t from, uint32_t to)
{
    for (uint32_t i = from; i < to; i++)
        if (*text_at(w, i) == '\n' || *text_at(w, i) == '\r') return false;
    return true;
}

static void lead_out(struct writer *w, uint32_t end)
{
    if (w->comment < w->ast->comments.n) {
        struct span c = w->ast->comments.at[w->comment].span;
        if (!w->ast->comments.at[w->comment].own_line && c.begin >= end && same_line(w, end, c.begin)) {
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

static void put_names(const names_vec *names, struct buf *out)
{
    for (size_t i = 0; i < names->n; i++) buf_printf(out, "%s%s", i ? ", " : "", names->at[i].text);
}

static void put_type_head(const struct type_expr *t, struct buf *out)
{
    buf_puts(out, t->elem.text);
    if (!t->has_brackets) return;
    buf_puts(out, "[");
    if (t->infer_all)
        buf_puts(out, "...");
    else
        put_items(&t->dims, out);
    buf_puts(out, "]");
}

static void put_clauses(const struct type_expr *t, struct buf *out)
{
    for (size_t i = 0; i < t->clauses.n; i++) {
        buf_printf(out, "%s%s", i ? " " : "", t->clauses.at[i].name.text);
        if (t->clauses.at[i].has_parens) put_args(&t->clauses.at[i].args, out);
    }
}

static bool is_declaration(const struct stmt *s)
{
    return s->kind == STMT_INPUT || s->kind == STMT_OUTPUT || s->kind == STMT_SCALAR;
}

struct columns {
    size_t names, heads; /* widths of a run of declarations */
};

static size_t width_of(const struct stmt *s, bool head)
{
    struct buf b = {0};
    if (head)
        put_type_head(s->type, &b);
    else
        put_names(&s->names, &b);
    size_t n = b.n;
    buf_fini(&b);
    return n;
}

/* The run of declarations without an empty line between them that i stands in; names and layout
 * clauses of a run line up. */
static struct columns columns_of(const struct writer *w, const struct item *it, size_t i)
{
    size_t first = i, last = i;
    while (first > 0 && is_declaration(it->body.at[first - 1]) &&
           !blank_between(w, it->body.at[first - 1]->span.end, it->body.at[first]->span.begin))
        first--;
    while (last + 1 < it->body.n && is_declaration(it->body.at[last + 1]) &&
           !blank_between(w, it->body.at[last]->span.end, it->body.at[last + 1]->span.begin))
        last++;
    struct columns c = {0, 0};
    for (size_t k = first; k <= last; k++) {
        size_t n = width_of(it->body.at[k], false), h = width_of(it->body.at[k], true);
        if (n > c.names) c.names = n;
        if (it->body.at[k]->type->clauses.n && h > c.heads) c.heads = h;
    }
    return c;
}

static void put_declaration(struct writer *w, const struct stmt *s, struct columns c)
{
    static const char *const words[] = {[STMT_INPUT] = "input ", [STMT_OUTPUT] = "output", [STMT_SCALAR] = "scalar"};
    buf_printf(w->out, "%s ", words[s->kind]);
    size_t at = w->out->n;
    put_names(&s->names, w->out);
    buf_printf(w->out, "%*s : ", (int)(c.names - (w->out->n - at)), "");
    at = w->out->n;
    put_type_head(s->type, w->out);
    if (s->type->clauses.n) {
        buf_printf(w->out, "%*s ", (int)(c.heads - (w->out->n - at)), "");
        put_clauses(s->type, w->out);
    }
    if (s->value) {
        buf_puts(w->out, " = ");
        print_expr(w, s->value, STEP, 0);
    }
}

static void put_other(struct writer *w, const struct stmt *s)
{
    if (s->kind == STMT_CONST) buf_puts(w->out, "const ");
    if (s->kind == STMT_COMPUTE) buf_puts(w->out, "compute ");
    if (s->kind == STMT_REQUIRE) buf_puts(w->out, "require ");
    put_names(&s->names, w->out);
    if (s->type) {
        buf_puts(w->out, " : ");
        put_type_head(s->type, w->out);
        if (s->type->clauses.n) buf_puts(w->out, " ");
        put_clauses(s->type, w->out);
    }
    if (s->kind == STMT_CONST || s->kind == STMT_BIND) buf_puts(w->out, " = ");
    if (s->value) print_expr(w, s->value, STEP, 0);
    if (s->kind == STMT_RETURN) {
        buf_puts(w->out, "return ");
        for (size_t i = 0; i < s->results.n; i++) {
            if (i) buf_puts(w->out, ", ");
            print_expr(w, s->results.at[i], STEP, i + 1 < s->results.n);
        }
    }
}

static void put_body(struct writer *w, const struct item *it)
{
    struct columns c = {0, 0};
    for (size_t i = 0; i < it->body.n; i++) {
        const struct stmt *s = it->body.at[i];
        struct span at = {s->span.begin, s->span.end};
        lead_in(w, at, STEP, i > 0);
        buf_printf(w->out, "%*s", STEP, "");
        if (is_declaration(s)) {
            if (i == 0 || !is_declaration(it->body.at[i - 1]) ||
                blank_between(w, it->body.at[i - 1]->span.end, s->span.begin))
                c = columns_of(w, it, i);
            put_declaration(w, s, c);
        } else {
            put_other(w, s);
        }
        lead_out(w, at.end);
    }
}

/* ---- items ------------------------------------------------------------------------------- */

static void put_param(struct writer *w, const struct param *p)
{
    buf_puts(w->out, p->name.text);
    if (p->def) {
        buf_puts(w->out, " = ");
        flat(p->def, w->out);
    }
    if (p->choices) {
        buf_puts(w->out, " in ");
        flat(p->choices, w->out);
    }
}

static void put_params(struct writer *w, const struct item *it)
{
    size_t mark = w->out->n;
    buf_puts(w->out, "(");
    for (size_t i = 0; i < it->params.n; i++) {
        if (i) buf_puts(w->out, ", ");
        put_param(w, &it->params.at[i]);
    }
    buf_puts(w->out, ")");
    if (column(w) + 2 <= WIDTH || it->params.n == 0) return;
    w->out->n = mark; /* too long: one a line */
    buf_puts(w->out, "(");
    for (size_t i = 0; i < it->params.n; i++) {
        new_line(w, STEP);
        put_param(w, &it->params.at[i]);
        buf_puts(w->out, ",");
    }
    new_line(w, 0);
    buf_puts(w->out, ")");
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

/* Where the text of an item's head ends: the opening brace of its body. */
static uint32_t head_end(const struct writer *w, const struct item *it)
{
    uint32_t end = it->body.n ? it->body.at[0]->span.begin : it->span.end;
    bool in_comment = false;
    for (uint32_t i = it->name.span.end; i < end; i++) {
        char c = *text_at(w, i);
        in_comment = c == '#' || (in_comment && c != '\n' && c != '\r');
        if (c == '{' && !in_comment) return i + 1;
    }
    return it->name.span.end;
}

static void put_callable(struct writer *w, const struct item *it)
{
    static const char *const words[] = {[ITEM_GRAPH] = "graph", [ITEM_FN] = "fn", [ITEM_EPILOGUE] = "epilogue"};
    uint32_t brace = head_end(w, it), end = it->span.end;
    lead_in(w, (struct span){it->span.begin, brace}, 0, true);
    buf_printf(w->out, "%s %s", words[it->kind], it->name.text);
    put_params(w, it);
    buf_puts(w->out, " {");
    lead_out(w, brace);
    w->done = brace; /* an empty line after the brace is dropped: the body's first lead-in adds none */
    put_body(w, it);
    comments_before(w, end, STEP);
    buf_puts(w->out, "}");
    lead_out(w, end);
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
            put_path(&it->import_path, w->out);
    } else {
        buf_printf(w->out, "const %s = ", it->name.text);
        print_expr(w, it->value, 0, 0);
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
    lead_in(&w, version, 0, false);
    buf_printf(out, "fg %" PRId64, a->version);
    lead_out(&w, version.end);
    for (size_t i = 0; i < a->items.n; i++) {
        put_item(&w, a->items.at[i]);
    }
    comments_before(&w, a->source->base + (uint32_t)a->source->len + 1, 0);
}
