/* target: descriptions of GPUs, checked and normalised.
 *
 * Invariant: a normalised description holds only what a plan depends on. cuDNN compares some fields when
 * it loads a plan (tried with cuDNN 9.19 on an H200, one field at a time: deviceVer, multiProcessorCount,
 * maxSharedMemoryPerBlockOptin, reservedSharedMemoryPerBlock, regsPerBlock, maxThreadsPerSM, maxGridSize
 * and driverVer). Ids, name, clocks and memory size are not compared and take fixed values; so does the
 * driver's version, which whoever loads the plan replaces by the running one. */
#include <jansson.h>

#include "gpu/gpu.h"
#include "gpu/parent.h"

enum member_kind { MEMBER_KEEP, MEMBER_FIXED, MEMBER_LIST, MEMBER_NAME };
struct member {
    const char *name;
    enum member_kind kind;
    json_int_t least, most;  /* of what a description may say */
    json_int_t fixed;        /* value of MEMBER_FIXED */
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

struct embedded {
    const char *name;
    const char *text;
    size_t length;
};
extern const struct embedded embedded_targets[]; /* made from targets/ by tools/embed */

static bool refuse(struct session *s, const char *spec, const char *fmt, ...) PRINTF_LIKE(3, 4);
static bool refuse(struct session *s, const char *spec, const char *fmt, ...)
{
    char text[512];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    diag(s, DIAG_target, NO_SPAN, "target '%s': %s", spec, text);
    return false;
}

static bool in_range(const json_t *v, const struct member *m)
{
    return json_is_integer(v) && json_integer_value(v) >= m->least && json_integer_value(v) <= m->most;
}

static bool check_member(struct session *s, const char *spec, const json_t *root, const struct member *m)
{
    json_t *v = json_object_get(root, m->name), *one;
    if (!v) return refuse(s, spec, "'%s' is missing", m->name);
    if (m->kind == MEMBER_NAME)
        return json_is_string(v) && !strpbrk(json_string_value(v), "{}\"\\") ? true
               : refuse(s, spec, "'%s' is not a plain name", m->name);
    if (m->kind != MEMBER_LIST)
        return in_range(v, m) ? true
               : refuse(s, spec, "'%s' is not an integer from %lld to %lld", m->name, (long long)m->least, (long long)m->most);
    bool ok = json_array_size(v) == 3;
    size_t i;
    json_array_foreach(v, i, one) ok = ok && in_range(one, m);
    return ok ? true : refuse(s, spec, "'%s' is not a list of three positive integers", m->name);
}

static char *normalise(struct session *s, const json_t *root)
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
    char *text = json_dumps(out, JSON_COMPACT), *kept = arena_strdup(s->arena, text);
    free(text);
    json_decref(out);
    return kept;
}

bool target_parse(struct session *s, const char *spec, const char *text, size_t n, struct target *out)
{
    json_error_t error;
    json_t *root = json_loadb(text, n, JSON_REJECT_DUPLICATES, &error);
    if (!json_is_object(root)) {
        json_decref(root);
        return refuse(s, spec, "not a JSON object: line %d: %s", error.line, error.text);
    }
    bool ok = true;
    for (size_t i = 0; ok && i < COUNT_OF(members); i++) ok = check_member(s, spec, root, &members[i]);
    const char *key;
    json_t *value;
    json_object_foreach(root, key, value) {
        bool known = false;
        for (size_t i = 0; i < COUNT_OF(members); i++) known |= strcmp(members[i].name, key) == 0;
        if (ok && !known) ok = refuse(s, spec, "'%s' is not a member of a device description", key);
    }
    if (ok) {
        out->json = normalise(s, root);
        out->sm = (int)json_integer_value(json_object_get(root, "deviceVer")) / 10;
        out->multiprocessors = (int)json_integer_value(json_object_get(root, "multiProcessorCount"));
    }
    json_decref(root);
    return ok;
}

bool target_dump(struct session *s, const struct gpu_search *o, const char **json)
{
    json_t *request = json_pack("{s:s, s:b}", "what", "dump", "host", 1), *reply = helper_ask(s, o, request, 60);
    const char *error = json_string_value(json_object_get(reply, "error"));
    const char *device = json_string_value(json_object_get(reply, "device"));
    if (device) *json = arena_strdup(s->arena, device);
    if (reply && !device) diag(s, DIAG_no_device, NO_SPAN, "this machine's GPU cannot be described: %s", error ? error : "no answer");
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

bool target_load(struct session *s, const char *spec, const struct gpu_search *o, struct target *out)
{
    *out = (struct target){.name = spec};
    if (strcmp(spec, "host") == 0) {
        const char *json;
        out->host = true;
        return target_dump(s, o, &json) && target_parse(s, spec, json, strlen(json), out);
    }
    for (const struct embedded *e = embedded_targets; e->name; e++)
        if (strcmp(stem(s, e->name), spec) == 0) return target_parse(s, spec, e->text, e->length, out);
    if (strlen(spec) < 6 || strcmp(spec + strlen(spec) - 5, ".json") != 0) {
        struct diag *d = diag(s, DIAG_target, NO_SPAN, "there is no target '%s'", spec);
        const char *names[64];
        size_t n = 0;
        for (const struct embedded *e = embedded_targets; e->name && n < 62; e++) names[n++] = stem(s, e->name);
        names[n++] = "host";
        const char *near = closest_name(spec, names, n);
        if (near) diag_hint(s, d, "did you mean '%s'", near);
        diag_hint(s, d, "a description FILE.json is made on the GPU's machine by 'fgc target --dump'");
        return false;
    }
    char *text;
    size_t n;
    out->name = stem(s, spec);
    return file_read(s, spec, &text, &n) && target_parse(s, spec, text, n, out);
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
