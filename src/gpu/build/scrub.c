/* scrub: takes out of a serialized plan what is not of the plan.
 *
 * cuDNN writes each kernel's parameter block whole: slots that it fills at every launch, padding,
 * and whatever lay in that memory. Invariant: afterwards no slot that is rewritten at launch and no
 * word that points into a library of this process is left; everything else is, byte for byte, what
 * cuDNN wrote, save the device's profile, which is the normalised description. What else lay in
 * memory is told by building twice in unlike worlds (layout.h) and clearing what differs. The patch
 * is made in the text, in place, so nothing that is not understood can change. */
#include "gpu/build/cudnn_api.h"
#include "gpu/build/layout.h"

enum { MAX_MAPPINGS = 4096 };

struct own { /* where this process's program and libraries are mapped */
    struct mapping at[MAX_MAPPINGS];
    size_t n;
};

static bool points_into(const struct own *own, uint64_t word)
{
    for (size_t i = 0; i < own->n; i++)
        if (word >= own->at[i].from && word < own->at[i].to) return true;
    return false;
}

/* Bytes of a slot that cuDNN fills when it launches; 0 for one that is part of the plan. TMA
 * descriptors' slots hold what is needed to make the descriptor, so they stay. */
static size_t slot_bytes(const json_t *slot)
{
    const char *how = json_string_value(json_object_get(slot, "update_as"));
    if (!how) return 0;
    if (strcmp(how, "pointer") == 0 || strcmp(how, "workspace") == 0) return 8;
    if (strcmp(how, "value") == 0) return (size_t)json_integer_value(json_object_get(slot, "size"));
    return 0;
}

static void scrub_block(unsigned char *raw, size_t n, const json_t *offsets, const struct own *own)
{
    size_t i;
    json_t *slot;
    json_array_foreach((json_t *)offsets, i, slot) {
        json_int_t at = json_integer_value(json_object_get(slot, "value"));
        size_t bytes = slot_bytes(slot);
        if (at >= 0 && (size_t)at <= n && bytes <= n - (size_t)at) memset(raw + at, 0, bytes);
    }
    for (size_t at = 0; at + 8 <= n; at += 4) {
        uint64_t word;
        memcpy(&word, raw + at, 8);
        if (points_into(own, word)) memset(raw + at, 0, 8);
    }
}

/* The text of the next "key":"..." at or after *at: its value's place. */
static bool next_string(const char *text, const char *key, size_t *at, size_t *len)
{
    const char *p = strstr(text + *at, key);
    if (!p) return false;
    p += strlen(key);
    *at = (size_t)(p - text);
    *len = strcspn(p, "\"");
    return true;
}

static bool scrub_kernels(struct arena *a, char *plan, const json_t *root, const struct own *own)
{
    json_t *kernels = json_object_get(json_object_get(json_object_get(root, "engine"), "payload"),
                                      "kernels"),
           *kernel;
    size_t i, at = 0, len = 0;
    json_array_foreach(kernels, i, kernel) {
        json_t *params = json_object_get(kernel, "kernelParams");
        const char *want = json_string_value(json_object_get(params, "rawData"));
        if (!want) continue;
        unsigned char *raw;
        size_t n;
        at += len;
        if (!next_string(plan, "\"rawData\":\"", &at, &len)) return false;
        if (len != strlen(want) || memcmp(plan + at, want, len) != 0)
            return false; /* escaped: not base64 */
        if (!base64_decode(a, plan + at, len, &raw, &n)) return false;
        scrub_block(raw, n, json_object_get(params, "offsets"), own);
        char *again = base64_encode(a, raw, n);
        if (strlen(again) != len) return false;
        memcpy(plan + at, again, len);
    }
    return true;
}

/* Puts `profile` in the place of the GPUProfile object. */
static char *replace_profile(struct arena *a, const char *plan, const char *profile)
{
    static const char key[] = "\"GPUProfile\":";
    const char *p = strstr(plan, key);
    if (!p) return NULL;
    p += sizeof key - 1;
    if (*p != '{') return NULL;
    const char *end = p;
    for (int depth = 0; *end; end++) {
        depth += *end == '{';
        depth -= *end == '}';
        if (depth == 0) break; /* the device's name is the only string, checked to have no brace */
    }
    if (!*end) return NULL;
    return arena_printf(a, "%.*s%s%s", (int)(p - plan), plan, profile, end + 1);
}

char *scrub_plan(struct arena *a, char *plan, size_t n, const char *target)
{
    struct own own;
    own.n = layout_mappings(own.at, MAX_MAPPINGS, true);
    json_t *root = json_loadb(plan, n, 0, NULL);
    const char *name = json_string_value(
        json_object_get(json_object_get(root, "GPUProfile"), "deviceName"));
    bool good = root && !(name && strpbrk(name, "{}")) && scrub_kernels(a, plan, root, &own);
    json_decref(root);
    return good ? replace_profile(a, plan, target) : NULL;
}

bool scrub_compare(struct arena *a, char *plan, const char *other)
{
    static const char key[] = "\"rawData\":\"";
    size_t at = 0, len = 0, from = 0, n = strlen(plan);
    if (strlen(other) != n) return false;
    while (next_string(plan, key, &at, &len)) {
        unsigned char *mine, *theirs;
        size_t n_mine, n_theirs;
        if (memcmp(plan + from, other + from, at - from) != 0) return false;
        if (!base64_decode(a, plan + at, len, &mine, &n_mine) ||
            !base64_decode(a, other + at, len, &theirs, &n_theirs) || n_mine != n_theirs)
            return false;
        for (size_t i = 0; i < n_mine; i++)
            if (mine[i] != theirs[i]) mine[i] = 0;
        memcpy(plan + at, base64_encode(a, mine, n_mine), len);
        from = at += len;
    }
    return memcmp(plan + from, other + from, n - from) == 0;
}
