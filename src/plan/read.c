/* read: a plan from bytes that nobody vouches for.
 *
 * Invariant: the digest is checked before anything else is looked at, each size and count before it
 * is used, and what was read, written again, gives the same bytes. */
#include <stdlib.h>

#include "plan/internal.h"

static const char *check_digest(struct arena *a, const char *bytes, size_t n)
{
    static const char magic[] = PLAN_MAGIC;
    if (n > MAX_PLAN_BYTES) return arena_printf(a, "%zu bytes; a plan has at most 1 GiB", n);
    if (n < TAIL_BYTES) return arena_printf(a, "%zu bytes; the shortest plan has more", n);
    const char *end = bytes + n - TAIL_BYTES, *comment = end + END_BYTES;
    if (memcmp(end, "PK\5\6", 4) != 0 || memcmp(comment, magic, strlen(magic)) != 0)
        return "not a plan of fgc, or cut short, or with something behind it";
    if (comment[7] != ' ' || comment[6] != '0' + PLAN_FORMAT) {
        struct plan_versions v;
        const char *by = plan_peek(a, bytes, n, &v) ? arena_printf(a, ", written by fgc %s", v.fgc)
                                                    : "";
        return arena_printf(a, "a plan of format %c%s; this fgc reads format %d",
                            comment[6] >= '0' && comment[6] <= '9' ? comment[6] : '?', by,
                            PLAN_FORMAT);
    }
    char digest[65];
    sha256_hex(bytes, n - TAIL_BYTES, digest);
    if (memcmp(digest, bytes + n - 64, 64) == 0) return NULL;
    for (int i = 0; i < 64; i++)
        if (!strchr("0123456789abcdef", comment[8 + i]) || !comment[8 + i])
            return "damaged: the digest at its end is not one";
    return arena_printf(a, "damaged: the SHA-256 of its bytes is %.16s..., its end says %.16s...",
                        digest, comment + 8);
}

const char *step_check(struct arena *a, const struct plan *p, const struct plan_step *step)
{
    static const char key[] = "\"driverVer\":";
    size_t k = sizeof key - 1, at = step->driver_at, len = step->driver_len;
    if (len < 1 || len > 9 || at < k || at > step->plan_bytes || len >= step->plan_bytes - at ||
        memcmp(step->plan + at - k, key, k) != 0 || strspn(step->plan + at, "0123456789") != len)
        return arena_printf(a, "byte %zu of a cuDNN plan is not where its driver version stands",
                            at);
    json_error_t error;
    json_t *root = json_loadb(step->plan, step->plan_bytes, JSON_REJECT_DUPLICATES, &error);
    json_t *profile = json_loads(p->target.json, 0, NULL);
    json_int_t version = json_integer_value(json_object_get(root, "cudnnVersion"));
    json_int_t engine = json_integer_value(
        json_object_get(json_object_get(root, "engine"), "engineId"));
    const char *why = NULL;
    if (!json_is_object(root))
        why = arena_printf(a, "a cuDNN plan is not JSON: line %d: %s", error.line, error.text);
    else if (version != p->cudnn_version)
        why = arena_printf(a, "a cuDNN plan is of cuDNN %lld, the manifest says %lld",
                           (long long)version, (long long)p->cudnn_version);
    else if (engine != step->engine)
        why = arena_printf(a, "a cuDNN plan is of engine %lld, the manifest says %lld",
                           (long long)engine, (long long)step->engine);
    else if (!json_equal(json_object_get(root, "GPUProfile"), profile))
        why = "a cuDNN plan is for another device than the manifest says";
    json_decref(root);
    json_decref(profile);
    return why;
}

/* Gives the entries' texts to the plan whose manifest was read. */
static const char *take_texts(struct arena *a, const entries_vec *all, struct plan *p)
{
    size_t next = 2;
    if (strcmp(all->at[1].name, "source.fg") != 0) return "its second entry is not 'source.fg'";
    p->source = all->at[1].bytes;
    for (size_t i = 0; i < p->imports.n; i++, next++) {
        const char *name = plan_import_name(a, i);
        if (next >= all->n || strcmp(all->at[next].name, name) != 0)
            return arena_printf(a, "its entry %zu is not '%s'", next, name);
        p->imports.at[i].text = all->at[next].bytes;
    }
    for (size_t i = 0; i < p->graphs.n; i++)
        for (size_t k = 0; k < p->graphs.at[i].variants.n; k++) {
            struct plan_graph *g = &p->graphs.at[i];
            struct plan_variant *v = &g->variants.at[k];
            for (size_t t = 0; t <= v->steps.n; t++, next++) {
                const char *name = t ? plan_step_name(a, p, g, v, t - 1) : plan_ir_name(a, g, v);
                if (next >= all->n || strcmp(all->at[next].name, name) != 0)
                    return arena_printf(a, "its entry %zu is %.80s, not '%s'", next,
                                        next < all->n ? all->at[next].name : "missing", name);
                if (t == 0) {
                    v->ir = all->at[next].bytes;
                    continue;
                }
                v->steps.at[t - 1].plan = all->at[next].bytes;
                v->steps.at[t - 1].plan_bytes = all->at[next].n;
            }
        }
    return next == all->n ? NULL
                          : arena_printf(a, "it has %zu entries, its manifest %zu", all->n, next);
}

static const char *read_manifest(struct arena *a, const entries_vec *all, struct plan *out)
{
    if (strcmp(all->at[0].name, "manifest.json") != 0)
        return "its first entry is not 'manifest.json'";
    json_error_t error;
    json_t *root = json_loadb(all->at[0].bytes, all->at[0].n, JSON_REJECT_DUPLICATES, &error);
    if (!root) return arena_printf(a, "'manifest.json', line %d: %s", error.line, error.text);
    const char *why = manifest_read(a, root, out);
    if (why) {
        const char *fgc = json_string_value(json_object_get(root, "fgc"));
        why = arena_printf(a, "'manifest.json': %s%s%.20s", why, fgc ? "; written by fgc " : "",
                           fgc && strspn(fgc, "0123456789.") == strlen(fgc) ? fgc : "");
    }
    if (!why) why = take_texts(a, all, out);
    if (!why) {
        entries_vec rest = {.at = all->at + 1, .n = all->n - 1};
        why = manifest_entries(a, root, &rest);
    }
    json_decref(root);
    return why;
}

/* Writing what was read gives the same bytes. This also finds what no other check looks for:
 * members that are not known, another order, another spelling, a wrong CRC. plan_encode checks each
 * step. */
static const char *check_canonical(struct session *s, struct arena *a, const char *bytes, size_t n,
                                   const struct plan *p)
{
    char *again;
    size_t n_again, at = 0;
    if (!plan_encode(s, a, p, &again, &n_again)) return ""; /* it said why */
    while (at < n && at < n_again && bytes[at] == again[at]) at++;
    if (n == n_again && at == n) return NULL;
    return arena_printf(a, "not in the form that fgc writes, from byte %zu on", at);
}

bool plan_decode(struct session *s, struct arena *a, const char *name, const char *bytes, size_t n,
                 struct plan *out)
{
    entries_vec all = {0};
    *out = (struct plan){0};
    const char *why = check_digest(a, bytes, n);
    if (!why) why = archive_walk(a, bytes, n, &all);
    if (!why) why = read_manifest(a, &all, out);
    for (size_t i = 0; !why && i < out->graphs.n; i++)
        for (size_t k = 0; !why && k < out->graphs.at[i].variants.n; k++)
            for (size_t t = 0; !why && t < out->graphs.at[i].variants.at[k].steps.n; t++)
                why = step_check(a, out, &out->graphs.at[i].variants.at[k].steps.at[t]);
    for (size_t i = 0; !why && i < out->graphs.n; i++)
        for (size_t k = 0; !why && k < out->graphs.at[i].variants.n; k++)
            why = temporaries_bound(a, &out->graphs.at[i].variants.at[k]);
    if (!why) why = check_canonical(s, a, bytes, n, out);
    if (!why) return true;
    char *printable = arena_strdup(a, why); /* it may quote the file */
    for (char *c = printable; *c; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f) *c = '?';
    if (*printable) diag(s, DIAG_plan, NO_SPAN, "'%s': %s", name, printable);
    return false;
}

/* ---- the versions alone --------------------------------------------------------------------- */

/* Moves *p behind `text`. */
static bool skip(const char **p, const char *text)
{
    size_t n = strlen(text);
    if (strncmp(*p, text, n) != 0) return false;
    *p += n;
    return true;
}

static bool take_number(const char **p, int64_t *out)
{
    size_t n = strspn(*p, "0123456789");
    if (n < 1 || n > 9) return false;
    *out = atoll(*p);
    *p += n;
    return true;
}

static const char *take_version(struct arena *a, const char **p)
{
    size_t n = strspn(*p, "0123456789.abcdefghijklmnopqrstuvwxyz-+");
    const char *v = n <= 40 ? arena_strndup(a, *p, n) : NULL;
    *p += n;
    return v;
}

bool plan_peek(struct arena *a, const char *head, size_t n, struct plan_versions *out)
{
    static const char name[] = "manifest.json";
    size_t start = 30 + sizeof name - 1;
    if (n < start || memcmp(head, "PK\3\4", 4) != 0 ||
        memcmp(head + 30, name, sizeof name - 1) != 0)
        return false;
    const char *p = arena_strndup(a, head + start, n - start < 256 ? n - start : 256);
    return skip(&p, "{\n \"format\": ") && take_number(&p, &out->format) &&
           skip(&p, ",\n \"fgc\": \"") && (out->fgc = take_version(a, &p)) &&
           skip(&p, "\",\n \"cudnn\": ") && take_number(&p, &out->cudnn) &&
           skip(&p, ",\n \"nvrtc\": \"") && (out->nvrtc = take_version(a, &p)) && skip(&p, "\"");
}
