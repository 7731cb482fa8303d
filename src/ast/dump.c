/* dump: the tree, one node a line, for tests and `-d ast`. */
#include "ast/ast.h"

#include <inttypes.h>

const char *const ast_op_names[N_AST_OPS] = {
    [AST_ADD] = "+",       [AST_SUB] = "-", [AST_MUL] = "*",   [AST_DIV] = "/",
    [AST_FLOORDIV] = "//", [AST_MOD] = "%", [AST_EQ] = "==",   [AST_NE] = "!=",
    [AST_LT] = "<",        [AST_LE] = "<=", [AST_GT] = ">",    [AST_GE] = ">=",
    [AST_AND] = "and",     [AST_OR] = "or", [AST_NOT] = "not", [AST_NEG] = "-",
};

static void path(const names_vec *p, struct buf *out)
{
    for (size_t i = 0; i < p->n; i++) buf_printf(out, "%s%s", i ? "." : "", p->at[i].text);
}

/* What is still to be printed: a text, an expression, or one whose left operand is printed. A stack
 * of these stands for recursion: chains may be very long. */
struct piece {
    const char *text;
    const struct expr *e;
    bool only_tail;
};
typedef VEC(struct piece) pieces_vec;

static void push_text(struct arena *a, pieces_vec *todo, const char *text)
{
    vec_push(a, todo, ((struct piece){.text = text}));
}

static void push_expr(struct arena *a, pieces_vec *todo, const struct expr *e)
{
    vec_push(a, todo, ((struct piece){.e = e}));
}

/* The last is pushed first: the stack hands out the first. */
static void push_args(struct arena *a, pieces_vec *todo, const args_vec *args)
{
    for (size_t i = args->n; i > 0; i--) {
        const struct arg *arg = &args->at[i - 1];
        push_expr(a, todo, arg->value);
        if (arg->name.text) {
            push_text(a, todo, "=");
            push_text(a, todo, arg->name.text);
        }
        push_text(a, todo, " ");
    }
}

static const char *prefix_of(const struct expr *e)
{
    return e->kind == EXPR_CHAIN   ? "|>"
           : e->kind == EXPR_IN    ? "in"
           : e->kind == EXPR_PAREN ? "paren"
                                   : ast_op_names[e->op];
}

/* Prints the beginning of what is not the left operand, and pushes the rest. */
static void begin_tail(struct arena *a, pieces_vec *todo, const struct expr *e, struct buf *out)
{
    switch (e->kind) {
    case EXPR_ERROR: buf_puts(out, "error"); break;
    case EXPR_NAME: path(&e->path, out); break;
    case EXPR_INT: buf_printf(out, "%" PRId64, e->i); break;
    case EXPR_REAL: buf_real(out, e->r); break;
    case EXPR_LIST:
        buf_puts(out, "[");
        push_text(a, todo, "]");
        for (size_t i = e->items.n; i > 0; i--) {
            push_expr(a, todo, e->items.at[i - 1]);
            if (i > 1) push_text(a, todo, " ");
        }
        break;
    case EXPR_CALL:
    case EXPR_CHAIN:
        buf_puts(out, e->kind == EXPR_CALL ? "(call " : e->has_parens ? " call " : " ");
        path(&e->path, out);
        push_text(a, todo, ")");
        push_args(a, todo, &e->args);
        break;
    case EXPR_UNARY:
    case EXPR_PAREN: buf_printf(out, "(%s", prefix_of(e)); /* fall through */
    case EXPR_BINARY:
    case EXPR_IN:
        buf_puts(out, " ");
        push_text(a, todo, ")");
        push_expr(a, todo, e->right);
        break;
    }
}

static void print_pieces(struct arena *a, pieces_vec *todo, struct buf *out)
{
    while (todo->n) {
        struct piece p = todo->at[--todo->n];
        if (p.text) {
            buf_puts(out, p.text);
        } else if (p.e->left && !p.only_tail) {
            buf_printf(out, "(%s ", prefix_of(p.e));
            vec_push(a, todo, ((struct piece){.e = p.e, .only_tail = true}));
            push_expr(a, todo, p.e->left);
        } else {
            begin_tail(a, todo, p.e, out);
        }
    }
}

/* Prefix form. */
static void expr(const struct expr *e, struct buf *out)
{
    struct arena *a = arena_new();
    pieces_vec todo = {0};
    push_expr(a, &todo, e);
    print_pieces(a, &todo, out);
    arena_free(a);
}

static void arguments(const args_vec *args, struct buf *out)
{
    struct arena *a = arena_new();
    pieces_vec todo = {0};
    push_args(a, &todo, args);
    print_pieces(a, &todo, out);
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
        [STMT_ERROR] = "error",     [STMT_INPUT] = "input", [STMT_OUTPUT] = "output",
        [STMT_SCALAR] = "scalar",   [STMT_CONST] = "const", [STMT_COMPUTE] = "compute",
        [STMT_REQUIRE] = "require", [STMT_BIND] = "bind",   [STMT_RETURN] = "return",
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
        [ITEM_ERROR] = "error", [ITEM_IMPORT] = "import", [ITEM_CONST] = "const",
        [ITEM_GRAPH] = "graph", [ITEM_FN] = "fn",         [ITEM_EPILOGUE] = "epilogue",
    };
    buf_puts(out, words[it->kind]);
    if (it->name.text) buf_printf(out, " %s", it->name.text);
    if (it->import_path.n) {
        buf_puts(out, " ");
        path(&it->import_path, out);
    }
    if (it->import_file) {
        buf_puts(out, " \"");
        for (const char *p = it->import_file; *p; p++) {
            if (*p == '"' || *p == '\\') buf_puts(out, "\\");
            buf_put(out, p, 1);
        }
        buf_puts(out, "\"");
    }
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
