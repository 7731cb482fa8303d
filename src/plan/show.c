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
    static const char *const roles[] = {[PLAN_INPUT] = "input", [PLAN_SCALAR] = "scalar", [PLAN_OUTPUT] = "output"};
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
    for (size_t k = 0; k < s->knobs.n; k++) buf_printf(out, " %" PRId64 "=%" PRId64, s->knobs.at[k].type, s->knobs.at[k].value);
    if (s->knobs.n == 0) buf_puts(out, " none");
    buf_printf(out, "\n      workspace: %" PRId64 " bytes\n      chosen by: %s\n      plan: %zu bytes\n", s->workspace_bytes, s->chosen_by,
               s->plan_bytes);
    show_words("numerical notes", &s->numerical, out);
    show_words("behavior notes", &s->behavior, out);
}

void plan_show(const struct plan *p, struct buf *out)
{
    buf_printf(out, "made by fgc %s with cuDNN ", p->fgc_version);
    put_version(out, p->cudnn_version);
    if (*p->nvrtc_version) buf_printf(out, " and NVRTC %s", p->nvrtc_version);
    buf_printf(out, "\ntarget %s: sm_%d, %d multiprocessors%s\n", p->target.name, p->target.sm, p->target.multiprocessors,
               p->target.host ? ", compiled on the device" : ", compiled from its description");
    for (size_t i = 0; i < p->graphs.n; i++) {
        const struct plan_graph *g = &p->graphs.at[i];
        buf_printf(out, "\ngraph %s\n", g->name);
        for (size_t k = 0; k < g->variants.n; k++) {
            const struct plan_variant *v = &g->variants.at[k];
            if (*v->name) buf_printf(out, "  variant %s\n", v->name);
            for (size_t t = 0; t < v->tensors.n; t++) show_tensor(&v->tensors.at[t], out);
            for (size_t t = 0; t < v->steps.n; t++) show_step(&v->steps.at[t], t, out);
            if (!v->reproducible) buf_puts(out, "      its bytes may differ from machine to machine\n");
        }
    }
    buf_puts(out, "\nthe plans' bytes come from cuDNN and are under NVIDIA's terms; a plan is code: run only those you trust\n");
}

void plan_show_json(const struct plan *p, struct buf *out)
{
    struct arena *a = arena_new();
    json_t *j = manifest_write(a, p);
    char *text = json_dumps(j, JSON_INDENT(1));
    buf_printf(out, "%s\n", text);
    free(text);
    json_decref(j);
    arena_free(a);
}

/* The numbers that cuDNN compares for equality when it loads a plan (tried with cuDNN 9.19 on an H200, one
 * field of GPUProfile at a time). The driver's version is rewritten by the launcher. */
static const char *const compared[] = {"deviceVer",          "multiProcessorCount", "maxSharedMemoryPerBlockOptin", "reservedSharedMemoryPerBlock",
                                       "regsPerBlock",       "maxThreadsPerSM",     "maxGridSize"};

enum plan_fit plan_check(const struct plan *p, const struct target *t, int64_t cudnn_version, struct buf *out)
{
    json_t *needs = json_loads(p->target.json, 0, NULL), *has = json_loads(t->json, 0, NULL);
    enum plan_fit fit = PLAN_RUNS;
    for (size_t i = 0; i < COUNT_OF(compared); i++) {
        json_t *n = json_object_get(needs, compared[i]), *h = json_object_get(has, compared[i]);
        if (json_equal(n, h)) continue;
        char *ns = json_dumps(n, JSON_ENCODE_ANY | JSON_COMPACT), *hs = json_dumps(h, JSON_ENCODE_ANY | JSON_COMPACT);
        buf_printf(out, "%s: found %s, needs %s\n", compared[i], hs, ns);
        free(ns);
        free(hs);
        fit = PLAN_REFUSED;
    }
    if (cudnn_version && cudnn_version != p->cudnn_version) {
        buf_puts(out, "cuDNN: found ");
        put_version(out, cudnn_version);
        buf_puts(out, ", needs ");
        put_version(out, p->cudnn_version);
        buf_puts(out, "\n");
        fit = PLAN_REFUSED;
    }
    if (fit == PLAN_RUNS && !json_equal(needs, has)) {
        const char *key;
        json_t *v;
        json_object_foreach(has, key, v)
            if (!json_equal(v, json_object_get(needs, key))) buf_printf(out, "%s differs: the plan runs, another may be faster\n", key);
        fit = PLAN_REBUILD_ADVISED;
    }
    json_decref(needs);
    json_decref(has);
    return fit;
}
