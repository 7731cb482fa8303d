/* runnable: what can be run of a plan, or of a specification that is built for it.
 *
 * Invariant: a plan's graphs come from the source that it holds, never from a file beside it. */
#include "driver/driver.h"

struct module *driver_plan_module(struct session *s, const struct plan *p)
{
    struct embedded *given = NEW_N(s->arena, struct embedded, p->imports.n + 1);
    VEC(struct sema_define) defines = {0};
    for (size_t i = 0; i < p->imports.n; i++)
        given[i] = (struct embedded){p->imports.at[i].name, p->imports.at[i].text,
                                     strlen(p->imports.at[i].text)};
    for (size_t i = 0; i < p->graphs.n; i++) {
        const struct plan_variant *v = &p->graphs.at[i].variants.at[0];
        for (size_t k = 0; k < v->params.n; k++) {
            const struct graph_param *x = &v->params.at[k];
            if (x->is_variant) continue; /* its choices stand in the text */
            vec_push(s->arena, &defines,
                     ((struct sema_define){
                         .graph = intern_z(s, p->graphs.at[i].name),
                         .name = intern_z(s, x->name),
                         .value = x->is_type ? dtypes[x->type].name
                                             : arena_printf(s->arena, "%lld", (long long)x->i)}));
        }
    }
    struct source *src = source_add(s, "source.fg", p->source, strlen(p->source));
    struct ast *ast = src ? ast_parse(s, src) : NULL;
    if (!ast) return NULL;
    ast_import(s, ast, given);
    struct sema_options so = {.cudnn = p->cudnn_version,
                              .defines = defines.at,
                              .n_defines = defines.n,
                              .sm = p->target.sm,
                              .has_type = target_has_type,
                              .target = &p->target};
    struct module *m = sema_analyse(s, ast, &so);
    return s->n_errors ? NULL : m;
}

const struct graph *driver_graph(const struct module *m, const char *name, const char *variant)
{
    for (size_t i = 0; i < m->graphs.n; i++)
        if (strcmp(m->graphs.at[i]->name, name) == 0 &&
            strcmp(m->graphs.at[i]->variant, variant) == 0)
            return m->graphs.at[i];
    return NULL;
}

/* ---- plans with the trees that they were built of --------------------------------------------- */

static void add_views(struct session *s, const struct kernel *k, struct bench_plan *plan)
{
    for (size_t i = 0; i < k->region->values.n; i++) {
        const struct value *v = k->region->values.at[i];
        if (!v->base) continue;
        vec_push(s->arena, &plan->views,
                 ((struct bench_view){v->uid, v->base, v->offset * (dtypes[v->type].bits / 8)}));
    }
}

static bool from_plan(struct session *s, const char *path, runnables_vec *out)
{
    struct plan p;
    char *bytes;
    size_t n;
    if (!file_read(s, path, &bytes, &n) || !plan_decode(s, s->arena, path, bytes, n, &p))
        return false;
    struct module *m = driver_plan_module(s, &p);
    for (size_t i = 0; m && i < p.graphs.n; i++)
        for (size_t k = 0; k < p.graphs.at[i].variants.n; k++) {
            const struct plan_variant *v = &p.graphs.at[i].variants.at[k];
            const struct graph *g = driver_graph(m, p.graphs.at[i].name, v->name);
            struct runnable r = {.file = path, .target = plan_target_name(s->arena, &p.target), .ir = g};
            struct compiled c = {0};
            bool lowered = g && pipeline_lower(s, g, &c);
            if (!lowered || c.kernels.n != v->steps.n) {
                diag(s, DIAG_plan, NO_SPAN, "'%s': graph '%s'%s%s is not what this fgc makes of it",
                     path, p.graphs.at[i].name, *v->name ? " with " : "", v->name);
                return false;
            }
            for (size_t t = 0; t < v->steps.n; t++) {
                const struct plan_step *step = &v->steps.at[t];
                struct bench_plan plan = {.desc = c.kernels.at[t].desc,
                                          .plan = step->plan,
                                          .plan_bytes = step->plan_bytes,
                                          .engine = step->engine,
                                          .workspace_bytes = step->workspace_bytes};
                add_views(s, &c.kernels.at[t], &plan);
                vec_push(s->arena, &r.steps, plan);
            }
            vec_push(s->arena, out, r);
        }
    return m != NULL;
}

struct bench_plan runnable_step(const struct kernel *k)
{
    const struct candidate *c = &k->build.candidates.at[k->build.chosen];
    return (struct bench_plan){.desc = k->desc,
                               .plan = c->plan,
                               .plan_bytes = c->plan_bytes,
                               .engine = c->engine,
                               .workspace_bytes = c->workspace_bytes};
}

static bool from_spec(struct session *s, const struct options *o, const char *path,
                      const struct target *t, runnables_vec *out)
{
    struct module *m = driver_module(s, o, path, t);
    for (size_t i = 0; m && i < m->graphs.n; i++) {
        struct runnable r = {.file = path, .target = t->name, .ir = m->graphs.at[i]};
        struct compiled c = {0};
        if (!pipeline_lower(s, m->graphs.at[i], &c)) return false;
        for (size_t k = 0; k < c.kernels.n; k++) {
            if (!pipeline_build(s, o, t, &c.kernels.at[k])) return false;
            struct bench_plan plan = runnable_step(&c.kernels.at[k]);
            add_views(s, &c.kernels.at[k], &plan);
            vec_push(s->arena, &r.steps, plan);
        }
        vec_push(s->arena, out, r);
    }
    return m != NULL;
}

bool runnables_of_file(struct session *s, const struct options *o, const char *path,
                       const struct target *t, runnables_vec *out)
{
    size_t n = strlen(path);
    if (n > 5 && strcmp(path + n - 5, ".plan") == 0) return from_plan(s, path, out);
    return from_spec(s, o, path, t, out);
}

/* ---- the same with nothing fused ---------------------------------------------------------------- */

/* One operator alone, by cuDNN's first choice. Its diagnostics are the quiet session's. */
static bool build_anchor(struct session *quiet, const struct options *o, const struct target *t,
                         const struct op *op, struct bench_plan *out)
{
    struct gpu_search search = driver_search(o);
    struct compiled c = {0};
    if (!pipeline_lower(quiet, kernel_anchor(quiet->arena, op), &c)) return false;
    struct kernel *k = &c.kernels.at[0];
    struct build_request r = {.graph = k->desc,
                              .target = t,
                              .search = &search,
                              .what = BUILD_FIRST,
                              .workspace_limit = -1,
                              .allow_tf32 = pipeline_allows_tf32(k->ir)};
    if (!gpu_build(quiet, quiet->arena, &r, &k->build) || k->build.chosen < 0) return false;
    *out = runnable_step(k);
    return true;
}

void session_hush(struct session *quiet)
{
    quiet->diags.n = quiet->n_errors = 0;
    quiet->diags_full = false;
}

static const char *why_not(const struct session *quiet, const char *otherwise)
{
    return quiet->diags.n ? quiet->diags.at[0]->text : otherwise;
}

void unfused_of(struct session *quiet, const struct options *o, const struct target *t,
                const struct graph *ir, struct bench_unfused *out)
{
    *out = (struct bench_unfused){.why = NULL};
    session_hush(quiet);
    graphs_vec simple = {0};
    if (!pass_regions(quiet, ir, "simplify", &simple)) {
        out->why = why_not(quiet, "the graph is refused");
        return;
    }
    out->graph = kernel_unfused(quiet->arena, simple.at[0]);
    if (!kernel_program(quiet->arena, out->graph, KERNEL_UNFUSED, "u", &out->kernels)) {
        out->why = out->kernels.why;
        return;
    }
    for (size_t i = 0; i < out->kernels.launches.n; i++) {
        const struct kernel_launch *l = &out->kernels.launches.at[i];
        struct bench_plan plan;
        if (l->name) continue;
        if (!build_anchor(quiet, o, t, l->op, &plan)) {
            out->why = arena_printf(quiet->arena, "cuDNN does not build '%s' alone: %s", l->what,
                                    why_not(quiet, "no engine takes it"));
            return;
        }
        vec_push(quiet->arena, &out->anchors, plan);
    }
}
