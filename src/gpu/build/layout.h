/* layout: where things lie in the helper's address space.
 *
 * Bytes that cuDNN leaves uninitialised in a plan hold whatever lay on its stack and heap:
 * addresses above all. So every address is made the same on every machine: heap and stack at fixed
 * places, the NVIDIA libraries below a fixed ceiling in a fixed order, address randomisation off.
 * The upper halves of these addresses are numbers that no dimension or stride of a tensor is, and
 * the lower halves of the libraries' lie where no small integer does, negative or not: a word that
 * points into a library can then be told from two integers side by side, even from one beside half
 * of an old address. */
#ifndef FGC_GPU_BUILD_LAYOUT_H
#define FGC_GPU_BUILD_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>

#define HEAP_SIZE ((size_t)32 << 30) /* address space only; pages come when touched */
#define STACK_SIZE ((size_t)16 << 20)
/* Two worlds for the same work. Addresses of like things differ in every byte, and so does what
 * memory holds before it is written: bytes of a plan that differ between the worlds are not of the
 * plan. */
enum world { WORLD_ZERO, WORLD_OTHER };
#define HEAP_BASE(world) ((uintptr_t)((world) == WORLD_ZERO ? 0x5e4d00000000 : 0x6c9100000000))
#define HEAP_START(world) ((world) == WORLD_ZERO ? (uintptr_t)0 : (uintptr_t)0x13579bd0)
#define HEAP_FILL(world) ((world) == WORLD_ZERO ? 0x00 : 0xa5)
#define STACK_BASE(world) ((uintptr_t)((world) == WORLD_ZERO ? 0x5d4d9a000000 : 0x6b83c3575000))
#define LIBRARY_CEILING(world) \
    ((uintptr_t)((world) == WORLD_ZERO ? 0x7d4db0000000 : 0x6d29a1000000))
/* The stack's limit moves what the kernel maps: system libraries lie lower by so much in the other
 * world. */
#define STACK_LIMIT(world) ((rlim_t)((world) == WORLD_ZERO ? 8 << 20 : 0x12359abcd000))
#define STACK_UNUSED(world) ((size_t)((world) == WORLD_ZERO ? 0 : 0xbd0))

/* The world that this process was started for. */
enum world layout_world(void);
/* Turns address randomisation off and starts the program again, once. On failure *why says which
 * step the kernel refused, and the run goes on without. */
void layout_fix_process(char **argv, const char **why);
/* Starts this program again, for the other world. Does not return when it succeeds. */
void layout_start_other(void);
/* Opens the system libraries that cuDNN needs, then takes every free range above the ceiling, so
 * that what is opened from now on lies below it. */
bool layout_reserve(const char **why);
/* Enters a world, once a process: from now on memory comes from its heap, which nothing has
 * touched, and f(data) runs on its stack. */
void layout_enter(enum world world, void (*f)(void *data), void *data);
/* Fills the part of the world's stack below the caller. */
void layout_wipe_stack(void);
void heap_enter(enum world world);

/* The process's mappings as sorted [from, to) pairs, neighbours joined; at most `most`. files: only
 * those of files, libraries and the program. */
struct mapping {
    uintptr_t from, to;
};
size_t layout_mappings(struct mapping *out, size_t most, bool files);

#endif
