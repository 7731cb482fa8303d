/* base: what every room stands on: arenas, strings, vectors, maps, sources, diagnostics, files,
 * hashing. Knows nothing of tensors.
 *
 * Memory rule: whoever makes an arena frees it; nobody frees anything else. */
#ifndef FGC_BASE_H
#define FGC_BASE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define COUNT_OF(a) (sizeof(a) / sizeof((a)[0]))
#if defined __GNUC__
#define PRINTF_LIKE(f, a) __attribute__((format(printf, f, a)))
#else
#define PRINTF_LIKE(f, a)
#endif

/* ---- arena ------------------------------------------------------------------------------- */

/* Memory that is freed together. Allocations are zeroed and aligned to 16 bytes; running out of
 * memory ends the process with a message and exit status 70, so no caller checks for NULL.
 * Freed and rewound space is poisoned under AddressSanitizer. */
struct arena;
struct arena_mark {
    void *block;
    size_t used;
};
struct arena *arena_new(void);
void arena_free(struct arena *a);
void *arena_alloc(struct arena *a, size_t bytes);
void *arena_copy(struct arena *a, const void *from, size_t bytes);
char *arena_strdup(struct arena *a, const char *s);
char *arena_strndup(struct arena *a, const char *s, size_t n);
char *arena_printf(struct arena *a, const char *fmt, ...) PRINTF_LIKE(2, 3);
struct arena_mark arena_mark(struct arena *a);
void arena_rewind(struct arena *a, struct arena_mark m);
#define NEW(a, T) ((T *)arena_alloc((a), sizeof(T)))
#define NEW_N(a, T, n) ((T *)arena_alloc((a), sizeof(T) * (size_t)(n)))

/* ---- vectors ----------------------------------------------------------------------------- */

/* A growing array in an arena: VEC(int) v = {0}; vec_push(a, &v, 3); v.at[i], v.n. Growing leaves
 * the old storage in the arena, so pointers into v.at must not outlive a push. */
#define VEC(T)         \
    struct {           \
        T *at;         \
        size_t n, cap; \
    }
void *vec_grow(struct arena *a, void *at, size_t n, size_t *cap, size_t size);
#define vec_push(a, v, x)                                                               \
    ((v)->n == (v)->cap                                                                 \
         ? (void)((v)->at = vec_grow((a), (v)->at, (v)->n, &(v)->cap, sizeof *(v)->at)) \
         : (void)0,                                                                     \
     (void)((v)->at[(v)->n++] = (x)))

/* ---- byte buffers (heap; the one thing with its own fini) -------------------------------- */

struct buf {
    char *at; /* always NUL-terminated once anything was put */
    size_t n, cap;
};
void buf_put(struct buf *b, const void *bytes, size_t n);
void buf_puts(struct buf *b, const char *s);
void buf_printf(struct buf *b, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* The shortest decimal that reads back as x, with a '.' or an exponent so that it reads as a real
 * in .fg, C and JSON alike; "inf", "-inf" and "nan" otherwise. Independent of the locale. */
void buf_real(struct buf *b, double x);
void buf_fini(struct buf *b);

/* ---- numbers ----------------------------------------------------------------------------- */

/* Checked 64-bit arithmetic: false on overflow, *out then unspecified. */
static inline bool i64_add(int64_t a, int64_t b, int64_t *out)
{
    return !__builtin_add_overflow(a, b, out);
}
static inline bool i64_sub(int64_t a, int64_t b, int64_t *out)
{
    return !__builtin_sub_overflow(a, b, out);
}
static inline bool i64_mul(int64_t a, int64_t b, int64_t *out)
{
    return !__builtin_mul_overflow(a, b, out);
}
/* Reads a whole string as a real, without regard to the locale. False when it is not one, when it
 * overflows, or when a non-zero literal becomes 0. */
bool real_parse(const char *s, double *out);

/* ---- maps -------------------------------------------------------------------------------- */

/* String to pointer, insertion order kept for iteration. Keys are copied by reference: they must
 * live as long as the map (interned strings do). Allocates from the arena (uthash inside). */
struct map;
struct map_entry {
    const char *key;
    void *value;
};
struct map *map_new(struct arena *a);
void *map_get(const struct map *m, const char *key);       /* NULL when absent */
bool map_put(struct map *m, const char *key, void *value); /* false when it replaced one */
size_t map_count(const struct map *m);
struct map_entry map_at(const struct map *m, size_t i); /* i-th in insertion order */

/* ---- sources and spans ------------------------------------------------------------------- */

/* A half-open range of bytes in one session-wide address space: every source loaded gets a base,
 * so a span also says which file it is in. {0,0} is "nowhere". Lines and columns are computed
 * only when printed. */
struct span {
    uint32_t begin, end;
};
#define NO_SPAN ((struct span){0, 0})
static inline struct span span_join(struct span a, struct span b)
{
    if (a.end == 0) return b;
    if (b.end == 0) return a;
    return (struct span){a.begin < b.begin ? a.begin : b.begin, a.end > b.end ? a.end : b.end};
}

struct source {
    const char *name; /* as the user wrote it; for messages */
    const char *text; /* len bytes, followed by two NULs (what flex wants) */
    size_t len;
    uint32_t base;  /* span of the whole text: [base, base + len) ; base >= 1 */
    uint32_t *line; /* offset in text of each line's first byte */
    size_t n_lines; /* LF, CRLF and a lone CR each end one line */
};

struct place {
    const struct source *source; /* NULL for NO_SPAN */
    uint32_t line, column;       /* from 1; columns count code points */
};

/* ---- session ----------------------------------------------------------------------------- */

struct diag;
/* How diagnostics are written: for people, one JSON object a line, or one SARIF document at the end. */
enum diag_form { DIAG_FORM_text, DIAG_FORM_json, DIAG_FORM_sarif };
/* All of one run's shared state. No globals anywhere else. */
struct session {
    struct arena *arena; /* lives as long as the session */
    struct map *interned;
    VEC(struct source *) sources;
    VEC(struct diag *) diags;
    size_t n_errors, n_warnings;
    unsigned classes; /* of errors so far: 1 input, 2 usage, 4 world */
    bool diags_full;  /* more than 20 errors: what follows is dropped, up to the next flush */
    bool werror;
    bool colour;
    enum diag_form form;
    VEC(struct diag *) kept; /* flushed, for the document at the end */
};
struct session *session_new(void);
void session_free(struct session *s);

/* One copy of each string: equal strings are equal pointers. */
const char *intern(struct session *s, const char *text, size_t len);
const char *intern_z(struct session *s, const char *text);

/* Copies text in. Refuses (diag) more than 256 MiB in all. A leading BOM is dropped by the
 * scanner, not here, so offsets are those of the file. */
struct source *source_add(struct session *s, const char *name, const char *text, size_t len);
/* Reads a whole file ("-" is standard input). Reports why not and returns NULL. */
struct source *source_load(struct session *s, const char *path);
struct place source_place(const struct session *s, uint32_t offset);

/* ---- diagnostics ------------------------------------------------------------------------- */

/* Ids are words, never reused; diag.def lists each with its class and severity and its page for
 * `fgc explain`. */
enum diag_id {
#define DIAG(id, severity, klass, title, page) DIAG_##id,
#include "base/diag.def"
#undef DIAG
    N_DIAGS
};
enum severity { SEV_ERROR, SEV_WARNING, SEV_NOTE };
/* What the exit status follows from: the user's input (1), the command line (2), the world (3). */
enum diag_class { DIAG_INPUT, DIAG_USAGE, DIAG_WORLD };

struct diag_note {
    struct span span; /* NO_SPAN: a note without a place */
    const char *text;
    bool is_hint;
    struct span fix_at; /* a hint's: putting `fix` in place of these bytes mends the error */
    const char *fix;    /* NULL: advice only */
};
struct diag {
    enum diag_id id;
    enum severity severity;
    struct span span;
    const char *text;
    VEC(struct diag_note) notes;
};
struct diag_info {
    const char *id, *title, *page;
    enum severity severity;
    enum diag_class klass;
};
extern const struct diag_info diag_infos[N_DIAGS];

/* Records one diagnostic and returns it, never NULL, so that notes can be hung on it. Style: lower
 * case, one line, no full stop, names in single quotes, numbers with units; facts in notes,
 * advice in a hint. Two errors at one offset: the second is dropped. */
struct diag *diag(struct session *s, enum diag_id id, struct span at, const char *fmt, ...)
    PRINTF_LIKE(4, 5);
void diag_note(struct session *s, struct diag *d, struct span at, const char *fmt, ...)
    PRINTF_LIKE(4, 5);
void diag_hint(struct session *s, struct diag *d, const char *fmt, ...) PRINTF_LIKE(3, 4);
/* A hint that is certain and can be applied by a machine: the bytes of `at` become `with`. */
void diag_fix(struct session *s, struct diag *d, struct span at, const char *with, const char *fmt,
              ...) PRINTF_LIKE(5, 6);
/* "did you mean 'word'?", with the fix, unless `word` is NULL. */
void diag_did_you_mean(struct session *s, struct diag *d, struct span at, const char *word);
/* As it is printed, with '-' for '_'. */
const char *diag_name(struct arena *a, enum diag_id id);
/* Prints all recorded so far in the order of their places, with carets, and forgets them.
 *   model.fg:8:11: error: message [id]
 *       8 |     y = conv(x, w) |> nosuch(b)
 *         |                       ^~~~~~
 *   model.fg:3:5: note: ...
 *   hint: ... */
void diag_flush(struct session *s, FILE *to);
/* Puts what is recorded in the order in which it will be printed, behind it that there was more. */
void diag_settle(struct session *s);
/* The last flush: also writes the document, where one is asked for. `command` is what repeats the
 * run, or NULL. */
void diag_finish(struct session *s, FILE *to, const char *command);
/* The text of one diagnostic, without colour. */
void diag_render(const struct session *s, const struct diag *d, struct buf *out);
/* 0 when no error was recorded, else 1, 2 or 3 by the class of the gravest (input before usage
 * before world). Survives diag_flush. */
int session_exit_status(const struct session *s);

/* The closest of n names to `word` by edit distance, or NULL when none is close enough. */
const char *closest_name(const char *word, const char *const *names, size_t n);

/* ---- files and hashes -------------------------------------------------------------------- */

/* Whole file into the arena, NUL after it. On failure false, with a DIAG_file diagnostic. */
bool file_read(struct session *s, const char *path, char **bytes, size_t *n);
/* Writes to a temporary name in the same folder, fsyncs, renames: the old file or the whole new
 * one, never a part. path "-" is standard output. On failure false, with a diagnostic, and nothing
 * left behind. */
bool file_write(struct session *s, const char *path, const void *bytes, size_t n);
/* Lower-case hexadecimal SHA-256 (libcrypto). */
void sha256_hex(const void *bytes, size_t n, char out[65]);
/* RFC 4648 base64. decode: false when malformed; *n is the decoded size. */
char *base64_encode(struct arena *a, const void *bytes, size_t n);
bool base64_decode(struct arena *a, const char *text, size_t len, unsigned char **bytes, size_t *n);

/* ---- JSON ---------------------------------------------------------------------------------- */

/* One text for one value (jansson's), whatever the version of the JSON library: objects in their
 * order, a member a line; lists of plain values on one line; reals as the shortest decimal that
 * reads back. */
struct json_t;
void json_print(const struct json_t *v, struct buf *out);
/* A string; what is no UTF-8 in it loses its bytes beyond ASCII. */
struct json_t *json_utf8(const char *text);
/* A path as a URI spells it: relative paths stay relative. */
void path_to_uri(const char *path, struct buf *out);

/* A text file carried inside the program; a table of them (tools/embed) ends with a NULL name. */
struct embedded {
    const char *name; /* without its folder */
    const char *text; /* NUL-terminated */
    size_t length;
};

#endif
