/* container: the ZIP archive around a plan.
 *
 * Invariant: what is written depends on the plan alone: entries are stored, in a fixed order, with fixed
 * times and attributes; the archive's comment is "fgplan1 " and the SHA-256 of every byte before the
 * end-of-central-directory record. What is read was written so: the digest is checked before anything is
 * looked at, and writing what was read must give the same bytes. */
#include <stdlib.h>
#include <zip.h>

#include "plan/internal.h"

enum { COMMENT = 8 + 64, END_RECORD = 22, TAIL = END_RECORD + COMMENT };
static const char magic[] = "fgplan1 ";

/* ---- names --------------------------------------------------------------------------------- */

static const char *folder(const struct plan_variant *v)
{
    return *v->name ? v->name : "default";
}

const char *plan_ir_name(struct arena *a, const struct plan_graph *g, const struct plan_variant *v)
{
    return arena_printf(a, "graphs/%s/%s.ir", g->name, folder(v));
}

const char *plan_step_name(struct arena *a, const struct plan *p, const struct plan_graph *g, const struct plan_variant *v, size_t step)
{
    return arena_printf(a, "plans/%s/%s/%s/%zu.json", g->name, p->target.name, folder(v), step);
}

entries_vec plan_entries(struct arena *a, const struct plan *p)
{
    entries_vec all = {0};
    vec_push(a, &all, ((struct entry){"source.fg", p->source, strlen(p->source)}));
    for (size_t i = 0; i < p->graphs.n; i++)
        for (size_t k = 0; k < p->graphs.at[i].variants.n; k++) {
            const struct plan_graph *g = &p->graphs.at[i];
            const struct plan_variant *v = &g->variants.at[k];
            vec_push(a, &all, ((struct entry){plan_ir_name(a, g, v), v->ir, strlen(v->ir)}));
            for (size_t s = 0; s < v->steps.n; s++)
                vec_push(a, &all, ((struct entry){plan_step_name(a, p, g, v, s), v->steps.at[s].plan, v->steps.at[s].plan_bytes}));
        }
    return all;
}

/* ---- writing ------------------------------------------------------------------------------- */

static bool add_entry(zip_t *z, const struct entry *e)
{
    zip_source_t *src = zip_source_buffer(z, e->bytes, e->n, 0);
    if (!src) return false;
    zip_int64_t at = zip_file_add(z, e->name, src, ZIP_FL_ENC_GUESS);
    if (at < 0) {
        zip_source_free(src);
        return false;
    }
    zip_uint64_t i = (zip_uint64_t)at;
    return zip_set_file_compression(z, i, ZIP_CM_STORE, 0) == 0 && zip_file_set_dostime(z, i, 0, 0x21, 0) == 0 && /* 1980-01-01 */
           zip_file_set_external_attributes(z, i, 0, ZIP_OPSYS_UNIX, 0100644u << 16) == 0;
}

/* The closed archive's bytes. */
static char *take_bytes(struct arena *a, zip_source_t *src, size_t *n)
{
    zip_stat_t st;
    char *bytes = NULL;
    if (zip_source_stat(src, &st) == 0 && zip_source_open(src) == 0) {
        bytes = arena_alloc(a, st.size + 1);
        *n = st.size;
        if (zip_source_read(src, bytes, st.size) != (zip_int64_t)st.size) bytes = NULL;
        zip_source_close(src);
    }
    return bytes;
}

static char *write_archive(struct arena *a, const entries_vec *all, size_t *n, const char **why)
{
    zip_error_t error;
    zip_error_init(&error);
    char *bytes = NULL, comment[COMMENT + 1];
    snprintf(comment, sizeof comment, "%s%064d", magic, 0);
    zip_source_t *src = zip_source_buffer_create(NULL, 0, 0, &error);
    zip_t *z = src ? zip_open_from_source(src, ZIP_TRUNCATE, &error) : NULL;
    *why = "libzip cannot make an archive";
    if (!z) {
        if (src) zip_source_free(src);
        return NULL;
    }
    zip_source_keep(src);
    bool ok = true;
    for (size_t i = 0; ok && i < all->n; i++) ok = add_entry(z, &all->at[i]);
    ok = ok && zip_set_archive_comment(z, comment, COMMENT) == 0;
    if (!ok || zip_close(z) != 0)
        zip_discard(z);
    else
        bytes = take_bytes(a, src, n);
    zip_source_free(src);
    return bytes;
}

bool plan_encode(struct session *s, struct arena *a, const struct plan *p, char **bytes, size_t *n)
{
    entries_vec rest = plan_entries(a, p), all = {0};
    json_t *manifest = manifest_write(a, p);
    char *text = manifest ? json_dumps(manifest, JSON_INDENT(1)) : NULL;
    const char *why = "the manifest cannot be written";
    size_t total = 0;
    *bytes = NULL;
    if (text) {
        const char *kept = arena_printf(a, "%s\n", text);
        vec_push(a, &all, ((struct entry){"manifest.json", kept, strlen(kept)}));
        for (size_t i = 0; i < rest.n; i++) vec_push(a, &all, rest.at[i]);
        for (size_t i = 0; i < all.n; i++) total += all.at[i].n;
        if (all.n > MAX_ENTRIES || total > MAX_PLAN_BYTES)
            why = "a plan has at most 4,096 entries and 1 GiB";
        else
            *bytes = write_archive(a, &all, n, &why);
    }
    free(text);
    json_decref(manifest);
    if (!*bytes) {
        diag(s, DIAG_plan_write, NO_SPAN, "the plan cannot be made: %s", why);
        return false;
    }
    char digest[65];
    sha256_hex(*bytes, *n - TAIL, digest);
    memcpy(*bytes + *n - 64, digest, 64);
    return true;
}

/* ---- reading ------------------------------------------------------------------------------- */

static bool refuse(struct session *s, const char *name, const char *fmt, ...) PRINTF_LIKE(3, 4);
static bool refuse(struct session *s, const char *name, const char *fmt, ...)
{
    char text[512];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    diag(s, DIAG_plan, NO_SPAN, "'%s': %s", name, text);
    return false;
}

static bool check_digest(struct session *s, const char *name, const char *bytes, size_t n)
{
    if (n > MAX_PLAN_BYTES) return refuse(s, name, "%zu bytes; a plan has at most 1 GiB", n);
    if (n < TAIL) return refuse(s, name, "%zu bytes; the shortest plan has more", n);
    const char *end = bytes + n - TAIL;
    if (memcmp(end, "PK\5\6", 4) != 0 || memcmp(end + END_RECORD, magic, strlen(magic)) != 0)
        return refuse(s, name, "not a plan of fgc, or cut short, or with something behind it");
    char digest[65];
    sha256_hex(bytes, n - TAIL, digest);
    if (memcmp(digest, bytes + n - 64, 64) != 0)
        return refuse(s, name, "damaged: its SHA-256 is %.12s..., the file says %.12s...", digest, bytes + n - 64);
    return true;
}

static char *read_entry(struct arena *a, zip_t *z, const char *name, size_t *n)
{
    zip_stat_t st;
    zip_file_t *f = NULL;
    char *bytes = NULL;
    if (zip_stat(z, name, 0, &st) == 0 && st.size <= MAX_PLAN_BYTES && st.comp_method == ZIP_CM_STORE) f = zip_fopen(z, name, 0);
    if (!f) return NULL;
    bytes = arena_alloc(a, st.size + 1);
    *n = st.size;
    if (zip_fread(f, bytes, st.size) != (zip_int64_t)st.size || memchr(bytes, 0, st.size)) bytes = NULL;
    zip_fclose(f);
    return bytes;
}

/* The digits lie where the manifest says, behind the key that cuDNN writes. */
static bool driver_in_place(const struct plan_step *step)
{
    static const char key[] = "\"driverVer\":";
    size_t k = sizeof key - 1;
    if (step->driver_at < k || step->driver_at + step->driver_len >= step->plan_bytes) return false;
    if (memcmp(step->plan + step->driver_at - k, key, k) != 0) return false;
    for (size_t i = 0; i < step->driver_len; i++)
        if (step->plan[step->driver_at + i] < '0' || step->plan[step->driver_at + i] > '9') return false;
    char next = step->plan[step->driver_at + step->driver_len];
    return next < '0' || next > '9';
}

static bool read_texts(struct session *s, struct arena *a, const char *name, zip_t *z, struct plan *p)
{
    size_t n;
    p->source = read_entry(a, z, "source.fg", &n);
    if (!p->source) return refuse(s, name, "'source.fg' is missing or unreadable");
    for (size_t i = 0; i < p->graphs.n; i++)
        for (size_t k = 0; k < p->graphs.at[i].variants.n; k++) {
            struct plan_graph *g = &p->graphs.at[i];
            struct plan_variant *v = &g->variants.at[k];
            v->ir = read_entry(a, z, plan_ir_name(a, g, v), &n);
            if (!v->ir) return refuse(s, name, "'%s' is missing or unreadable", plan_ir_name(a, g, v));
            for (size_t t = 0; t < v->steps.n; t++) {
                struct plan_step *step = &v->steps.at[t];
                const char *entry = plan_step_name(a, p, g, v, t);
                step->plan = read_entry(a, z, entry, &step->plan_bytes);
                if (!step->plan) return refuse(s, name, "'%s' is missing or unreadable", entry);
                if (!driver_in_place(step)) return refuse(s, name, "'%s' has no driver version at byte %zu", entry, step->driver_at);
            }
        }
    return true;
}

static bool read_archive(struct session *s, struct arena *a, const char *name, zip_t *z, struct plan *out)
{
    size_t n;
    zip_int64_t entries = zip_get_num_entries(z, 0);
    if (entries < 2 || entries > MAX_ENTRIES) return refuse(s, name, "%lld entries; a plan has 2 to %d", (long long)entries, MAX_ENTRIES);
    const char *text = read_entry(a, z, "manifest.json", &n);
    if (!text) return refuse(s, name, "'manifest.json' is missing or unreadable");
    json_error_t error;
    json_t *root = json_loadb(text, n, JSON_REJECT_DUPLICATES, &error);
    if (!root) return refuse(s, name, "'manifest.json', line %d: %s", error.line, error.text);
    const char *why = manifest_read(a, root, out);
    const char *fgc = json_string_value(json_object_get(root, "fgc"));
    bool ok = why ? refuse(s, name, "'manifest.json': %s (written by fgc %.20s)", why, fgc ? fgc : "of no version") : true;
    json_decref(root);
    return ok && read_texts(s, a, name, z, out);
}

bool plan_decode(struct session *s, struct arena *a, const char *name, const char *bytes, size_t n, struct plan *out)
{
    if (!check_digest(s, name, bytes, n)) return false;
    zip_error_t error;
    zip_error_init(&error);
    zip_source_t *src = zip_source_buffer_create(bytes, n, 0, &error);
    zip_t *z = src ? zip_open_from_source(src, ZIP_RDONLY | ZIP_CHECKCONS, &error) : NULL;
    if (!z) {
        if (src) zip_source_free(src);
        return refuse(s, name, "not a sound ZIP archive: %s", zip_error_strerror(&error));
    }
    bool ok = read_archive(s, a, name, z, out);
    zip_discard(z);
    if (!ok) return false;
    char *again;
    size_t n_again;
    if (!plan_encode(s, a, out, &again, &n_again)) return false;
    if (n_again == n && memcmp(again, bytes, n) == 0) return true;
    return refuse(s, name, "not in the form that fgc writes: what it says takes %zu bytes, the file has %zu", n_again, n);
}
