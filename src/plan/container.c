/* container: the ZIP archive around a plan, written, and its records, walked.
 *
 * Invariant: what is written depends on the plan alone: entries are stored, in a fixed order, every
 * field of every record at one value. The archive's comment is "fgplan1 " and the SHA-256 of every
 * byte before the end-of-central-directory record. */
#include <zip.h>

#include "plan/internal.h"

/* ---- names --------------------------------------------------------------------------------- */

static const char *folder(const struct plan_variant *v)
{
    return *v->name ? v->name : "default";
}

const char *plan_ir_name(struct arena *a, const struct plan_graph *g, const struct plan_variant *v)
{
    return arena_printf(a, "graphs/%s/%s.ir", g->name, folder(v));
}

const char *plan_import_name(struct arena *a, size_t i)
{
    return arena_printf(a, "imports/%zu.fg", i);
}

const char *plan_step_name(struct arena *a, const struct plan *p, const struct plan_graph *g,
                           const struct plan_variant *v, size_t step)
{
    return arena_printf(a, "plans/%s/%s/%s/%zu.json", g->name, p->target.name, folder(v), step);
}

const char *plan_target_name(struct arena *a, const struct target *t)
{
    return arena_printf(a, "sm%d-%d", t->sm, t->multiprocessors);
}

entries_vec plan_entries(struct arena *a, const struct plan *p)
{
    entries_vec all = {0};
    vec_push(a, &all, ((struct entry){"source.fg", p->source, strlen(p->source)}));
    for (size_t i = 0; i < p->imports.n; i++)
        vec_push(a, &all, ((struct entry){plan_import_name(a, i), p->imports.at[i].text,
                                          strlen(p->imports.at[i].text)}));
    for (size_t i = 0; i < p->graphs.n; i++)
        for (size_t k = 0; k < p->graphs.at[i].variants.n; k++) {
            const struct plan_graph *g = &p->graphs.at[i];
            const struct plan_variant *v = &g->variants.at[k];
            vec_push(a, &all, ((struct entry){plan_ir_name(a, g, v), v->ir, strlen(v->ir)}));
            for (size_t s = 0; s < v->steps.n; s++)
                vec_push(a, &all,
                         ((struct entry){plan_step_name(a, p, g, v, s), v->steps.at[s].plan,
                                         v->steps.at[s].plan_bytes}));
        }
    return all;
}

/* ---- records ------------------------------------------------------------------------------- */

/* Offsets and values: APPNOTE 6.3, sections 4.3.7, 4.3.12 and 4.3.16. */
enum { LOCAL_BYTES = 30, CENTRAL_BYTES = 46, CRC_AT = 14, MAX_NAME = 512 };
/* Version 1.0 to extract, no flags, stored, 1980-01-01 00:00. */
static const unsigned char local_start[CRC_AT] = {'P', 'K', 3, 4, 10, 0, 0, 0, 0, 0, 0, 0, 0x21, 0};
/* The same after "made by Unix, version 2.0". */
static const unsigned char central_start[CRC_AT + 2] = {'P', 'K', 1, 2, 20, 3, 10,   0,
                                                        0,   0,   0, 0, 0,  0, 0x21, 0};
/* What names are made of; "..", a leading '/' and the like never equal a name that is expected. */
static const char name_bytes[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./=,-";
/* A regular file, -rw-r--r--. */
static const unsigned char attributes[4] = {0, 0, 0xa4, 0x81};

static uint32_t u16(const char *p)
{
    const unsigned char *u = (const unsigned char *)p;
    return u[0] | (uint32_t)u[1] << 8;
}

static uint32_t u32(const char *p)
{
    return u16(p) | u16(p + 2) << 16;
}

struct records {
    size_t n;         /* entries */
    size_t directory; /* offset of the central directory */
    size_t end;       /* offset of the end record */
};

static const char *read_end(struct arena *a, const char *bytes, size_t n, struct records *r)
{
    if (n < TAIL_BYTES) return arena_printf(a, "%zu bytes; the shortest plan has more", n);
    const char *e = bytes + n - TAIL_BYTES;
    r->n = u16(e + 10);
    r->directory = u32(e + 16);
    r->end = n - TAIL_BYTES;
    if (memcmp(e, "PK\5\6\0\0\0\0", 8) != 0 || u16(e + 8) != r->n || u16(e + 20) != COMMENT_BYTES)
        return "its end record is not that of one archive with a digest behind it";
    if (r->n < 2 || r->n > MAX_ENTRIES)
        return arena_printf(a, "%zu entries; a plan has 2 to %d", r->n, MAX_ENTRIES);
    if (r->directory > r->end || u32(e + 12) != r->end - r->directory)
        return arena_printf(a, "its directory is said to have %u bytes at %zu, of %zu in all",
                            u32(e + 12), r->directory, r->end);
    return NULL;
}

/* One entry's two records: *at and *c are their offsets, moved to the next ones'. */
static const char *walk_entry(struct arena *a, const char *bytes, const struct records *r,
                              size_t *at, size_t *c, struct entry *out)
{
    if (r->end - *c < CENTRAL_BYTES || r->directory - *at < LOCAL_BYTES)
        return "a record is cut short";
    const char *local = bytes + *at, *central = bytes + *c;
    size_t name_n = u16(central + 28), size = u32(central + 24);
    if (name_n == 0 || name_n > MAX_NAME || r->end - *c - CENTRAL_BYTES < name_n ||
        r->directory - *at - LOCAL_BYTES < name_n ||
        r->directory - *at - LOCAL_BYTES - name_n < size)
        return arena_printf(a, "the entry at byte %zu reaches beyond its place", *at);
    static const char zeros[10] = {0};
    bool fixed =
        memcmp(local, local_start, sizeof local_start) == 0 &&
        memcmp(central, central_start, sizeof central_start) == 0 &&
        memcmp(local + CRC_AT, central + CRC_AT + 2, 14) == 0 && /* CRC, sizes, name length */
        u32(central + 20) == size && u16(local + 28) == 0 &&
        memcmp(central + 30, zeros, 8) == 0 && /* extra, comment, disk, internal attributes */
        memcmp(central + 38, attributes, 4) == 0 && u32(central + 42) == *at &&
        memcmp(local + LOCAL_BYTES, central + CENTRAL_BYTES, name_n) == 0 &&
        !memchr(local + LOCAL_BYTES, 0, name_n);
    if (!fixed)
        return arena_printf(a, "the entry at byte %zu is not stored in the form that fgc writes",
                            *at);
    out->name = arena_strndup(a, local + LOCAL_BYTES, name_n);
    if (strspn(out->name, name_bytes) != name_n)
        return arena_printf(a, "the entry at byte %zu has a name that fgc does not write", *at);
    out->bytes = arena_strndup(a, local + LOCAL_BYTES + name_n, size);
    out->n = size;
    if (memchr(out->bytes, 0, size)) return arena_printf(a, "'%s' holds a NUL byte", out->name);
    *at += LOCAL_BYTES + name_n + size;
    *c += CENTRAL_BYTES + name_n;
    return NULL;
}

const char *archive_walk(struct arena *a, const char *bytes, size_t n, entries_vec *out)
{
    struct records r;
    const char *why = read_end(a, bytes, n, &r);
    size_t at = 0, c = r.directory;
    for (size_t i = 0; !why && i < r.n; i++) {
        struct entry e;
        why = walk_entry(a, bytes, &r, &at, &c, &e);
        if (!why) vec_push(a, out, e);
    }
    if (!why && (at != r.directory || c != r.end)) why = "there are bytes that belong to no entry";
    return why;
}

/* ---- writing ------------------------------------------------------------------------------- */

/* The one place where what libzip (tried: 1.7.3) may write otherwise on another system, or in
 * another version, is set: version made by, version needed, flags, time, attributes. Records of
 * another size (extra fields, comments on entries, descriptors behind the data, zip64) cannot be
 * mended: false. */
static bool pin_fields(struct arena *a, char *bytes, size_t n)
{
    struct records r;
    if (read_end(a, bytes, n, &r)) return false;
    for (size_t c = r.directory, i = 0; i < r.n; i++) {
        if (r.end - c < CENTRAL_BYTES) return false;
        char *central = bytes + c;
        size_t at = u32(central + 42);
        if (r.directory < LOCAL_BYTES || at > r.directory - LOCAL_BYTES) return false;
        if (u16(central + 10) != ZIP_CM_STORE) return false;
        memcpy(central, central_start, sizeof central_start);
        memset(central + 36, 0, 2);
        memcpy(central + 38, attributes, sizeof attributes);
        memcpy(bytes + at, local_start, sizeof local_start);
        c += CENTRAL_BYTES + u16(central + 28);
        if (c > r.end) return false;
    }
    return true;
}

static bool add_entry(zip_t *z, const struct entry *e)
{
    zip_source_t *src = zip_source_buffer(z, e->bytes, e->n, 0);
    if (!src) return false;
    zip_int64_t at = zip_file_add(z, e->name, src, ZIP_FL_ENC_GUESS);
    if (at < 0) {
        zip_source_free(src);
        return false;
    }
    return zip_set_file_compression(z, (zip_uint64_t)at, ZIP_CM_STORE, 0) == 0 &&
           zip_file_set_dostime(z, (zip_uint64_t)at, 0, 0x21, 0) == 0;
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

static char *write_archive(struct arena *a, const entries_vec *all, size_t *n)
{
    zip_error_t error;
    zip_error_init(&error);
    char *bytes = NULL, comment[COMMENT_BYTES + 1];
    snprintf(comment, sizeof comment, PLAN_MAGIC "%d %064d", PLAN_FORMAT, 0);
    zip_source_t *src = zip_source_buffer_create(NULL, 0, 0, &error);
    zip_t *z = src ? zip_open_from_source(src, ZIP_TRUNCATE, &error) : NULL;
    if (!z) {
        if (src) zip_source_free(src);
        return NULL;
    }
    zip_source_keep(src);
    bool ok = true;
    for (size_t i = 0; ok && i < all->n; i++) ok = add_entry(z, &all->at[i]);
    ok = ok && zip_set_archive_comment(z, comment, COMMENT_BYTES) == 0;
    if (!ok || zip_close(z) != 0)
        zip_discard(z);
    else
        bytes = take_bytes(a, src, n);
    zip_source_free(src);
    return bytes;
}

static const char *encode(struct arena *a, const struct plan *p, char **bytes, size_t *n)
{
    for (size_t i = 0; i < p->graphs.n; i++)
        for (size_t k = 0; k < p->graphs.at[i].variants.n; k++)
            for (size_t t = 0; t < p->graphs.at[i].variants.at[k].steps.n; t++) {
                const char *why = step_check(a, p, &p->graphs.at[i].variants.at[k].steps.at[t]);
                if (why) return why;
            }
    const char *why, *manifest = manifest_text(a, p, &why);
    if (why) return why;
    entries_vec rest = plan_entries(a, p), all = {0};
    vec_push(a, &all, ((struct entry){"manifest.json", manifest, strlen(manifest)}));
    for (size_t i = 0; i < rest.n; i++) vec_push(a, &all, rest.at[i]);
    size_t total = 0;
    for (size_t i = 0; i < all.n; i++) {
        if (strlen(all.at[i].name) > MAX_NAME)
            return arena_printf(a, "an entry's name has at most %d bytes", MAX_NAME);
        total += all.at[i].n;
    }
    if (all.n > MAX_ENTRIES || total > MAX_PLAN_BYTES - (1 << 23))
        return arena_printf(a,
                            "it takes %zu entries and %zu bytes; a plan has at most %d and 1 GiB",
                            all.n, total, MAX_ENTRIES);
    *bytes = write_archive(a, &all, n);
    if (!*bytes || !pin_fields(a, *bytes, *n)) return "libzip cannot make the archive";
    char digest[65];
    sha256_hex(*bytes, *n - TAIL_BYTES, digest);
    memcpy(*bytes + *n - 64, digest, 64);
    return NULL;
}

bool plan_encode(struct session *s, struct arena *a, const struct plan *p, char **bytes, size_t *n)
{
    const char *why = encode(a, p, bytes, n);
    if (why) diag(s, DIAG_plan_write, NO_SPAN, "the plan cannot be made: %s", why);
    return why == NULL;
}
