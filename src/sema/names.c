/* names: fn and epilogue bodies, called or not: the order of their statements, their names, and
 * calls that come back to where they started.
 *
 * Invariant: after it, a function on a cycle is marked cyclic and is never inlined. */
#include "sema/internal.h"

struct edge {
    struct sym *to;
    struct span at;
};
struct function {
    struct sym *sym;
    VEC(struct edge) calls;
    size_t next; /* of calls, while it is on the path */
    enum { FRESH, ON_PATH, DONE } state;
};
struct names {
    struct sema *m;
    struct scope *body;
    struct function *function;
    struct function *of; /* by index in the file's scope */
};

/* ---- names ------------------------------------------------------------------------------- */

static bool known_value(struct names *x, const char *name)
{
    if (scope_find(x->body, name) != NULL) return true;
    struct sym *sym = file_find(x->m, name, NULL);
    if (sym != NULL) {
        sym->used = true;
        return true;
    }
    if (dtype_find(name) != DT_none || op_find(name) != OP_none || constant_function(name))
        return true;
    return fg_word_find(WORD_constant, name) != NULL;
}

static void check_name(struct names *x, struct name name)
{
    struct sym *sym = scope_find(x->body, name.text);
    if (sym != NULL) sym->used = true;
    if (known_value(x, name.text) || (x->m->file->torn || x->body->torn)) return;
    x->m->body = x->body;
    struct diag *d = error_at(x->m, DIAG_unknown_name, name.span, "unknown name '%s'", name.text);
    suggest(x->m, d, name, false);
    x->m->body = NULL;
}

/* What an epilogue calls by name; what its fns call is seen when they are inlined. */
static void check_promise(struct names *x, struct name name)
{
    enum op_id id = op_find(name.text);
    if (id == OP_none || x->function->sym->kind != SYM_EPILOGUE) return;
    if (ops[id].family == FAM_pointwise || ops[id].family == FAM_reduction) return;
    error_at(
        x->m, DIAG_promise, name.span,
        "'%s' in epilogue '%s': only pointwise operators and reductions can stay in the kernel",
        name.text, x->function->sym->name);
}

static void check_callee(struct names *x, const struct expr *e)
{
    struct name name = e->path.at[0];
    struct sym *sym = e->path.n > 1 ? file_find_path(x->m, &e->path) : file_find(x->m, name.text, NULL);
    if (e->path.n > 1) {
        name.text = path_text(x->m, &e->path);
        name.span = path_span(&e->path);
    }
    if (scope_find(x->body, name.text) != NULL) return; /* refused where it is called */
    if (sym != NULL) {
        struct edge edge = {sym, name.span};
        /* imports make no circle, so what another file defines does not come back here */
        if ((sym->kind == SYM_FN || sym->kind == SYM_EPILOGUE) && sym->home == x->m->file)
            vec_push(x->m->scratch, &x->function->calls, edge);
        return;
    }
    check_promise(x, name);
    if (op_find(name.text) != OP_none || constant_function(name.text) || is_later(name.text) ||
        (x->m->file->torn || x->body->torn))
        return;
    if (strcmp(name.text, "dim") == 0 || strcmp(name.text, "rank") == 0 ||
        strcmp(name.text, "type") == 0)
        return;
    struct diag *d = error_at(x->m, DIAG_unknown_operator, name.span,
                              "unknown operator or function '%s'", name.text);
    suggest(x->m, d, name, true);
}

/* Is this argument's value a name of choices rather than of values? */
static bool is_choice(struct names *x, const struct expr *call, const struct arg *arg)
{
    if (arg->name.text == NULL || call->path.n != 1 || arg->value->kind != EXPR_NAME) return false;
    if (file_find(x->m, call->path.at[0].text, NULL) != NULL) return false;
    enum op_id id = op_find(call->path.at[0].text);
    if (id == OP_none) return false;
    int i = op_attr_index(id, arg->name.text);
    if (i < 0) return true; /* reported where it is called */
    enum attr_kind k = ops[id].attr[i].kind;
    return k == ATTR_CHOICE || k == ATTR_MASK || k == ATTR_AXES;
}

/* With a list of its own instead of recursion: order does not matter, diagnostics are sorted. */
static void check_expr(struct names *x, const struct expr *top)
{
    VEC(const struct expr *) todo = {0};
    struct arena *a = x->m->scratch;
    vec_push(a, &todo, top);
    while (todo.n > 0) {
        const struct expr *e = todo.at[--todo.n];
        if (e == NULL) continue;
        if (e->kind == EXPR_NAME && e->path.n == 1) check_name(x, e->path.at[0]);
        if (e->kind == EXPR_CALL || e->kind == EXPR_CHAIN) check_callee(x, e);
        vec_push(a, &todo, e->left);
        vec_push(a, &todo, e->right);
        for (size_t i = 0; i < e->items.n; i++) vec_push(a, &todo, e->items.at[i]);
        for (size_t i = 0; i < e->args.n; i++)
            if (!is_choice(x, e, &e->args.at[i])) vec_push(a, &todo, e->args.at[i].value);
    }
}

static void check_type(struct names *x, const struct type_expr *t)
{
    if (t == NULL) return;
    check_name(x, t->elem);
    for (size_t i = 0; i < t->dims.n; i++) check_expr(x, t->dims.at[i]);
}

/* ---- statements --------------------------------------------------------------------------- */

static void check_stmt(struct names *x, const struct item *item, size_t i, bool *returned)
{
    const struct stmt *st = item->body.at[i];
    const char *what = item->kind == ITEM_FN ? "fn" : "epilogue";
    struct span at = st->names.n > 0 ? st->names.at[0].span : st->span;
    switch (st->kind) {
    case STMT_INPUT:
    case STMT_OUTPUT:
    case STMT_SCALAR:
    case STMT_COMPUTE:
        error_at(x->m, DIAG_statement_order, at, "this stands in graphs, not in a %s", what);
        return;
    case STMT_RETURN:
        if (i + 1 < item->body.n && !*returned)
            error_at(x->m, DIAG_statement_order, st->span, "'return' is the last statement of a %s",
                     what);
        if (st->results.n > MAX_RETURNS)
            error_at(x->m, DIAG_results, st->span, "%zu results; a %s gives at most %d",
                     st->results.n, what, MAX_RETURNS);
        *returned = true;
        for (size_t k = 0; k < st->results.n; k++) check_expr(x, st->results.at[k]);
        return;
    case STMT_ERROR:
        *returned = true; /* it may have been the return */
        return;
    default: check_type(x, st->type); check_expr(x, st->value);
    }
}

static void check_function(struct sema *m, struct function *all, struct sym *sym)
{
    struct item *item = sym->item;
    struct scope body = {.a = m->scratch};
    struct names x = {m, &body, &all[sym->index], all};
    for (size_t i = 0; i < item->params.n; i++) {
        const struct param *p = &item->params.at[i];
        declare(m, &body, SYM_PARAM, p->name);
        check_expr(&x, p->def);
    }
    if (item->kind == ITEM_EPILOGUE && item->params.n == 0)
        error_at(m, DIAG_promise, item->name.span, "epilogue '%s' has no first argument to follow",
                 item->name.text);
    declare_body(m, &body, item);
    bool returned = false;
    for (size_t i = 0; i < item->body.n; i++) check_stmt(&x, item, i, &returned);
    if (!returned)
        error_at(m, DIAG_statement_order, item->name.span,
                 "'%s' returns nothing: the last statement is 'return'", item->name.text);
    for (size_t i = 0; i < body.syms.n; i++) {
        const struct sym *b = body.syms.at[i];
        if (!b->used && b->name[0] != '_' && m->s->n_errors == 0)
            warn_at(m, DIAG_unused, b->span, "%s '%s' is never used",
                    b->kind == SYM_PARAM ? "parameter" : "binding", b->name);
    }
}

/* ---- cycles ------------------------------------------------------------------------------ */

static void report_cycle(struct sema *m, struct function **path, size_t from, size_t depth)
{
    struct function *first = path[from];
    struct diag *d = error_at(m, DIAG_recursion, first->sym->span, "'%s' comes back to itself",
                              first->sym->name);
    for (size_t i = from; i < depth; i++) {
        const struct edge *e = &path[i]->calls.at[path[i]->next - 1];
        diag_note(m->s, d, e->at, "'%s' calls '%s'", path[i]->sym->name, e->to->name);
        path[i]->sym->cyclic = true;
    }
}

/* Depth first, with the path as a list: a chain of functions of any length is safe. */
static void find_cycles(struct sema *m, struct function *all, size_t n)
{
    struct function **path = NEW_N(m->scratch, struct function *, n + 1);
    for (size_t i = 0; i < n; i++) {
        size_t depth = 0;
        if (all[i].sym == NULL || all[i].state != FRESH) continue;
        all[i].state = ON_PATH;
        path[depth++] = &all[i];
        while (depth > 0) {
            struct function *f = path[depth - 1];
            if (f->next == f->calls.n) {
                f->state = DONE;
                depth--;
                continue;
            }
            struct function *g = &all[f->calls.at[f->next++].to->index];
            if (g->state == FRESH) {
                g->state = ON_PATH;
                path[depth++] = g;
            } else if (g->state == ON_PATH) {
                size_t from = depth - 1;
                while (path[from] != g) from--;
                report_cycle(m, path, from, depth);
            }
        }
    }
}

void check_functions(struct sema *m)
{
    size_t n = m->file->syms.n;
    struct arena_mark mark = arena_mark(m->scratch);
    struct function *all = NEW_N(m->scratch, struct function, n + 1);
    for (size_t i = 0; i < n; i++) {
        struct sym *sym = m->file->syms.at[i];
        if (sym->kind != SYM_FN && sym->kind != SYM_EPILOGUE) continue;
        all[i].sym = sym;
        check_function(m, all, sym);
    }
    find_cycles(m, all, n);
    arena_rewind(m->scratch, mark);
}
