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
enum { MAX_REGIONS = 64 }; /* of one graph: what a plan holds of steps */
/* The same, with the graph cut into one graph a kernel where one kernel cannot hold it: in an order
 * in which they can run, a value under one uid in all of them, what crosses a cut an output of one
 * and an input of others. False when a pass refused, and
 * beyond MAX_REGIONS. */
bool pass_regions(struct session *s, const struct graph *g, const char *last, graphs_vec *out);
/* What crosses a cut and is no output of the graph: it lies in the workspace. */
enum { TEMPORARY_ALIGN = 256 }; /* bytes; what the launcher asks of the workspace */
struct temporary {
    const struct value *value; /* as the step that makes it has it */
    int64_t offset, bytes;
    int first, last;           /* the steps that make it and that read it last */
};
typedef VEC(struct temporary) temporaries_vec;
/* Lays the temporaries of g's regions out, in the order in which they are made; *total is the bytes
 * up to the end of the last. Those that are not live in one step share memory. False with a
 * diagnostic beyond 63 bits. */
bool pass_place(struct session *s, const struct graph *g, const graphs_vec *steps,
                temporaries_vec *out, int64_t *total);
/* Each region as ir_print writes it; where there are several, below "#" lines that say what it
 * stores, with bytes and offset, and which steps read it. False where pass_place is. */
bool pass_print_regions(struct session *s, const struct graph *g, const graphs_vec *steps,
                        struct buf *out);

#endif
