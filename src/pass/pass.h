/* pass: what happens to a graph between meaning and lowering, in this order:
 *   simplify     drops casts that change nothing, gives a value that is only rounded its rounded
 *                type at once (cast folded into its producer), removes dead ops
 *   partition    checks that one kernel can hold the graph: one anchor, reductions last, promises
 *                kept; pass_regions cuts what one cannot hold into regions before
 *   redescribe   restates dims and strides in the form that engines take (matmul folded to rank 3,
 *                pointwise flattened to [1,R,C], reductions to rank 2 or channels-last, 1-D conv as
 *                [N,C,1,L]): same addresses, other names for them
 * Each works on a clone and its result still evaluates to the same numbers (tests interpret both).
 */
#ifndef FGC_PASS_H
#define FGC_PASS_H

#include "ir/ir.h"

struct pass {
    const char *name;
    bool (*run)(struct session *s, struct graph *g); /* false with diagnostics when refused */
};
extern const struct pass passes[];
extern const size_t n_passes;
/* Clones g into the session's arena and runs the passes up to and including `last` (NULL: all).
 * NULL when one refused. */
struct graph *pass_run(struct session *s, const struct graph *g, const char *last);

typedef VEC(struct graph *) graphs_vec;
/* The same, with the graph cut into one graph a kernel where one kernel cannot hold it: in an order
 * in which they can run, a value under one uid in all of them, what crosses a cut an output of one
 * and an input of others. False when a pass refused. */
bool pass_regions(struct session *s, const struct graph *g, const char *last, graphs_vec *out);
/* Each region as ir_print writes it, below "# step" lines that say what crosses to later ones,
 * with its bytes, where there are several. */
void pass_print_regions(const graphs_vec *all, struct buf *out);

#endif
