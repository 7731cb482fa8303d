/* layout: fixes the helper's address space. See layout.h. */
#include "gpu/build/layout.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <ucontext.h>
#include <unistd.h>

enum { MAX_MAPPINGS = 4096 };

enum world layout_world(void)
{
    struct rlimit stack;
    bool other = getrlimit(RLIMIT_STACK, &stack) == 0 && stack.rlim_cur == STACK_LIMIT(WORLD_OTHER);
    return other ? WORLD_OTHER : WORLD_ZERO;
}

/* Without a limit of the stack the kernel lays libraries out bottom up. True when the limit was
 * changed. */
static bool usual_stack(void)
{
    struct rlimit stack;
    if (getrlimit(RLIMIT_STACK, &stack) != 0 || stack.rlim_cur <= STACK_LIMIT(WORLD_ZERO))
        return false;
    stack.rlim_cur = STACK_LIMIT(WORLD_ZERO);
    return setrlimit(RLIMIT_STACK, &stack) == 0;
}

static void start_again(char **argv)
{
    char *none[] = {NULL};
    execve("/proc/self/exe", argv, none);
}

void layout_fix_process(char **argv, const char **why)
{
    *why = NULL;
    int now = personality(0xffffffff);
    bool fixed = now >= 0 && (now & ADDR_NO_RANDOMIZE);
    if (fixed && (layout_world() == WORLD_OTHER || !usual_stack())) return;
    usual_stack();
    if (now < 0 || personality((unsigned long)now | ADDR_NO_RANDOMIZE) < 0) {
        *why = "address randomisation cannot be turned off (personality is refused)";
        return;
    }
    start_again(argv);
    *why = "the helper cannot start itself again (/proc is not there)";
}

void layout_start_other(void)
{
    struct rlimit stack;
    char *argv[] = {(char *)"fgc-build", NULL};
    if (getrlimit(RLIMIT_STACK, &stack) != 0) return;
    stack.rlim_cur = STACK_LIMIT(WORLD_OTHER);
    if (stack.rlim_max < stack.rlim_cur) stack.rlim_max = stack.rlim_cur; /* for those who may */
    if (setrlimit(RLIMIT_STACK, &stack) == 0) start_again(argv);
}

size_t layout_mappings(struct mapping *out, size_t most, bool files)
{
    FILE *f = fopen("/proc/self/maps", "r");
    size_t n = 0;
    char line[1024];
    while (f && fgets(line, sizeof line, f)) {
        unsigned long from, to;
        if (sscanf(line, "%lx-%lx", &from, &to) != 2 || (files && !strchr(line, '/'))) continue;
        if (n && out[n - 1].to == from)
            out[n - 1].to = to;
        else if (n < most)
            out[n++] = (struct mapping){from, to};
    }
    if (f) fclose(f);
    return n;
}

static void open_system_libraries(void)
{
    static const char *const names[] = {"libdl.so.2", "librt.so.1",    "libpthread.so.0",
                                        "libm.so.6",  "libgcc_s.so.1", "libstdc++.so.6",
                                        "libz.so.1"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        dlopen(names[i], RTLD_NOW | RTLD_GLOBAL);
}

bool layout_reserve(const char **why)
{
    static struct mapping maps[MAX_MAPPINGS];
    open_system_libraries();
    size_t n = layout_mappings(maps, MAX_MAPPINGS, false);
    uintptr_t at = LIBRARY_CEILING(layout_world());
    for (size_t i = 0; i <= n; i++) {
        uintptr_t from = i < n ? maps[i].from : at, to = i < n ? maps[i].to : at;
        if (to <= at) continue;
        if (from > 0x7fffffffffff) break; /* vsyscall */
        /* The kernel's own stack grows down: its guard is left to it. */
        if (from > at + (1 << 21) &&
            mmap((void *)at, from - at - (1 << 20), PROT_NONE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1,
                 0) == MAP_FAILED) {
            *why = "the address space above the libraries cannot be reserved";
            return false;
        } else if (from > at && from <= at + (1 << 21)) {
            mmap((void *)at, from - at, PROT_NONE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
        }
        at = to;
    }
    return true;
}

struct call {
    void (*f)(void *);
    void *data;
    enum world world;
};
static struct call pending; /* makecontext passes ints only */
static ucontext_t caller, callee;

static void start(void)
{
    pending.f(pending.data);
}

void layout_enter(enum world world, void (*f)(void *data), void *data)
{
    void *want = (void *)STACK_BASE(world);
    void *stack = mmap(want, STACK_SIZE, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
    if (stack != want) {
        fprintf(stderr, "fgc-build: the address range of the stack is taken\n");
        _exit(70);
    }
    madvise(stack, STACK_SIZE, MADV_NOHUGEPAGE);
    heap_enter(world);
    pending = (struct call){f, data, world};
    getcontext(&callee);
    callee.uc_stack.ss_sp = stack;
    callee.uc_stack.ss_size = STACK_SIZE - STACK_UNUSED(world);
    callee.uc_link = &caller;
    makecontext(&callee, start, 0);
    swapcontext(&caller, &callee);
}

__attribute__((noinline)) void layout_wipe_stack(void)
{
    enum { DEPTH = 2 << 20 }; /* deeper than any call of cuDNN was seen to go */
    volatile char here = 0;
    uintptr_t sp = (uintptr_t)&here, base = STACK_BASE(pending.world);
    if (!pending.f || sp < base || sp >= base + STACK_SIZE) return;
    char fill = (char)HEAP_FILL(pending.world);
    /* Short of this frame and of what a signal or a function of libc may need. */
    for (volatile char *p = (volatile char *)(sp - DEPTH); (uintptr_t)p < sp - 512; p++) *p = fill;
}
