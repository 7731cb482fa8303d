/* interp, inside: what its kernels share. */
#ifndef FGC_INTERP_INTERNAL_H
#define FGC_INTERP_INTERNAL_H

#include "interp/interp.h"

/* One operator on its way. Operands and results as arrays; bounds are wanted when out[0]->bound is
 * there. Scalars and constants come as arrays of one element and rank 0. */
struct eval {
    const struct op *op;
    struct array *in[MAX_OPERANDS];
    struct array *out[MAX_RESULTS];
};

/* f(data, from, to) for disjoint ranges that cover [0, n), on all processors; every index is
 * computed by one call alone, so results do not depend on how many there are. */
void parallel_for(int64_t n, void (*f)(void *data, int64_t from, int64_t to), void *data);

/* Steps through an output's index space and gives an operand's flat index, broadcasting size 1. */
int64_t broadcast_index(const struct array *out, const struct array *in, int64_t flat);

/* The element of a view's operand that its element `index` is. */
void view_index(const struct op *view, const int64_t *index, int64_t *of);

void eval_view(struct eval *e);
void eval_pointwise(struct eval *e);
void eval_reduce(struct eval *e);
void eval_conv(struct eval *e);
void eval_matmul(struct eval *e);
void eval_sdpa(struct eval *e);

/* check.c: an element's error over its bound; infinite where a number is due and there is none. */
double share_of_bound(double got, double want, double bound);
/* The bound of ||e|| / ||ref|| that the operator behind v sets, or 0. */
double norm_rule(const struct value *v);

/* The keys [first, last) of n that a query standing at key `at` sees; none: first == last. */
void sdpa_keys(const struct mask_window *w, int64_t at, int64_t n, int64_t *first, int64_t *last);

/* A value, and how far a right result may be from it. */
struct number {
    double value, bound;
};
/* A pointwise operator on one element; index: along its axis, where it has one. */
struct number eval_point(const struct op *op, int64_t index, const struct number *in);

struct gathered { /* a reduction on its way; starts as zeros */
    double value, magnitude, bound, most_bound;
    double furthest; /* of a product: every factor as far from zero as its bound lets it be */
    int64_t count;
};
void reduce_take(struct gathered *g, int64_t mode, double x, double bound);
double reduce_finish(struct gathered *g, int64_t mode); /* its bound is g->bound then */

const struct attr *eval_attr(const struct eval *e, const char *name);

#endif
