/* heap: the helper's own allocator, in place of libc's for every library in the process.
 *
 * cuDNN copies uninitialised heap and stack bytes into plans. Invariant: memory handed out is zero,
 * was never used before, and lies at an address that follows only from the calls made since
 * heap_restart; so what is left uninitialised is the same everywhere and holds nothing of anybody.
 * Freed memory is given back to the kernel but its addresses are not used again. */
#include "gpu/build/layout.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { UNIT = 16, PAGE = 4096, GIVE_BACK = 64 * 1024 };

static _Atomic uintptr_t next; /* 0 until the first call */

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

static void map_heap(void)
{
    void *want = (void *)HEAP_BASE;
    void *got = mmap(want, HEAP_SIZE, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
    if (got != want) die("fgc-build: the address range of the heap is taken\n");
    madvise(got, HEAP_SIZE, MADV_NOHUGEPAGE);
    uintptr_t zero = 0;
    atomic_compare_exchange_strong(&next, &zero, HEAP_BASE);
}

void heap_restart(void)
{
    if (!atomic_load(&next)) map_heap();
    atomic_store(&next, HEAP_BASE + HEAP_SIZE / 2);
}

static void *take(size_t n, size_t align)
{
    if (!atomic_load(&next)) map_heap();
    if (n > HEAP_SIZE / 4 || align > HEAP_SIZE / 4) {
        errno = ENOMEM;
        return NULL;
    }
    uintptr_t from = atomic_load(&next), at, end;
    do {
        at = (from + UNIT + align - 1) / align * align;
        end = (at + n + UNIT - 1) / UNIT * UNIT;
        if (end > HEAP_BASE + HEAP_SIZE) {
            errno = ENOMEM;
            return NULL;
        }
    } while (!atomic_compare_exchange_weak(&next, &from, end));
    *size_of((void *)at) = n;
    return (void *)at;
}

void *malloc(size_t n)
{
    return take(n, UNIT);
}

void free(void *p)
{
    if (!p || (uintptr_t)p < HEAP_BASE || (uintptr_t)p >= HEAP_BASE + HEAP_SIZE) return;
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
    return take(bytes, UNIT);
}

void *realloc(void *p, size_t n)
{
    if (!p) return take(n, UNIT);
    size_t old = *size_of(p);
    if (n <= old) return p;
    void *q = take(n, UNIT);
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
    return take(n, align < UNIT ? UNIT : align);
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
