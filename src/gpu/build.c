/* build: a descriptor tree and a target to the plans of its engines, through the helper.
 *
 * Invariant: the helper's answer is checked like any input before it is believed. */
#include <stdlib.h>

#include "gpu/parent.h"

enum { DEFAULT_LIMIT_S = 300 };

static const char *text(struct arena *a, const json_t *o, const char *key)
{
    const char *t = json_string_value(json_object_get(o, key));
    return t ? arena_strdup(a, t) : NULL;
}

static words_vec words(struct arena *a, const json_t *list)
{
    words_vec v = {0};
    size_t i;
    json_t *w;
    json_array_foreach((json_t *)list, i, w)
        if (json_is_string(w)) vec_push(a, &v, arena_strdup(a, json_string_value(w)));
    return v;
}

static knobs_vec knobs(struct arena *a, const json_t *list)
{
    knobs_vec v = {0};
    size_t i;
    json_t *pair;
    json_array_foreach((json_t *)list, i, pair)
        vec_push(a, &v,
                 ((struct knob){json_integer_value(json_array_get(pair, 0)),
                                json_integer_value(json_array_get(pair, 1))}));
    return v;
}

static json_t *knobs_json(const knobs_vec *v)
{
    json_t *list = json_array();
    for (size_t i = 0; i < v->n; i++)
        json_array_append_new(
            list, json_pack("[I, I]", (json_int_t)v->at[i].type, (json_int_t)v->at[i].value));
    return list;
}

static json_t *request_json(const struct build_request *r)
{
    static const char *const what[] = {
        [BUILD_FIRST] = "first", [BUILD_ALL] = "all", [BUILD_COUNT] = "count", [BUILD_ONE] = "one"};
    struct buf tree = {0};
    desc_print(r->graph, &tree);
    struct engine_bars bars = gpu_bars(r);
    json_t *j = json_pack("{s:s, s:b, s:s, s:s, s:b, s:b, s:b, s:i}", "what", what[r->what], "host",
                          r->target->host, "target", r->target->json, "tree", tree.at,
                          "deterministic", bars.deterministic, "exact_f32", bars.exact_f32,
                          "no_cublaslt", bars.no_cublaslt, "time_limit_s",
                          r->time_limit_s ? r->time_limit_s : DEFAULT_LIMIT_S);
    if (r->workspace_limit >= 0)
        json_object_set_new(j, "workspace_limit", json_integer(r->workspace_limit));
    if (r->what == BUILD_ONE) {
        json_object_set_new(j, "engine", json_integer(r->engine));
        json_object_set_new(j, "knobs", knobs_json(&r->knobs));
    }
    buf_fini(&tree);
    return j;
}

static struct candidate read_candidate(struct arena *a, const json_t *j)
{
    struct candidate c = {
        .mode = text(a, j, "mode"),
        .rank = (int)json_integer_value(json_object_get(j, "rank")),
        .engine = json_integer_value(json_object_get(j, "engine")),
        .knobs = knobs(a, json_object_get(j, "knobs")),
        .numerical = words(a, json_object_get(j, "numerical")),
        .behavior = words(a, json_object_get(j, "behavior")),
        .workspace_bytes = json_integer_value(json_object_get(j, "workspace_bytes")),
        .build_ms = json_number_value(json_object_get(j, "build_ms")),
        .status = text(a, j, "status"),
        .reasons = words(a, json_object_get(j, "reasons")),
        .plan = text(a, j, "plan"),
    };
    if (c.plan) c.plan_bytes = strlen(c.plan);
    if (!c.mode) c.mode = "A";
    if (!c.plan && !c.status) c.status = "crash";
    return c;
}

static void read_result(struct arena *a, const json_t *reply, struct build_result *out)
{
    size_t i;
    json_t *j;
    bool differs = false;
    out->chosen = -1;
    json_array_foreach(json_object_get(reply, "candidates"), i, j) {
        struct candidate c = read_candidate(a, j);
        if (c.plan && out->chosen < 0) {
            out->chosen = (int)i;
            differs = json_is_true(json_object_get(j, "differs"));
        }
        vec_push(a, &out->candidates, c);
    }
    json_array_foreach(json_object_get(reply, "refusals"), i, j) {
        struct refusal r = {
            .engine = json_integer_value(json_object_get(j, "engine")),
            .status = text(a, j, "status"),
            .reasons = words(a, json_object_get(j, "reasons")),
            .descriptor = text(a, j, "descriptor"),
            .architecture = json_is_true(json_object_get(j, "architecture")),
        };
        vec_push(a, &out->refusals, r);
    }
    out->n_supported = json_integer_value(json_object_get(reply, "n_supported"));
    out->cudnn_version = json_integer_value(json_object_get(reply, "cudnn_version"));
    out->nvrtc_version = text(a, json_object_get(json_object_get(reply, "found"), "nvrtc"),
                              "version");
    out->reproducible = json_is_true(json_object_get(reply, "reproducible")) &&
                        !json_object_get(reply, "layout") && !differs;
    out->not_reproducible_why = text(
        a, reply, json_object_get(reply, "layout") ? "layout" : "not_reproducible_why");
    if (differs)
        out->not_reproducible_why = "built twice in unlike memories, the plan is not the same";
    if (!out->reproducible && !out->not_reproducible_why)
        out->not_reproducible_why = "it was built on the device itself";
}

/* What was tried, each with the loader's own words. */
static void note_tried(struct session *s, struct diag *d, const json_t *reply, const char *lib)
{
    size_t i;
    json_t *t;
    json_array_foreach(json_object_get(reply, "tried"), i, t) {
        const char *error = json_string_value(json_object_get(t, "error"));
        if (strcmp(json_string_value(json_object_get(t, "lib")), lib) == 0 && error)
            diag_note(s, d, NO_SPAN, "tried '%s' (%s): %s",
                      json_string_value(json_object_get(t, "path")),
                      json_string_value(json_object_get(t, "where")), error);
    }
}

static bool check_error(struct session *s, const json_t *reply)
{
    const char *error = json_string_value(json_object_get(reply, "error"));
    if (!error) return true;
    struct diag *d = diag(s, DIAG_no_cudnn, NO_SPAN, "%s", error);
    note_tried(s, d, reply, "nvrtc");
    note_tried(s, d, reply, "cudnn");
    if (!json_object_get(json_object_get(reply, "found"), "cudnn") &&
        json_object_get(json_object_get(reply, "found"), "nvrtc"))
        diag_hint(s, d,
                  "tools/get-cudnn fetches it into ./deps; --cudnn=PATH or FGC_CUDNN says where it "
                  "is; 'fgc doctor' tells more");
    return false;
}

/* Without NVRTC the engines that compile at run time drop out, with reasons that do not name it. */
static void note_nvrtc(struct session *s, const json_t *reply, const struct build_result *out)
{
    if (out->nvrtc_version || out->chosen >= 0 || out->n_supported > 0) return;
    struct diag *d = diag(s, DIAG_no_nvrtc, NO_SPAN,
                          "NVRTC was not found, and most fused graphs are compiled by it");
    note_tried(s, d, reply, "nvrtc");
    diag_hint(s, d,
              "--cuda=PATH or FGC_CUDA names the CUDA toolkit or the folder with libnvrtc.so.13");
}

bool gpu_build(struct session *s, struct arena *a, const struct build_request *r,
               struct build_result *out)
{
    *out = (struct build_result){.chosen = -1};
    json_t *request = request_json(r);
    int limit = r->time_limit_s ? r->time_limit_s : DEFAULT_LIMIT_S;
    json_t *reply = helper_ask(s, r->search, request,
                               r->what == BUILD_ALL ? 20 * limit : 2 * limit);
    json_decref(request);
    if (!reply) return false;
    bool ok = check_error(s, reply);
    if (ok) {
        read_result(a, reply, out);
        note_nvrtc(s, reply, out);
    }
    json_decref(reply);
    return ok;
}

/* ---- surveys ----------------------------------------------------------------------------- */

enum { SURVEY_LIMIT_S = 300 };

/* Asks a question that request_json has no word for. */
static json_t *survey(struct session *s, const struct build_request *r, const char *what,
                      json_t *configs)
{
    json_t *request = request_json(r);
    json_object_set_new(request, "what", json_string(what));
    if (configs) json_object_set_new(request, "configs", configs);
    json_t *reply = helper_ask(s, r->search, request, SURVEY_LIMIT_S);
    json_decref(request);
    if (reply && check_error(s, reply)) return reply;
    json_decref(reply);
    return NULL;
}

bool gpu_list(struct session *s, struct arena *a, const struct build_request *r,
              struct build_result *out)
{
    *out = (struct build_result){.chosen = -1};
    json_t *reply = survey(s, r, "list", NULL);
    if (!reply) return false;
    read_result(a, reply, out);
    note_nvrtc(s, reply, out);
    json_decref(reply);
    return true;
}

bool gpu_engines(struct session *s, struct arena *a, const struct build_request *r,
                 engines_vec *out)
{
    size_t i, k;
    json_t *j, *range, *reply = survey(s, r, "engines", NULL);
    if (!reply) return false;
    json_array_foreach(json_object_get(reply, "engines"), i, j) {
        struct engine_info e = {
            .engine = json_integer_value(json_object_get(j, "engine")),
            .numerical = words(a, json_object_get(j, "numerical")),
            .behavior = words(a, json_object_get(j, "behavior")),
        };
        words_vec reasons = words(a, json_object_get(j, "reasons"));
        if (reasons.n) e.barred = reasons.at[0];
        json_array_foreach(json_object_get(j, "knobs"), k, range) {
            int64_t v[4];
            for (size_t m = 0; m < 4; m++) v[m] = json_integer_value(json_array_get(range, m));
            vec_push(a, &e.knobs, ((struct knob_range){v[0], v[1], v[2], v[3]}));
        }
        vec_push(a, out, e);
    }
    json_decref(reply);
    return true;
}

bool gpu_try(struct session *s, const struct build_request *r, struct engine_config *configs,
             size_t n, bool *died)
{
    json_t *list = json_array();
    *died = false;
    for (size_t i = 0; i < n; i++)
        json_array_append_new(list, json_pack("{s:I, s:o}", "engine", (json_int_t)configs[i].engine,
                                              "knobs", knobs_json(&configs[i].knobs)));
    json_t *reply = survey(s, r, "try", list);
    if (!reply) return false;
    json_t *tried = json_object_get(reply, "tried");
    *died = json_array_size(tried) != n;
    for (size_t i = 0; i < n && !*died; i++)
        configs[i].workspace_bytes = json_integer_value(json_array_get(tried, i));
    json_decref(reply);
    return true;
}

/* ---- probe ------------------------------------------------------------------------------- */

static void read_tried(struct arena *a, const json_t *reply, struct gpu_probe *out)
{
    size_t i;
    json_t *t;
    json_array_foreach(json_object_get(reply, "tried"), i, t) {
        const char *lib = text(a, t, "lib");
        struct gpu_tried one = {strcmp(lib, "nvrtc") == 0 ? LIB_NVRTC : LIB_CUDNN,
                                text(a, t, "where"), text(a, t, "path"), text(a, t, "error")};
        vec_push(a, &out->tried, one);
    }
}

static void read_devices(struct arena *a, const json_t *reply, struct gpu_probe *out)
{
    size_t i;
    json_t *d;
    json_array_foreach(json_object_get(reply, "devices"), i, d) {
        if (i >= COUNT_OF(out->device)) break;
        struct gpu_device *g = &out->device[out->n_devices++];
        g->name = text(a, d, "name");
        g->sm = (int)json_integer_value(json_object_get(d, "sm"));
        g->multiprocessors = (int)json_integer_value(json_object_get(d, "multiprocessors"));
        g->memory_bytes = json_integer_value(json_object_get(d, "memory_bytes"));
    }
}

bool gpu_probe(struct session *s, const struct gpu_search *o, bool real_driver,
               struct gpu_probe *out)
{
    static const char *const names[N_GPU_LIBS] = {"cudnn", "nvrtc", "cudart", "cuda"};
    *out = (struct gpu_probe){0};
    json_t *request = json_pack("{s:s, s:b}", "what", "probe", "host", real_driver),
           *reply = helper_ask(s, o, request, 60);
    json_decref(request);
    if (!reply) return false;
    struct arena *a = s->arena;
    for (int i = 0; i < N_GPU_LIBS; i++) {
        json_t *f = json_object_get(json_object_get(reply, "found"), names[i]);
        out->lib[i] = (struct gpu_found){text(a, f, "path"), text(a, f, "version")};
    }
    out->cudnn_version = json_integer_value(json_object_get(reply, "cudnn_version"));
    out->driver_version = (int)json_integer_value(json_object_get(reply, "driver_version"));
    out->mapped = words(a, json_object_get(reply, "mapped"));
    out->device_error = text(a, reply, "device_error");
    out->error = text(a, reply, "error");
    read_tried(a, reply, out);
    read_devices(a, reply, out);
    json_decref(reply);
    return true;
}
