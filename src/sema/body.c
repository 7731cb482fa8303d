/* body: the statements of a graph's body, and those it shares with fn bodies.
 *
 * Invariant: each name is defined once, above its uses; an output is bound once. What a statement
 * could not give is poison, so the statements after it are checked all the same. */
#include "sema/internal.h"

#define MAX_TARGETS 32

static bool skipped(struct name n) { return n.text[0] == '_' && n.text[1] == '\0'; }

/* ---- declaring --------------------------------------------------------------------------- */

static void declare_all(struct sema *m, struct scope *s, enum sym_kind kind, struct stmt *st)
{
    for (size_t i = 0; i < st->names.n; i++) {
        struct sym *sym = declare(m, s, kind, st->names.at[i]);
        if (sym != NULL) sym->stmt = st;
    }
}

static void declare_target(struct sema *m, struct scope *s, struct stmt *st, struct name name)
{
    struct sym *old = scope_find(s, name.text);
    if (old == NULL || old->kind == SYM_BINDING) {
        struct sym *sym = declare(m, s, SYM_BINDING, name);
        if (sym != NULL) sym->stmt = st;
        return;
    }
    if (old->kind == SYM_OUTPUT && old->bound.end == 0) {
        old->bound = name.span;
        old->stmt = st;
        return;
    }
    struct diag *d;
    if (old->kind == SYM_OUTPUT)
        d = error_at(m, DIAG_bound_twice, name.span, "output '%s' is bound twice", name.text);
    else
        d = error_at(m, DIAG_bound_twice, name.span, "'%s' is %s and cannot be bound", name.text,
                     sym_word(old->kind));
    diag_note(m->s, d, old->kind == SYM_OUTPUT ? old->bound : old->span, "%s here",
              old->kind == SYM_OUTPUT ? "first bound" : "declared");
}

void declare_body(struct sema *m, struct scope *s, const struct item *item)
{
    for (size_t i = 0; i < item->body.n; i++) {
        struct stmt *st = item->body.at[i];
        if (st->kind == STMT_ERROR) s->torn = true;
        if (st->kind == STMT_CONST) declare_all(m, s, SYM_CONST, st);
        if (item->kind != ITEM_GRAPH) continue;
        if (st->kind == STMT_INPUT) declare_all(m, s, SYM_INPUT, st);
        if (st->kind == STMT_SCALAR) declare_all(m, s, SYM_SCALAR, st);
        if (st->kind == STMT_OUTPUT) declare_all(m, s, SYM_OUTPUT, st);
    }
    for (size_t i = 0; i < item->body.n; i++) {
        struct stmt *st = item->body.at[i];
        for (size_t k = 0; st->kind == STMT_BIND && k < st->names.n; k++)
            if (!skipped(st->names.at[k])) declare_target(m, s, st, st->names.at[k]);
    }
}

/* The symbol that this statement defines under this name, NULL when another one does. */
static struct sym *own(struct sema *m, const struct stmt *st, struct name name)
{
    struct sym *sym = scope_find(m->body, name.text);
    if (sym == NULL || sym->stmt != st || sym->defined) return NULL;
    return sym->kind == SYM_OUTPUT && st->kind == STMT_BIND && sym->bound.begin != name.span.begin
               ? NULL
               : sym;
}

/* ---- constants and conditions -------------------------------------------------------------- */

void const_stmt(struct sema *m, struct stmt *st)
{
    m->stmt = st;
    struct cell c = eval(m, st->value);
    if (c.kind == CELL_TENSOR) {
        struct diag *d = error_at(m, DIAG_kind, st->value->span, "a constant cannot be %s",
                                  cell_text(m, c));
        hint(m, d, "leave 'const' out to bind a tensor");
        c = POISON;
    }
    struct sym *sym = own(m, st, st->names.at[0]);
    if (sym == NULL) return;
    index_cell(m, sym->span, c);
    sym->cell = c;
    sym->defined = true;
}

/* ---- bindings ---------------------------------------------------------------------------- */

/* Made by an expression that nothing else can see. */
static bool is_fresh(struct sema *m, const struct value *v)
{
    const struct usage *u = usage_of(m, v);
    return v->role == VAL_TEMP && !u->named && u->reads == 0;
}

static bool in_graph(const struct sema *m) { return m->call == NULL; }

static void give_name(struct sema *m, struct value *v, struct name name)
{
    if (v->role == VAL_TEMP && v->name == NULL) {
        v->name = name.text;
        v->span = name.span;
    }
    if (in_graph(m)) usage_of(m, v)->named = true;
}

static bool needs_tensor(struct sema *m, struct cell c, struct name name, struct span at)
{
    if (c.kind == CELL_POISON || c.kind == CELL_UNKNOWN) return false;
    if (c.kind == CELL_TENSOR && c.v->rank > 0) return true;
    struct diag *d = error_at(m, DIAG_kind, at, "'%s' needs a tensor, not %s", name.text,
                              cell_text(m, c));
    if (c.kind != CELL_TENSOR) hint(m, d, "write const %s = ... for a constant", name.text);
    return false;
}

/* Rounding is implicit, a change between numbers and truth is not. */
static bool may_round(struct sema *m, const struct value *v, enum dtype to, struct name name,
                      struct span at)
{
    if (v->type == to || (v->type != DT_bool && to != DT_bool)) return true;
    struct diag *d = error_at(m, DIAG_element_type, at, "'%s' is %s, but this is %s", name.text,
                              dtypes[to].name, dtypes[v->type].name);
    if (to == DT_bool) hint(m, d, "compare it: ... != 0");
    else hint(m, d, "write cast(..., type=%s)", dtypes[to].name);
    return false;
}

/* t : T[dims] layout = expr */
static struct cell annotated(struct sema *m, struct stmt *st, struct name name, struct cell c)
{
    struct tspec t;
    if (!tspec_read(m, st->type, true, &t)) return POISON;
    struct value *v;
    if (!needs_tensor(m, c, name, st->value->span)) return POISON;
    v = c.v;
    if (!tspec_match(m, &t, v, name.text, st->value->span)) return POISON;
    if (!may_round(m, v, t.type, name, st->value->span)) return POISON;
    bool plain = !t.has_layout && t.align == 16;
    if (v->type == t.type && plain && !is_fresh(m, v)) return c; /* another name for it */
    if (v->type != t.type || !is_fresh(m, v) || v->name != NULL)
        v = cast_to(m, v, t.type, name.span);
    v->pinned = true;
    if (!tspec_layout(m, &t, v, name.text, true)) return POISON;
    return (struct cell){CELL_TENSOR, .v = v};
}

static void bind_name(struct sema *m, struct stmt *st, struct sym *sym, struct name name,
                      struct cell c)
{
    if (st->type != NULL) c = annotated(m, st, name, c);
    if (c.kind == CELL_TENSOR) give_name(m, c.v, name);
    if (c.kind == CELL_TUPLE) c = POISON;
    index_cell(m, name.span, c);
    sym->cell = c;
    sym->defined = true;
}

/* The producer's result becomes the output itself, or is rounded (copied) into it. */
static void make_output(struct sema *m, struct value *v, struct value *out, struct span at)
{
    if (v->type == out->type && is_fresh(m, v)) {
        struct op *op = v->producer;
        for (int i = 0; i < ops[op->id].n_out; i++)
            if (op->out[i] == v) ir_result(op, i, out);
        v->producer = NULL; /* ir_sort drops it */
        usage_of(m, v)->became = out;
        return;
    }
    struct value *made = cast_to(m, v, out->type, at);
    ir_result(made->producer, 0, out);
    made->producer = NULL;
}

static void bind_output(struct sema *m, struct stmt *st, struct sym *sym, struct name name,
                        struct cell c)
{
    sym->defined = true;
    sym->cell = POISON;
    if (st->type != NULL) {
        struct diag *d = error_at(m, DIAG_type_syntax, st->type->span,
                                  "output '%s' has its type already", name.text);
        diag_note(m->s, d, sym->span, "declared here");
        return;
    }
    if (!needs_tensor(m, c, name, st->value->span) || sym->spec == NULL) return;
    struct value *v = c.v, *out = sym->out;
    if (!tspec_match(m, sym->spec, v, name.text, st->value->span)) return;
    if (!may_round(m, v, sym->spec->type, name, st->value->span)) return;
    ir_shape(out, v->rank, v->dim);
    if (!tspec_layout(m, sym->spec, out, name.text, true)) return;
    make_output(m, v, out, name.span);
    usage_of(m, out)->named = true;
    sym->cell = (struct cell){CELL_TENSOR, .v = out};
    index_cell(m, sym->span, sym->cell);
}

static void bind_one(struct sema *m, struct stmt *st, struct name name, struct cell c)
{
    if (skipped(name)) return;
    struct sym *sym = own(m, st, name);
    if (sym == NULL) return; /* defined elsewhere: reported */
    if (sym->kind == SYM_OUTPUT) bind_output(m, st, sym, name, c);
    else bind_name(m, st, sym, name, c);
}

void bind_stmt(struct sema *m, struct stmt *st)
{
    m->stmt = st;
    size_t n = st->names.n;
    unsigned skip = 0;
    for (size_t i = 0; i < n && i < MAX_TARGETS; i++)
        if (skipped(st->names.at[i])) skip |= 1u << i;
    struct cell c = POISON;
    if (n > MAX_TARGETS - 1)
        error_at(m, DIAG_results, st->names.at[0].span, "%zu names on the left of one '='", n);
    else c = eval_results(m, st->value, (int)n, n == 1 ? 0 : skip);
    m->stmt = st;
    if (n > 1 && c.kind != CELL_TUPLE && c.kind != CELL_POISON) {
        error_at(m, DIAG_results, st->value->span, "one result for %zu names", n);
        c = POISON;
    }
    for (size_t i = 0; i < n; i++) {
        struct cell one = n == 1 ? c : c.kind == CELL_TUPLE ? c.list->at[i] : POISON;
        /* A fn may return one value twice, and the first time it became an output. */
        if (one.kind == CELL_TENSOR && usage_of(m, one.v)->became != NULL)
            one.v = usage_of(m, one.v)->became;
        bind_one(m, st, st->names.at[i], one);
    }
}
