/* pipeline: the compiler on one screen. Each stage's output can be printed with -d STAGE.
 *
 *   text -> ast_parse -> sema_analyse -> pass_regions -> desc_lower -> gpu_build -> plan_encode
 *                        ir              simplify, partition, redescribe   desc   plan   model.plan
 */
#include "driver/driver.h"

#include <ctype.h>
#include <inttypes.h>

const char *kernel_title(struct session *s, const struct kernel *k)
{
    const char *graph = arena_printf(s->arena, "graph '%s'%s%s", k->ir->name,
                                     *k->ir->variant ? " with " : "", k->ir->variant);
    return k->n_steps == 1 ? graph : arena_printf(s->arena, "step %d of %s", k->step, graph);
}

/* What the language demands: storing what nobody gave an element type is said, with its bytes. */
static void note_stored(struct session *s, const struct compiled *c)
{
    for (size_t i = 0; i < c->temporaries.n; i++) {
        const struct temporary *t = &c->temporaries.at[i];
        if (t->value->pinned) continue;
        struct diag *d = diag(s, DIAG_stored, t->value->span,
                              "this is stored between two kernels as %s: %" PRId64
                              " bytes, made by step %d",
                              dtypes[t->value->type].name, t->bytes, t->first);
        diag_hint(s, d, "declare it to choose the element type: 'h : bf16 = ...'");
    }
}

static bool has_view(const struct graph *g)
{
    for (size_t i = 0; i < g->values.n; i++)
        if (g->values.at[i]->base) return true;
    return false;
}

bool pipeline_lower(struct session *s, const struct graph *g, struct compiled *out)
{
    graphs_vec meant = {0}, regions = {0};
    *out = (struct compiled){.ir = g};
    if (!pass_regions(s, g, NULL, &regions)) return false;
    bool ok = true, several = regions.n > 1;
    bool views = has_view(regions.at[0]); /* the tensors of its kernel are not those of the graph */
    if ((several || views) && !pass_regions(s, g, "partition", &meant)) return false;
    if (several && !pass_place(s, g, &meant, &out->temporaries, &out->temporary_bytes))
        return false;
    note_stored(s, out);
    for (size_t r = 0; r < regions.n; r++) {
        struct kernel k = {.ir = several || views ? meant.at[r] : g,
                           .step = (int)r,
                           .n_steps = (int)regions.n,
                           .region = regions.at[r],
                           .desc = desc_lower(s, regions.at[r])};
        vec_push(s->arena, &out->kernels, k);
        ok = ok && k.desc;
    }
    return ok;
}

/* TF32 is never chosen unless the specification says so. */
bool pipeline_allows_tf32(const struct graph *g)
{
    for (size_t i = 0; i < g->ops.n; i++)
        if (g->ops.at[i]->compute == DT_tf32) return true;
    return false;
}

/* cuDNN's device-property heuristics leave out the engines that need to know the GPU's clusters
 * (measured with cuDNN 9.19: for matmul-like graphs on sm_90 the handle's list has engine 4, up to
 * 1.7 times faster; convolution and attention lists are the same). */
static void note_clusters(struct session *s, const struct target *t, const struct kernel *c)
{
    if (t->host || t->sm < 90) return;
    for (size_t i = 0; i < c->ir->ops.n; i++)
        if (c->ir->ops.at[i]->id == OP_matmul) {
            struct diag *d = diag(
                s, DIAG_no_cluster_engines, c->ir->ops.at[i]->span,
                "%s is compiled without its GPU, where cuDNN's heuristics "
                "leave out cluster engines for matmul on sm_%d",
                kernel_title(s, c), t->sm);
            diag_hint(s, d, "compile it once on the GPU with --target host and compare the speed");
            return;
        }
}

/* Nothing may be lost between the descriptor tree and what cuDNN says it understood. */
bool pipeline_match(struct session *s, const struct kernel *c)
{
    const struct candidate *k = &c->build.candidates.at[c->build.chosen];
    struct buf why = {0};
    bool same = plan_matches(k->plan, k->plan_bytes, c->desc, &why);
    if (!same) {
        struct diag *d = diag(s, DIAG_mismatch, c->ir->span,
                              "cuDNN's plan is not of %s as it was asked for", kernel_title(s, c));
        diag_note(s, d, NO_SPAN, "%s", why.at);
    }
    buf_fini(&why);
    return same;
}

bool pipeline_build(struct session *s, const struct options *o, const struct target *t,
                    struct kernel *c)
{
    struct gpu_search search = driver_search(o);
    struct build_request r = {
        .graph = c->desc,
        .target = t,
        .search = &search,
        .what = o->plans && strcmp(o->plans, "all") == 0 ? BUILD_ALL : BUILD_FIRST,
        .workspace_limit = o->workspace_limit.given ? o->workspace_limit.value : -1,
        .deterministic = o->deterministic,
        .allow_tf32 = pipeline_allows_tf32(c->ir),
    };
    if (!gpu_build(s, s->arena, &r, &c->build)) return false;
    if (c->build.chosen < 0) {
        refusal_explain(s, o, t, c);
        return false;
    }
    if (!pipeline_match(s, c)) return false;
    if (!c->build.reproducible && (o->require_reproducible || !t->host)) {
        struct diag *d = diag(
            s, o->require_reproducible ? DIAG_not_reproducible : DIAG_maybe_not_reproducible,
            NO_SPAN, "the plan of %s may differ from machine to machine", kernel_title(s, c));
        diag_note(s, d, NO_SPAN, "%s", c->build.not_reproducible_why);
        if (o->require_reproducible) return false;
    }
    note_clusters(s, t, c);
    return true;
}

/* The digits that whoever loads the plan replaces by the running driver's version. */
static void find_driver(const char *plan, size_t *at, size_t *len)
{
    static const char key[] = "\"driverVer\":";
    const char *p = strstr(plan, key);
    *at = *len = 0;
    if (!p) return;
    p += sizeof key - 1;
    while (isspace((unsigned char)*p)) p++;
    *at = (size_t)(p - plan);
    while (isdigit((unsigned char)p[*len])) ++*len;
}

static struct plan_step make_step(struct session *s, const struct kernel *c)
{
    const struct candidate *k = &c->build.candidates.at[c->build.chosen];
    struct plan_step step = {
        .engine = k->engine,
        .knobs = k->knobs,
        .numerical = k->numerical,
        .behavior = k->behavior,
        .workspace_bytes = k->workspace_bytes,
        .chosen_by = k->rank < 0
                         ? k->mode
                         : arena_printf(s->arena, "heuristic %s rank %d", k->mode, k->rank),
        .plan = k->plan,
        .plan_bytes = k->plan_bytes,
    };
    for (size_t i = 0; i < c->region->values.n; i++) {
        const struct value *v = c->region->values.at[i];
        int64_t size = dtypes[v->type].bits / 8, extent = 0;
        if (!v->base || !dims_extent(v->rank, v->dim, v->stride, &extent)) continue;
        vec_push(s->arena, &step.views,
                 ((struct plan_view){v->uid, v->base, v->offset * size, extent * size}));
    }
    for (size_t i = 0; i < c->desc->constants.n; i++) {
        const struct desc_constant *dc = &c->desc->constants.at[i];
        vec_push(s->arena, &step.constants,
                 ((struct plan_constant){.uid = dc->uid, .type = dc->type, .value = dc->value}));
    }
    find_driver(step.plan, &step.driver_at, &step.driver_len);
    return step;
}

static void add_tensors(struct session *s, struct plan_variant *pv, const values_vec *of,
                        enum plan_role role)
{
    for (size_t i = 0; i < of->n; i++) {
        const struct value *v = of->at[i];
        struct plan_tensor t = {.name = v->name,
                                .doc = v->doc,
                                .role = role,
                                .uid = v->uid,
                                .type = v->type,
                                .rank = v->rank,
                                .align = v->align,
                                .def = v->literal,
                                .has_default = v->has_default};
        memcpy(t.dim, v->dim, sizeof t.dim);
        memcpy(t.stride, v->stride, sizeof t.stride);
        vec_push(s->arena, &pv->tensors, t);
    }
}

static bool reads(const struct graph *g, int64_t uid)
{
    for (size_t i = 0; i < g->inputs.n; i++)
        if (g->inputs.at[i]->uid == uid || g->inputs.at[i]->base == uid) return true;
    return false;
}

static struct plan_temporary make_temporary(struct session *s, const struct compiled *c,
                                            const struct temporary *t)
{
    const struct value *v = t->value;
    struct plan_temporary pt = {.name = v->name ? v->name : "",
                                .uid = v->uid,
                                .type = v->type,
                                .rank = v->rank,
                                .offset = t->offset,
                                .made_by = t->first};
    memcpy(pt.dim, v->dim, sizeof pt.dim);
    memcpy(pt.stride, v->stride, sizeof pt.stride);
    for (size_t i = 0; i < c->kernels.n; i++)
        if (reads(c->kernels.at[i].ir, v->uid)) vec_push(s->arena, &pt.read_by, (int64_t)i);
    return pt;
}

static struct plan_variant make_variant(struct session *s, const struct compiled *c)
{
    const struct graph *g = c->ir;
    struct plan_variant pv = {.name = g->variant, .reproducible = true};
    for (size_t i = 0; i < g->params.n; i++) vec_push(s->arena, &pv.params, g->params.at[i]);
    add_tensors(s, &pv, &g->inputs, PLAN_INPUT);
    add_tensors(s, &pv, &g->scalars, PLAN_SCALAR);
    add_tensors(s, &pv, &g->outputs, PLAN_OUTPUT);
    for (size_t i = 0; i < c->temporaries.n; i++)
        vec_push(s->arena, &pv.temporaries, make_temporary(s, c, &c->temporaries.at[i]));
    for (size_t i = 0; i < c->kernels.n; i++) {
        vec_push(s->arena, &pv.steps, make_step(s, &c->kernels.at[i]));
        pv.reproducible = pv.reproducible && c->kernels.at[i].build.reproducible;
    }
    struct buf b = {0};
    ir_print(g, &b);
    pv.ir = arena_strndup(s->arena, b.at ? b.at : "", b.n);
    buf_fini(&b);
    return pv;
}

void pipeline_plan(struct session *s, const struct module *m, const struct target *t,
                   const struct compiled *c, size_t n, struct plan *out)
{
    *out = (struct plan){.fgc_version = PACKAGE_VERSION, .target = *t, .nvrtc_version = ""};
    out->target.name = plan_target_name(s->arena, t);
    struct buf b = {0};
    ast_format(m->ast, &b);
    out->source = arena_strndup(s->arena, b.at ? b.at : "", b.n);
    buf_fini(&b);
    for (size_t i = 0; i < m->ast->imports.n; i++) {
        struct buf text = {0};
        ast_format(m->ast->imports.at[i], &text);
        vec_push(s->arena, &out->imports,
                 ((struct plan_import){m->ast->imports.at[i]->name,
                                       arena_strndup(s->arena, text.at, text.n)}));
        buf_fini(&text);
    }
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < c[i].kernels.n; k++) {
            const struct build_result *built = &c[i].kernels.at[k].build;
            out->cudnn_version = built->cudnn_version;
            if (built->nvrtc_version) out->nvrtc_version = built->nvrtc_version;
        }
        if (i == 0 || strcmp(c[i].ir->name, c[i - 1].ir->name) != 0)
            vec_push(s->arena, &out->graphs,
                     ((struct plan_graph){.name = c[i].ir->name, .doc = c[i].ir->doc}));
        struct plan_graph *pg = &out->graphs.at[out->graphs.n - 1];
        vec_push(s->arena, &pg->variants, make_variant(s, &c[i]));
    }
}

static void print_words(FILE *to, const words_vec *w)
{
    for (size_t i = 0; i < w->n; i++) fprintf(to, "%s%s", i ? "," : " ", w->at[i]);
}

void candidates_print(struct session *s, const struct kernel *k, FILE *to)
{
    const struct build_result *b = &k->build;
    fprintf(to, "%s: %zu candidates\n", kernel_title(s, k), b->candidates.n);
    for (size_t i = 0; i < b->candidates.n; i++) {
        const struct candidate *c = &b->candidates.at[i];
        fprintf(to, "%c %-8s %2d  engine %" PRId64 " [", (int)i == b->chosen ? '*' : ' ', c->mode,
                c->rank, c->engine);
        for (size_t j = 0; j < c->knobs.n; j++)
            fprintf(to, "%s%" PRId64 "=%" PRId64, j ? " " : "", c->knobs.at[j].type,
                    c->knobs.at[j].value);
        fprintf(to, "]  ");
        if (c->status) {
            fprintf(to, "refused: %s", c->status);
            if (c->reasons.n) fprintf(to, ": %s", c->reasons.at[0]);
        } else {
            fprintf(to, "workspace %" PRId64 " bytes, built in %.1f ms, notes", c->workspace_bytes,
                    c->build_ms);
            print_words(to, &c->numerical);
            print_words(to, &c->behavior);
        }
        fprintf(to, "\n");
    }
}
