/* passes: what the files of this room share; not for other rooms. */
#ifndef FGC_PASSES_H
#define FGC_PASSES_H

#include "pass/pass.h"

/* views.c: views of tensors in memory become tensors themselves; false with a diagnostic where
 * strides cannot say one. */
bool fold_views(struct session *s, struct graph *g);
static inline bool is_view(const struct op *op)
{
    return op && ops[op->id].family == FAM_view;
}
/* What a chain of views that ends in v looks at; v where it is none. */
struct value *pass_looked_at(struct value *v);
/* Reductions over axes that others stand between become two (split_reduce.c). */
void split_reductions(struct session *s, struct graph *g);
bool pass_simplify(struct session *s, struct graph *g);
/* Whether one kernel can hold the graph. */
bool pass_one_kernel(struct arena *a, const struct graph *g);
bool pass_redescribe(struct session *s, struct graph *g);

/* Which region each op is in (by op index; below 0: of rank 0, in every region that reads it), and
 * how many there are; false with a diagnostic when an epilogue's promise cannot be kept. */
bool pass_assign_regions(struct session *s, const struct graph *g, int **region, size_t *n);

/* What hangs together through results, and with `by_inputs` through shared inputs too (then no
 * value of rank 1 and more is in two components). */
struct component {
    VEC(struct op *) ops;
    values_vec values; /* of rank 1 and more, each once */
    struct op *anchor; /* conv, matmul or sdpa; NULL: pointwise and reductions only */
    int rank;          /* of every value */
};
typedef VEC(struct component *) components_vec;
components_vec pass_components(struct arena *a, const struct graph *g, bool by_inputs);

/* cuDNN 9.19: chains that share no value share a kernel only where they walk equal dims; else it is
 * not compiled. */
bool pass_same_size(const struct component *c, const struct component *d);

static inline bool is_anchor(const struct op *op)
{
    return ops[op->id].traits & OPT_anchor;
}
/* Interface tensors have addresses; temporaries live in registers, their strides are ours. */
static inline bool in_memory(const struct value *v)
{
    return v->stored;
}
/* An operator of the component that reads or makes v: the place to complain about v at. */
struct op *pass_op_at(const struct component *c, const struct value *v);
/* "[16, 512]": dims or strides for messages, in the arena. */
const char *pass_dims_text(struct arena *a, int rank, const int64_t *dim);

/* Rewrites the modes that engines lack into ones they have (reduce_modes.c). */
bool rewrite_reduce_modes(struct session *s, struct graph *g);
/* Restate one component's values (form_matmul.c, form_conv.c, form_flat.c). */
bool form_matmul(struct session *s, struct component *c);
bool form_conv(struct session *s, struct component *c);
bool form_sdpa(struct session *s, struct component *c);
bool form_flat(struct session *s, struct component *c);

/* Strides of size-1 axes address nothing. canonical_strides gives them the value that a packed
 * tensor would have, so that every spelling of one set of addresses lowers alike. `orders` holds
 * n_orders lists of axes, fastest first; the first that agrees with the other axes' strides is
 * taken. */
#define MAX_ORDERS 4
struct axis_order {
    int axis[MAX_RANK];
};
struct axis_order order_row_major(int rank);
struct axis_order order_channels_last(int rank);
void canonical_strides(struct value *v, int n_orders, const struct axis_order *orders);
/* True when the strides of v's axes longer than 1 never fall along the order. */
bool fits_order(const struct value *v, const struct axis_order *order);
/* An operator whose axis is given by number, or NULL: its axis may not be merged with others. */
const struct op *pass_index_along(const struct component *c, int axis);
/* Gives the operators of the component that name an axis its new number, to[axis]; false with a
 * diagnostic where there is none (-1). */
bool pass_renumber_axes(struct session *s, const struct component *c, const int *to);
/* After dims changed: the reduced axes are those of size 1 in the result. */
void restate_reduce_axes(struct op *op);

#endif
