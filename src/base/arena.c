/* arena: memory that is freed together.
 *
 * Invariant: every byte handed out is zero and 16-byte aligned; space that is not handed out is
 * poisoned under AddressSanitizer. */
#include "base/base.h"

#include <stdlib.h>

#if defined __has_feature
#if __has_feature(address_sanitizer)
#define WITH_ASAN 1
#endif
#endif
#if defined __SANITIZE_ADDRESS__
#define WITH_ASAN 1
#endif
#ifdef WITH_ASAN
#include <sanitizer/asan_interface.h>
#define POISON(p, n) ASAN_POISON_MEMORY_REGION(p, n)
#define UNPOISON(p, n) ASAN_UNPOISON_MEMORY_REGION(p, n)
#else
#define POISON(p, n) ((void)(p), (void)(n))
#define UNPOISON(p, n) ((void)(p), (void)(n))
#endif

enum { ALIGN = 16, BLOCK = 64 * 1024 };

struct block {
    struct block *before;
    size_t size, used; /* of data */
    _Alignas(16) unsigned char data[];
};
struct arena {
    struct block *last;
};

static void out_of_memory(void)
{
    fputs("fgc: error: out of memory\n", stderr);
    exit(70);
}

static struct block *block_new(struct block *before, size_t bytes)
{
    size_t size = bytes > BLOCK ? bytes : BLOCK;
    if (size > SIZE_MAX - sizeof(struct block)) out_of_memory();
    struct block *b = malloc(sizeof *b + size);
    if (!b) out_of_memory();
    b->before = before;
    b->size = size;
    b->used = 0;
    POISON(b->data, size);
    return b;
}

struct arena *arena_new(void)
{
    struct arena *a = malloc(sizeof *a);
    if (!a) out_of_memory();
    a->last = block_new(NULL, 0);
    return a;
}

void arena_free(struct arena *a)
{
    for (struct block *b = a->last, *before; b; b = before) {
        before = b->before;
        UNPOISON(b->data, b->size);
        free(b);
    }
    free(a);
}

void *arena_alloc(struct arena *a, size_t bytes)
{
    if (bytes > SIZE_MAX / 2) out_of_memory();
    size_t n = (bytes + ALIGN - 1) / ALIGN * ALIGN;
    if (a->last->size - a->last->used < n) a->last = block_new(a->last, n);
    void *p = a->last->data + a->last->used;
    a->last->used += n;
    UNPOISON(p, bytes);
    return memset(p, 0, bytes);
}

void *arena_copy(struct arena *a, const void *from, size_t bytes)
{
    void *p = arena_alloc(a, bytes);
    if (bytes) memcpy(p, from, bytes);
    return p;
}

char *arena_strndup(struct arena *a, const char *s, size_t n)
{
    char *p = arena_alloc(a, n + 1);
    if (n) memcpy(p, s, n);
    return p;
}

char *arena_strdup(struct arena *a, const char *s)
{
    return arena_strndup(a, s, strlen(s));
}

static char *vprint(struct arena *a, const char *fmt, va_list args)
{
    va_list again;
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, fmt, again);
    va_end(again);
    char *p = arena_alloc(a, (size_t)(n < 0 ? 0 : n) + 1);
    if (n > 0) vsnprintf(p, (size_t)n + 1, fmt, args);
    return p;
}

char *arena_printf(struct arena *a, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    char *p = vprint(a, fmt, args);
    va_end(args);
    return p;
}

struct arena_mark arena_mark(struct arena *a)
{
    return (struct arena_mark){a->last, a->last->used};
}

void arena_rewind(struct arena *a, struct arena_mark m)
{
    while (a->last != m.block) {
        struct block *b = a->last;
        a->last = b->before;
        UNPOISON(b->data, b->size);
        free(b);
    }
    POISON(a->last->data + m.used, a->last->used - m.used);
    a->last->used = m.used;
}

void *vec_grow(struct arena *a, void *at, size_t n, size_t *cap, size_t size)
{
    size_t want = *cap ? *cap * 2 : 1;
    if (want > SIZE_MAX / 2 / size) out_of_memory();
    void *p = arena_alloc(a, want * size);
    if (n) memcpy(p, at, n * size);
    *cap = want;
    return p;
}
