/* require: conditions on parameters, constants and the target.
 *
 * Invariant: a condition that does not hold is an error at the part that is false, with the values
 * that made it so; one that depends on what is not known (sm without a target) passes. */
#include "sema/internal.h"

/* The text of an expression, shortened. */
static const char *source_text(struct sema *m, struct span at)
{
    const struct source *src = source_place(m->s, at.begin).source;
    if (src == NULL || at.end > src->base + src->len || at.begin < src->base) return "?";
    size_t n = at.end - at.begin;
    const char *text = src->text + (at.begin - src->base);
    bool cut = false;
    for (size_t i = 0; i < n; i++) {
        if (text[i] != '\n' && text[i] != '\r' && i < 100) continue;
        n = i;
        cut = true;
    }
    return arena_printf(m->scratch, "%.*s%s", (int)n, text, cut ? " ..." : "");
}

/* Notes what each name and each dim(), rank(), type() in the condition is. */
static void show_values(struct sema *m, struct diag *d, const struct expr *top)
{
    VEC(const struct expr *) todo = {0};
    VEC(const char *) shown = {0};
    vec_push(m->scratch, &todo, top);
    while (todo.n > 0 && shown.n < 8) {
        const struct expr *e = todo.at[--todo.n];
        if (e == NULL) continue;
        bool look = e->kind == EXPR_NAME || (e->kind == EXPR_CALL && e->path.n == 1 &&
                                             (strcmp(e->path.at[0].text, "dim") == 0 ||
                                              strcmp(e->path.at[0].text, "rank") == 0 ||
                                              strcmp(e->path.at[0].text, "type") == 0));
        if (look) {
            const char *text = source_text(m, e->span);
            bool seen = false;
            for (size_t i = 0; i < shown.n && !seen; i++) seen = strcmp(shown.at[i], text) == 0;
            struct cell c = eval(m, e);
            bool literal = e->kind == EXPR_NAME &&
                           (c.kind == CELL_BOOL || strcmp(text, cell_text(m, c)) == 0);
            if (!seen && !literal && c.kind != CELL_TENSOR)
                diag_note(m->s, d, NO_SPAN, "%s is %s", text, cell_text(m, c));
            vec_push(m->scratch, &shown, text);
            continue;
        }
        vec_push(m->scratch, &todo, e->right);
        for (size_t i = e->items.n; i > 0; i--) vec_push(m->scratch, &todo, e->items.at[i - 1]);
        for (size_t i = e->args.n; i > 0; i--) vec_push(m->scratch, &todo, e->args.at[i - 1].value);
        vec_push(m->scratch, &todo, e->left);
    }
}

void require_stmt(struct sema *m, struct stmt *st)
{
    m->stmt = st;
    VEC(const struct expr *) parts = {0}; /* joined by and, the last one first */
    const struct expr *e = st->value;
    for (; e->kind == EXPR_BINARY && e->op == AST_AND; e = e->left)
        vec_push(m->scratch, &parts, e->right);
    vec_push(m->scratch, &parts, e);
    for (size_t i = parts.n; i > 0; i--) {
        const struct expr *part = parts.at[i - 1];
        struct cell c = eval_condition(m, part);
        if (c.kind == CELL_POISON) return;
        if (c.kind != CELL_BOOL || c.b) continue;
        struct diag *d = error_at(m, DIAG_require_failed, part->span, "requirement not met: %s",
                                  source_text(m, part->span));
        show_values(m, d, part);
        return;
    }
}
