/* import: finds, reads and parses what a file imports, and what that imports.
 *
 * Invariant: each file is parsed once, however many import it; a file that would import itself in
 * the end is refused where the circle closes, so the imports of a tree have an order: `imports` of
 * the first file lists each after all that it imports. Text of the user's folders is in no name
 * that leaves the run: a file is named by its path from the first one. */
#include "ast/ast.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_FILES = 256 };
extern const struct embedded embedded_stdlib[]; /* made from stdlib/ by tools/embed */

struct loading {
    struct session *s;
    struct ast *root;
    const struct embedded
        *given;             /* files by name, instead of those on the disk; NULL: the disk's */
    VEC(struct ast *) all;  /* root and every file read so far */
    VEC(struct ast *) path; /* from the root to the file at hand */
};

static const char *dotted(struct arena *a, const names_vec *path)
{
    const char *t = path->at[0].text;
    for (size_t i = 1; i < path->n; i++) t = arena_printf(a, "%s.%s", t, path->at[i].text);
    return t;
}

/* "specs/a.fg" -> "specs/", "a.fg" and "<stdin>" -> "". */
static const char *folder_of(struct arena *a, const char *file)
{
    const char *slash = strrchr(file, '/');
    return slash ? arena_strndup(a, file, (size_t)(slash - file) + 1) : "";
}

/* Without "./", and without "x/.." where x is a plain name. */
static const char *normal(struct arena *a, const char *path)
{
    VEC(const char *) parts = {0};
    bool absolute = *path == '/';
    for (const char *p = path; *p;) {
        size_t n = strcspn(p, "/");
        const char *part = arena_strndup(a, p, n);
        p += n + (p[n] == '/');
        if (n == 0 || strcmp(part, ".") == 0) continue;
        if (strcmp(part, "..") == 0 && parts.n && strcmp(parts.at[parts.n - 1], "..") != 0)
            parts.n--;
        else
            vec_push(a, &parts, part);
    }
    const char *out = absolute ? "/" : "";
    for (size_t i = 0; i < parts.n; i++)
        out = arena_printf(a, "%s%s%s", out, i ? "/" : "", parts.at[i]);
    return out;
}

static struct diag *refuse(struct loading *l, const struct item *item, const char *what)
{
    return diag(l->s, DIAG_import, item->span, "%s", what);
}

static struct source *library(struct loading *l, const struct item *item, const char *name)
{
    const struct embedded *e = embedded_stdlib;
    bool in_std = item->import_path.n == 2 && strcmp(item->import_path.at[0].text, "std") == 0;
    const char *file = in_std ? arena_printf(l->s->arena, "%s.fg", item->import_path.at[1].text)
                              : "";
    while (e->name && strcmp(e->name, file) != 0) e++;
    if (e->name) return source_add(l->s, name, e->text, e->length);
    struct diag *d = refuse(l, item, arena_printf(l->s->arena, "there is no library '%s'", name));
    const char *text = "";
    for (e = embedded_stdlib; e->name; e++)
        text = arena_printf(l->s->arena, "%s std.%.*s", text, (int)strcspn(e->name, "."), e->name);
    diag_note(l->s, d, NO_SPAN, "the libraries:%s", text);
    diag_hint(l->s, d, "a file of one's own is imported by its path, import \"%s.fg\"",
              item->import_path.at[item->import_path.n - 1].text);
    return NULL;
}

static struct source *user_file(struct loading *l, const struct item *item, const char *name,
                                const char *path)
{
    if (*item->import_file == '/') {
        struct diag *d = refuse(l, item, "an absolute path is of one machine only");
        diag_hint(l->s, d, "write the path from this file's folder");
        return NULL;
    }
    for (const struct embedded *e = l->given; e && e->name; e++)
        if (strcmp(e->name, name) == 0) return source_add(l->s, name, e->text, e->length);
    struct stat st;
    bool is_folder = !l->given && stat(path, &st) == 0 && S_ISDIR(st.st_mode);
    if (!l->given && !is_folder && access(path, R_OK) == 0) return source_load(l->s, path);
    refuse(l, item,
           arena_printf(l->s->arena, "cannot read '%s': %s", path,
                        strerror(l->given ? ENOENT : is_folder ? EISDIR : errno)));
    return NULL;
}

static void tell_cycle(struct loading *l, const struct item *item, const struct ast *again)
{
    struct diag *d = refuse(l, item,
                            arena_printf(l->s->arena, "'%s' comes back to itself", again->name));
    size_t i = 0;
    while (l->path.at[i] != again) i++;
    for (; i + 1 < l->path.n; i++)
        diag_note(l->s, d, l->path.at[i + 1]->imported_at, "'%s' imports '%s'", l->path.at[i]->name,
                  l->path.at[i + 1]->name);
}

static void load_all(struct loading *l, struct ast *ast);

/* The tree of one import, or NULL with a diagnostic. */
static struct ast *load(struct loading *l, const struct ast *by, const struct item *item)
{
    struct arena *a = l->s->arena;
    bool is_file = item->import_file != NULL;
    const char *name = is_file ? normal(a, arena_printf(a, "%s%s", folder_of(a, by->name),
                                                        item->import_file))
                               : dotted(a, &item->import_path);
    const char *path = is_file ? normal(a, arena_printf(a, "%s%s", folder_of(a, by->source->name),
                                                        item->import_file))
                               : name;
    char *real = is_file ? realpath(path, NULL) : NULL;
    const char *identity = real ? arena_strdup(a, real) : name;
    free(real);
    for (size_t i = 0; i < l->all.n; i++)
        if (strcmp(l->all.at[i]->identity, identity) == 0) {
            for (size_t k = 0; k < l->path.n; k++)
                if (l->path.at[k] == l->all.at[i]) {
                    tell_cycle(l, item, l->all.at[i]);
                    return NULL;
                }
            return l->all.at[i];
        }
    if (l->all.n >= MOST_FILES) {
        refuse(l, item, arena_printf(a, "more than %d files are imported", MOST_FILES));
        return NULL;
    }
    struct source *src = is_file ? user_file(l, item, name, path) : library(l, item, name);
    if (!src) return NULL;
    struct ast *ast = ast_parse(l->s, src);
    ast->name = name;
    ast->identity = identity;
    ast->imported_at = item->span;
    ast->is_library = !is_file;
    vec_push(a, &l->all, ast);
    load_all(l, ast);
    vec_push(a, &l->root->imports, ast);
    return ast;
}

static void load_all(struct loading *l, struct ast *ast)
{
    vec_push(l->s->arena, &l->path, ast);
    for (size_t i = 0; i < ast->items.n; i++) {
        struct item *item = ast->items.at[i];
        if (item->kind == ITEM_IMPORT) item->imported = load(l, ast, item);
    }
    l->path.n--;
}

void ast_import(struct session *s, struct ast *ast, const struct embedded *given)
{
    struct loading l = {.s = s, .root = ast, .given = given};
    const char *slash = strrchr(ast->source->name, '/');
    char *real = realpath(ast->source->name, NULL);
    ast->name = slash ? slash + 1 : ast->source->name;
    ast->identity = real ? arena_strdup(s->arena, real) : ast->source->name;
    free(real);
    vec_push(s->arena, &l.all, ast);
    load_all(&l, ast);
}
