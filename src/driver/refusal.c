/* refusal: explains why no engine takes a graph, at the source line.
 *
 * Two sources: each engine's own reasons (from cuDNN's callback), and a search for the shortest
 * prefix of the graph that no engine takes. An operator is blamed only when a descriptor made for
 * it was refused, or when the prefix before it still has engines. */
#include "driver/driver.h"

#include <inttypes.h>

/* The first n operators of g as a graph of their own: what dangles becomes an output. Dangling
 * results of pointwise operators and anchors are stored in the type of the graph's first output,
 * as the whole graph would; reductions stay f32. */
static struct graph *prefix_graph(struct session *s, const struct graph *g, size_t n)
{
    struct graph *p = ir_clone(s->arena, g);
    enum dtype store = g->outputs.n ? g->outputs.at[0]->type : DT_f32;
    p->ops.n = n;
    p->outputs.n = 0;
    for (size_t i = 0; i < n; i++)
        for (int k = 0; k < ops[p->ops.at[i]->id].n_out; k++) {
            struct value *v = p->ops.at[i]->out[k];
            if (!v || (v->role != VAL_OUTPUT && ir_uses(p, v) > 0)) continue;
            if (v->role != VAL_OUTPUT) {
                v->role = VAL_OUTPUT;
                v->stored = true;
                v->align = 16;
                if (dtypes[v->type].klass == DTC_float && dtypes[store].klass == DTC_float &&
                    ops[p->ops.at[i]->id].family != FAM_reduction)
                    v->type = store;
            }
            vec_push(s->arena, &p->outputs, v);
        }
    ir_sort(s->arena, p);
    ir_number(p);
    return p;
}

/* How many engine configurations heuristics offer for the first n operators; -1: could not be
 * asked. */
static int64_t prefix_engines(struct session *s, const struct target *t,
                              const struct gpu_search *search, const struct build_request *like,
                              const struct graph *g, size_t n)
{
    size_t n_diags = s->diags.n, n_errors = s->n_errors;
    unsigned classes = s->classes;
    struct desc_graph *d = desc_lower(s, prefix_graph(s, g, n));
    if (!d) { /* a part alone may not be lowerable; that is no complaint about the whole */
        s->diags.n = n_diags;
        s->n_errors = n_errors;
        s->classes = classes;
        return -1;
    }
    struct build_request r = *like;
    struct build_result b = {0};
    r.graph = d;
    r.target = t;
    r.search = search;
    r.what = BUILD_COUNT;
    return gpu_build(s, s->arena, &r, &b) ? b.n_supported : -1;
}

static const char *place_name(struct session *s, struct span sp)
{
    struct place p = source_place(s, sp.begin);
    return p.source ? arena_printf(s->arena, "%" PRIu32 ":%" PRIu32, p.line, p.column) : "?";
}

/* The shortest prefix with no engine, by bisection; then checked to be one. 0: not found. */
static size_t losing_prefix(struct session *s, const struct target *t,
                            const struct gpu_search *search, const struct build_request *like,
                            const struct graph *g, int64_t *before)
{
    size_t lo = 0, hi = g->ops.n; /* lo has engines (or is empty), hi has none */
    int64_t engines = 0;
    while (hi - lo > 1) {
        size_t mid = lo + (hi - lo) / 2;
        int64_t n = prefix_engines(s, t, search, like, g, mid);
        if (n < 0) return 0;
        if (n > 0)
            lo = mid, engines = n;
        else
            hi = mid;
    }
    *before = engines;
    return hi;
}

static void note_prefix(struct session *s, struct diag *d, const struct options *o,
                        const struct target *t, const struct kernel *of)
{
    const struct graph *g = of->region;
    struct gpu_search search = driver_search(o);
    struct build_request like = {
        .workspace_limit = o->workspace_limit.given ? o->workspace_limit.value : -1,
        .deterministic = o->deterministic};
    for (size_t i = 0; i < g->ops.n; i++)
        if (g->ops.at[i]->compute == DT_tf32) like.allow_tf32 = true;
    int64_t before = 0;
    size_t n = losing_prefix(s, t, &search, &like, g, &before);
    if (n == 0) return;
    const struct op *op = g->ops.at[n - 1];
    if (n == 1) {
        diag_note(s, d, op->span, "no engine takes '%s' even alone", ops[op->id].name);
        return;
    }
    const struct op *last = g->ops.at[n - 2];
    diag_note(s, d, op->span,
              "up to '%s' at %s there %s %" PRId64
              " engine configuration%s; adding '%s' at %s leaves 0",
              ops[last->id].name, place_name(s, last->span), before == 1 ? "is" : "are", before,
              before == 1 ? "" : "s", ops[op->id].name, place_name(s, op->span));
}

static const struct op *refused_op(const struct kernel *of)
{
    for (size_t i = 0; i < of->build.refusals.n; i++) {
        const char *id = of->build.refusals.at[i].descriptor;
        for (size_t k = 0; id && k < of->desc->descs.n; k++)
            if (strcmp(of->desc->descs.at[k]->id, id) == 0 && of->desc->descs.at[k]->origin)
                return of->desc->descs.at[k]->origin;
    }
    return NULL;
}

/* One reason an engine, said once: several of its configurations mostly fail alike. */
static void note_reasons(struct session *s, struct diag *d, const char *who, const char *status,
                         const words_vec *reasons)
{
    bool barred = status && (strcmp(status, "notes") == 0 || strcmp(status, "workspace") == 0);
    const char *text = arena_printf(s->arena, "%s: %s%s%s", who,
                                    barred   ? "barred"
                                    : status ? status
                                             : "refused",
                                    reasons->n ? ": " : "", reasons->n ? reasons->at[0] : "");
    for (size_t i = 0; i < d->notes.n; i++)
        if (strcmp(d->notes.at[i].text, text) == 0) return;
    diag_note(s, d, NO_SPAN, "%s", text);
}

/* f32 operands and nothing but TF32 engines: the author can allow them. */
static void hint_tf32(struct session *s, struct diag *d, const struct kernel *of)
{
    bool only_tf32 = of->build.candidates.n > 0;
    for (size_t i = 0; i < of->build.candidates.n; i++) {
        const struct candidate *k = &of->build.candidates.at[i];
        only_tf32 = only_tf32 && k->status && strcmp(k->status, "notes") == 0 && k->reasons.n &&
                    strstr(k->reasons.at[0], "TF32");
    }
    if (only_tf32) diag_hint(s, d, "'compute=tf32' on the operator allows it");
}

void refusal_explain(struct session *s, const struct options *o, const struct target *t,
                     const struct kernel *of)
{
    const struct graph *g = of->ir;
    const struct op *op = refused_op(of);
    struct diag *d = diag(s, DIAG_no_engine, op ? op->span : g->span,
                          "no cuDNN engine builds %s for %s", kernel_title(s, of), t->name);
    size_t hidden = 0;
    for (size_t i = 0; i < of->build.candidates.n; i++) {
        const struct candidate *k = &of->build.candidates.at[i];
        note_reasons(s, d, arena_printf(s->arena, "engine %" PRId64, k->engine), k->status,
                     &k->reasons);
    }
    for (size_t i = 0; i < of->build.refusals.n; i++) {
        const struct refusal *r = &of->build.refusals.at[i];
        if (r->architecture) {
            hidden++;
            continue;
        }
        note_reasons(s, d,
                     r->engine < 0 ? "the graph"
                                   : arena_printf(s->arena, "engine %" PRId64, r->engine),
                     r->status, &r->reasons);
    }
    if (hidden)
        diag_note(s, d, NO_SPAN, "%zu engine%s made for other GPUs not listed", hidden,
                  hidden == 1 ? "" : "s");
    note_prefix(s, d, o, t, of);
    hint_tf32(s, d, of);
}
