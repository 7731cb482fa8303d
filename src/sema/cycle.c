/* cycle: says why a name used above its definition could not simply be moved: bindings that need
 * each other are listed.
 *
 * Invariant: runs only when an error was found, and looks at each binding of the body once. */
#include "sema/internal.h"

/* Calls visit for each plain name in the expression; depth is bounded by an explicit list. */
struct search {
    struct sema *m;
    const struct scope *body;
    size_t *from; /* by symbol: the symbol that needs it, plus 1; 0: not reached */
    VEC(struct sym *) todo;
};

static void reach(struct search *x, struct name name, const struct sym *by)
{
    struct sym *sym = scope_find(x->body, name.text);
    if (sym == NULL || sym->stmt == NULL || sym->stmt->kind != STMT_BIND ||
        x->from[sym->index] != 0)
        return;
    x->from[sym->index] = by->index + 1;
    vec_push(x->m->scratch, &x->todo, sym);
}

static void names_of(struct search *x, const struct expr *top, const struct sym *by)
{
    VEC(const struct expr *) todo = {0};
    vec_push(x->m->scratch, &todo, top);
    while (todo.n > 0) {
        const struct expr *e = todo.at[--todo.n];
        if (e == NULL) continue;
        if (e->kind == EXPR_NAME && e->path.n == 1) reach(x, e->path.at[0], by);
        vec_push(x->m->scratch, &todo, e->left);
        vec_push(x->m->scratch, &todo, e->right);
        for (size_t i = 0; i < e->items.n; i++) vec_push(x->m->scratch, &todo, e->items.at[i]);
        for (size_t i = 0; i < e->args.n; i++) vec_push(x->m->scratch, &todo, e->args.at[i].value);
    }
}

/* The symbol of the statement at hand that `sym` needs in the end, or NULL. */
static struct sym *needs_us(struct search *x, struct sym *sym)
{
    vec_push(x->m->scratch, &x->todo, sym);
    for (size_t i = 0; i < x->todo.n; i++) {
        struct sym *at = x->todo.at[i];
        if (at->stmt == x->m->stmt) return at;
        names_of(x, at->stmt->value, at);
    }
    return NULL;
}

void explain_early_use(struct sema *m, struct diag *d, const struct sym *sym)
{
    if (sym->stmt == NULL || sym->stmt->kind != STMT_BIND || m->body == NULL || m->stmt == NULL ||
        scope_find(m->body, sym->name) != sym) {
        diag_note(m->s, d, sym->span, "'%s' is defined here", sym->name);
        return;
    }
    struct span at = sym->kind == SYM_OUTPUT ? sym->bound : sym->span;
    if (sym->stmt == m->stmt) {
        diag_note(m->s, d, at, "'%s' would need itself", sym->name);
        return;
    }
    struct search x = {m, m->body, NEW_N(m->scratch, size_t, m->body->syms.n + 1)};
    struct sym *end = needs_us(&x, m->body->syms.at[sym->index]);
    if (end == NULL) {
        diag_note(m->s, d, at, "'%s' is defined here", sym->name);
        return;
    }
    diag_note(m->s, d, end->kind == SYM_OUTPUT ? end->bound : end->span, "a cycle: '%s' needs '%s'",
              end->name, sym->name);
    VEC(struct sym *) path = {0}; /* from the end back to sym */
    for (struct sym *p = end;; p = m->body->syms.at[x.from[p->index] - 1]) {
        vec_push(m->scratch, &path, p);
        if (p == sym || x.from[p->index] == 0) break;
    }
    for (size_t i = path.n; i > 1; i--) {
        const struct sym *a = path.at[i - 1], *b = path.at[i - 2];
        diag_note(m->s, d, a->kind == SYM_OUTPUT ? a->bound : a->span, "'%s' needs '%s'", a->name,
                  b->name);
    }
}
