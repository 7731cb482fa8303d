/* heap: the helper's own allocator, in place of libc's for every library in the process.
 *
 * cuDNN copies uninitialised heap and stack bytes into plans. Invariant: memory handed out
 * was never used before, holds zeros (or the fill of the other world), and lies at an address that
 * follows only from the calls made since the world was entered; so what is left uninitialised is
 * the same everywhere and holds nothing of anybody. Freed memory is given back to the kernel but
 * its addresses are not used again. */
#include "gpu/build/layout.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { UNIT = 16, PAGE = 4096, GIVE_BACK = 64 * 1024 };
#define HEAP_LEAST ((size_t)256 << 20)

static _Atomic uintptr_t next; /* 0 until the first call */
static uintptr_t limit;        /* of the heap that is in use */
static int fill;               /* what memory holds before it is written */

/* Every block is preceded by its size, in a unit of its own. */
static size_t *size_of(void *p)
{
    return (size_t *)((char *)p - UNIT);
}

static void die(const char *text)
{
    ssize_t ignored = write(STDERR_FILENO, text, strlen(text));
    (void)ignored;
    _exit(70);
}

/* At most `most` bytes from base on. Where address space is limited (ulimit -v, strict overcommit)
 * the heap is smaller; where its blocks lie is the same. */
static void map_heap(uintptr_t base, size_t most)
{
    void *want = (void *)base, *got = MAP_FAILED;
    size_t n = most;
    for (; n >= HEAP_LEAST; n /= 2) {
        got = mmap(want, n, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
        if (got != MAP_FAILED || errno != ENOMEM) break;
    }
    if (got == MAP_FAILED && errno == ENOMEM)
        die("fgc-build: there is no address space for 256 MiB of heap (ulimit -v)\n");
    if (got != want) die("fgc-build: the address range of the heap is taken\n");
    madvise(got, n, MADV_NOHUGEPAGE);
    limit = base + n;
}

/* What the process needs before it enters a world lies in a heap of its own. */
static void first_use(void)
{
    enum world world = layout_world();
    uintptr_t base = HEAP_BASE(world) + HEAP_SIZE, zero = 0;
    map_heap(base, HEAP_SIZE / 8);
    atomic_compare_exchange_strong(&next, &zero, base + HEAP_START(world));
}

void heap_enter(enum world world)
{
    map_heap(HEAP_BASE(world), HEAP_SIZE);
    fill = HEAP_FILL(world);
    atomic_store(&next, HEAP_BASE(world) + HEAP_START(world));
}

static void *take(size_t n, size_t align, int with)
{
    if (!atomic_load(&next)) first_use();
    if (n > HEAP_SIZE / 4 || align > HEAP_SIZE / 4) {
        errno = ENOMEM;
        return NULL;
    }
    uintptr_t from = atomic_load(&next), at, end;
    do {
        at = (from + UNIT + align - 1) / align * align;
        end = (at + n + UNIT - 1) / UNIT * UNIT;
        if (end > limit) {
            errno = ENOMEM;
            return NULL;
        }
    } while (!atomic_compare_exchange_weak(&next, &from, end));
    *size_of((void *)at) = n;
    if (with) memset((void *)at, with, n);
    return (void *)at;
}

void *malloc(size_t n)
{
    return take(n, UNIT, fill);
}

void free(void *p)
{
    if (!p) return;
    size_t n = *size_of(p);
    if (n < GIVE_BACK) return;
    uintptr_t from = ((uintptr_t)p + PAGE - 1) / PAGE * PAGE, to = ((uintptr_t)p + n) / PAGE * PAGE;
    int saved = errno;
    if (to > from) madvise((void *)from, to - from, MADV_DONTNEED);
    errno = saved;
}

void *calloc(size_t n, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(n, size, &bytes)) {
        errno = ENOMEM;
        return NULL;
    }
    return take(bytes, UNIT, 0);
}

void *realloc(void *p, size_t n)
{
    if (!p) return take(n, UNIT, fill);
    size_t old = *size_of(p);
    if (n <= old) return p;
    void *q = take(n, UNIT, fill);
    if (q) {
        memcpy(q, p, old);
        free(p);
    }
    return q;
}

static bool is_power(size_t align)
{
    return align && (align & (align - 1)) == 0;
}

void *memalign(size_t align, size_t n);
void *memalign(size_t align, size_t n)
{
    if (!is_power(align)) {
        errno = EINVAL;
        return NULL;
    }
    return take(n, align < UNIT ? UNIT : align, fill);
}

void *aligned_alloc(size_t align, size_t n)
{
    return memalign(align, n);
}

int posix_memalign(void **out, size_t align, size_t n)
{
    if (!is_power(align) || align % sizeof(void *)) return EINVAL;
    void *p = memalign(align, n);
    if (!p) return ENOMEM;
    *out = p;
    return 0;
}

void *valloc(size_t n)
{
    return memalign(PAGE, n);
}

void *pvalloc(size_t n);
void *pvalloc(size_t n)
{
    return memalign(PAGE, (n + PAGE - 1) / PAGE * PAGE);
}

size_t malloc_usable_size(void *p);
size_t malloc_usable_size(void *p)
{
    return p ? *size_of(p) : 0;
}
