/* dump: the tree, one node a line, for tests and `-d ast`. */
#include "ast/ast.h"

#include <inttypes.h>

const char *const ast_op_names[N_AST_OPS] = {
    [AST_ADD] = "+",  [AST_SUB] = "-",  [AST_MUL] = "*",    [AST_DIV] = "/",  [AST_FLOORDIV] = "//",
    [AST_MOD] = "%",  [AST_EQ] = "==",  [AST_NE] = "!=",    [AST_LT] = "<",   [AST_LE] = "<=",
    [AST_GT] = ">",   [AST_GE] = ">=",  [AST_AND] = "and",  [AST_OR] = "or",  [AST_NOT] = "not",
    [AST_NEG] = "-",
};

static void path(const names_vec *p, struct buf *out)
{
    for (size_t i = 0; i < p->n; i++) buf_printf(out, "%s%s", i ? "." : "", p->at[i].text);
}

static void expr(const struct expr *e, struct buf *out);

static void arguments(const args_vec *a, struct buf *out)
{
    for (size_t i = 0; i < a->n; i++) {
        buf_puts(out, " ");
        if (a->at[i].name.text) buf_printf(out, "%s=", a->at[i].name.text);
        expr(a->at[i].value, out);
    }
}

/* What is not the left operand. */
static void tail(const struct expr *e, struct buf *out)
{
    switch (e->kind) {
    case EXPR_ERROR: buf_puts(out, "error"); break;
    case EXPR_NAME: path(&e->path, out); break;
    case EXPR_INT: buf_printf(out, "%" PRId64, e->i); break;
    case EXPR_REAL: buf_real(out, e->r); break;
    case EXPR_LIST:
        buf_puts(out, "[");
        for (size_t i = 0; i < e->items.n; i++) {
            if (i) buf_puts(out, " ");
            expr(e->items.at[i], out);
        }
        buf_puts(out, "]");
        break;
    case EXPR_CALL:
        buf_puts(out, "(call ");
        path(&e->path, out);
        arguments(&e->args, out);
        buf_puts(out, ")");
        break;
    case EXPR_CHAIN:
        buf_puts(out, e->has_parens ? " call " : " ");
        path(&e->path, out);
        arguments(&e->args, out);
        buf_puts(out, ")");
        break;
    case EXPR_UNARY:
        buf_printf(out, "(%s ", ast_op_names[e->op]);
        expr(e->right, out);
        buf_puts(out, ")");
        break;
    case EXPR_PAREN:
        buf_puts(out, "(paren ");
        expr(e->right, out);
        buf_puts(out, ")");
        break;
    case EXPR_BINARY:
    case EXPR_IN:
        buf_puts(out, " ");
        expr(e->right, out);
        buf_puts(out, ")");
        break;
    }
}

/* Prefix form. Down the left spine by a loop, for chains may be very long. */
static void expr(const struct expr *e, struct buf *out)
{
    VEC(const struct expr *) spine = {0};
    struct arena *a = arena_new();
    for (; e; e = e->left) vec_push(a, &spine, e);
    for (size_t i = 0; i + 1 < spine.n; i++) {
        const struct expr *s = spine.at[i];
        buf_printf(out, "(%s ", s->kind == EXPR_CHAIN ? "|>" : s->kind == EXPR_IN ? "in" : ast_op_names[s->op]);
    }
    for (size_t i = spine.n; i > 0; i--) tail(spine.at[i - 1], out);
    arena_free(a);
}

static void type(const struct type_expr *t, struct buf *out)
{
    buf_printf(out, " : %s", t->elem.text);
    if (t->has_brackets) {
        buf_puts(out, "[");
        if (t->infer_all) buf_puts(out, "...");
        for (size_t i = 0; i < t->dims.n; i++) {
            if (i) buf_puts(out, " ");
            if (t->dims.at[i])
                expr(t->dims.at[i], out);
            else
                buf_puts(out, "_");
        }
        buf_puts(out, "]");
    }
    for (size_t i = 0; i < t->clauses.n; i++) {
        buf_printf(out, " (%s", t->clauses.at[i].name.text);
        arguments(&t->clauses.at[i].args, out);
        buf_puts(out, ")");
    }
}

static void doc(const char *text, struct buf *out)
{
    if (!text) return;
    buf_puts(out, "  \"");
    for (; *text; text++) *text == '\n' ? buf_puts(out, "\\n") : buf_put(out, text, 1);
    buf_puts(out, "\"");
}

static void stmt(const struct stmt *s, struct buf *out)
{
    static const char *const words[] = {
        [STMT_ERROR] = "error",     [STMT_INPUT] = "input",     [STMT_OUTPUT] = "output",
        [STMT_SCALAR] = "scalar",   [STMT_CONST] = "const",     [STMT_COMPUTE] = "compute",
        [STMT_REQUIRE] = "require", [STMT_BIND] = "bind",       [STMT_RETURN] = "return",
    };
    buf_printf(out, "  %s", words[s->kind]);
    for (size_t i = 0; i < s->names.n; i++) buf_printf(out, " %s", s->names.at[i].text);
    if (s->type) type(s->type, out);
    if (s->value) {
        buf_puts(out, s->kind == STMT_REQUIRE ? " " : " = ");
        expr(s->value, out);
    }
    for (size_t i = 0; i < s->results.n; i++) {
        buf_puts(out, " ");
        expr(s->results.at[i], out);
    }
    doc(s->doc, out);
    buf_puts(out, "\n");
}

static void item(const struct item *it, struct buf *out)
{
    static const char *const words[] = {
        [ITEM_ERROR] = "error", [ITEM_IMPORT] = "import",     [ITEM_CONST] = "const",
        [ITEM_GRAPH] = "graph", [ITEM_FN] = "fn",             [ITEM_EPILOGUE] = "epilogue",
    };
    buf_puts(out, words[it->kind]);
    if (it->name.text) buf_printf(out, " %s", it->name.text);
    if (it->import_path.n) {
        buf_puts(out, " ");
        path(&it->import_path, out);
    }
    if (it->import_file) buf_printf(out, " \"%s\"", it->import_file);
    for (size_t i = 0; i < it->params.n; i++) {
        const struct param *p = &it->params.at[i];
        buf_printf(out, " (%s%s", p->name.text, p->def ? " = " : p->choices ? " in " : "");
        if (p->def || p->choices) expr(p->def ? p->def : p->choices, out);
        buf_puts(out, ")");
    }
    if (it->value) {
        buf_puts(out, " = ");
        expr(it->value, out);
    }
    doc(it->doc, out);
    buf_puts(out, "\n");
    for (size_t i = 0; i < it->body.n; i++) stmt(it->body.at[i], out);
}

void ast_dump(const struct ast *a, struct buf *out)
{
    buf_printf(out, "fg %" PRId64 "\n", a->version);
    for (size_t i = 0; i < a->items.n; i++) item(a->items.at[i], out);
}
