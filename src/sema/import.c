/* import: the names of files: each file has a scope of its own, and sees the names of what it
 * imports.
 *
 * Invariant: nearest wins (the file's own names, then its imports', then what is predeclared);
 * imports of imports are not seen; graphs are never imported. A name that two imports define is
 * refused where it is used plainly, and can be told apart as FILE.NAME. */
#include "sema/internal.h"

static bool is_shared(const struct sym *sym)
{
    return sym->kind == SYM_FN || sym->kind == SYM_EPILOGUE || sym->kind == SYM_CONST;
}

struct sym *file_find(const struct sema *m, const char *name, const struct import **twice)
{
    struct sym *found = scope_find(m->file, name);
    if (twice != NULL) *twice = NULL;
    if (found != NULL) return found;
    for (size_t i = 0; i < m->file->imports.n; i++) {
        struct import *by = &m->file->imports.at[i];
        struct sym *sym = scope_find(by->file, name);
        if (sym == NULL || !is_shared(sym) || sym == found) continue;
        by->used = true;
        if (found == NULL)
            found = sym;
        else if (twice != NULL)
            *twice = by;
    }
    return found;
}

struct sym *file_find_path(const struct sema *m, const names_vec *path)
{
    size_t last = path->n - 1;
    for (size_t i = 0; i < m->file->imports.n; i++) {
        struct import *by = &m->file->imports.at[i];
        bool named = path->n == 2 && by->name.text == path->at[0].text;
        if (path->n == 3 && by->path != NULL)
            named = strcmp(by->path,
                           path_text((struct sema *)m, &(names_vec){path->at, last, last})) == 0;
        struct sym *sym = named ? scope_find(by->file, path->at[last].text) : NULL;
        if (sym == NULL || !is_shared(sym)) continue;
        by->used = sym->used = true;
        return sym;
    }
    return NULL;
}

struct sym *file_use(struct sema *m, struct name name, bool *reported)
{
    const struct import *twice;
    struct sym *sym = file_find(m, name.text, &twice);
    *reported = twice != NULL;
    if (sym != NULL) sym->used = true;
    if (twice == NULL) return sym;
    struct sym *other = scope_find(twice->file, name.text);
    struct diag *d = error_at(m, DIAG_ambiguous, name.span, "'%s' is defined by two imports",
                              name.text);
    diag_note(m->s, d, sym->span, "'%s' is %s here", name.text, sym_word(sym->kind));
    diag_note(m->s, d, other->span, "and %s here", sym_word(other->kind));
    hint(m, d, "say which: %s.%s", twice->name.text, name.text);
    return NULL;
}

/* ---- the files ---------------------------------------------------------------------------- */

/* The last name of a path, or a file's name without folder and suffix: what may stand before a dot.
 */
static struct name qualifier(struct sema *m, const struct item *item)
{
    if (item->import_file == NULL)
        return (struct name){item->import_path.at[item->import_path.n - 1].text, item->span};
    const char *slash = strrchr(item->import_file, '/');
    const char *stem = slash != NULL ? slash + 1 : item->import_file;
    return (struct name){intern(m->s, stem, strcspn(stem, ".")), item->span};
}

static void add_import(struct sema *m, const struct item *item, struct scope *const *scopes,
                       const struct ast *root)
{
    if (item->imported == NULL) {
        m->file->torn = true; /* it was reported, and might have defined any name */
        return;
    }
    size_t i = 0;
    while (root->imports.at[i] != item->imported) i++;
    struct import by = {.name = qualifier(m, item), .file = scopes[i]};
    if (item->import_file == NULL) by.path = path_text(m, &item->import_path);
    for (size_t k = 0; k < m->file->imports.n; k++)
        if (m->file->imports.at[k].file == by.file) {
            struct diag *d = warn_at(m, DIAG_unused, item->span, "this is imported twice");
            if (d != NULL) diag_note(m->s, d, m->file->imports.at[k].name.span, "first here");
            return;
        }
    m->file->torn = m->file->torn || by.file->torn;
    if (by.path != NULL) by.path = intern_z(m->s, by.path);
    vec_push(m->a, &m->file->imports, by);
}

static void declare_file(struct sema *m, struct scope *const *scopes, const struct ast *root)
{
    static const enum sym_kind kinds[] = {[ITEM_CONST] = SYM_CONST,
                                          [ITEM_GRAPH] = SYM_GRAPH,
                                          [ITEM_FN] = SYM_FN,
                                          [ITEM_EPILOGUE] = SYM_EPILOGUE};
    const struct ast *ast = m->file->ast;
    for (size_t i = 0; i < ast->items.n; i++) {
        struct item *item = ast->items.at[i];
        if (item->kind == ITEM_ERROR) {
            m->file->torn = true;
        } else if (item->kind == ITEM_IMPORT) {
            add_import(m, item, scopes, root);
        } else {
            struct sym *sym = declare(m, m->file, kinds[item->kind], item->name);
            if (sym != NULL) sym->item = item;
        }
    }
}

static void file_constants(struct sema *m)
{
    for (size_t i = 0; i < m->file->syms.n; i++) {
        struct sym *sym = m->file->syms.at[i];
        if (sym->kind != SYM_CONST) continue;
        struct arena_mark mark = arena_mark(m->scratch);
        sym->cell = eval(m, sym->item->value);
        index_cell(m, sym->span, sym->cell);
        sym->defined = true;
        arena_rewind(m->scratch, mark);
    }
}

void declare_files(struct sema *m, struct ast *root)
{
    size_t n = root->imports.n;
    struct scope **scopes = NEW_N(m->a, struct scope *, n + 1);
    for (size_t i = 0; i <= n; i++) { /* the first file comes last: it may import any */
        scopes[i] = NEW(m->a, struct scope);
        scopes[i]->a = m->a;
        scopes[i]->ast = i < n ? root->imports.at[i] : root;
        m->file = scopes[i];
        declare_file(m, scopes, root);
        check_functions(m);
        file_constants(m);
    }
}

void warn_unused_imports(struct sema *m)
{
    for (size_t i = 0; i < m->file->imports.n; i++) {
        const struct import *by = &m->file->imports.at[i];
        if (!by->used)
            warn_at(m, DIAG_unused, by->name.span, "import '%s' is never used", by->name.text);
    }
}
