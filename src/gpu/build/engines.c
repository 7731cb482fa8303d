/* engines: asks heuristics for engine configurations, and builds the plan of one.
 *
 * Invariant: a plan is built from its engine's index and knobs alone, never from the list it came
 * from, so that the same pair gives the same plan whoever named it. */
#include "gpu/build/engines.h"

#include <time.h>

#include "gpu/build/layout.h"

/* ---- small attribute access -------------------------------------------------------------- */

static int64_t count(struct cudnn *c, cudnnBackendDescriptor_t d, cudnnBackendAttributeName_t name,
                     cudnnBackendAttributeType_t type)
{
    int64_t n = 0;
    return c->cudnnBackendGetAttribute(d, name, type, 0, &n, NULL) == CUDNN_STATUS_SUCCESS ? n : 0;
}

static int64_t get_i64(struct cudnn *c, cudnnBackendDescriptor_t d,
                       cudnnBackendAttributeName_t name, int64_t none)
{
    int64_t n = 0, v = none;
    return c->cudnnBackendGetAttribute(d, name, CUDNN_TYPE_INT64, 1, &n, &v) ==
                       CUDNN_STATUS_SUCCESS &&
                   n
               ? v
               : none;
}

static cudnnBackendDescriptor_t create(struct cudnn *c, cudnnBackendDescriptorType_t type)
{
    cudnnBackendDescriptor_t d = NULL;
    return c->cudnnBackendCreateDescriptor(type, &d) == CUDNN_STATUS_SUCCESS ? d : NULL;
}

cudnnBackendDescriptor_t device_properties(struct cudnn *c, const char *json)
{
    cudnnBackendDescriptor_t d = create(c, CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
    if (!d ||
        c->cudnnBackendSetAttribute(d, CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR,
                                    (int64_t)strlen(json), json) != CUDNN_STATUS_SUCCESS)
        return NULL;
    return c->cudnnBackendFinalize(d) == CUDNN_STATUS_SUCCESS ? d : NULL;
}

/* ---- reading a configuration ------------------------------------------------------------- */

static json_t *notes(struct cudnn *c, cudnnBackendDescriptor_t engine, bool numerical)
{
    cudnnBackendAttributeName_t name = numerical ? CUDNN_ATTR_ENGINE_NUMERICAL_NOTE
                                                 : CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE;
    cudnnBackendAttributeType_t type = numerical ? CUDNN_TYPE_NUMERICAL_NOTE
                                                 : CUDNN_TYPE_BEHAVIOR_NOTE;
    int values[32];
    int64_t n = 0;
    json_t *out = json_array();
    if (c->cudnnBackendGetAttribute(engine, name, type, COUNT_OF(values), &n, values) !=
        CUDNN_STATUS_SUCCESS)
        return out;
    for (int64_t i = 0; i < n && i < (int64_t)COUNT_OF(values); i++)
        json_array_append_new(out, json_string(numerical ? numerical_word(c->arena, values[i])
                                                         : behavior_word(c->arena, values[i])));
    return out;
}

static json_t *knobs_of(struct cudnn *c, cudnnBackendDescriptor_t config)
{
    cudnnBackendDescriptor_t choices[64];
    int64_t n = 0;
    json_t *out = json_array();
    for (size_t i = 0; i < COUNT_OF(choices); i++)
        choices[i] = create(c, CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR);
    if (c->cudnnBackendGetAttribute(config, CUDNN_ATTR_ENGINECFG_KNOB_CHOICES,
                                    CUDNN_TYPE_BACKEND_DESCRIPTOR, COUNT_OF(choices), &n,
                                    choices) != CUDNN_STATUS_SUCCESS)
        return out;
    for (int64_t i = 0; i < n && i < (int64_t)COUNT_OF(choices); i++) {
        int type = 0;
        int64_t got = 0;
        c->cudnnBackendGetAttribute(choices[i], CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE,
                                    CUDNN_TYPE_KNOB_TYPE, 1, &got, &type);
        int64_t value = get_i64(c, choices[i], CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, 0);
        json_array_append_new(out, json_pack("[i, I]", type, (json_int_t)value));
    }
    return out;
}

static json_t *read_config(struct cudnn *c, cudnnBackendDescriptor_t config, const char *mode,
                           int rank)
{
    cudnnBackendDescriptor_t engine = create(c, CUDNN_BACKEND_ENGINE_DESCRIPTOR);
    int64_t n = 0;
    if (c->cudnnBackendGetAttribute(config, CUDNN_ATTR_ENGINECFG_ENGINE,
                                    CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &n,
                                    &engine) != CUDNN_STATUS_SUCCESS)
        return NULL;
    return json_pack("{s:s, s:i, s:I, s:o, s:o, s:o}", "mode", mode, "rank", rank, "engine",
                     (json_int_t)get_i64(c, engine, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, -1), "knobs",
                     knobs_of(c, config), "numerical", notes(c, engine, true), "behavior",
                     notes(c, engine, false));
}

static bool known(const json_t *list, const json_t *config)
{
    size_t i;
    json_t *k;
    json_array_foreach((json_t *)list, i, k)
        if (json_equal(json_object_get(k, "engine"), json_object_get(config, "engine")) &&
            json_equal(json_object_get(k, "knobs"), json_object_get(config, "knobs")))
            return true;
    return false;
}

/* ---- heuristics -------------------------------------------------------------------------- */

static void ask_mode(struct cudnn *c, cudnnBackendDescriptor_t graph,
                     cudnnBackendDescriptor_t device, cudnnBackendHeurMode_t mode, const char *word,
                     json_t *configs, json_t *refusals)
{
    cudnnBackendDescriptor_t h = create(c, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
    cudnn_listen(c);
    if (device)
        c->cudnnBackendSetAttribute(h, CUDNN_ATTR_ENGINEHEUR_DEVICEPROP,
                                    CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &device);
    c->cudnnBackendSetAttribute(h, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH,
                                CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &graph);
    c->cudnnBackendSetAttribute(h, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &mode);
    if (c->cudnnBackendFinalize(h) != CUDNN_STATUS_SUCCESS) return;
    int64_t n = count(c, h, CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR), got = 0;
    cudnnBackendDescriptor_t *list = NEW_N(c->arena, cudnnBackendDescriptor_t, n + 1);
    for (int64_t i = 0; i < n; i++) list[i] = create(c, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    cudnn_last_error(c);
    /* The count asked for may be larger than what comes; the second, actual count holds. */
    if (n == 0 ||
        c->cudnnBackendGetAttribute(h, CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                                    n, &got, list) != CUDNN_STATUS_SUCCESS)
        got = 0;
    if (got == 0) reasons_from_text(c->arena, cudnn_last_error(c), refusals);
    for (int64_t i = 0; i < got && i < n; i++) {
        json_t *config = read_config(c, list[i], word, (int)i);
        if (config && !known(configs, config)) json_array_append(configs, config);
        json_decref(config);
    }
}

/* Why the tree or the graph itself was refused, as a refusal of engine -1. */
static void refuse_graph(struct cudnn *c, const char *descriptor, cudnnStatus_t status,
                         json_t *refusals)
{
    const char *text = cudnn_last_error(c);
    if (json_array_size(c->reasons) == 0 && *text)
        json_array_append_new(c->reasons,
                              json_string(arena_strndup(c->arena, text, strcspn(text, "\n"))));
    json_array_append_new(refusals,
                          json_pack("{s:i, s:s, s:O, s:s, s:b}", "engine", -1, "status",
                                    c->status ? c->status : status_word(c, status), "reasons",
                                    c->reasons, "descriptor", descriptor, "architecture", 0));
}

json_t *engines_list(struct cudnn *c, const struct build *b)
{
    json_t *configs = json_array(), *refusals = json_array();
    json_t *out = json_pack("{s:o, s:o}", "configs", configs, "refusals", refusals);
    const char *refused;
    cudnnStatus_t status;
    cudnnBackendDescriptor_t graph = tree_build(c, b->graph, &refused, &status);
    cudnnBackendDescriptor_t device = b->host || !graph ? NULL : device_properties(c, b->target);
    if (!graph) {
        refuse_graph(c, refused, status, refusals);
        return out;
    }
    if (!b->host && !device) {
        refuse_graph(c, "target", CUDNN_STATUS_BAD_PARAM, refusals);
        return out;
    }
    ask_mode(c, graph, device, CUDNN_HEUR_MODE_A, "A", configs, refusals);
    ask_mode(c, graph, device, CUDNN_HEUR_MODE_B, "B", configs, refusals);
    ask_mode(c, graph, device, CUDNN_HEUR_MODE_FALLBACK, "FALLBACK", configs, refusals);
    return out;
}

/* ---- an engine and its knobs ----------------------------------------------------------------- */

static cudnnStatus_t make_engine(struct cudnn *c, const struct build *b,
                                 cudnnBackendDescriptor_t graph, int64_t index,
                                 cudnnBackendDescriptor_t *out)
{
    cudnnBackendDescriptor_t engine = create(c, CUDNN_BACKEND_ENGINE_DESCRIPTOR);
    c->cudnnBackendSetAttribute(engine, CUDNN_ATTR_ENGINE_OPERATION_GRAPH,
                                CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &graph);
    c->cudnnBackendSetAttribute(engine, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, 1,
                                &index);
    if (!b->host) {
        cudnnBackendDescriptor_t device = device_properties(c, b->target);
        if (!device) return CUDNN_STATUS_BAD_PARAM;
        c->cudnnBackendSetAttribute(engine, CUDNN_ATTR_ENGINE_DEVICEPROP,
                                    CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &device);
    }
    *out = engine;
    return c->cudnnBackendFinalize(engine);
}

static cudnnStatus_t choose_knobs(struct cudnn *c, cudnnBackendDescriptor_t engine,
                                  const json_t *k, cudnnBackendDescriptor_t *out)
{
    cudnnBackendDescriptor_t choices[64];
    cudnnStatus_t st;
    json_t *knobs = json_object_get(k, "knobs"), *pair;
    size_t i, n = json_array_size(knobs);
    if (n > COUNT_OF(choices)) return CUDNN_STATUS_BAD_PARAM;
    json_array_foreach(knobs, i, pair) {
        int type = (int)json_integer_value(json_array_get(pair, 0));
        int64_t value = json_integer_value(json_array_get(pair, 1));
        choices[i] = create(c, CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR);
        c->cudnnBackendSetAttribute(choices[i], CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE,
                                    CUDNN_TYPE_KNOB_TYPE, 1, &type);
        c->cudnnBackendSetAttribute(choices[i], CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, CUDNN_TYPE_INT64,
                                    1, &value);
        st = c->cudnnBackendFinalize(choices[i]);
        if (st != CUDNN_STATUS_SUCCESS) return st;
    }
    *out = create(c, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    c->cudnnBackendSetAttribute(*out, CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1,
                                &engine);
    if (n)
        c->cudnnBackendSetAttribute(*out, CUDNN_ATTR_ENGINECFG_KNOB_CHOICES,
                                    CUDNN_TYPE_BACKEND_DESCRIPTOR, (int64_t)n, choices);
    return c->cudnnBackendFinalize(*out);
}

static cudnnStatus_t make_config(struct cudnn *c, const struct build *b,
                                 cudnnBackendDescriptor_t graph, const json_t *k,
                                 cudnnBackendDescriptor_t *out)
{
    cudnnBackendDescriptor_t engine;
    cudnnStatus_t st = make_engine(c, b, graph, json_integer_value(json_object_get(k, "engine")),
                                   &engine);
    return st == CUDNN_STATUS_SUCCESS ? choose_knobs(c, engine, k, out) : st;
}

/* ---- every engine, every knob -------------------------------------------------------------- */

static json_t *knob_ranges(struct cudnn *c, cudnnBackendDescriptor_t engine)
{
    cudnnBackendDescriptor_t infos[64];
    int64_t n = 0;
    json_t *out = json_array();
    for (size_t i = 0; i < COUNT_OF(infos); i++)
        infos[i] = create(c, CUDNN_BACKEND_KNOB_INFO_DESCRIPTOR);
    if (c->cudnnBackendGetAttribute(engine, CUDNN_ATTR_ENGINE_KNOB_INFO,
                                    CUDNN_TYPE_BACKEND_DESCRIPTOR, COUNT_OF(infos), &n,
                                    infos) != CUDNN_STATUS_SUCCESS)
        return out;
    for (int64_t i = 0; i < n && i < (int64_t)COUNT_OF(infos); i++) {
        int type = 0;
        int64_t got = 0;
        c->cudnnBackendGetAttribute(infos[i], CUDNN_ATTR_KNOB_INFO_TYPE, CUDNN_TYPE_KNOB_TYPE, 1,
                                    &got, &type);
        json_array_append_new(
            out, json_pack("[i, I, I, I]", type,
                           (json_int_t)get_i64(c, infos[i], CUDNN_ATTR_KNOB_INFO_MINIMUM_VALUE, 0),
                           (json_int_t)get_i64(c, infos[i], CUDNN_ATTR_KNOB_INFO_MAXIMUM_VALUE, 0),
                           (json_int_t)get_i64(c, infos[i], CUDNN_ATTR_KNOB_INFO_STRIDE, 1)));
    }
    return out;
}

json_t *engines_ranges(struct cudnn *c, const struct build *b)
{
    json_t *engines = json_array(), *out = json_pack("{s:o}", "engines", engines);
    const char *refused;
    cudnnStatus_t st;
    cudnnBackendDescriptor_t graph = tree_build(c, b->graph, &refused, &st);
    int64_t n = graph ? get_i64(c, graph, CUDNN_ATTR_OPERATIONGRAPH_ENGINE_GLOBAL_COUNT, 0) : 0;
    for (int64_t i = 0; i < n; i++) {
        cudnnBackendDescriptor_t engine;
        cudnn_listen(c);
        if (make_engine(c, b, graph, i, &engine) != CUDNN_STATUS_SUCCESS) continue;
        json_array_append_new(engines,
                              json_pack("{s:I, s:o, s:o, s:o}", "engine", (json_int_t)i, "knobs",
                                        knob_ranges(c, engine), "numerical",
                                        notes(c, engine, true), "behavior",
                                        notes(c, engine, false)));
    }
    return out;
}

json_t *engines_try(struct cudnn *c, const struct build *b, const json_t *batch)
{
    json_t *tried = json_array(), *out = json_pack("{s:o}", "tried", tried), *config;
    const char *refused;
    cudnnStatus_t st;
    size_t i;
    cudnnBackendDescriptor_t graph = tree_build(c, b->graph, &refused, &st), engine, cfg;
    cudnnStatus_t made = CUDNN_STATUS_BAD_PARAM;
    int64_t last = -1; /* a batch is mostly of one engine */
    json_array_foreach((json_t *)batch, i, config) {
        int64_t index = json_integer_value(json_object_get(config, "engine"));
        cudnn_listen(c);
        if (graph && index != last) made = make_engine(c, b, graph, index, &engine);
        last = index;
        st = made == CUDNN_STATUS_SUCCESS ? choose_knobs(c, engine, config, &cfg) : made;
        json_array_append_new(
            tried, json_integer(st == CUDNN_STATUS_SUCCESS
                                    ? (json_int_t)get_i64(
                                          c, cfg, CUDNN_ATTR_ENGINECFG_WORKSPACE_SIZE, 0)
                                    : -1));
        if (st == CUDNN_STATUS_SUCCESS) c->cudnnBackendDestroyDescriptor(cfg);
    }
    return out;
}

/* ---- one plan ---------------------------------------------------------------------------- */

static void refuse_candidate(struct cudnn *c, json_t *candidate, cudnnStatus_t status)
{
    const char *text = cudnn_last_error(c);
    if (json_array_size(c->reasons) == 0 && *text)
        json_array_append_new(c->reasons,
                              json_string(arena_strndup(c->arena, text, strcspn(text, "\n"))));
    json_object_set_new(candidate, "status",
                        json_string(c->status ? c->status : status_word(c, status)));
    json_object_set(candidate, "reasons", c->reasons);
}

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static bool serialize(struct cudnn *c, const struct build *b, cudnnBackendDescriptor_t plan,
                      json_t *candidate)
{
    int64_t n = count(c, plan, CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION, CUDNN_TYPE_CHAR),
            got = 0;
    char *text = arena_alloc(c->arena, (size_t)n + 1);
    if (n == 0 ||
        c->cudnnBackendGetAttribute(plan, CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION,
                                    CUDNN_TYPE_CHAR, n, &got, text) != CUDNN_STATUS_SUCCESS)
        return false;
    n = (int64_t)strlen(text);
    const char *clean = scrub_plan(c->arena, text, (size_t)n, b->target);
    if (!clean) return false;
    json_object_set_new(candidate, "plan", json_string(clean));
    return true;
}

/* The notes of a configuration that came without them. */
static void note_engine(struct cudnn *c, cudnnBackendDescriptor_t config, json_t *out)
{
    cudnnBackendDescriptor_t engine = create(c, CUDNN_BACKEND_ENGINE_DESCRIPTOR);
    int64_t n = 0;
    if (c->cudnnBackendGetAttribute(config, CUDNN_ATTR_ENGINECFG_ENGINE,
                                    CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &n,
                                    &engine) != CUDNN_STATUS_SUCCESS)
        return;
    json_object_set_new(out, "numerical", notes(c, engine, true));
    json_object_set_new(out, "behavior", notes(c, engine, false));
}

json_t *engines_build(struct cudnn *c, const struct build *b, const json_t *config)
{
    json_t *out = json_pack("{}");
    const char *refused;
    cudnnStatus_t st;
    double start = now_ms();
    cudnnBackendDescriptor_t graph = tree_build(c, b->graph, &refused, &st), cfg = NULL, plan;
    cudnn_listen(c);
    if (graph) st = make_config(c, b, graph, config, &cfg);
    if (st != CUDNN_STATUS_SUCCESS) {
        refuse_candidate(c, out, st);
        return out;
    }
    int64_t workspace = get_i64(c, cfg, CUDNN_ATTR_ENGINECFG_WORKSPACE_SIZE, -1);
    if (b->workspace_limit >= 0 && workspace > b->workspace_limit) {
        json_object_set_new(out, "workspace_bytes", json_integer(workspace));
        json_object_set_new(out, "status", json_string("workspace"));
        json_object_set_new(
            out, "reasons",
            json_pack("[o]",
                      json_sprintf("needs %lld bytes of workspace, above the limit of %lld bytes",
                                   (long long)workspace, (long long)b->workspace_limit)));
        return out;
    }
    if (json_array_size(json_object_get(config, "numerical")) == 0) note_engine(c, cfg, out);
    plan = create(c, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
    if (c->handle)
        c->cudnnBackendSetAttribute(plan, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1,
                                    &c->handle);
    c->cudnnBackendSetAttribute(plan, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG,
                                CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &cfg);
    layout_wipe_stack();
    st = c->cudnnBackendFinalize(plan);
    if (st != CUDNN_STATUS_SUCCESS) {
        refuse_candidate(c, out, st);
        return out;
    }
    json_object_set_new(out, "build_ms", json_real(now_ms() - start));
    json_object_set_new(
        out, "workspace_bytes",
        json_integer(get_i64(c, plan, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, 0)));
    if (!serialize(c, b, plan, out)) refuse_candidate(c, out, CUDNN_STATUS_INTERNAL_ERROR);
    return out;
}
