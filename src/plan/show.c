/* show: a plan for people and for tools, and whether it fits a target. */
#include <inttypes.h>
#include <stdlib.h>

#include "plan/internal.h"

static void put_version(struct buf *out, int64_t v)
{
    buf_printf(out, "%" PRId64 ".%" PRId64 ".%" PRId64, v / 10000, v / 100 % 100, v % 100);
}

static void put_list(struct buf *out, int n, const int64_t *v)
{
    for (int i = 0; i < n; i++) buf_printf(out, "%s%" PRId64, i ? ", " : "", v[i]);
}

static void show_tensor(const struct plan_tensor *t, struct buf *out)
{
    static const char *const roles[] = {
        [PLAN_INPUT] = "input", [PLAN_SCALAR] = "scalar", [PLAN_OUTPUT] = "output"};
    buf_printf(out, "    %-6s %s : %s", roles[t->role], t->name, dtypes[t->type].name);
    if (t->role == PLAN_SCALAR) {
        if (t->has_default) {
            buf_puts(out, " = ");
            buf_real(out, t->def);
        }
    } else {
        buf_puts(out, "[");
        put_list(out, t->rank, t->dim);
        buf_puts(out, "] strides(");
        put_list(out, t->rank, t->stride);
        buf_printf(out, ") align(%" PRId64 ")", t->align);
    }
    buf_printf(out, "  uid %" PRId64 "\n", t->uid);
}

static void show_doc(const char *doc, struct buf *out)
{
    while (doc && *doc) {
        size_t n = strcspn(doc, "\n");
        buf_printf(out, "  # %.*s\n", (int)n, doc);
        doc += doc[n] ? n + 1 : n;
    }
}

static void show_params(const struct plan_variant *v, struct buf *out)
{
    for (size_t i = 0; i < v->params.n; i++) {
        const struct graph_param *q = &v->params.at[i];
        buf_printf(out, "%s%s = ", i ? ", " : "    parameters: ", q->name);
        if (q->is_type)
            buf_puts(out, dtypes[q->type].name);
        else
            buf_printf(out, "%" PRId64, q->i);
    }
    if (v->params.n) buf_puts(out, "\n");
}

static void show_words(const char *what, const words_vec *v, struct buf *out)
{
    if (v->n == 0) return;
    buf_printf(out, "      %s:", what);
    for (size_t i = 0; i < v->n; i++) buf_printf(out, " %s", v->at[i]);
    buf_puts(out, "\n");
}

static void show_step(const struct plan_step *s, size_t i, struct buf *out)
{
    buf_printf(out, "    step %zu: engine %" PRId64 ", knobs", i, s->engine);
    for (size_t k = 0; k < s->knobs.n; k++)
        buf_printf(out, " %" PRId64 "=%" PRId64, s->knobs.at[k].type, s->knobs.at[k].value);
    if (s->knobs.n == 0) buf_puts(out, " none");
    buf_printf(out,
               "\n      workspace: %" PRId64 " bytes\n      chosen by: %s\n      plan: %zu bytes\n",
               s->workspace_bytes, s->chosen_by, s->plan_bytes);
    show_words("numerical notes", &s->numerical, out);
    show_words("behavior notes", &s->behavior, out);
}

static void show_temporary(const struct plan_temporary *t, struct buf *out)
{
    buf_printf(out, "    between %s : %s[", *t->name ? t->name : "steps", dtypes[t->type].name);
    put_list(out, t->rank, t->dim);
    buf_puts(out, "] strides(");
    put_list(out, t->rank, t->stride);
    buf_printf(out, ")  uid %" PRId64 ": %" PRId64 " bytes at %" PRId64 ", made by step %" PRId64
                    ", read by ",
               t->uid, plan_temporary_bytes(t), t->offset, t->made_by);
    put_list(out, (int)t->read_by.n, t->read_by.at);
    buf_puts(out, "\n");
}

/* Parts of tensors, and tensors under other strides, that the step binds by themselves. */
static void show_views(const struct plan_variant *v, const struct plan_step *s, struct buf *out)
{
    for (size_t i = 0; i < s->views.n; i++) {
        const struct plan_view *view = &s->views.at[i];
        const char *of = "";
        for (size_t k = 0; k < v->tensors.n; k++)
            if (v->tensors.at[k].uid == view->of) of = v->tensors.at[k].name;
        for (size_t k = 0; k < v->temporaries.n; k++)
            if (v->temporaries.at[k].uid == view->of) of = v->temporaries.at[k].name;
        buf_printf(out, "      view: uid %" PRId64 ", %s%suid %" PRId64 " from byte %" PRId64 " on\n",
                   view->uid, of, *of ? ", " : "", view->of, view->offset);
    }
}

/* Which tensors of the interface a step binds: with the temporaries, what crosses the cut. */
static void show_bound(const struct plan_variant *v, const struct plan_step *s, struct buf *out)
{
    buf_puts(out, "      binds:");
    for (size_t i = 0; i < v->tensors.n; i++)
        if (plan_step_uses(s, v->tensors.at[i].uid)) buf_printf(out, " %s", v->tensors.at[i].name);
    for (size_t i = 0; i < v->temporaries.n; i++)
        if (plan_step_uses(s, v->temporaries.at[i].uid)) {
            const struct plan_temporary *t = &v->temporaries.at[i];
            if (*t->name)
                buf_printf(out, " %s", t->name);
            else
                buf_printf(out, " uid %" PRId64, t->uid);
        }
    buf_puts(out, "\n");
}

void plan_show(const struct plan *p, struct buf *out)
{
    buf_printf(out, "made by fgc %s with cuDNN ", p->fgc_version);
    put_version(out, p->cudnn_version);
    if (*p->nvrtc_version) buf_printf(out, " and NVRTC %s", p->nvrtc_version);
    buf_printf(out, "\ntarget %s: sm_%d, %d multiprocessors%s\n", p->target.name, p->target.sm,
               p->target.multiprocessors,
               p->target.host ? ", compiled on the device" : ", compiled from its description");
    for (size_t i = 0; i < p->imports.n; i++)
        buf_printf(out, "%s %s%s", i ? "" : "imports", p->imports.at[i].name,
                   i + 1 < p->imports.n ? "," : "\n");
    for (size_t i = 0; i < p->graphs.n; i++) {
        const struct plan_graph *g = &p->graphs.at[i];
        buf_printf(out, "\ngraph %s\n", g->name);
        show_doc(g->doc, out);
        for (size_t k = 0; k < g->variants.n; k++) {
            const struct plan_variant *v = &g->variants.at[k];
            if (*v->name) buf_printf(out, "  variant %s\n", v->name);
            show_params(v, out);
            for (size_t t = 0; t < v->tensors.n; t++) show_tensor(&v->tensors.at[t], out);
            for (size_t t = 0; t < v->temporaries.n; t++)
                show_temporary(&v->temporaries.at[t], out);
            for (size_t t = 0; t < v->steps.n; t++) {
                show_step(&v->steps.at[t], t, out);
                show_views(v, &v->steps.at[t], out);
                if (v->steps.n > 1) show_bound(v, &v->steps.at[t], out);
            }
            if (v->steps.n > 1)
                buf_printf(out, "    workspace: %" PRId64 " bytes\n", plan_workspace(v, NULL));
            buf_puts(out,
                     v->reproducible
                         ? "    reproducible: the same inputs and versions give these bytes\n"
                         : "    not reproducible: its bytes may differ from machine to machine\n");
        }
    }
    buf_puts(out, "\nthe plans' bytes come from cuDNN and are under NVIDIA's terms; a plan is "
                  "code: run only those you trust\n");
}

void plan_show_json(const struct plan *p, struct buf *out)
{
    struct arena *a = arena_new();
    const char *why, *text = manifest_text(a, p, &why);
    buf_puts(out, text ? text : "");
    arena_free(a);
}

/* ---- does it fit? --------------------------------------------------------------------------- */

/* Tried with cuDNN 9.19 on an H200, one field of GPUProfile at a time; each but the driver's
 * version, which whoever loads the plan replaces by the running one. */
const char *const plan_compared[N_COMPARED] = {
    "deviceVer",
    "multiProcessorCount",
    "maxSharedMemoryPerBlockOptin",
    "reservedSharedMemoryPerBlock",
    "regsPerBlock",
    "maxThreadsPerSM",
    "maxGridSize",
};

static bool is_compared(const char *key)
{
    for (size_t i = 0; i < N_COMPARED; i++)
        if (strcmp(plan_compared[i], key) == 0) return true;
    return false;
}

static void found_needs(const char *key, const json_t *found, const json_t *needs, struct buf *out)
{
    char *f = json_dumps(found, JSON_ENCODE_ANY | JSON_COMPACT),
         *n = json_dumps(needs, JSON_ENCODE_ANY | JSON_COMPACT);
    buf_printf(out, "%s: found %s, needs %s\n", key, f ? f : "nothing", n ? n : "nothing");
    free(f);
    free(n);
}

/* Kernels compiled by CUDA 13.x run on every driver for CUDA 13.0 and later: a binary needs the
 * driver of its major version (CUDA's minor version compatibility), and later drivers keep the
 * earlier. */
static bool driver_fits(const struct plan *p, int64_t driver, struct buf *out)
{
    int64_t major = strtol(p->nvrtc_version, NULL, 10);
    if (driver == 0 || driver >= 1000 * major) return true;
    buf_printf(out,
               "driver: found CUDA %" PRId64 ".%" PRId64 ", needs CUDA %" PRId64 ".0 or later\n",
               driver / 1000, driver % 1000 / 10, major);
    return false;
}

enum plan_fit plan_check(const struct plan *p, const struct target *t, int64_t cudnn_version,
                         int64_t driver_version, struct buf *out)
{
    json_t *needs = json_loads(p->target.json, 0, NULL), *has = json_loads(t->json, 0, NULL), *v;
    const char *key;
    enum plan_fit fit = PLAN_RUNS;
    json_object_foreach(needs, key, v)
    {
        json_t *h = json_object_get(has, key);
        if (json_equal(v, h)) continue;
        found_needs(key, h, v, out);
        if (is_compared(key))
            fit = PLAN_REFUSED;
        else if (fit == PLAN_RUNS)
            fit = PLAN_REBUILD_ADVISED;
    }
    json_decref(needs);
    json_decref(has);
    if (cudnn_version && cudnn_version != p->cudnn_version) {
        buf_puts(out, "cuDNN: found ");
        put_version(out, cudnn_version);
        buf_puts(out, ", needs ");
        put_version(out, p->cudnn_version);
        buf_puts(out, "\n");
        fit = PLAN_REFUSED;
    }
    if (!driver_fits(p, driver_version, out)) fit = PLAN_REFUSED;
    if (fit == PLAN_RUNS && t->host && !p->target.host && p->target.sm >= 90) {
        buf_puts(out, "made without the GPU, where cuDNN leaves out cluster engines for matmul; "
                      "built on it, with "
                      "--target host, it may be faster\n");
        fit = PLAN_REBUILD_ADVISED;
    }
    return fit;
}
