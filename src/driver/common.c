/* common: the first half of every subcommand that reads a specification. */
#include "driver/driver.h"

struct gpu_search driver_search(const struct options *o)
{
    return (struct gpu_search){
        .cudnn = o->cudnn, .cuda = o->cuda, .no_python = o->no_python, .sent = o->requests};
}

bool driver_pair(struct session *s, const char *option, const char *text, const char **name,
                 const char **value)
{
    const char *eq = strchr(text, '=');
    if (!eq || eq == text || !eq[1]) {
        diag(s, DIAG_usage, NO_SPAN, "%s needs NAME=VALUE, got '%s'", option, text);
        return false;
    }
    *name = intern(s, text, (size_t)(eq - text));
    *value = eq + 1;
    return true;
}

/* cuDNN's version where a requirement may speak of it: asking takes as long as opening cuDNN. Commands that
 * only look at the text, or build what is locked, do not ask; there such requirements pass. */
static int64_t library_version(struct session *s, const struct options *o, const struct source *src)
{
    struct gpu_search search = driver_search(o);
    struct gpu_probe probe;
    bool builds = o->command == CMD_compile || o->command == CMD_lock || o->command == CMD_tune;
    if (!builds || o->locked || !strstr(src->text, "cudnn")) return 0;
    return gpu_probe(s, &search, false, &probe) ? probe.cudnn_version : 0;
}

struct module *driver_analyse(struct session *s, const struct options *o, struct source *src,
                              const struct target *t, struct sema_index *index, struct ast **tree)
{
    size_t before = s->n_errors, n = o->define.n;
    struct sema_define *defines = NEW_N(s->arena, struct sema_define, n ? n : 1);
    for (size_t i = 0; i < n; i++) {
        const char *name;
        if (!driver_pair(s, "-D", o->define.at[i], &name, &defines[i].value)) return NULL;
        const char *dot = strchr(name, '.');
        defines[i].graph = dot ? intern(s, name, (size_t)(dot - name)) : NULL;
        defines[i].name = dot ? intern_z(s, dot + 1) : name;
    }
    struct ast *ast = ast_parse(s, src);
    if (tree) *tree = ast;
    ast_import(s, ast, NULL);
    /* What could be read is checked for meaning too: one run tells every independent mistake. */
    if (s->n_errors > before && (ast->items.n == 0 || s->diags_full)) return NULL;
    struct sema_options so = {
        .cudnn = t ? library_version(s, o, src) : 0,
        .defines = defines,
        .n_defines = n,
        .graphs = o->graph.at,
        .n_graphs = o->graph.n,
        .sm = t ? t->sm : 0,
        .has_type = t ? target_has_type : NULL,
        .target = t,
        .index = index,
    };
    struct module *m = sema_analyse(s, ast, &so);
    return s->n_errors > before ? NULL : m;
}

struct module *driver_module(struct session *s, const struct options *o, const char *path,
                             const struct target *t)
{
    struct source *src = source_load(s, path);
    return src ? driver_analyse(s, o, src, t, NULL, NULL) : NULL;
}

bool driver_plan(struct session *s, const char *path, struct plan *p)
{
    char *bytes;
    size_t n;
    return file_read(s, path, &bytes, &n) && plan_decode(s, s->arena, path, bytes, n, p);
}
