/* scope: names: what they mean, and what to say when they mean nothing.
 *
 * Invariant: names are interned, so equal names are equal pointers; nearest wins (body, file,
 * predeclared names). */
#include "sema/internal.h"

/* Bodies up to this size are searched in order: no table to fill for each inlined call. */
#define LINEAR 12

struct sym *scope_find(const struct scope *s, const char *name)
{
    if (s->map != NULL) return map_get(s->map, name);
    for (size_t i = 0; i < s->syms.n; i++)
        if (s->syms.at[i]->name == name) return s->syms.at[i];
    return NULL;
}

struct sym *scope_add(struct scope *s, enum sym_kind kind, struct name name, struct sym **before)
{
    struct sym *old = scope_find(s, name.text);
    if (before != NULL) *before = old;
    if (old != NULL) return NULL;
    struct sym *sym = NEW(s->a, struct sym);
    sym->name = name.text;
    sym->kind = kind;
    sym->home = s;
    sym->span = name.span;
    sym->index = s->syms.n;
    vec_push(s->a, &s->syms, sym);
    if (s->map == NULL && s->syms.n > LINEAR) {
        s->map = map_new(s->a);
        for (size_t i = 0; i < s->syms.n; i++) map_put(s->map, s->syms.at[i]->name, s->syms.at[i]);
    } else if (s->map != NULL) {
        map_put(s->map, sym->name, sym);
    }
    return sym;
}

const char *sym_word(enum sym_kind kind)
{
    static const char *const words[] = {
        [SYM_PARAM] = "a parameter", [SYM_CONST] = "a constant",     [SYM_INPUT] = "an input",
        [SYM_SCALAR] = "a scalar",   [SYM_OUTPUT] = "an output",     [SYM_BINDING] = "a binding",
        [SYM_FN] = "a fn",           [SYM_EPILOGUE] = "an epilogue", [SYM_GRAPH] = "a graph",
    };
    return words[kind];
}

struct sym *declare(struct sema *m, struct scope *s, enum sym_kind kind, struct name name)
{
    struct sym *before, *sym = scope_add(s, kind, name, &before);
    if (sym == NULL) {
        struct diag *d = error_at(m, DIAG_duplicate_name, name.span, "'%s' is defined twice",
                                  name.text);
        diag_note(m->s, d, before->span, "'%s' is %s here", name.text, sym_word(before->kind));
        return NULL;
    }
    warn_shadow(m, name);
    return sym;
}

/* Operators of the language that have no row yet. */
static const char *const later[] = {"concat", "window", "padding"};

bool is_later(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(later); i++)
        if (strcmp(later[i], name) == 0) return true;
    return false;
}

void warn_shadow(struct sema *m, struct name name)
{
    const char *what = NULL;
    if (op_find(name.text) != OP_none || is_later(name.text)) what = "operator";
    else if (dtype_find(name.text) != DT_none) what = "element type";
    else if (fg_word_find(WORD_constant, name.text) != NULL) what = "predeclared constant";
    if (what != NULL)
        warn_at(m, DIAG_shadows, name.span, "'%s' hides the %s of that name", name.text, what);
}

/* major.minor.patch of the package, as cuDNN counts. */
static int64_t own_version(void)
{
    int64_t part[3] = {0};
    int n = 0;
    for (const char *p = PACKAGE_VERSION; *p != '\0' && n < 3; p++) {
        if (*p == '.') n++;
        else if (*p >= '0' && *p <= '9') part[n] = part[n] * 10 + (*p - '0');
        else break;
    }
    return part[0] * 10000 + part[1] * 100 + part[2];
}

struct cell predeclared(struct sema *m, const char *name)
{
    enum dtype t = dtype_find(name);
    if (t != DT_none) return (struct cell){CELL_TYPE, .type = t};
    if (strcmp(name, "true") == 0) return (struct cell){CELL_BOOL, .b = true};
    if (strcmp(name, "false") == 0) return (struct cell){CELL_BOOL, .b = false};
    if (strcmp(name, "inf") == 0) return (struct cell){CELL_REAL, .r = __builtin_inf()};
    if (strcmp(name, "fgc") == 0) return (struct cell){CELL_VERSION, .i = own_version()};
    if (strcmp(name, "sm") == 0)
        return m->o->sm == 0 ? (struct cell){CELL_UNKNOWN, .i = CELL_INT}
                             : (struct cell){CELL_INT, .i = m->o->sm};
    if (strcmp(name, "cudnn") == 0)
        return m->o->cudnn == 0 ? (struct cell){CELL_UNKNOWN, .i = CELL_VERSION}
                                : (struct cell){CELL_VERSION, .i = m->o->cudnn};
    return POISON;
}

static void gather(struct sema *m, const struct scope *s, bool callable, const char **at, size_t *n,
                   size_t cap)
{
    (void)m;
    for (size_t i = 0; s != NULL && i < s->syms.n && *n < cap; i++) {
        enum sym_kind k = s->syms.at[i]->kind;
        if ((k == SYM_FN || k == SYM_EPILOGUE) == callable && k != SYM_GRAPH)
            at[(*n)++] = s->syms.at[i]->name;
    }
}

void suggest(struct sema *m, struct diag *d, struct name word, bool callable)
{
    size_t cap = (m->body != NULL ? m->body->syms.n : 0) + m->file->syms.n + N_OPS + N_DTYPES +
                 n_fg_words + COUNT_OF(later);
    for (size_t i = 0; i < m->file->imports.n; i++) cap += m->file->imports.at[i].file->syms.n;
    const char **at = NEW_N(m->scratch, const char *, cap);
    size_t n = 0;
    if (!callable) gather(m, m->body, false, at, &n, cap);
    gather(m, m->file, callable, at, &n, cap);
    for (size_t i = 0; i < m->file->imports.n; i++)
        gather(m, m->file->imports.at[i].file, callable, at, &n, cap);
    if (callable) {
        for (int i = OP_none + 1; i < N_OPS; i++) at[n++] = ops[i].name;
    } else {
        for (int i = DT_none + 1; i < N_DTYPES; i++) at[n++] = dtypes[i].name;
        for (size_t i = 0; i < n_fg_words; i++)
            if (fg_words[i].kind == WORD_constant) at[n++] = fg_words[i].name;
    }
    diag_did_you_mean(m->s, d, word.span, closest_name(word.text, at, n));
}

static struct cell early(struct sema *m, struct sym *sym, struct name name)
{
    if (sym->reported) return POISON;
    sym->reported = true;
    struct diag *d = error_at(m, DIAG_early_use, name.span, "'%s' is used above its definition",
                              name.text);
    explain_early_use(m, d, sym);
    return POISON;
}

bool is_torn(const struct sema *m) { return m->file->torn || (m->body != NULL && m->body->torn); }

struct cell lookup(struct sema *m, struct name name)
{
    struct sym *sym = m->body != NULL ? scope_find(m->body, name.text) : NULL;
    bool reported = false;
    if (sym == NULL) sym = file_use(m, name, &reported);
    if (reported) return POISON;
    if (sym != NULL) {
        sym->used = true;
        if (sym->kind == SYM_FN || sym->kind == SYM_EPILOGUE || sym->kind == SYM_GRAPH) {
            error_at(m, DIAG_kind, name.span, "'%s' is %s, not a value", name.text,
                     sym_word(sym->kind));
            return POISON;
        }
        return sym->defined ? sym->cell : early(m, sym, name);
    }
    struct cell c = predeclared(m, name.text);
    if (c.kind != CELL_POISON || is_torn(m)) return c;
    if (op_find(name.text) != OP_none || constant_function(name.text)) {
        error_at(m, DIAG_kind, name.span, "'%s' is an operator, not a value", name.text);
        return POISON;
    }
    struct diag *d = error_at(m, DIAG_unknown_name, name.span, "unknown name '%s'", name.text);
    suggest(m, d, name, false);
    return POISON;
}

const char *path_text(struct sema *m, const names_vec *path)
{
    const char *t = path->at[0].text;
    for (size_t i = 1; i < path->n; i++) t = arena_printf(m->scratch, "%s.%s", t, path->at[i].text);
    return t;
}
