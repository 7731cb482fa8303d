/* layout: where things lie in the helper's address space.
 *
 * Bytes that cuDNN leaves uninitialised in a plan hold whatever lay on its stack and heap: addresses
 * above all. So every address is made the same on every machine: heap and stack at fixed places, the
 * NVIDIA libraries below a fixed ceiling in a fixed order, address randomisation off. The upper halves
 * of these addresses are numbers that no dimension or stride of a tensor is, and the lower halves of the
 * libraries' lie where no small integer does, negative or not: a word that points into a library can then
 * be told from two integers side by side, even from one beside half of an old address. */
#ifndef FGC_GPU_BUILD_LAYOUT_H
#define FGC_GPU_BUILD_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HEAP_BASE ((uintptr_t)0x5e4d00000000)
#define HEAP_SIZE ((size_t)64 << 30)          /* address space only; pages come when touched */
#define STACK_BASE ((uintptr_t)0x5d4d9a000000)
#define STACK_SIZE ((size_t)16 << 20)
#define LIBRARY_CEILING ((uintptr_t)0x7d4db0000000) /* some 600 MB of libraries: down to 0x8a... */

/* Turns address randomisation off and starts the program again, once. On failure *why says which
 * step the kernel refused, and the run goes on without. */
void layout_fix_process(char **argv, const char **why);
/* Opens the system libraries that cuDNN needs, then takes every free range above the ceiling, so
 * that what is opened from now on lies below it. */
bool layout_reserve(const char **why);
/* Runs f(data) on the fixed stack, zeroed. Only in a process that has nothing else on it. */
void layout_on_stack(void (*f)(void *data), void *data);
/* Zeroes the part of the fixed stack below the caller. */
void layout_wipe_stack(void);
/* From now on memory comes from a part of the heap that nothing has touched. */
void heap_restart(void);

/* The process's mappings as sorted [from, to) pairs, neighbours joined; at most `most`. files: only those of
 * files, libraries and the program. */
struct mapping {
    uintptr_t from, to;
};
size_t layout_mappings(struct mapping *out, size_t most, bool files);

#endif
