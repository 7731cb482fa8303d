/* scan: what the scanner does with each piece of text: values of tokens, comments, and complaints
 * about what is no token.
 *
 * Invariant: a piece that was complained of becomes a token that parses (a number, a string) or
 * none at all, so that no second message follows from it. */
#include "ast/front.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>

#include "ast/fg_parse.h"

static struct span here(const struct front *f)
{
    return (struct span){f->source->base + f->begin, f->source->base + f->end};
}

static struct token token_of(struct front *f, int kind)
{
    struct token t = f->made;
    t.kind = kind;
    t.span = here(f);
    uint32_t line = f->begin;
    while (line > 0 && (f->source->text[line - 1] == ' ' || f->source->text[line - 1] == '\t'))
        line--;
    bool first = line == 0 || f->source->text[line - 1] == '\n' ||
                 f->source->text[line - 1] == '\r';
    t.column = first ? f->begin - line : UINT32_MAX;
    return t;
}

/* Scans one token more; at the end of the text, and after a stop, the end of the file. */
static void scan_one(struct front *f)
{
    int kind;
    do { /* of line ends in a row one is enough; what was complained of is passed over */
        f->made = (struct token){0};
        kind = f->stop || f->session->diags_full ? 0 : front_scan_next(f);
    } while (kind < 0 || (kind == TOK_NL && f->scanned == TOK_NL));
    f->scanned = kind;
    if (kind == 0) {
        f->stop = true;
        f->begin = f->end = (uint32_t)f->source->len;
    }
    vec_push(f->scratch, &f->tokens, token_of(f, kind));
}

struct token front_raw(struct front *f, size_t ahead)
{
    enum { KEEP = 1024 };
    if (f->next >= KEEP) { /* old tokens make room, so that memory does not grow with the text */
        memmove(f->tokens.at, f->tokens.at + f->next,
                (f->tokens.n - f->next) * sizeof *f->tokens.at);
        f->tokens.n -= f->next;
        f->next = 0;
    }
    while (f->next + ahead >= f->tokens.n) scan_one(f);
    return f->tokens.at[f->next + ahead];
}

static void check_text(struct front *f);

void front_comment(struct front *f, const char *text, size_t n)
{
    (void)text;
    struct comment c = {.span = here(f)};
    while (n > 1 &&
           (f->source->text[f->begin + n - 1] == ' ' || f->source->text[f->begin + n - 1] == '\t'))
        n--;
    c.span.end = c.span.begin + (uint32_t)n;
    uint32_t p = f->begin;
    while (p > 0 && (f->source->text[p - 1] == ' ' || f->source->text[p - 1] == '\t')) p--;
    c.own_line = p == 0 || f->source->text[p - 1] == '\n' || f->source->text[p - 1] == '\r' ||
                 (p == 3 && memcmp(f->source->text, "\xef\xbb\xbf", 3) == 0);
    vec_push(f->arena, &f->ast->comments, c);
    check_text(f);
}

int front_name(struct front *f, const char *text, size_t n)
{
    static const struct {
        const char *word;
        int kind;
    } reserved[] = {
        {"and", TOK_AND}, {"or", TOK_OR}, {"not", TOK_NOT}, {"in", TOK_IN}, {"_", TOK_UNDERSCORE}};
    for (size_t i = 0; i < COUNT_OF(reserved); i++)
        if (n == strlen(reserved[i].word) && memcmp(text, reserved[i].word, n) == 0)
            return reserved[i].kind;
    if (n > MAX_NAME)
        diag(f->session, DIAG_long_name, here(f), "this name has %zu bytes; at most %d are allowed",
             n, MAX_NAME);
    f->made.text = intern(f->session, text, n);
    return TOK_NAME;
}

/* The text without underscores. */
static char *digits_of(struct front *f, const char *text, size_t n)
{
    char *out = arena_strndup(f->arena, text, n), *q = out;
    for (const char *p = out; *p; p++)
        if (*p != '_') *q++ = *p;
    *q = '\0';
    return out;
}

int front_integer(struct front *f, const char *text, size_t n)
{
    const char *p = digits_of(f, text, n);
    int base = p[0] == '0' && (p[1] == 'x' || p[1] == 'X') ? 16 : 10;
    int64_t v = 0;
    bool ok = true;
    for (p += base == 16 ? 2 : 0; *p; p++) {
        int d = isdigit((unsigned char)*p) ? *p - '0' : tolower((unsigned char)*p) - 'a' + 10;
        ok = ok && i64_mul(v, base, &v) && i64_add(v, d, &v);
    }
    if (!ok)
        diag(f->session, DIAG_number_range, here(f), "this integer is above the largest, %" PRId64,
             INT64_MAX);
    f->made.text = intern(f->session, text, n);
    f->made.i = ok ? v : 1;
    return TOK_INT;
}

int front_real(struct front *f, const char *text, size_t n)
{
    const char *p = digits_of(f, text, n);
    f->made.text = intern(f->session, text, n);
    if (!real_parse(p, &f->made.r)) {
        struct diag *d = diag(f->session, DIAG_number_range, here(f),
                              "'%s' is outside of what a real (f64) holds", p);
        diag_note(f->session, d, NO_SPAN,
                  "the largest is about 1.8e308, the smallest about 4.9e-324");
        f->made.r = 1;
    }
    return TOK_REAL;
}

int front_bad_number(struct front *f, const char *text, size_t n)
{
    struct diag *d = diag(f->session, DIAG_bad_number, here(f), "'%.*s' is not a number", (int)n,
                          text);
    const char *point = memchr(text, '.', n),
               *hint = "a name does not begin with a digit, and numbers have no suffix";
    size_t digits = strspn(text, "0123456789_");
    if (point == text || text[n - 1] == '.' ||
        (point && memchr(point + 1, '.', n - (size_t)(point + 1 - text))))
        hint = "a real has one point, with digits on both sides of it";
    else if (text[n - 1] == '_' || strstr(text, "__"))
        hint = "an underscore stands between two digits";
    else if (n > 1 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X'))
        hint = "hexadecimal digits follow 0x";
    else if (n > 1 && text[0] == '0' && (digits >= n || text[digits] == '.'))
        hint = "a number does not begin with a 0 that another digit follows";
    else if (text[n - 1] == 'e' || text[n - 1] == 'E')
        hint = "an exponent has digits, as in 1e-5";
    diag_hint(f->session, d, "%s", hint);
    f->made.text = "1";
    f->made.i = 1;
    return TOK_INT;
}

int front_string(struct front *f, const char *text, size_t n)
{
    check_text(f);
    char *out = arena_strndup(f->arena, text + 1, n - 2), *q = out;
    for (const char *p = out; *p; p++) {
        if (*p == '\\') p++;
        *q++ = *p;
    }
    *q = '\0';
    f->made.text = out;
    return TOK_STRING;
}

int front_bad_string(struct front *f, const char *why, const char *hint)
{
    struct diag *d = diag(f->session, DIAG_bad_string, here(f), "%s", why);
    diag_hint(f->session, d, "%s", hint);
    f->made.text = "";
    return TOK_STRING;
}

/* UTF-16 and UTF-32 have NULs between ASCII letters, and mostly a byte order mark. */
bool front_is_utf8(struct front *f)
{
    const struct source *src = f->source;
    const char *p = src->text;
    bool marked = src->len >= 2 && (memcmp(p, "\xff\xfe", 2) == 0 || memcmp(p, "\xfe\xff", 2) == 0);
    bool little = src->len >= 4 && p[0] && p[1] == 0 && p[3] == 0,
         big = src->len >= 4 && p[0] == 0 && p[1] && p[2] == 0;
    if (!marked && !little && !big) return true;
    struct span at = {src->base, src->base + 1};
    struct diag *d = diag(f->session, DIAG_encoding, at,
                          "this file is not UTF-8; it looks like UTF-16");
    diag_hint(f->session, d, "iconv -f UTF-16 -t UTF-8 converts it");
    return false;
}

/* Length of the UTF-8 sequence at p (RFC 3629, table 3-7 of the Unicode standard), 0 when there is
 * none. */
static size_t utf8_length(const unsigned char *p, size_t n)
{
    size_t len = p[0] < 0x80                   ? 1
                 : p[0] >= 0xc2 && p[0] < 0xe0 ? 2
                 : p[0] >= 0xe0 && p[0] < 0xf0 ? 3
                 : p[0] >= 0xf0 && p[0] < 0xf5 ? 4
                                               : 0;
    if (len == 0 || len > n) return 0;
    unsigned low = p[0] == 0xe0   ? 0xa0
                   : p[0] == 0xf0 ? 0x90
                                  : 0x80,
             high = p[0] == 0xed   ? 0x9f
                    : p[0] == 0xf4 ? 0x8f
                                   : 0xbf;
    if (len > 1 && (p[1] < low || p[1] > high)) return 0;
    for (size_t i = 2; i < len; i++)
        if ((p[i] & 0xc0) != 0x80) return 0;
    return len;
}

static void control_byte(struct front *f, uint32_t at)
{
    struct span sp = {f->source->base + at, f->source->base + at + 1};
    diag(f->session, DIAG_stray_byte, sp, "control byte 0x%02x at offset %" PRIu32,
         (unsigned char)f->source->text[at], at);
}

/* Comments and strings hold any UTF-8 text without control bytes. One complaint for each. */
static void check_text(struct front *f)
{
    const unsigned char *p = (const unsigned char *)f->source->text;
    for (uint32_t i = f->begin; i < f->end;) {
        size_t len = utf8_length(p + i, f->end - i);
        struct span at = {f->source->base + i, f->source->base + i + 1};
        if (len == 0) {
            diag(f->session, DIAG_encoding, at, "byte 0x%02x at offset %" PRIu32 " is not UTF-8",
                 p[i], i);
            return;
        }
        if ((p[i] < 0x20 && p[i] != '\t') || p[i] == 0x7f) {
            control_byte(f, i);
            return;
        }
        i += (uint32_t)len;
    }
}

int front_bad_name(struct front *f)
{
    struct diag *d = diag(f->session, DIAG_stray_byte, here(f),
                          "a name with characters beyond ASCII");
    diag_hint(f->session, d,
              "names are letters, digits and '_' of ASCII; other characters stand in comments and "
              "strings");
    return TOK_FG_error;
}

/* An error token starts recovery, and no second message follows. */
int front_bad_byte(struct front *f, unsigned char byte)
{
    if (byte < 0x20 || byte == 0x7f) {
        control_byte(f, f->begin);
        return TOK_FG_error;
    }
    if (byte == ';') {
        struct diag *d = diag(f->session, DIAG_stray_byte, here(f), "there is no ';' in fg");
        diag_hint(f->session, d, "the end of a line ends a statement");
        return TOK_NL;
    }
    diag(f->session, DIAG_stray_byte, here(f), "'%c' means nothing here", byte);
    return TOK_FG_error;
}
