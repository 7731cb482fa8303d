/* lower: what the lowering's files share; not for other rooms.
 *
 * An operator's row in ops.def names its builder; lower.c pastes lower_##builder. */
#ifndef FGC_LOWER_H
#define FGC_LOWER_H

#include "desc/desc.h"

struct lowering {
    struct session *session;
    struct arena *arena;
    const struct graph *graph;
    struct desc_graph *out;
    struct desc **tensor; /* by value id; NULL until a descriptor is made */
    int rank;         /* of the graph's tensors: by-value tensors have it too */
    int64_t next_uid; /* after those of the graph's values */
    double *most;     /* by value id: a bound of the magnitude of integers */
    int n_made[N_DESC_KINDS];
};

/* False with a diagnostic at the op. */
typedef bool lower_fn(struct lowering *l, const struct op *op);
lower_fn lower_conv, lower_matmul, lower_sdpa, lower_reduction, lower_pointwise, lower_backward, lower_view;

/* The tensor descriptor of a value of the graph, made at its first use. A bool is INT8, a byte of 0
 * or 1: cuDNN 9.19 packs BOOLEAN tensors of memory eight to a byte, and its BOOLEAN registers do
 * not compile where the fastest axis is no multiple of 4; INT8 conditions select alike. */
struct desc *lower_value(struct lowering *l, const struct value *v);
/* A tensor of the lowering's own: a register (virtual), row-major. */
struct desc *lower_virtual(struct lowering *l, enum dtype type, int rank, const int64_t *dim);
/* A literal, by value, of the graph's rank. */
struct desc *lower_literal(struct lowering *l, enum dtype type, double value);
/* A descriptor named by its kind and a running number; `operation` ones are added to the graph. */
struct desc *lower_desc(struct lowering *l, enum desc_kind kind, const char *prefix);
struct desc *lower_operation(struct lowering *l, enum desc_kind kind, const struct op *origin);
/* cuDNN's word for a compute type; tf32 is FLOAT: which engines may run is decided where they are
 * chosen. */
const char *lower_compute(enum dtype t);

/* y = mode(x, b, t): b and t may be NULL. The pointwise descriptor has no attribute beyond mode and
 * precision; returns it so that more can be set. */
struct desc *lower_pw(struct lowering *l, const struct op *origin, const char *mode,
                      const char *compute, struct desc *x, struct desc *b, struct desc *t,
                      struct desc *y);
void lower_reduce(struct lowering *l, const struct op *origin, const char *mode,
                  const char *compute, struct desc *x, struct desc *y);
void lower_mm(struct lowering *l, const struct op *origin, const char *compute, struct desc *a,
              struct desc *b, struct desc *c);

/* By value id: what the integer values of the graph cannot exceed; infinity for reals. */
double *lower_bounds(struct arena *a, const struct graph *g);
/* True when the op's integer operands and result are all exact in f32. */
bool lower_exact_in_f32(const struct lowering *l, const struct op *op);

/* An attribute by its name in ops.def; NULL when the operator has none of that name. */
const struct attr *lower_attr(const struct op *op, const char *name);

#endif
