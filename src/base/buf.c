/* buf: growing byte buffers and the printing of reals.
 *
 * Invariant: once anything was put, at[n] is NUL. */
#include "base/base.h"

#include <math.h>
#include <stdlib.h>

static void reserve(struct buf *b, size_t more)
{
    if (b->cap - b->n > more) return;
    size_t cap = b->cap ? b->cap : 256;
    while (cap - b->n <= more) cap *= 2;
    char *p = realloc(b->at, cap);
    if (!p) {
        fputs("fgc: error: out of memory\n", stderr);
        exit(70);
    }
    b->at = p;
    b->cap = cap;
}

void buf_put(struct buf *b, const void *bytes, size_t n)
{
    reserve(b, n);
    if (n) memcpy(b->at + b->n, bytes, n);
    b->n += n;
    b->at[b->n] = '\0';
}

void buf_puts(struct buf *b, const char *s)
{
    buf_put(b, s, strlen(s));
}

void buf_printf(struct buf *b, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    if (n < 0) return;
    reserve(b, (size_t)n);
    va_start(args, fmt);
    vsnprintf(b->at + b->n, (size_t)n + 1, fmt, args);
    va_end(args);
    b->n += (size_t)n;
}

void buf_real(struct buf *b, double x)
{
    if (isnan(x)) {
        buf_puts(b, "nan");
        return;
    }
    if (isinf(x)) {
        buf_puts(b, x < 0 ? "-inf" : "inf");
        return;
    }
    char text[40];
    double back;
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, x);
        for (char *p = text; *p; p++)
            if (*p == ',') *p = '.'; /* a locale's decimal comma */
        if (real_parse(text, &back) && back == x) break;
    }
    buf_puts(b, text);
    if (!strpbrk(text, ".e")) buf_puts(b, ".0");
}

void buf_fini(struct buf *b)
{
    free(b->at);
    *b = (struct buf){0};
}
