/* cmd_lsp: the language server: what it says of a file is what `fgc check` says.
 *
 * Invariant: only the protocol is written to standard output; whatever else this process prints
 * there goes to standard error. */
#include "driver/driver.h"
#include "lsp/lsp.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

struct checker {
    const struct options *o;
    const struct target *target;
};

static struct ast *check(void *self, struct session *s, struct source *src,
                         struct sema_index *index)
{
    const struct checker *c = self;
    struct ast *tree = NULL;
    struct module *m = driver_analyse(s, c->o, src, c->target, index, &tree);
    struct compiled lowered;
    for (size_t i = 0; m && i < m->graphs.n; i++) pipeline_lower(s, m->graphs.at[i], &lowered);
    return tree;
}

/* ---- the library's files ------------------------------------------------------------------- */

static bool holds(const char *path, const struct source *src)
{
    char bytes[4096];
    size_t at = 0, n;
    FILE *f = fopen(path, "rb");
    if (!f) return false;
    while ((n = fread(bytes, 1, sizeof bytes, f)) > 0 && at + n <= src->len &&
           memcmp(bytes, src->text + at, n) == 0)
        at += n;
    fclose(f);
    return n == 0 && at == src->len;
}

/* A copy in the user's cache, named by its contents, that cannot be written to. */
static const char *copy(struct arena *a, const char *name, const struct source *src)
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    char hash[65];
    if ((!cache || *cache != '/') && (!home || *home != '/')) return NULL;
    sha256_hex(src->text, src->len, hash);
    const char *top = cache && *cache == '/' ? cache : arena_printf(a, "%s/.cache", home);
    const char *fgc = arena_printf(a, "%s/fgc", top),
               *folder = arena_printf(a, "%s/stdlib-%.12s", fgc, hash);
    const char *path = arena_printf(a, "%s/%s", folder, name);
    if (holds(path, src)) return path;
    mkdir(top, 0777);
    mkdir(fgc, 0777);
    mkdir(folder, 0777);
    struct session *s = session_new(); /* not being able to is no fault of the document's */
    bool ok = file_write(s, path, src->text, src->len) && chmod(path, 0444) == 0;
    session_free(s);
    return ok ? path : NULL;
}

/* The installed file, or the source folder's, when it holds what this program carries; else a copy.
 */
static const char *library(void *self, struct arena *a, const struct ast *of)
{
    static const char *const folders[] = {"../share/fgc/stdlib", "../stdlib"};
    char program[4096];
    (void)self;
    const char *name = arena_printf(a, "%s.fg", strrchr(of->name, '.') + 1);
    ssize_t n = readlink("/proc/self/exe", program, sizeof program - 1);
    program[n > 0 ? n : 0] = '\0';
    char *slash = strrchr(program, '/');
    if (slash) *slash = '\0';
    for (size_t i = 0; slash && i < COUNT_OF(folders); i++) {
        const char *path = arena_printf(a, "%s/%s/%s", program, folders[i], name);
        if (holds(path, of->source)) return path;
    }
    return copy(a, name, of->source);
}

int cmd_lsp(struct session *s, const struct options *o)
{
    struct target t;
    struct gpu_search search = driver_search(o);
    if (o->operands.n > 0) {
        diag(s, DIAG_usage, NO_SPAN, "fgc lsp takes no file: the editor sends them");
        return 0;
    }
    if (!target_load(s, o->target ? o->target : "nvidia-h200", &search, &t)) return 0;
    struct checker c = {o, &t};
    struct lsp_host host = {&c, PACKAGE_VERSION, check, library};
    fflush(stdout);
    int out = dup(STDOUT_FILENO);
    if (out < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0) {
        diag(s, DIAG_file, NO_SPAN, "standard output cannot be duplicated");
        return 0;
    }
    signal(SIGPIPE, SIG_IGN); /* a client that is gone is seen by write() */
    int status = lsp_serve(s, &host, STDIN_FILENO, out);
    close(out);
    return status;
}
