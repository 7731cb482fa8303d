/* pass: what happens to a graph between meaning and lowering, in this order:
 *   simplify     drops casts that change nothing, gives a value that is only rounded its rounded
 *                type at once (cast folded into its producer), removes dead ops
 *   partition    cuts what one kernel cannot hold into regions: one anchor a kernel, reductions
 *                last, promises kept
 *   redescribe   restates dims and strides in the form that engines take (matmul folded to rank 3,
 *                pointwise flattened to [1,R,C], reductions to rank 2 or channels-last, 1-D conv as
 *                [N,C,1,L]): same addresses, other names for them
 * Their result still evaluates to the same numbers (tests interpret both).
 */
#ifndef FGC_PASS_H
#define FGC_PASS_H

#include "ir/ir.h"

extern const char *const pass_stages[]; /* their names, in order */
extern const size_t n_pass_stages;

typedef VEC(struct graph *) graphs_vec;
enum { MAX_REGIONS = 64 }; /* of one graph: what a plan holds of steps */
/* Runs the passes up to and including `last` (NULL: all) on a clone in the session's arena. From
 * partition on *out has one graph a kernel, in an order in which they can run: a value under one
 * uid in all of them, what crosses a cut an output of one and an input of others. False with
 * diagnostics when a pass refused, and beyond MAX_REGIONS. */
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
