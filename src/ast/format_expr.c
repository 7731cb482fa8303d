/* format_expr: expressions in canonical form.
 *
 * Invariant: the text depends on the tree alone, so printing what was printed changes nothing. An
 * expression that does not fit is broken before the operators of its loosest level; a call or list
 * that is still too long takes one argument a line. Left operands are walked by loops, for chains
 * may be very long. */
#include "ast/format.h"

typedef VEC(const struct expr *) spine_vec;

/* e, its left operand, that one's, ... */
static spine_vec spine_of(struct arena *a, const struct expr *e)
{
    spine_vec s = {0};
    for (; e; e = e->left) vec_push(a, &s, e);
    return s;
}

/* How loosely the operator binds that joins e's operands; 9 when it has none. */
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

/* The value of a named argument is written without blanks round its arithmetic: scale=1/sqrt(D). */
static bool is_tight(const struct expr *e, bool named)
{
    return named && (level(e) == 5 || level(e) == 6);
}

/* ---- on one line ------------------------------------------------------------------------- */

/* What is still to be printed: a text, an expression, or one without its left operand. A stack of
 * these stands for recursion, whose depth no limit of the language bounds tightly. */
struct piece {
    const char *text;
    const struct expr *e;
    bool named, only_tail;
};
typedef VEC(struct piece) pieces_vec;

static void push_text(struct arena *a, pieces_vec *todo, const char *text)
{
    vec_push(a, todo, ((struct piece){.text = text}));
}

static void push_expr(struct arena *a, pieces_vec *todo, const struct expr *e, bool named)
{
    vec_push(a, todo, ((struct piece){.e = e, .named = named}));
}

/* The last is pushed first: the stack hands out the first. */
static void push_args(struct arena *a, pieces_vec *todo, const args_vec *args)
{
    push_text(a, todo, ")");
    for (size_t i = args->n; i > 0; i--) {
        const struct arg *arg = &args->at[i - 1];
        push_expr(a, todo, arg->value, arg->name.text != NULL);
        if (arg->name.text) {
            push_text(a, todo, "=");
            push_text(a, todo, arg->name.text);
        }
        if (i > 1) push_text(a, todo, ", ");
    }
    push_text(a, todo, "(");
}

static void push_list(struct arena *a, pieces_vec *todo, const exprs_vec *items, bool named)
{
    push_text(a, todo, "]");
    for (size_t i = items->n; i > 0; i--) {
        push_expr(a, todo, items->at[i - 1], named);
        if (i > 1) push_text(a, todo, ", ");
    }
    push_text(a, todo, "[");
}

static void put_path(const names_vec *p, struct buf *out)
{
    for (size_t i = 0; i < p->n; i++) {
        if (i) buf_puts(out, ".");
        buf_puts(out, p->at[i].text);
    }
}

/* What stands before the right operand: the operator. */
static void put_operator(const struct expr *e, bool named, struct buf *out)
{
    buf_puts(out, e->kind == EXPR_IN ? "in" : ast_op_names[e->op]);
    if (e->kind == EXPR_UNARY ? e->op == AST_NOT : !is_tight(e, named)) buf_puts(out, " ");
}

/* Prints the beginning of e without its left operand, and pushes the rest. */
static void begin_tail(struct arena *a, pieces_vec *todo, const struct expr *e, bool named,
                       struct buf *out)
{
    switch (e->kind) {
    case EXPR_ERROR: break;
    case EXPR_NAME: put_path(&e->path, out); break;
    case EXPR_INT:
    case EXPR_REAL: buf_puts(out, e->literal); break;
    case EXPR_LIST: push_list(a, todo, &e->items, named); break;
    case EXPR_CALL:
    case EXPR_CHAIN:
        if (e->kind == EXPR_CHAIN) buf_puts(out, "|> ");
        put_path(&e->path, out);
        if (e->has_parens) push_args(a, todo, &e->args);
        break;
    case EXPR_PAREN:
        push_text(a, todo, ")");
        push_expr(a, todo, e->right, named);
        push_text(a, todo, "(");
        break;
    case EXPR_UNARY:
    case EXPR_BINARY:
    case EXPR_IN:
        put_operator(e, named, out);
        push_expr(a, todo, e->right, named);
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
            vec_push(a, todo, ((struct piece){.e = p.e, .named = p.named, .only_tail = true}));
            if (!is_tight(p.e, p.named)) push_text(a, todo, " ");
            push_expr(a, todo, p.e->left, p.named);
        } else {
            begin_tail(a, todo, p.e, p.named, out);
        }
    }
}

static void flat(const struct expr *e, bool named, bool only_tail, struct buf *out)
{
    struct arena *a = arena_new();
    pieces_vec todo = {0};
    vec_push(a, &todo, ((struct piece){.e = e, .named = named, .only_tail = only_tail}));
    print_pieces(a, &todo, out);
    arena_free(a);
}

void format_flat(const struct expr *e, struct buf *out)
{
    flat(e, false, false, out);
}

void format_args(const args_vec *args, struct buf *out)
{
    struct arena *a = arena_new();
    pieces_vec todo = {0};
    push_args(a, &todo, args);
    print_pieces(a, &todo, out);
    arena_free(a);
}

/* ---- broken ------------------------------------------------------------------------------ */

void format_new_line(struct writer *w, int indent)
{
    buf_printf(w->out, "\n%*s", indent, "");
    w->line_at = w->out->n - (size_t)indent;
}

size_t format_column(const struct writer *w)
{
    return w->out->n - w->line_at;
}

static bool fits(const struct writer *w, const struct expr *e, bool named, bool only_tail,
                 size_t reserve)
{
    struct buf b = {0};
    flat(e, named, only_tail, &b);
    bool ok = format_column(w) + b.n + reserve <= WIDTH;
    buf_fini(&b);
    return ok;
}

/* Deeper than this nothing is broken: no line has room for it. It bounds the recursion, too. */
enum { MOST_BROKEN = 24 };

/* Where an expression goes. */
struct room {
    int indent;     /* of the line that it begins on */
    int depth;      /* of what is broken around it */
    size_t reserve; /* columns to leave for what follows it */
    bool named;     /* in the value of a named argument */
};

static void print_expr(struct writer *w, const struct expr *e, struct room r);

/* A list of numbers and names fills its lines, for one item a line would hide its shape. */
static bool is_plain_list(const struct expr *e)
{
    for (size_t i = 0; i < e->items.n; i++) {
        enum expr_kind k = e->items.at[i]->kind;
        if (k != EXPR_INT && k != EXPR_REAL && k != EXPR_NAME) return false;
    }
    return e->kind == EXPR_LIST;
}

/* A call's arguments or a list's items, one a line. */
static void print_lines(struct writer *w, const struct expr *e, struct room r)
{
    bool list = e->kind == EXPR_LIST, fills = is_plain_list(e);
    size_t n = list ? e->items.n : e->args.n;
    struct room inner = {
        .indent = r.indent + STEP, .depth = r.depth + 1, .reserve = 1, .named = r.named};
    buf_puts(w->out, list ? "[" : "(");
    for (size_t i = 0; i < n; i++) {
        const struct arg *arg = list ? NULL : &e->args.at[i];
        if (i && fills && fits(w, e->items.at[i], r.named, false, 2))
            buf_puts(w->out, " ");
        else
            format_new_line(w, inner.indent);
        if (arg) {
            inner.named = arg->name.text != NULL;
            if (inner.named) buf_printf(w->out, "%s=", arg->name.text);
        }
        print_expr(w, arg ? arg->value : e->items.at[i], inner);
        buf_puts(w->out, ",");
    }
    format_new_line(w, r.indent);
    buf_puts(w->out, list ? "]" : ")");
}

static void print_tail(struct writer *w, const struct expr *e, struct room r)
{
    size_t parts = e->kind == EXPR_LIST ? e->items.n : e->args.n;
    bool opens = (e->kind == EXPR_LIST || e->kind == EXPR_CALL || e->kind == EXPR_CHAIN) && parts;
    if (r.depth > MOST_BROKEN || (!opens && !e->right) || fits(w, e, r.named, true, r.reserve)) {
        flat(e, r.named, true, w->out);
        return;
    }
    r.depth++;
    if (opens) {
        if (e->kind == EXPR_CHAIN) buf_puts(w->out, "|> ");
        put_path(&e->path, w->out);
        print_lines(w, e, r);
    } else if (e->kind == EXPR_PAREN) {
        buf_puts(w->out, "(");
        r.reserve++;
        print_expr(w, e->right, r);
        buf_puts(w->out, ")");
    } else {
        put_operator(e, r.named, w->out);
        print_expr(w, e->right, r);
    }
}

/* Broken before each operator of the loosest level, and before a tighter one only where its operand
 * would pass the edge. */
static void print_expr(struct writer *w, const struct expr *e, struct room r)
{
    if (r.depth > MOST_BROKEN || fits(w, e, r.named, false, r.reserve)) {
        flat(e, r.named, false, w->out);
        return;
    }
    struct arena *a = arena_new();
    spine_vec s = spine_of(a, e);
    int loosest = level(s.at[0]);
    for (size_t i = s.n; i > 0; i--) {
        const struct expr *x = s.at[i - 1];
        struct room part = r;
        part.reserve = i == 1 ? r.reserve : 0;
        bool loose = level(x) == loosest;
        if (i < s.n && (loose || !fits(w, x, r.named, true, part.reserve + 1))) {
            part.indent += loose ? STEP : 2 * STEP;
            format_new_line(w, part.indent);
        } else if (i < s.n && !is_tight(x, r.named)) {
            buf_puts(w->out, " ");
        }
        print_tail(w, x, part);
    }
    arena_free(a);
}

void format_expr(struct writer *w, const struct expr *e, int indent, size_t reserve)
{
    print_expr(w, e, (struct room){.indent = indent, .reserve = reserve});
}
