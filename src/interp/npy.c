/* npy: NumPy's array files, formats 1.0 to 3.0.
 *
 * Invariant: nothing in a header is believed before it was checked against the file and against the
 * tensor it is read for. Types that NumPy lacks travel as raw bits: bf16 as <u2, the 8-bit floats
 * as |u1. */
#include <ctype.h>
#include <inttypes.h>

#include "interp/interp.h"

static bool refuse(struct session *s, const char *path, const char *fmt, ...) PRINTF_LIKE(3, 4);
static bool refuse(struct session *s, const char *path, const char *fmt, ...)
{
    char text[512];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    diag(s, DIAG_npy, NO_SPAN, "'%s': %s", path, text);
    return false;
}

struct header {
    char descr[16];
    bool fortran;
    int rank;
    int64_t dim[32];
    size_t data; /* where the elements begin */
};

/* The text behind 'key': in the header's dictionary, or NULL. */
static const char *find_key(const char *dict, const char *key)
{
    const char *p = strstr(dict, key);
    if (!p) return NULL;
    p += strlen(key);
    p += strspn(p, " ");
    if (*p++ != ':') return NULL;
    return p + strspn(p, " ");
}

static bool read_shape(const char *p, struct header *h)
{
    if (*p++ != '(') return false;
    while (h->rank < 32) {
        p += strspn(p, " ");
        if (h->rank > 0 && *p != ',' && *p != ')') return false;
        if (h->rank > 0 && *p == ',') p += 1 + strspn(p + 1, " ");
        if (*p == ')') return true;
        if (!isdigit((unsigned char)*p)) return false;
        int64_t v = 0;
        for (; isdigit((unsigned char)*p); p++)
            if (!i64_mul(v, 10, &v) || !i64_add(v, *p - '0', &v)) return false;
        h->dim[h->rank++] = v;
    }
    return false;
}

static bool read_header(struct session *s, struct arena *a, const char *path, const char *bytes,
                        size_t n, struct header *h)
{
    if (n < 10 || memcmp(bytes, "\x93NUMPY", 6) != 0) return refuse(s, path, "not a .npy file");
    unsigned major = (unsigned char)bytes[6];
    const unsigned char *p = (const unsigned char *)bytes + 8;
    size_t len = p[0] | (size_t)p[1] << 8, at = 10;
    if (major < 1 || major > 3)
        return refuse(s, path, "format %u.%u is not known", major, (unsigned char)bytes[7]);
    if (major > 1) {
        if (n < 12) return refuse(s, path, "cut short in its header");
        len |= (size_t)p[2] << 16 | (size_t)p[3] << 24;
        at = 12;
    }
    if (len > n - at) return refuse(s, path, "cut short in its header");
    const char *dict = arena_strndup(a, bytes + at, len), *descr = find_key(dict, "'descr'"),
               *order = find_key(dict, "'fortran_order'"), *shape = find_key(dict, "'shape'");
    if (!descr || !order || !shape || *descr != '\'')
        return refuse(s, path, "its header lacks descr, fortran_order or shape");
    size_t word = strcspn(descr + 1, "'");
    if (word >= sizeof h->descr) return refuse(s, path, "its element type is not one of fg");
    memcpy(h->descr, descr + 1, word);
    h->fortran = strncmp(order, "True", 4) == 0;
    if (!h->fortran && strncmp(order, "False", 5) != 0)
        return refuse(s, path, "its fortran_order is neither True nor False");
    if (!read_shape(shape, h)) return refuse(s, path, "its shape is not a list of sizes");
    h->data = at + len;
    return true;
}

static bool descr_fits(enum dtype t, const char *descr)
{
    if (dtypes[t].npy)
        return strcmp(descr, dtypes[t].npy) == 0 || (t == DT_bool && strcmp(descr, "|u1") == 0);
    if (dtypes[t].bits == 16)
        return strcmp(descr, "<u2") == 0 || strcmp(descr, "|V2") == 0 || strcmp(descr, "<V2") == 0;
    return strcmp(descr, "|u1") == 0 || strcmp(descr, "|V1") == 0;
}

static const char *shape_text(struct arena *a, int rank, const int64_t *dim)
{
    struct buf b = {0};
    buf_puts(&b, "[");
    for (int i = 0; i < rank; i++) buf_printf(&b, "%s%" PRId64, i ? ", " : "", dim[i]);
    buf_puts(&b, "]");
    const char *text = arena_strdup(a, b.at);
    buf_fini(&b);
    return text;
}

/* Scalars are arrays of no or one axis with one element. */
static bool same_shape(const struct header *h, const struct value *v)
{
    if (v->role == VAL_SCALAR) return h->rank == 0 || (h->rank == 1 && h->dim[0] == 1);
    return h->rank == v->rank && memcmp(h->dim, v->dim, sizeof *v->dim * (size_t)v->rank) == 0;
}

bool npy_read(struct session *s, struct arena *a, const char *path, const struct value *v,
              struct array *out)
{
    char *bytes;
    size_t n;
    struct header h = {.rank = 0};
    if (!file_read(s, path, &bytes, &n) || !read_header(s, a, path, bytes, n, &h)) return false;
    if (!descr_fits(v->type, h.descr))
        return refuse(s, path, "elements are '%s'; '%s' is %s (%s)", h.descr, v->name,
                      dtypes[v->type].name,
                      dtypes[v->type].npy          ? dtypes[v->type].npy
                      : dtypes[v->type].bits == 16 ? "<u2"
                                                   : "|u1");
    if (!same_shape(&h, v))
        return refuse(s, path, "shape is %s; '%s' is %s", shape_text(a, h.rank, h.dim), v->name,
                      shape_text(a, v->rank, v->dim));
    int64_t count = 1, size = dtypes[v->type].bits / 8;
    if (!dims_count(h.rank, h.dim, &count) || (uint64_t)count > (n - h.data) / (uint64_t)size ||
        (uint64_t)(count * size) != n - h.data)
        return refuse(s, path, "%zu bytes of elements, where its shape needs %" PRId64, n - h.data,
                      count * size);
    *out = (struct array){
        .rank = v->rank, .count = count, .at = NEW_N(a, double, count ? count : 1)};
    memcpy(out->dim, v->dim, sizeof out->dim);
    for (int64_t i = 0; i < count; i++) {
        int64_t from = i;
        if (h.fortran) { /* first axis fastest */
            int64_t left = i, step = 1, at[32];
            for (int k = h.rank - 1; k >= 0; k--) {
                at[k] = left % h.dim[k];
                left /= h.dim[k];
            }
            from = 0;
            for (int k = 0; k < h.rank; k++) {
                from += at[k] * step;
                step *= h.dim[k];
            }
        }
        out->at[i] = dtype_load(v->type, bytes + h.data, from);
    }
    return true;
}

bool npy_write(struct session *s, const char *path, const struct value *v, const struct array *x)
{
    struct buf b = {0}, dict = {0};
    const char *descr = dtypes[v->type].npy          ? dtypes[v->type].npy
                        : dtypes[v->type].bits == 16 ? "<u2"
                                                     : "|u1";
    buf_printf(&dict, "{'descr': '%s', 'fortran_order': False, 'shape': (", descr);
    for (int i = 0; i < v->rank; i++)
        buf_printf(&dict, "%" PRId64 "%s", v->dim[i],
                   i + 1 < v->rank ? ", "
                   : v->rank == 1  ? ","
                                   : "");
    buf_puts(&dict, "), }");
    while ((10 + dict.n + 1) % 64) buf_puts(&dict, " ");
    buf_puts(&dict, "\n");
    unsigned char head[10] = {0x93,
                              'N',
                              'U',
                              'M',
                              'P',
                              'Y',
                              1,
                              0,
                              (unsigned char)(dict.n & 255),
                              (unsigned char)(dict.n >> 8)};
    buf_put(&b, head, sizeof head);
    buf_put(&b, dict.at, dict.n);
    size_t size = (size_t)dtypes[v->type].bits / 8;
    struct arena *scratch = arena_new();
    char *bytes = arena_alloc(scratch, (size_t)x->count * size);
    for (int64_t i = 0; i < x->count; i++) dtype_store(v->type, bytes, i, x->at[i]);
    buf_put(&b, bytes, (size_t)x->count * size);
    arena_free(scratch);
    bool ok = file_write(s, path, b.at, b.n);
    buf_fini(&b);
    buf_fini(&dict);
    return ok;
}
