/* inline: calls of fn and epilogue: the body is evaluated again at each call, on its arguments.
 *
 * Invariant: the body sees its parameters and the file it stands in, never the caller's names; cycles were cut
 * by check_functions, and depth and size are bounded besides. */
#include "sema/internal.h"

static struct diag *call_error(struct sema *m, struct span at, const struct item *fn,
                               const char *what, const char *name)
{
    struct diag *d = error_at(m, DIAG_arguments, at, "'%s' %s '%s'", fn->name.text, what, name);
    diag_note(m->s, d, fn->name.span, "'%s' is defined here", fn->name.text);
    return d;
}

/* Evaluates arguments in the caller's scope; has[i] says which parameters were given. */
static bool match_arguments(struct sema *m, const struct item *fn, const struct arguments *args,
                            struct cell *given, bool *has)
{
    bool ok = true;
    for (size_t i = 0; i < args->n; i++) {
        if (i >= fn->params.n) {
            struct diag *d = error_at(m, DIAG_arguments, args->at_span[i],
                                      "'%s' takes %zu argument%s, not %zu", fn->name.text,
                                      fn->params.n, fn->params.n == 1 ? "" : "s", args->n);
            diag_note(m->s, d, fn->name.span, "'%s' is defined here", fn->name.text);
            return false;
        }
        given[i] = args->at[i];
        has[i] = true;
    }
    for (size_t k = 0; k < args->args->n; k++) {
        const struct arg *arg = &args->args->at[k];
        if (arg->name.text == NULL) continue;
        size_t i = 0;
        while (i < fn->params.n && fn->params.at[i].name.text != arg->name.text) i++;
        struct cell c = eval(m, arg->value);
        if (i == fn->params.n || has[i]) {
            call_error(m, arg->name.span, fn,
                       i == fn->params.n ? "has no parameter" : "is given twice its parameter",
                       arg->name.text);
            ok = false;
            continue;
        }
        given[i] = c;
        has[i] = true;
    }
    return ok;
}

/* A mistake of the caller, found while the callee is at hand: told without "called here". */
static struct diag *at_call(struct sema *m, enum diag_id id, struct span at, const char *fmt, ...)
    PRINTF_LIKE(4, 5);
static struct diag *at_call(struct sema *m, enum diag_id id, struct span at, const char *fmt, ...)
{
    char text[512];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    const struct inlined *call = m->call;
    m->call = call->outer;
    struct diag *d = error_at(m, id, at, "%s", text);
    m->call = call;
    return d;
}

/* Parameters become names of the body; defaults are evaluated there and may use earlier ones. */
static bool bind_parameters(struct sema *m, const struct item *fn, const struct cell *given,
                            const bool *has, struct span call)
{
    bool ok = true;
    for (size_t i = 0; i < fn->params.n; i++) {
        const struct param *p = &fn->params.at[i];
        struct sym *sym = scope_add(m->body, SYM_PARAM, p->name, NULL);
        if (sym == NULL) continue; /* given twice in the definition: reported there */
        if (has[i]) sym->cell = given[i];
        else if (p->def != NULL) sym->cell = eval(m, p->def);
        else {
            struct diag *d = at_call(m, DIAG_arguments, call, "'%s' needs its argument '%s'",
                                     fn->name.text, p->name.text);
            diag_note(m->s, d, p->name.span, "'%s' is declared here", p->name.text);
            ok = false;
        }
        index_cell(m, p->name.span, sym->cell);
        sym->defined = true; /* not before: a default cannot use itself */
    }
    return ok;
}

struct cell pack_results(struct sema *m, const struct cell *at, int n)
{
    struct cells *l = NEW(m->a, struct cells);
    l->n = (size_t)n;
    l->at = NEW_N(m->a, struct cell, n + 1);
    for (int i = 0; i < n; i++) l->at[i] = at[i];
    return (struct cell){CELL_TUPLE, .list = l};
}

static struct cell returned(struct sema *m, const struct item *fn, const struct stmt *st, int n,
                            unsigned skip, struct span call)
{
    int have = (int)st->results.n;
    if (have != n) {
        struct diag *d = at_call(m, DIAG_results, call, "'%s' gives %d result%s; %d %s wanted here",
                                 fn->name.text, have, have == 1 ? "" : "s", n,
                                 n == 1 ? "is" : "are");
        diag_note(m->s, d, st->span, "they are returned here");
        if (n == 1) hint(m, d, "bind them first: a, _ = %s(...)", fn->name.text);
        return POISON;
    }
    if (n == 1) return eval(m, st->results.at[0]);
    if (n > MAX_RETURNS) return POISON; /* reported by check_functions */
    struct cell *at = NEW_N(m->scratch, struct cell, n);
    for (int i = 0; i < n; i++) {
        at[i] = eval(m, st->results.at[i]);
        if ((skip >> i & 1) != 0 && at[i].kind != CELL_POISON) at[i] = (struct cell){CELL_UNKNOWN};
    }
    return pack_results(m, at, n);
}

static struct cell run_body(struct sema *m, const struct item *fn, int n, unsigned skip,
                            struct span call)
{
    declare_body(m, m->body, fn);
    for (size_t i = 0; i < fn->body.n; i++) {
        struct stmt *st = fn->body.at[i];
        switch (st->kind) {
        case STMT_CONST: const_stmt(m, st); break;
        case STMT_REQUIRE: require_stmt(m, st); break;
        case STMT_BIND: bind_stmt(m, st); break;
        case STMT_RETURN: return returned(m, fn, st, n, skip, call);
        default: break; /* reported by check_functions */
        }
    }
    return POISON;
}

/* The promise: the first argument is what conv or matmul made, unrounded. */
static bool promise_holds(struct sema *m, const struct item *fn, const struct cell *given,
                          const bool *has, const struct arguments *args)
{
    if (fn->params.n == 0 || !has[0]) return fn->params.n > 0; /* told elsewhere */
    if (given[0].kind == CELL_POISON) return true;
    const struct op *by = given[0].kind == CELL_TENSOR ? given[0].v->producer : NULL;
    if (by != NULL && (ops[by->id].family == FAM_conv || ops[by->id].family == FAM_matmul))
        return true;
    /* An epilogue may hand on to another one while still in the same kernel. */
    if (m->promise != NULL && by != NULL && by->promise != NULL) return true;
    struct diag *d = error_at(m, DIAG_promise, args->n > 0 ? args->at_span[0] : args->callee.span,
                              "epilogue '%s' needs the direct result of conv or matmul, not %s",
                              fn->name.text, cell_text(m, given[0]));
    if (by != NULL && by->id == OP_cast)
        diag_note(m->s, d, by->span, "it was rounded to %s here", dtypes[given[0].v->type].name);
    diag_note(m->s, d, fn->name.span, "'%s' is defined here", fn->name.text);
    hint(m, d, "a fn makes no promise and goes anywhere");
    return false;
}

/* Calls that call twice each grow without bound long before they are deep. After a thousand
 * mistakes (most of them one mistake, met again at each call) there is nothing to learn. */
static bool too_many(struct sema *m, struct span at)
{
    if (m->n_errors - m->errors_before > 1000) return true;
    if (m->n_inlined++ < MAX_INLINED) return false;
    if (!m->too_large)
        error_at(m, DIAG_too_large, at, "more than %d calls are inlined here", MAX_INLINED);
    m->too_large = true;
    return true;
}

struct cell inline_call(struct sema *m, struct sym *fn, const struct arguments *args, int n,
                        unsigned skip)
{
    const struct item *item = fn->item;
    struct arena_mark mark = arena_mark(m->scratch);
    fn->used = true;
    struct cell *given = NEW_N(m->scratch, struct cell, item->params.n + 1);
    bool *has = NEW_N(m->scratch, bool, item->params.n + 1);
    if (!match_arguments(m, item, args, given, has) || fn->cyclic) return POISON;
    if (too_deep(m, args->callee.span) || too_many(m, args->callee.span)) return POISON;
    bool is_epilogue = item->kind == ITEM_EPILOGUE;
    if (is_epilogue && !promise_holds(m, item, given, has, args)) return POISON;

    struct scope *outer_body = m->body, *body = NEW(m->scratch, struct scope);
    const struct inlined *outer_call = m->call;
    struct inlined *call = NEW(m->scratch, struct inlined);
    struct promise *outer_promise = m->promise;
    const struct stmt *outer_stmt = m->stmt;
    struct scope *outer_file = m->file;
    *call = (struct inlined){outer_call, item, args->callee.span};
    body->a = m->scratch;
    m->body = body;
    m->file = fn->home;
    m->call = call;
    if (is_epilogue) {
        m->promise = NEW(m->a, struct promise);
        *m->promise = (struct promise){item->name.text, args->callee.span, ++m->n_promises, -1};
        const struct op *by = given[0].kind == CELL_TENSOR ? given[0].v->producer : NULL;
        if (by) m->promise->anchor = by->promise ? by->promise->anchor : by->made;
    }
    m->depth++;
    struct cell c = POISON;
    if (bind_parameters(m, item, given, has, args->callee.span))
        c = run_body(m, item, n, skip, args->callee.span);
    m->depth--;
    m->body = outer_body;
    m->file = outer_file;
    m->call = outer_call;
    m->promise = outer_promise;
    m->stmt = outer_stmt;
    arena_rewind(m->scratch, mark);
    return c;
}
