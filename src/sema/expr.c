/* expr: expressions: constants are computed, tensors become ops of the graph.
 *
 * Invariant: runs of infix operators and |> are walked by a loop down their left side, so their
 * length costs no stack; what nests is counted in sema.depth, and its frames are kept small (large
 * things go to the scratch arena, which is rewound on the way out: no cell points into it). */
#include "sema/internal.h"

static bool goes_left(const struct expr *e)
{
    return e->kind == EXPR_BINARY || e->kind == EXPR_IN || e->kind == EXPR_CHAIN;
}

static enum op_id infix_op(enum ast_op op)
{
    static const enum op_id ids[N_AST_OPS] = {
        [AST_ADD] = OP_add, [AST_SUB] = OP_sub, [AST_MUL] = OP_mul, [AST_DIV] = OP_div,
        [AST_MOD] = OP_mod, [AST_EQ] = OP_eq,   [AST_NE] = OP_ne,   [AST_LT] = OP_lt,
        [AST_LE] = OP_le,   [AST_GT] = OP_gt,   [AST_GE] = OP_ge,
        [AST_AND] = OP_logical_and,             [AST_OR] = OP_logical_or,
    };
    return ids[op];
}

static struct cell tensor_infix(struct sema *m, const struct expr *e, struct cell a, struct cell b)
{
    enum op_id id = infix_op(e->op);
    if (id == OP_none) {
        struct diag *d = error_at(m, DIAG_kind, e->op_span, "'//' is not defined on tensors");
        hint(m, d, "write / for the quotient, or floor(a / b)");
        return POISON;
    }
    struct arena_mark mark = arena_mark(m->scratch);
    struct application *x = NEW(m->scratch, struct application);
    x->id = id;
    x->span = e->op_span;
    x->cell[0] = a;
    x->cell[1] = b;
    x->in_span[0] = e->left->span;
    x->in_span[1] = e->right->span;
    struct cell c = apply(m, x, 1, 0);
    arena_rewind(m->scratch, mark);
    return c;
}

static struct cell binary(struct sema *m, const struct expr *e, struct cell left)
{
    if (left.kind == CELL_BOOL && ((e->op == AST_AND && !left.b) || (e->op == AST_OR && left.b)))
        return left; /* the rest is not evaluated: it may be guarded by this */
    struct cell right = eval(m, e->right);
    if (left.kind == CELL_POISON || right.kind == CELL_POISON) return POISON;
    if (left.kind == CELL_TENSOR || right.kind == CELL_TENSOR)
        return tensor_infix(m, e, left, right);
    return constant_binary(m, e->op, left, right, e->op_span);
}

static struct cell in_list(struct sema *m, const struct expr *e, struct cell left)
{
    struct cell list = eval(m, e->right);
    if (left.kind == CELL_TENSOR) {
        error_at(m, DIAG_kind, e->left->span, "'in' compares constants, not tensors");
        return POISON;
    }
    return constant_in(m, left, list, e->op_span);
}

static struct cell unary(struct sema *m, const struct expr *e)
{
    struct cell c = eval(m, e->right);
    if (c.kind != CELL_TENSOR) return constant_unary(m, e->op, c, e->op_span);
    struct arena_mark mark = arena_mark(m->scratch);
    struct application *x = NEW(m->scratch, struct application);
    x->id = e->op == AST_NOT ? OP_logical_not : OP_neg;
    x->span = e->op_span;
    x->cell[0] = c;
    x->in_span[0] = e->right->span;
    c = apply(m, x, 1, 0);
    arena_rewind(m->scratch, mark);
    return c;
}

static struct cell list(struct sema *m, const struct expr *e)
{
    struct cells *l = NEW(m->a, struct cells);
    l->n = e->items.n;
    l->at = NEW_N(m->a, struct cell, e->items.n + 1);
    bool ok = true;
    for (size_t i = 0; i < e->items.n; i++) {
        l->at[i] = eval(m, e->items.at[i]);
        if (l->at[i].kind == CELL_TENSOR) {
            error_at(m, DIAG_kind, e->items.at[i]->span, "a list holds constants, not tensors");
            ok = false;
        }
        if (l->at[i].kind == CELL_POISON) ok = false;
    }
    return ok ? (struct cell){CELL_LIST, .list = l} : POISON;
}

static struct cell name(struct sema *m, const struct expr *e)
{
    if (e->path.n == 1) return lookup(m, e->path.at[0]);
    struct sym *sym = file_find_path(m, &e->path);
    if (sym != NULL && sym->kind == SYM_CONST) return sym->cell;
    if (sym != NULL) {
        error_at(m, DIAG_kind, e->span, "'%s' is %s, not a value", path_text(m, &e->path),
                 sym_word(sym->kind));
        return POISON;
    }
    if (!is_torn(m))
        error_at(m, DIAG_unknown_name, e->span, "unknown name '%s'", path_text(m, &e->path));
    return POISON;
}

/* What stands at the left end of a run. */
static struct cell leaf(struct sema *m, const struct expr *e)
{
    switch (e->kind) {
    case EXPR_NAME: return name(m, e);
    case EXPR_INT: return (struct cell){CELL_INT, .i = e->i};
    case EXPR_REAL: return (struct cell){CELL_REAL, .r = e->r};
    case EXPR_LIST: return list(m, e);
    case EXPR_CALL: return eval_call(m, e, NULL, 1, 0);
    case EXPR_UNARY: return unary(m, e);
    case EXPR_PAREN: return eval(m, e->right);
    default: return POISON;
    }
}

static struct cell step(struct sema *m, const struct expr *e, struct cell left, int n,
                        unsigned skip)
{
    switch (e->kind) {
    case EXPR_BINARY: return binary(m, e, left);
    case EXPR_IN: return in_list(m, e, left);
    default: return eval_call(m, e, &left, n, skip);
    }
}

/* n and skip are for the outermost call alone. */
static struct cell eval_run(struct sema *m, const struct expr *e, int n, unsigned skip)
{
    size_t length = 0;
    for (const struct expr *p = e; goes_left(p); p = p->left) length++;
    if (length == 0) return e->kind == EXPR_CALL ? eval_call(m, e, NULL, n, skip) : leaf(m, e);
    struct arena_mark mark = arena_mark(m->scratch);
    const struct expr **run = NEW_N(m->scratch, const struct expr *, length), *p = e;
    for (size_t i = 0; i < length; i++, p = p->left) run[i] = p;
    struct cell c = leaf(m, p);
    for (size_t i = length; i > 1; i--) c = step(m, run[i - 1], c, 1, 0);
    c = step(m, run[0], c, n, skip);
    arena_rewind(m->scratch, mark);
    return c;
}

bool too_deep(struct sema *m, struct span at)
{
    if (m->depth < MAX_DEPTH) return false;
    if (!m->too_deep)
        error_at(m, DIAG_too_deep, at, "expressions and calls are nested more than %d levels deep",
                 MAX_DEPTH);
    m->too_deep = true;
    return true;
}

struct cell eval_results(struct sema *m, const struct expr *e, int n, unsigned skip)
{
    while (e->kind == EXPR_PAREN) e = e->right;
    if (too_deep(m, e->span)) return POISON;
    m->depth++;
    struct cell c = eval_run(m, e, n, skip);
    m->depth--;
    return c;
}

struct cell eval(struct sema *m, const struct expr *e) { return eval_results(m, e, 1, 0); }

bool eval_int(struct sema *m, const struct expr *e, const char *what, int64_t *out)
{
    struct cell c = eval(m, e);
    if (c.kind == CELL_POISON) return false;
    if (c.kind == CELL_INT) {
        *out = c.i;
        return true;
    }
    struct diag *d = error_at(m, DIAG_kind, e->span, "%s must be an integer, not %s", what,
                              cell_text(m, c));
    const struct expr *p = e;
    while (p->kind == EXPR_PAREN) p = p->right;
    if (c.kind == CELL_REAL && p->kind == EXPR_BINARY && p->op == AST_DIV)
        hint(m, d, "'/' is real division; '//' divides integers and rounds down");
    return false;
}

struct cell eval_condition(struct sema *m, const struct expr *e)
{
    struct cell c = eval(m, e);
    if (c.kind == CELL_POISON || c.kind == CELL_UNKNOWN || c.kind == CELL_BOOL) return c;
    error_at(m, DIAG_kind, e->span, "a condition is needed here, not %s", cell_text(m, c));
    return POISON;
}
