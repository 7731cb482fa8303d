/* analyse: from a file's tree to its graphs: the file's names, the graphs chosen, and a variant for
 * each combination of the parameters' values.
 *
 * Invariant: every variant is analysed from the tree afresh; a graph with a mistake is left out of
 * the module and the others are analysed all the same. */
#include "sema/internal.h"

#include <assert.h>
#include <stdlib.h>

static void add_context(struct sema *m, struct diag *d)
{
    int n = 0;
    for (const struct inlined *c = m->call; c != NULL && n < 4; c = c->outer, n++)
        diag_note(m->s, d, c->span, "in '%s', called here", c->item->name.text);
    if (m->many_variants && m->g != NULL)
        diag_note(m->s, d, NO_SPAN, "in the variant %s", m->g->variant);
}

struct diag *error_at(struct sema *m, enum diag_id id, struct span at, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    char text[1024];
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    struct diag *d = diag(m->s, id, at, "%s", text);
    m->n_errors++;
    add_context(m, d);
    return d;
}

struct diag *warn_at(struct sema *m, enum diag_id id, struct span at, const char *fmt, ...)
{
    if (!m->first_variant) return NULL;
    va_list args;
    va_start(args, fmt);
    char text[1024];
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    return diag(m->s, id, at, "%s", text);
}

void hint(struct sema *m, struct diag *d, const char *fmt, ...)
{
    if (d == NULL) return;
    va_list args;
    va_start(args, fmt);
    char text[1024];
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    diag_hint(m->s, d, "%s", text);
}

/* ---- parameters -------------------------------------------------------------------------- */

/* An integer or an element type; false when the text is neither. */
static bool read_define(const struct sema_define *d, struct cell *out)
{
    enum dtype t = dtype_find(d->value);
    if (t != DT_none) {
        *out = (struct cell){CELL_TYPE, .type = t};
        return true;
    }
    int64_t n = 0;
    const char *p = d->value;
    bool negative = *p == '-';
    p += negative;
    bool ok = *p != '\0';
    for (; ok && *p != '\0'; p++)
        ok = *p >= '0' && *p <= '9' && i64_mul(n, 10, &n) && i64_add(n, *p - '0', &n);
    *out = (struct cell){CELL_INT, .i = negative ? -n : n};
    return ok;
}

/* A mistake in a -D is told once, however many graphs and variants it reaches. */
static struct diag *define_error(struct sema *m, const struct sema_define *d, const char *what)
{
    size_t i = (size_t)(d - m->o->defines);
    m->n_errors++;
    if (m->define_told[i]) return NULL;
    m->define_told[i] = true;
    return diag(m->s, DIAG_define, NO_SPAN, "-D %s%s%s=%s: %s", d->graph != NULL ? d->graph : "",
                d->graph != NULL ? "." : "", d->name, d->value, what);
}

/* The -D that sets this parameter; one that names the graph goes before one that does not, later
 * ones before earlier ones. */
static const struct sema_define *find_define(struct sema *m, const char *graph, const char *name)
{
    const struct sema_define *best = NULL;
    for (size_t i = 0; i < m->o->n_defines; i++) {
        const struct sema_define *d = &m->o->defines[i];
        if (strcmp(d->name, name) != 0 || (d->graph != NULL && strcmp(d->graph, graph) != 0))
            continue;
        if (best == NULL || best->graph == NULL || d->graph != NULL) best = d;
    }
    return best;
}

static void check_define(struct sema *m, const struct sema_define *d)
{
    struct cell c;
    VEC(const char *) names = {0};
    bool graph_found = d->graph == NULL;
    if (!read_define(d, &c)) {
        define_error(m, d, "the value is neither an integer nor an element type");
        return;
    }
    for (size_t i = 0; i < m->file->syms.n; i++) {
        const struct sym *g = m->file->syms.at[i];
        if (g->kind != SYM_GRAPH || (d->graph != NULL && strcmp(d->graph, g->name) != 0)) continue;
        graph_found = true;
        for (size_t k = 0; k < g->item->params.n; k++) {
            if (strcmp(g->item->params.at[k].name.text, d->name) == 0) return;
            vec_push(m->scratch, &names, g->item->params.at[k].name.text);
        }
    }
    const char *what;
    if (!graph_found) what = arena_printf(m->scratch, "no graph is called '%s'", d->graph);
    else if (d->graph != NULL)
        what = arena_printf(m->scratch, "graph '%s' has no parameter '%s'", d->graph, d->name);
    else what = arena_printf(m->scratch, "no graph has a parameter '%s'", d->name);
    struct diag *e = define_error(m, d, what);
    const char *close = closest_name(d->name, names.at, names.n);
    if (close != NULL) hint(m, e, "did you mean '%s'?", close);
}

static bool check_param(struct sema *m, const struct param *p, struct cell c, struct span at)
{
    if (c.kind == CELL_POISON) return false;
    if (c.kind == CELL_INT || (c.kind == CELL_TYPE && c.type != DT_tf32)) return true;
    error_at(m, DIAG_parameter, at, "parameter '%s' is an integer or an element type, not %s",
             p->name.text, cell_text(m, c));
    return false;
}

/* The value of one parameter; *n: how many choices it has here, of which this is the i-th. */
static bool param_value(struct sema *m, const struct item *g, const struct param *p, size_t i,
                        size_t *n, struct cell *out)
{
    *n = 1;
    const struct sema_define *d = find_define(m, g->name.text, p->name.text);
    const struct expr *e = p->choices != NULL ? p->choices : p->def;
    m->is_overridden = d != NULL; /* then its own value is looked at for its kind only */
    struct cell own = e != NULL ? eval(m, e) : POISON;
    m->is_overridden = false;
    if (e != NULL && own.kind == CELL_POISON) return false;
    if (p->choices != NULL && (own.kind != CELL_LIST || own.list->n == 0)) {
        error_at(m, DIAG_parameter, e->span, "the choices of '%s' are a list of one value or more",
                 p->name.text);
        return false;
    }
    struct cell like = p->choices != NULL ? own.list->at[0] : own;
    if (d != NULL) {
        if (!read_define(d, out)) return false; /* told by check_define */
        if (e == NULL || like.kind == out->kind) return check_param(m, p, *out, p->name.span);
        define_error(m, d,
                     arena_printf(m->scratch, "'%s' is %s", p->name.text,
                                  like.kind == CELL_TYPE ? "an element type" : "an integer"));
        return false;
    }
    if (e == NULL) {
        struct diag *x = error_at(m, DIAG_parameter, p->name.span,
                                  "parameter '%s' of graph '%s' has no value", p->name.text,
                                  g->name.text);
        hint(m, x, "give it with -D %s=VALUE, or write %s = VALUE", p->name.text, p->name.text);
        return false;
    }
    if (p->choices == NULL) {
        *out = own;
        return check_param(m, p, own, e->span);
    }
    *n = own.list->n;
    *out = own.list->at[i < *n ? i : *n - 1];
    for (size_t k = 0; k < i && k < *n; k++) {
        struct cell same = constant_binary(m, AST_EQ, own.list->at[k], *out, e->span);
        if (same.kind != CELL_BOOL || !same.b) continue;
        error_at(m, DIAG_parameter, e->span, "the choices of '%s' have %s twice", p->name.text,
                 cell_text(m, *out));
        return false;
    }
    return check_param(m, p, *out, e->span);
}

static void add_param(struct sema *m, const struct param *p, struct cell c)
{
    struct graph *g = m->g;
    struct graph_param x = {
        .name = p->name.text, .is_type = c.kind == CELL_TYPE, .is_variant = p->choices != NULL};
    if (x.is_type) x.type = c.type;
    else x.i = c.i;
    vec_push(m->a, &g->params, x);
    if (x.is_variant)
        g->variant = arena_printf(m->a, "%s%s%s=%s", g->variant, *g->variant != '\0' ? "," : "",
                                  x.name, cell_text(m, c));
}

/* Binds all parameters for one combination; pick[i] is the choice of the i-th, n[i] how many it
 * has. */
static bool bind_params(struct sema *m, const struct item *item, const size_t *pick, size_t *n)
{
    bool ok = true;
    for (size_t i = 0; i < item->params.n; i++) {
        const struct param *p = &item->params.at[i];
        struct cell c;
        struct sym *sym = declare(m, m->body, SYM_PARAM, p->name);
        bool known = param_value(m, item, p, pick[i], &n[i], &c);
        if (sym == NULL || !known) ok = false;
        else {
            sym->cell = c;
            index_cell(m, p->name.span, c);
            add_param(m, p, c);
        }
        if (sym != NULL) sym->defined = true;
    }
    return ok;
}

/* The next combination, the last parameter fastest. */
static bool advance(size_t *pick, const size_t *n, size_t count)
{
    for (size_t i = count; i > 0; i--) {
        if (pick[i - 1] + 1 < n[i - 1]) {
            pick[i - 1]++;
            return true;
        }
        pick[i - 1] = 0;
    }
    return false;
}

/* ---- graphs ------------------------------------------------------------------------------ */

static struct graph *begin_graph(struct sema *m, const struct item *item, struct scope *body)
{
    struct graph *g = NEW(m->a, struct graph);
    g->name = item->name.text;
    g->variant = "";
    g->doc = item->doc;
    g->span = item->name.span;
    *body = (struct scope){.a = m->scratch};
    m->g = g;
    m->body = body;
    m->usage.n = 0;
    m->n_promises = m->n_inlined = 0;
    m->too_large = m->too_deep = false;
    m->errors_before = m->n_errors;
    return g;
}

/* False when poison from elsewhere (a cyclic fn, a constant of a file) reached it. */
static bool is_whole(struct sema *m, const struct graph *g)
{
    for (size_t i = 0; i < g->outputs.n; i++)
        if (g->outputs.at[i]->producer == NULL) return false;
    return !m->s->diags_full;
}

static void finish_graph(struct sema *m, struct graph *g, struct module *out)
{
    ir_sort(m->a, g);
    ir_number(g);
    const char *wrong = ir_verify(m->a, g);
    if (wrong != NULL) fprintf(stderr, "fgc: graph '%s': %s\n", g->name, wrong);
    assert(wrong == NULL);
    vec_push(m->a, &out->graphs, g);
}

/* How many variants there are; 0 when the parameters are wrong. */
static size_t count_variants(struct sema *m, const struct item *item, size_t *pick, size_t *n)
{
    size_t count = 0;
    do {
        struct arena_mark mark = arena_mark(m->scratch);
        struct scope body;
        begin_graph(m, item, &body);
        bool ok = bind_params(m, item, pick, n);
        m->body = NULL;
        arena_rewind(m->scratch, mark);
        m->first_variant = false;
        if (!ok) return 0;
        if (++count > MAX_VARIANTS) {
            error_at(m, DIAG_parameter, item->name.span, "graph '%s' has more than %d variants",
                     item->name.text, MAX_VARIANTS);
            return 0;
        }
    } while (advance(pick, n, item->params.n));
    return count;
}

static void analyse_graph(struct sema *m, struct item *item, struct module *out)
{
    struct arena_mark start = arena_mark(m->scratch);
    size_t *pick = NEW_N(m->scratch, size_t, item->params.n + 1),
           *n = NEW_N(m->scratch, size_t, item->params.n + 1);
    m->many_variants = false;
    m->first_variant = true;
    size_t count = count_variants(m, item, pick, n);
    m->many_variants = count > 1;
    m->first_variant = true;
    /* With wrong parameters the body is read once all the same, for the mistakes in it. */
    for (size_t i = 0; i < count || i == 0; i++) {
        struct arena_mark mark = arena_mark(m->scratch);
        struct scope body;
        struct graph *g = begin_graph(m, item, &body);
        bind_params(m, item, pick, n);
        graph_body(m, item);
        bool whole = m->n_errors == m->errors_before && count > 0 && is_whole(m, g);
        assert(whole || m->s->n_errors > 0); /* poison comes from a mistake that was told */
        if (whole) finish_graph(m, g, out);
        m->body = NULL;
        m->first_variant = false;
        advance(pick, n, item->params.n);
        arena_rewind(m->scratch, mark);
    }
    m->g = NULL;
    m->many_variants = false;
    m->first_variant = true;
    arena_rewind(m->scratch, start);
}

static bool chosen(struct sema *m, const char *name)
{
    for (size_t i = 0; i < m->o->n_graphs; i++)
        if (strcmp(m->o->graphs[i], name) == 0) return true;
    return m->o->n_graphs == 0;
}

static void check_choice(struct sema *m, const char *name)
{
    VEC(const char *) names = {0};
    for (size_t i = 0; i < m->file->syms.n; i++) {
        if (m->file->syms.at[i]->kind != SYM_GRAPH) continue;
        if (strcmp(m->file->syms.at[i]->name, name) == 0) return;
        vec_push(m->scratch, &names, m->file->syms.at[i]->name);
    }
    struct diag *d = error_at(m, DIAG_unknown_graph, NO_SPAN,
                              "--graph %s: the file has no graph of that name", name);
    const char *close = closest_name(name, names.at, names.n);
    if (close != NULL) hint(m, d, "did you mean '%s'?", close);
}

struct module *sema_analyse(struct session *s, struct ast *ast, const struct sema_options *o)
{
    struct module *out = NEW(s->arena, struct module);
    struct sema m = {
        .s = s, .a = s->arena, .scratch = arena_new(), .o = o, .first_variant = true};
    out->ast = ast;
    m.define_told = NEW_N(s->arena, bool, o->n_defines + 1);
    declare_files(&m, ast);
    bool torn = m.file->torn;
    for (size_t i = 0; i < o->n_graphs && !torn; i++) check_choice(&m, o->graphs[i]);
    for (size_t i = 0; i < o->n_defines && !torn; i++) check_define(&m, &o->defines[i]);
    for (size_t i = 0; i < m.file->syms.n && !s->diags_full; i++) {
        struct sym *sym = m.file->syms.at[i];
        if (sym->kind == SYM_GRAPH && chosen(&m, sym->name)) analyse_graph(&m, sym->item, out);
    }
    if (s->n_errors == 0 && o->n_graphs == 0) warn_unused_imports(&m);
    arena_free(m.scratch);
    return out;
}
