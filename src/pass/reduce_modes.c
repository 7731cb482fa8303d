/* Rewrites reductions whose mode no engine has into ones that engines have.
 *
 * Invariant: the result is the same number up to one rounding of 1/n. A step after a reduction is
 * never made: nothing may read one, so a mean scales its terms first. cuDNN 9.19: AVG, NORM1 and
 * NORM2 are refused when their descriptor is finalized, MUL and MUL_NO_ZEROS by every engine. */
#include "pass/passes.h"

static int mode_index(const char *mode)
{
    return word_index(ops[OP_reduce].attr[op_attr_index(OP_reduce, "mode")].choices, mode);
}

/* A pointwise op in front of a reduction, under the reduction's name and promise. */
static void put_before(struct arena *a, struct graph *g, struct op *reduce, enum op_id id,
                       struct value *second)
{
    struct value *x = reduce->in[0];
    struct op *op = ir_op(a, g, id);
    struct value *y = ir_value(a, g, VAL_TEMP, reduce->compute);
    op->compute = reduce->compute;
    op->span = reduce->span;
    op->promise = reduce->promise;
    op->in[0] = x;
    op->in[1] = second;
    ir_result(op, 0, y);
    ir_shape(y, x->rank, x->dim);
    y->span = reduce->span;
    reduce->in[0] = y;
}

/* What makes x makes y instead. */
static void take_name(struct graph *g, struct value *x, struct value *y)
{
    struct op *p = x->producer;
    for (int k = 0; k < ops[p->id].n_out; k++) {
        if (p->out[k] == x) ir_result(p, k, y);
    }
    for (size_t k = 0; k < g->ops.n; k++) {
        struct op *op = g->ops.at[k];
        for (int j = 0; j < ops[op->id].n_in; j++) {
            if (op->in[j] == x) op->in[j] = y;
        }
    }
}

/* Axes that are all 1 already: engines give garbage when no dim changes (measured), and what is
 * asked for is the value itself, or its magnitude. */
static bool nothing_to_gather(struct session *s, struct graph *g, struct op *op)
{
    struct value *x = op->in[0], *y = op->out[0];
    if (memcmp(x->dim, y->dim, sizeof *x->dim * (size_t)x->rank) != 0) return false;
    int64_t mode = op->attr[op_attr_index(op->id, "mode")].i;
    if (mode == mode_index("mul_no_zeros")) return false; /* 0 would become 1 */
    bool magnitude =
        mode == mode_index("max_abs") || mode == mode_index("norm1") || mode == mode_index("norm2");
    if (!magnitude && x->role == VAL_TEMP && !x->stored && x->type == y->type) {
        take_name(g, x, y);
        return true;
    }
    struct op *same = ir_op(s->arena, g, magnitude ? OP_abs : OP_cast);
    if (!magnitude) same->attr[op_attr_index(OP_cast, "type")].i = y->type;
    same->compute = op->compute;
    same->span = op->span;
    same->promise = op->promise;
    same->in[0] = x;
    ir_result(same, 0, y); /* nothing is left of the reduction for ir_sort to keep */
    return true;
}

static bool rewrite_one(struct session *s, struct graph *g, struct op *op)
{
    struct attr *mode = &op->attr[op_attr_index(op->id, "mode")];
    const struct value *x = op->in[0];
    if (mode->i == mode_index("mean")) {
        double n = 1;
        for (int k = 0; k < x->rank; k++) n *= (double)x->dim[k] / (double)op->out[0]->dim[k];
        put_before(s->arena, g, op, OP_mul, ir_const(s->arena, g, op->compute, 1 / n));
        mode->i = mode_index("add");
    } else if (mode->i == mode_index("norm1")) {
        put_before(s->arena, g, op, OP_abs, NULL);
        mode->i = mode_index("add");
    } else if (mode->i != mode_index("add") && mode->i != mode_index("min") &&
               mode->i != mode_index("max") && mode->i != mode_index("max_abs")) {
        char word[64];
        word_at(ops[op->id].attr[op_attr_index(op->id, "mode")].choices, (int)mode->i, word);
        struct diag *d =
            diag(s, DIAG_no_lowering, op->span, "no cuDNN engine reduces with mode '%s'", word);
        if (mode->i == mode_index("norm2")) {
            diag_hint(s, d, "reduce x * x with mode=add, and take the root in a second graph");
        }
        return false;
    }
    return true;
}

bool rewrite_reduce_modes(struct session *s, struct graph *g)
{
    bool ok = true;
    size_t n = g->ops.n; /* rewriting appends */
    for (size_t k = 0; k < n; k++) {
        struct op *op = g->ops.at[k];
        if (ops[op->id].family != FAM_reduction || nothing_to_gather(s, g, op)) continue;
        ok = rewrite_one(s, g, op) && ok;
    }
    ir_sort(s->arena, g);
    return ok;
}
