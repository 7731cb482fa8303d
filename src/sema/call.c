/* call: f(x, name=y) and x |> f(y): finds what is called and evaluates its operands.
 *
 * Invariant: operands are evaluated once, in the order they stand, whatever is called. */
#include "sema/internal.h"

/* The callee's name as one span. */
struct span path_span(const names_vec *path)
{
    return span_join(path->at[0].span, path->at[path->n - 1].span);
}

/* Evaluates positional arguments; checks that none follows a named one and that none of those is
 * given twice. */
static bool gather(struct sema *m, const struct expr *e, const struct cell *left,
                   struct arguments *x)
{
    bool ok = true;
    size_t most = e->args.n + 1;
    x->at = NEW_N(m->scratch, struct cell, most);
    x->at_span = NEW_N(m->scratch, struct span, most);
    x->args = &e->args;
    if (left != NULL) {
        x->at[0] = *left;
        x->at_span[0] = e->left->span;
        x->n = 1;
    }
    const struct arg *named = NULL;
    for (size_t i = 0; i < e->args.n; i++) {
        const struct arg *arg = &e->args.at[i];
        if (arg->name.text != NULL) {
            named = arg;
            for (size_t k = 0; k < i; k++) {
                if (e->args.at[k].name.text != arg->name.text) continue;
                struct diag *d = error_at(m, DIAG_arguments, arg->name.span, "'%s' is given twice",
                                          arg->name.text);
                diag_note(m->s, d, e->args.at[k].name.span, "first here");
                ok = false;
                break;
            }
            continue;
        }
        if (named != NULL) {
            error_at(m, DIAG_arguments, arg->value->span,
                     "a positional argument after the named '%s'", named->name.text);
            ok = false;
        }
        x->at[x->n] = eval(m, arg->value);
        x->at_span[x->n++] = arg->value->span;
    }
    return ok;
}

/* Names given as attributes still count as read when the call itself is wrong. */
static struct cell refuse(struct sema *m, const struct expr *e)
{
    for (size_t i = 0; i < e->args.n; i++) {
        const struct arg *arg = &e->args.at[i];
        if (arg->name.text == NULL || arg->value->kind != EXPR_NAME || arg->value->path.n != 1)
            continue;
        struct sym *sym = m->body != NULL ? scope_find(m->body, arg->value->path.at[0].text) : NULL;
        if (sym != NULL) sym->used = true;
    }
    return POISON;
}

/* ---- functions that look at tensors when compiling ----------------------------------------- */

static struct cell inspect(struct sema *m, const char *what, const struct arguments *x)
{
    bool of_dim = strcmp(what, "dim") == 0;
    size_t want = of_dim ? 2 : 1;
    if (x->n != want || x->args->n > x->n) {
        error_at(m, DIAG_arguments, x->callee.span, "'%s' takes %s", what,
                 of_dim ? "a tensor and an axis" : "a tensor");
        return POISON;
    }
    if (x->at[0].kind == CELL_POISON) return POISON;
    if (x->at[0].kind != CELL_TENSOR) {
        error_at(m, DIAG_kind, x->at_span[0], "'%s' looks at tensors, not at %s", what,
                 cell_text(m, x->at[0]));
        return POISON;
    }
    const struct value *v = x->at[0].v;
    if (strcmp(what, "type") == 0) return (struct cell){CELL_TYPE, .type = v->type};
    if (!of_dim) return (struct cell){CELL_INT, .i = v->rank};
    if (x->at[1].kind == CELL_POISON) return POISON;
    if (x->at[1].kind != CELL_INT || x->at[1].i < 0 || x->at[1].i >= v->rank) {
        error_at(m, DIAG_arguments, x->at_span[1], "%s has axes 0 to %d, not %s", value_text(m, v),
                 v->rank - 1, cell_text(m, x->at[1]));
        return POISON;
    }
    return (struct cell){CELL_INT, .i = v->dim[x->at[1].i]};
}

static bool is_inspection(const char *name)
{
    return strcmp(name, "dim") == 0 || strcmp(name, "rank") == 0 || strcmp(name, "type") == 0;
}

static bool all_constant(const struct arguments *x)
{
    for (size_t i = 0; i < x->n; i++)
        if (x->at[i].kind == CELL_TENSOR || x->at[i].kind == CELL_POISON) return false;
    return x->n > 0;
}

static bool fill_operands(struct sema *m, const struct arguments *args, struct application *x)
{
    const struct op_info *info = &ops[x->id];
    for (int i = 0; i < info->n_in && (size_t)i < args->n; i++) {
        x->cell[i] = args->at[i];
        x->in_span[i] = args->at_span[i];
    }
    if (args->n == (size_t)info->n_in) return true;
    struct diag *d = error_at(m, DIAG_arguments, args->callee.span,
                              "'%s' takes %d operand%s, not %zu", info->name, info->n_in,
                              info->n_in == 1 ? "" : "s", args->n);
    struct buf b = {0};
    for (int i = 0; i < info->n_in; i++)
        buf_printf(&b, "%s%s", i > 0 ? ", " : "", info->in[i].name);
    diag_note(m->s, d, NO_SPAN, "its operands: %s", b.at);
    buf_fini(&b);
    return false;
}

static struct cell call_operator(struct sema *m, enum op_id id, const struct arguments *args, int n,
                                 unsigned skip)
{
    struct arena_mark mark = arena_mark(m->scratch);
    struct application *x = NEW(m->scratch, struct application);
    x->id = id;
    x->span = args->callee.span;
    bool ok = fill_operands(m, args, x);
    if (!attributes(m, args, x)) ok = false;
    struct cell c = ok ? apply(m, x, n, skip) : POISON;
    arena_rewind(m->scratch, mark);
    return c;
}

static struct cell unknown_callee(struct sema *m, const struct expr *e, struct name callee)
{
    if (is_torn(m)) return refuse(m, e);
    struct diag *d = error_at(m, DIAG_unknown_operator, callee.span,
                              "unknown operator or function '%s'", callee.text);
    suggest(m, d, callee, true);
    return refuse(m, e);
}

/* The function that is called, or NULL with *done telling whether that was reported. */
static struct sym *find_function(struct sema *m, const names_vec *path, struct name callee,
                                 bool *bad)
{
    if (path->n > 1) return file_find_path(m, path);
    struct sym *sym = m->body != NULL ? scope_find(m->body, callee.text) : NULL;
    if (sym == NULL) sym = file_use(m, callee, bad);
    if (sym == NULL || sym->kind == SYM_FN || sym->kind == SYM_EPILOGUE) return sym;
    sym->used = true;
    struct diag *d = error_at(m, DIAG_not_callable, callee.span, "'%s' is %s and cannot be called",
                              callee.text, sym_word(sym->kind));
    diag_note(m->s, d, sym->span, "'%s' is defined here", callee.text);
    if (sym->kind == SYM_GRAPH) hint(m, d, "move what the graphs share into a fn");
    *bad = true;
    return NULL;
}

struct cell eval_call(struct sema *m, const struct expr *e, const struct cell *left, int n,
                      unsigned skip)
{
    struct arguments x = {.span = e->span, .callee = e->path.at[0]};
    x.callee.span = path_span(&e->path);
    if (e->path.n > 1) x.callee.text = path_text(m, &e->path);
    bool ok = gather(m, e, left, &x), bad = false;
    struct sym *fn = find_function(m, &e->path, e->path.at[0], &bad);
    if (bad) return refuse(m, e);
    if (fn != NULL) return ok ? inline_call(m, fn, &x, n, skip) : POISON;
    if (e->path.n > 1) return unknown_callee(m, e, x.callee);
    const char *name = x.callee.text;
    if (is_inspection(name)) return inspect(m, name, &x);
    enum op_id id = op_find(name);
    if (constant_function(name) && (id == OP_none || all_constant(&x)) &&
        x.args->n - (left == NULL) < x.n + 1) {
        if (id == OP_none || ok) return constant_call(m, name, x.at, x.n, x.callee.span);
    }
    if (id != OP_none) return ok ? call_operator(m, id, &x, n, skip) : refuse(m, e);
    if (is_later(name)) {
        error_at(m, DIAG_unsupported, x.callee.span, "not supported yet: '%s'", name);
        return refuse(m, e);
    }
    return unknown_callee(m, e, x.callee);
}
