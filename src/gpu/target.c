/* target: descriptions of GPUs, checked and normalised.
 *
 * Invariant: a normalised description holds only what a plan depends on. cuDNN compares some fields
 * when it loads a plan (tried with cuDNN 9.19 on an H200, one field at a time: deviceVer,
 * multiProcessorCount, maxSharedMemoryPerBlockOptin, reservedSharedMemoryPerBlock, regsPerBlock,
 * maxThreadsPerSM, maxGridSize and driverVer). Ids, name, clocks and memory size are not compared
 * and take fixed values; so does the driver's version, which whoever loads the plan replaces by the
 * running one. */
#include <jansson.h>

#include "gpu/gpu.h"
#include "gpu/parent.h"

enum member_kind { MEMBER_KEEP, MEMBER_FIXED, MEMBER_LIST, MEMBER_NAME };
struct member {
    const char *name;
    enum member_kind kind;
    json_int_t least, most; /* of what a description may say */
    json_int_t fixed;       /* value of MEMBER_FIXED */
};
/* In the order that cuDNN prints them. The fixed values are those of one H200. */
static const struct member members[] = {
    {"maxGridSize", MEMBER_LIST, 1, INT32_MAX, 0},
    {"maxBlockSize", MEMBER_LIST, 1, INT32_MAX, 0},
    {"regsPerBlock", MEMBER_KEEP, 1, 1 << 24, 0},
    {"multiProcessorCount", MEMBER_KEEP, 1, 1 << 16, 0},
    {"warpSize", MEMBER_KEEP, 1, 1024, 0},
    {"maxSharedMemoryPerBlock", MEMBER_KEEP, 1, 1 << 28, 0},
    {"maxSharedMemoryPerBlockOptin", MEMBER_KEEP, 1, 1 << 28, 0},
    {"reservedSharedMemoryPerBlock", MEMBER_KEEP, 0, 1 << 28, 0},
    {"maxRegistersPerSM", MEMBER_KEEP, 1, 1 << 24, 0},
    {"maxCtasPerSM", MEMBER_KEEP, 1, 1024, 0},
    {"maxThreadsPerBlock", MEMBER_KEEP, 1, 1 << 16, 0},
    {"maxThreadsPerSM", MEMBER_KEEP, 1, 1 << 16, 0},
    {"pciDeviceId", MEMBER_FIXED, INT32_MIN, INT32_MAX, 0},
    {"isTccDriver", MEMBER_KEEP, 0, 1, 0},
    {"supportCoopLaunch", MEMBER_KEEP, 0, 1, 0},
    {"totalGlobalMem", MEMBER_FIXED, 1, INT64_MAX, 150109880320},
    {"smClockRateKHz", MEMBER_FIXED, 0, INT32_MAX, 1980000},
    {"memClockRateKHz", MEMBER_FIXED, 0, INT32_MAX, 3201000},
    {"l2CacheSize", MEMBER_KEEP, 0, INT64_MAX, 0},
    {"cudaDeviceId", MEMBER_FIXED, 0, 4096, 0},
    {"deviceVer", MEMBER_KEEP, 700, 9999, 0},
    {"driverVer", MEMBER_FIXED, 1000, 999999, 13000},
    {"deviceName", MEMBER_NAME, 0, 0, 0},
};

extern const struct embedded embedded_targets[]; /* made from targets/ by tools/embed */

static bool in_range(const json_t *v, const struct member *m)
{
    return json_is_integer(v) && json_integer_value(v) >= m->least &&
           json_integer_value(v) <= m->most;
}

/* NULL when the member is sound, else what is wrong. */
static const char *check_member(struct arena *a, const json_t *root, const struct member *m)
{
    json_t *v = json_object_get(root, m->name), *one;
    if (!v) return arena_printf(a, "'%s' is missing", m->name);
    if (m->kind == MEMBER_NAME)
        return json_is_string(v) && !strpbrk(json_string_value(v), "{}\"\\")
                   ? NULL
                   : arena_printf(a, "'%s' is not a plain name", m->name);
    if (m->kind != MEMBER_LIST)
        return in_range(v, m) ? NULL
                              : arena_printf(a, "'%s' is not an integer from %lld to %lld", m->name,
                                             (long long)m->least, (long long)m->most);
    bool ok = json_array_size(v) == 3;
    size_t i;
    json_array_foreach(v, i, one) ok = ok && in_range(one, m);
    return ok ? NULL : arena_printf(a, "'%s' is not a list of three positive integers", m->name);
}

static char *normalise(struct arena *a, const json_t *root)
{
    json_t *out = json_object();
    for (size_t i = 0; i < COUNT_OF(members); i++) {
        const struct member *m = &members[i];
        if (m->kind == MEMBER_FIXED)
            json_object_set_new(out, m->name, json_integer(m->fixed));
        else if (m->kind == MEMBER_NAME)
            json_object_set_new(out, m->name, json_string("described GPU"));
        else
            json_object_set(out, m->name, json_object_get(root, m->name));
    }
    char *text = json_dumps(out, JSON_COMPACT), *kept = arena_strdup(a, text);
    free(text);
    json_decref(out);
    return kept;
}

static const char *check_root(struct arena *a, const json_t *root)
{
    const char *why = NULL, *key;
    json_t *value;
    for (size_t i = 0; !why && i < COUNT_OF(members); i++) why = check_member(a, root, &members[i]);
    json_object_foreach((json_t *)root, key, value) {
        bool known = false;
        for (size_t i = 0; i < COUNT_OF(members); i++) known |= strcmp(members[i].name, key) == 0;
        if (!why && !known)
            why = arena_printf(a, "'%.60s' is not a member of a device description", key);
    }
    return why;
}

const char *target_check(struct arena *a, const char *text, struct target *out)
{
    json_error_t error;
    json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, &error);
    const char *why = json_is_object(root) ? check_root(a, root)
                                           : arena_printf(a, "not a JSON object: line %d: %s",
                                                          error.line, error.text);
    if (!why) {
        out->json = normalise(a, root);
        out->sm = (int)json_integer_value(json_object_get(root, "deviceVer")) / 10;
        out->multiprocessors = (int)json_integer_value(
            json_object_get(root, "multiProcessorCount"));
    }
    json_decref(root);
    return why;
}

static bool parse(struct session *s, const char *spec, const char *text, struct target *out)
{
    const char *why = target_check(s->arena, text, out);
    if (why) diag(s, DIAG_target, NO_SPAN, "target '%s': %s", spec, why);
    return why == NULL;
}

bool target_dump(struct session *s, const struct gpu_search *o, const char **json)
{
    json_t *request = json_pack("{s:s, s:b}", "what", "dump", "host", 1),
           *reply = helper_ask(s, o, request, 60);
    const char *error = json_string_value(json_object_get(reply, "error"));
    const char *device = json_string_value(json_object_get(reply, "device"));
    if (device) *json = arena_strdup(s->arena, device);
    if (reply && !device)
        diag(s, DIAG_no_device, NO_SPAN, "this machine's GPU cannot be described: %s",
             error ? error : "no answer");
    json_decref(request);
    json_decref(reply);
    return device != NULL;
}

/* The file's name without folders and ending. */
static const char *stem(struct session *s, const char *path)
{
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    size_t n = strlen(base);
    if (n > 5 && strcmp(base + n - 5, ".json") == 0) n -= 5;
    return intern(s, base, n);
}

bool target_load(struct session *s, const char *spec, const struct gpu_search *o,
                 struct target *out)
{
    *out = (struct target){.name = spec};
    if (strcmp(spec, "host") == 0) {
        const char *json;
        out->host = true;
        return target_dump(s, o, &json) && parse(s, spec, json, out);
    }
    for (const struct embedded *e = embedded_targets; e->name; e++)
        if (strcmp(stem(s, e->name), spec) == 0) return parse(s, spec, e->text, out);
    if (strlen(spec) < 6 || strcmp(spec + strlen(spec) - 5, ".json") != 0) {
        struct diag *d = diag(s, DIAG_target, NO_SPAN, "there is no target '%s'", spec);
        const char *names[64];
        size_t n = 0;
        for (const struct embedded *e = embedded_targets; e->name && n < 62; e++)
            names[n++] = stem(s, e->name);
        names[n++] = "host";
        const char *near = closest_name(spec, names, n);
        if (near) diag_hint(s, d, "did you mean '%s'", near);
        diag_hint(s, d,
                  "a description FILE.json is made on the GPU's machine by 'fgc target --dump'");
        return false;
    }
    char *text;
    size_t n;
    out->name = stem(s, spec);
    return file_read(s, spec, &text, &n) && parse(s, spec, text, out);
}

/* bf16 and tensor-core attention need sm_80, fp8 sm_89, block-scaled types sm_100. */
bool target_has_type(const void *target, enum dtype t)
{
    const struct target *g = target;
    switch (t) {
    case DT_bf16: return g->sm >= 80;
    case DT_f16: return g->sm >= 53;
    case DT_e4m3:
    case DT_e5m2: return g->sm >= 89;
    case DT_e8m0:
    case DT_e2m1: return g->sm >= 100;
    default: return true;
    }
}
