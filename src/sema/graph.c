/* graph: a graph's body: its declarations become the interface, its bindings the ops.
 *
 * Invariant: statements are worked through in the order they stand, and scratch memory is rewound
 * after each, so a body of any length needs no more of it than its longest statement. */
#include "sema/internal.h"

/* ---- order ------------------------------------------------------------------------------- */

static const struct {
    int rank;
    const char *word;
} order_of[] = {
    [STMT_ERROR] = {-1, ""},         [STMT_CONST] = {0, "const"},
    [STMT_REQUIRE] = {0, "require"}, [STMT_COMPUTE] = {0, "compute"},
    [STMT_INPUT] = {1, "input"},     [STMT_SCALAR] = {1, "scalar"},
    [STMT_OUTPUT] = {2, "output"},   [STMT_BIND] = {3, "a binding"},
    [STMT_RETURN] = {-1, "return"},
};

static struct span head(const struct stmt *st)
{
    return st->names.n > 0 ? st->names.at[0].span : st->span;
}

static void check_order(struct sema *m, const struct item *item)
{
    const struct stmt *highest = NULL;
    for (size_t i = 0; i < item->body.n; i++) {
        const struct stmt *st = item->body.at[i];
        if (st->kind == STMT_RETURN)
            error_at(m, DIAG_statement_order, st->span,
                     "a graph returns nothing: its results are its outputs");
        if (order_of[st->kind].rank < 0) continue;
        if (highest == NULL || order_of[st->kind].rank >= order_of[highest->kind].rank) {
            highest = st;
            continue;
        }
        struct diag *d = error_at(m, DIAG_statement_order, head(st), "'%s' stands below %s",
                                  order_of[st->kind].word, order_of[highest->kind].word);
        diag_note(m->s, d, head(highest), "that is here");
        hint(m, d,
             "const, require and compute come first, then input and scalar, then output, then "
             "bindings");
    }
}

/* ---- declarations ------------------------------------------------------------------------ */

static struct sym *mine(struct sema *m, const struct stmt *st, struct name name)
{
    struct sym *sym = scope_find(m->body, name.text);
    return sym != NULL && sym->span.begin == name.span.begin && !sym->defined && st->type != NULL
               ? sym
               : NULL;
}

static struct value *declared(struct sema *m, enum value_role role, const struct stmt *st,
                              struct name name, enum dtype t)
{
    struct value *v = ir_value(m->a, m->g, role, t);
    v->name = name.text;
    v->doc = st->doc;
    v->span = name.span;
    usage_of(m, v)->named = true;
    return v;
}

static bool wants_brackets(struct sema *m, const struct stmt *st)
{
    if (st->type->has_brackets) return true;
    error_at(m, DIAG_type_syntax, st->type->span, "an %s needs its dims in brackets",
             st->kind == STMT_INPUT ? "input" : "output");
    return false;
}

static void input_stmt(struct sema *m, struct stmt *st)
{
    struct tspec t;
    bool ok = tspec_read(m, st->type, false, &t) && wants_brackets(m, st);
    for (size_t i = 0; i < st->names.n; i++) {
        struct sym *sym = mine(m, st, st->names.at[i]);
        if (sym == NULL) continue;
        sym->defined = true;
        if (!ok) continue;
        struct value *v = declared(m, VAL_INPUT, st, st->names.at[i], t.type);
        ir_shape(v, t.rank, t.dim);
        if (tspec_layout(m, &t, v, sym->name, false))
            sym->cell = (struct cell){CELL_TENSOR, .v = v};
        index_cell(m, sym->span, sym->cell);
    }
}

static void output_stmt(struct sema *m, struct stmt *st)
{
    struct tspec *t = NEW(m->a, struct tspec);
    bool ok = tspec_read(m, st->type, true, t) && wants_brackets(m, st);
    bool known = ok && !t->infer_all;
    for (int i = 0; known && i < t->rank; i++) known = t->dim[i] != 0;
    for (size_t i = 0; i < st->names.n; i++) {
        struct sym *sym = mine(m, st, st->names.at[i]);
        if (sym == NULL || !ok) continue;
        sym->spec = t;
        sym->out = declared(m, VAL_OUTPUT, st, st->names.at[i], t->type);
        if (!known) continue; /* checked when it is bound */
        ir_shape(sym->out, t->rank, t->dim);
        if (!tspec_layout(m, t, sym->out, sym->name, true)) sym->spec = NULL;
    }
}

static bool scalar_type(struct sema *m, const struct stmt *st, enum dtype *out)
{
    static const enum dtype allowed[] = {DT_f64, DT_f32, DT_f16, DT_bf16, DT_i64, DT_i32};
    if (st->type->has_brackets || st->type->clauses.n > 0) {
        struct diag *d = error_at(m, DIAG_type_syntax, st->type->span,
                                  "a scalar has neither dims nor a layout");
        hint(m, d, "an input of dims [1] is a tensor of one element");
        return false;
    }
    *out = type_named(m, st->type->elem);
    if (*out == DT_none) return false;
    for (size_t i = 0; i < COUNT_OF(allowed); i++)
        if (allowed[i] == *out) return true;
    struct diag *d = error_at(m, DIAG_element_type, st->type->elem.span, "a scalar cannot be %s",
                              dtypes[*out].name);
    diag_note(m->s, d, NO_SPAN, "scalars are f64 f32 f16 bf16 i64 i32");
    return false;
}

static void scalar_stmt(struct sema *m, struct stmt *st)
{
    enum dtype t;
    double def = 0;
    bool ok = scalar_type(m, st, &t);
    if (st->value != NULL) {
        struct cell c = eval(m, st->value);
        if (c.kind == CELL_POISON) ok = false;
        else if (ok) ok = constant_as(m, c, t, st->value->span, &def);
    }
    for (size_t i = 0; i < st->names.n; i++) {
        struct sym *sym = mine(m, st, st->names.at[i]);
        if (sym == NULL) continue;
        sym->defined = true;
        if (!ok) continue;
        struct value *v = declared(m, VAL_SCALAR, st, st->names.at[i], t);
        v->has_default = st->value != NULL;
        v->literal = def;
        sym->cell = (struct cell){CELL_TENSOR, .v = v};
        index_cell(m, sym->span, sym->cell);
    }
}

static void compute_stmt(struct sema *m, struct stmt *st, const struct stmt **first)
{
    if (*first != NULL) {
        struct diag *d = error_at(m, DIAG_duplicate_name, st->span, "a second 'compute'");
        diag_note(m->s, d, (*first)->span, "the first is here");
        return;
    }
    *first = st;
    enum dtype t = type_named(m, st->names.at[0]);
    if (t != DT_none && compute_allowed(m, t, st->names.at[0].span)) m->g->compute = t;
}

/* ---- the whole body ------------------------------------------------------------------------ */

/* Names that nothing reads, and outputs that nothing binds. */
static void check_uses(struct sema *m, const struct item *item, const struct scope *body)
{
    static const char *const words[] = {
        [SYM_PARAM] = "parameter", [SYM_CONST] = "constant", [SYM_INPUT] = "input",
        [SYM_SCALAR] = "scalar",   [SYM_OUTPUT] = "output",  [SYM_BINDING] = "binding",
    };
    bool sound = m->n_errors == m->errors_before, has_output = false;
    for (size_t i = 0; i < body->syms.n; i++) {
        const struct sym *sym = body->syms.at[i];
        if (sym->kind == SYM_OUTPUT) {
            has_output = true;
            if (sym->bound.end == 0)
                error_at(m, DIAG_unbound_output, sym->span, "output '%s' is never bound",
                         sym->name);
        } else if (!sym->used && sound && sym->name[0] != '_') {
            warn_at(m, DIAG_unused, sym->span, "%s '%s' is never used", words[sym->kind],
                    sym->name);
        }
    }
    if (!has_output)
        error_at(m, DIAG_unbound_output, item->name.span, "graph '%s' has no output",
                 item->name.text);
}

void graph_body(struct sema *m, struct item *item)
{
    const struct stmt *compute = NULL;
    check_order(m, item);
    declare_body(m, m->body, item);
    for (size_t i = 0; i < item->body.n; i++) {
        struct stmt *st = item->body.at[i];
        struct arena_mark mark = arena_mark(m->scratch);
        m->stmt = st;
        switch (st->kind) {
        case STMT_INPUT: input_stmt(m, st); break;
        case STMT_OUTPUT: output_stmt(m, st); break;
        case STMT_SCALAR: scalar_stmt(m, st); break;
        case STMT_CONST: const_stmt(m, st); break;
        case STMT_COMPUTE: compute_stmt(m, st, &compute); break;
        case STMT_REQUIRE: require_stmt(m, st); break;
        case STMT_BIND: bind_stmt(m, st); break;
        default: break;
        }
        arena_rewind(m->scratch, mark);
        if (m->s->diags_full) return;
    }
    m->stmt = NULL;
    if (m->body->torn) return;
    check_uses(m, item, m->body);
}
