/* kernel, inside: what its files share. */
#ifndef FGC_KERNEL_INTERNAL_H
#define FGC_KERNEL_INTERNAL_H

#include "kernel/kernel.h"

/* Where a value lies while the program runs. */
struct storage {
    bool literal; /* a constant or scalar: written into the text */
    double number;
    struct kernel_arg at;
    int bound; /* buffer of its bounds, -1: exact */
    enum dtype type;
    int64_t stride[MAX_RANK];
};
struct maker {
    struct arena *a;
    const struct graph *g;
    enum kernel_mode mode;
    const char *prefix;
    struct buf text;
    struct kernel_program *out;
    struct storage *place; /* by value id */
};

static inline bool is_reference(const struct maker *m)
{
    return m->mode == KERNEL_REFERENCE;
}
/* The arithmetic of an operator: "double" or "float". */
const char *real_of(const struct maker *m, const struct op *op);
int new_buffer(struct maker *m, int64_t bytes);
/* A literal of the arithmetic. */
void put_number(struct buf *b, double x, bool f32);

/* ---- a kernel on its way: its text and its launch are made together
 * ------------------------------- */

struct maker_kernel {
    struct maker *m;
    const struct op *op;
    struct kernel_launch launch;
    struct buf params, body;
};
/* count: threads. */
struct maker_kernel kernel_begin(struct maker *m, const struct op *op, const char *suffix,
                                 int64_t count);
/* A new parameter for what lies there: its name, "p0". */
const char *kernel_pointer(struct maker_kernel *k, struct kernel_arg at);
const char *kernel_buffer(struct maker_kernel *k, int buffer);
void kernel_say(struct maker_kernel *k, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* Declares PREFIX0 .. PREFIXn: the indices of flat element `flat` of these dims, the last axis
 * fastest. */
void kernel_indices(struct maker_kernel *k, int rank, const int64_t *dim, const char *flat,
                    const char *prefix);
/* The same with the axis of the smallest stride fastest, so that neighbouring threads are neighbours
 * in memory. */
void kernel_indices_by(struct maker_kernel *k, int rank, const int64_t *dim, const int64_t *stride,
                       const char *flat, const char *prefix);
/* Axes from the largest stride to the smallest, in their own order where strides are equal. */
void axes_by_stride(int rank, const int64_t *stride, int *axis);
/* An operand: how its elements and their bounds are read. */
struct operand {
    const struct storage *place;
    const struct value *value;
    const char *at, *bound; /* parameters; bound: NULL where it is exact */
};
struct operand kernel_operand(struct maker_kernel *k, const struct value *v);
/* "load_bf16(p0, OFFSET)": the element at indices in variables NAME0 .. NAMEn, axes of size 1 at 0.
 */
const char *element_text(struct maker_kernel *k, const struct operand *o,
                         const char *const *index);
/* Of its bound; "0" where it is exact. */
const char *bound_text(struct maker_kernel *k, const struct operand *o,
                       const char *const *index);
const char *const *index_names(struct arena *a, const char *prefix, int rank);
/* Stores `value` (and `bound`) as element `i` of a result whose indices are PREFIX0 .. PREFIXn. */
void kernel_store(struct maker_kernel *k, const struct value *v, const char *prefix,
                  const char *value, const char *bound);
/* Ends the text; *copy: the launch, to be repeated with other ranges. NULL: it is appended. */
void kernel_end(struct maker_kernel *k, double cost, struct kernel_launch *copy);

/* ---- families: false with m->out->why set when refused
 * --------------------------------------------- */

typedef bool kernel_family_fn(struct maker *m, const struct op *op);
kernel_family_fn kernel_pointwise, kernel_view, kernel_reduce, kernel_matmul, kernel_conv,
    kernel_sdpa;
void kernel_helpers(struct maker *m); /* the functions that formulas call */
void kernel_compare(struct maker *m, const struct value *v);

const struct attr *attr_of(const struct op *op, const char *name);

#endif
