/* cmd_compile: FILE.fg to a plan and a launcher, or a launcher for an existing plan.
 *
 * Invariant: files are written only after everything was built, each whole or not at all. */
#include "driver/driver.h"

#include <errno.h>
#include <inttypes.h>

static bool ends_with(const char *s, const char *end)
{
    size_t n = strlen(s), m = strlen(end);
    return n >= m && strcmp(s + n - m, end) == 0;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* model.c -> model.h, beside it. */
static char *header_path(struct session *s, const char *c_path)
{
    size_t n = strlen(c_path) - strlen(".c");
    return arena_printf(s->arena, "%.*s.h", (int)n, c_path);
}

static bool check_launcher_options(struct session *s, const struct options *o)
{
    if (o->launcher && !ends_with(o->launcher, ".c")) {
        diag(s, DIAG_usage, NO_SPAN, "--launcher needs a name that ends in '.c', got '%s'",
             o->launcher);
        return false;
    }
    if (o->launcher && (strpbrk(base_name(o->launcher), "\"\\\r\n") || strstr(o->launcher, "??"))) {
        diag(s, DIAG_usage, NO_SPAN,
             "the launcher's name stands in an #include, where quotes, backslashes and '?\?' cannot");
        return false;
    }
    if (!o->launcher && (o->launcher_main || o->launcher_plan)) {
        diag(s, DIAG_usage, NO_SPAN, "--%s needs --launcher",
             o->launcher_main ? "launcher-main" : "launcher-plan");
        return false;
    }
    return true;
}

static bool write_launcher(struct session *s, const struct options *o, const struct plan *p,
                           const char *bytes, size_t n)
{
    char *header = header_path(s, o->launcher);
    struct emit_options eo = {
        .header_name = base_name(header),
        .with_main = o->launcher_main,
        .plan_file = o->launcher_plan,
        .plan_bytes = bytes,
        .n_plan_bytes = n,
    };
    struct buf c = {0}, h = {0};
    bool ok = emit_launcher(s, p, &eo, &c, &h) &&
              (!o->launcher_plan || file_write(s, o->launcher_plan, bytes, n)) &&
              file_write(s, header, h.at, h.n) && file_write(s, o->launcher, c.at, c.n);
    buf_fini(&c);
    buf_fini(&h);
    return ok;
}

/* -d STAGE for one graph. False when the stage refused the graph. */
static bool dump_graph(struct session *s, const char *stage, const struct graph *g, struct buf *out)
{
    if (strcmp(stage, "ir") == 0) {
        ir_print(g, out);
        return true;
    }
    graphs_vec regions = {0};
    bool is_desc = strcmp(stage, "desc") == 0;
    if (!pass_regions(s, g, is_desc ? NULL : stage, &regions)) return false;
    if (!is_desc) return pass_print_regions(s, g, &regions, out);
    for (size_t r = 0; r < regions.n; r++) {
        struct desc_graph *desc = desc_lower(s, regions.at[r]);
        if (!desc) return false;
        desc_print(desc, out);
    }
    return true;
}

static bool is_stage(const char *stage)
{
    static const char *const fixed[] = {"ast", "source", "ir", "desc"};
    for (size_t i = 0; i < COUNT_OF(fixed); i++)
        if (strcmp(stage, fixed[i]) == 0) return true;
    for (size_t i = 0; i < n_pass_stages; i++)
        if (strcmp(stage, pass_stages[i]) == 0) return true;
    return false;
}

static int dump(struct session *s, const struct options *o, const char *path,
                const struct target *t)
{
    if (!is_stage(o->dump)) {
        diag(s, DIAG_usage, NO_SPAN, "there is no stage '%s'", o->dump);
        return 0;
    }
    struct buf b = {0};
    if (strcmp(o->dump, "ast") == 0 || strcmp(o->dump, "source") == 0) {
        struct source *src = source_load(s, path);
        struct ast *ast = src ? ast_parse(s, src) : NULL;
        if (ast && s->n_errors == 0) (*o->dump == 'a' ? ast_dump : ast_format)(ast, &b);
    } else {
        struct module *m = driver_module(s, o, path, t);
        for (size_t i = 0; m && i < m->graphs.n; i++)
            if (!dump_graph(s, o->dump, m->graphs.at[i], &b)) break;
    }
    if (b.n) fwrite(b.at, 1, b.n, stdout);
    buf_fini(&b);
    return 0;
}

static void summary(const struct plan *p, const char *target, const char *path)
{
    for (size_t i = 0; i < p->graphs.n; i++)
        for (size_t j = 0; j < p->graphs.at[i].variants.n; j++) {
            const struct plan_variant *v = &p->graphs.at[i].variants.at[j];
            printf("%s: %s%s%s for %s: ", path, p->graphs.at[i].name, *v->name ? " " : "", v->name,
                   target);
            if (v->steps.n > 1) printf("%zu steps, ", v->steps.n);
            for (size_t k = 0; k < v->steps.n; k++)
                printf("%s%" PRId64, k ? ", " : v->steps.n > 1 ? "engines " : "engine ",
                       v->steps.at[k].engine);
            printf(", workspace %" PRId64 " bytes, %s\n", plan_workspace(v, NULL),
                   v->steps.n > 1 ? "each as listed by 'fgc show'" : v->steps.at[0].chosen_by);
        }
}

/* Builds every variant; all are tried, so that one run reports every refusal. */
static struct compiled *build_all(struct session *s, const struct options *o, const char *path,
                                  const struct module *m, const struct target *t)
{
    struct tune_lock lock = {0};
    if (o->locked && !lock_read(s, arena_printf(s->arena, "%s.lock", path), &lock)) return NULL;
    size_t n = m->graphs.n;
    struct compiled *c = NEW_N(s->arena, struct compiled, n ? n : 1);
    bool ok = n > 0;
    for (size_t i = 0; i < n; i++) ok &= pipeline_lower(s, m->graphs.at[i], &c[i]);
    if (o->tune) return ok && tuned_build(s, o, path, c, n) ? c : NULL;
    for (size_t i = 0; i < n && ok; i++)
        for (size_t k = 0; k < c[i].kernels.n; k++) {
            struct kernel *kernel = &c[i].kernels.at[k];
            bool built = o->locked ? locked_build(s, o, t, &lock, path, kernel)
                                   : pipeline_build(s, o, t, kernel);
            if (o->plans && strcmp(o->plans, "all") == 0) candidates_print(s, kernel, stdout);
            ok &= built;
        }
    return ok ? c : NULL;
}

static int compile_source(struct session *s, const struct options *o, const char *path)
{
    struct target t;
    struct gpu_search search = driver_search(o);
    const char *target = o->target ? o->target : o->tune ? "host" : "nvidia-h200";
    if (!target_load(s, target, &search, &t)) return 0;
    if (o->dump) return dump(s, o, path, &t);
    struct module *m = driver_module(s, o, path, &t);
    if (!m) return 0;
    struct compiled *c = build_all(s, o, path, m, &t);
    if (!c || s->n_errors) return 0;
    struct plan p;
    pipeline_plan(s, m, &t, c, m->graphs.n, &p);
    char *bytes = NULL;
    size_t n = 0;
    const char *plan_path = o->output.n ? o->output.at[o->output.n - 1] : NULL;
    if ((plan_path || o->launcher_plan) && !plan_encode(s, s->arena, &p, &bytes, &n)) return 0;
    if (plan_path && !file_write(s, plan_path, bytes, n)) return 0;
    if (o->launcher && !write_launcher(s, o, &p, bytes, n)) return 0;
    if (!depfile_write(s, o, o->launcher ? header_path(s, o->launcher) : NULL)) return 0;
    if (!o->quiet && plan_path && strcmp(plan_path, "-") != 0) summary(&p, t.name, plan_path);
    if (!plan_path && !o->launcher && !o->plans) {
        struct diag *d = diag(s, DIAG_usage, NO_SPAN, "nothing was asked for");
        diag_hint(s, d, "-o model.plan writes the plan, --launcher model.c the launcher");
    }
    return 0;
}

static int compile_plan(struct session *s, const struct options *o, const char *path)
{
    char *bytes;
    size_t n;
    struct plan p;
    if (!o->launcher) {
        diag(s, DIAG_usage, NO_SPAN, "a plan is given; --launcher FILE.c says what to make of it");
        return 0;
    }
    if (file_read(s, path, &bytes, &n) && plan_decode(s, s->arena, path, bytes, n, &p))
        write_launcher(s, o, &p, bytes, n);
    return 0;
}

int cmd_compile(struct session *s, const struct options *o)
{
    if (o->operands.n != 1) {
        diag(s, DIAG_usage, NO_SPAN, "one FILE is needed, got %zu", o->operands.n);
        return 0;
    }
    if (o->plans && strcmp(o->plans, "all") != 0 && strcmp(o->plans, "first") != 0) {
        diag(s, DIAG_usage, NO_SPAN, "--plans is 'first' or 'all', got '%s'", o->plans);
        return 0;
    }
    if (o->locked + o->tune + (o->plans != NULL) > 1) {
        diag(s, DIAG_usage, NO_SPAN, "--locked, --tune and --plans exclude each other");
        return 0;
    }
    if (!check_launcher_options(s, o)) return 0;
    const char *path = o->operands.at[0];
    return ends_with(path, ".plan") ? compile_plan(s, o, path) : compile_source(s, o, path);
}
