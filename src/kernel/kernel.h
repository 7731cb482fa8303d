/* kernel: a graph as plain CUDA C++, one kernel an operator and one thread an element of its
 * result: the reference where the interpreter is too slow, and what a graph costs when nothing is
 * fused.
 *
 * Invariant: the text depends on the graph alone; an element is gathered from memory by 64-bit
 * indices and stored by one rounding; an operator that has no kernel is refused by name. */
#ifndef FGC_KERNEL_H
#define FGC_KERNEL_H

#include "ir/ir.h"

enum kernel_mode {
    /* The interpreter's values and bounds in f64, packed, and each output compared with what lies
     * in its tensor. */
    KERNEL_REFERENCE,
    /* The operators' own arithmetic; values lie in memory as their types and strides say, and an
     * output's kernel writes its tensor. conv, matmul and sdpa are left to whoever has better. */
    KERNEL_UNFUSED,
};
struct kernel_arg {
    const struct value *tensor; /* one that the caller binds; NULL: the buffer below */
    int buffer;
};
struct kernel_launch {
    const char *name;    /* of the kernel; NULL: `op` is left to the caller, with its arguments */
    const struct op *op; /* NULL: compares an output */
    const char *what;    /* in words */
    /* Thread i of `count` computes element first + i. Parameters: args, then i64 first, count. */
    int64_t first, count;
    VEC(struct kernel_arg) args;
    double cost; /* inner steps of all threads */
};
struct kernel_output { /* of KERNEL_REFERENCE */
    const struct value *value;
    int buffer;  /* KERNEL_PARTS partial judgements */
    double rule; /* the bound of ||error|| / ||reference||, 0: none */
};
struct kernel_program {
    const char *text; /* for NVRTC, without an include */
    VEC(struct kernel_launch) launches;
    VEC(int64_t) buffers; /* their bytes */
    VEC(struct kernel_output) outputs;
    struct kernel_arg *value; /* by value id: where it lies; constants and scalars nowhere */
    int *bound;               /* by value id: the buffer of its bounds, -1: exact */
    const char *why; /* when refused: which operator, and why */
};
/* prefix: of the kernels' names. False, with out->why, where the graph has no kernels. */
bool kernel_program(struct arena *a, const struct graph *g, enum kernel_mode mode,
                    const char *prefix, struct kernel_program *out);

/* A simplified graph with its temporaries as they would lie between kernels: in the type of the
 * first input where that is narrow (bf16 for f8), in the order of axes of what they are made of. */
struct graph *kernel_unfused(struct arena *a, const struct graph *simple);
/* A graph of that operator alone; its interface is what the operator's launch names, in order. */
struct graph *kernel_anchor(struct arena *a, const struct op *op);

/* What a thread of a comparison stores, as doubles in this order. */
enum { KERNEL_PARTS = 65536 };
struct kernel_partial {
    double worst, at, got, want, bound; /* the largest error over its bound, and where */
    double error2, norm2;               /* sums of squares, for the rule of a norm */
    double wrong;                       /* elements out of their bounds */
};
struct kernel_partial kernel_gather(const struct kernel_partial *part, int64_t n);

#endif
