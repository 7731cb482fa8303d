/* How large the integers of a graph can get, so that arithmetic in FLOAT can stand in for theirs.
 *
 * Invariant: a bound is never below a magnitude that the value can have. cuDNN 9.19 has no
 * pointwise engine that computes in integers; f32 holds every integer up to 2^24, and sums,
 * differences and products that stay within it are exact. */
#include "desc/lower.h"

#include <math.h>

static double type_bound(enum dtype t)
{
    if (dtypes[t].klass == DTC_bool) return 1;
    if (dtypes[t].klass != DTC_int) return HUGE_VAL;
    return ldexp(1, t == DT_u8 ? 8 : dtypes[t].bits - 1);
}

enum growth {
    GROW_none,
    GROW_sum,
    GROW_product,
    GROW_largest,
    GROW_one,
};
static enum growth growth(const struct op *op)
{
    static const struct {
        const char *mode;
        enum growth by;
    } table[] = {
        {"ADD", GROW_sum},     {"SUB", GROW_sum},     {"MUL", GROW_product},
        {"MIN", GROW_largest}, {"MAX", GROW_largest}, {"BINARY_SELECT", GROW_largest},
        {"NEG", GROW_largest}, {"ABS", GROW_largest}, {"IDENTITY", GROW_largest},
    };
    if (ops[op->id].traits & (OPT_comparison | OPT_logical)) return GROW_one;
    for (size_t k = 0; k < COUNT_OF(table); k++) {
        if (strcmp(table[k].mode, ops[op->id].mode) == 0) return table[k].by;
    }
    return GROW_none;
}

static double pointwise_bound(const struct op *op, const double *most)
{
    double sum = 0, product = 1, largest = 0;
    for (int k = 0; k < ops[op->id].n_in; k++) {
        double m = most[op->in[k]->id];
        sum += m;
        product *= m;
        if (m > largest) largest = m;
    }
    if (ops[op->id].traits & OPT_index) return (double)op->out[0]->dim[op->attr[0].i];
    switch (growth(op)) {
    case GROW_sum: return sum;
    case GROW_product: return product;
    case GROW_largest: return largest;
    case GROW_one: return 1;
    default: return HUGE_VAL;
    }
}

/* A sum of `terms` products. */
static double terms(const struct op *op)
{
    const struct value *w = op->in[1];
    double n = 1;
    if (ops[op->id].family == FAM_matmul) return (double)w->dim[w->rank - 2];
    for (int k = 1; k < w->rank; k++) n *= (double)w->dim[k];
    return n;
}

double *lower_bounds(struct arena *a, const struct graph *g)
{
    double *most = NEW_N(a, double, g->values.n + 1);
    for (size_t k = 0; k < g->values.n; k++) {
        const struct value *v = g->values.at[k];
        most[k] = v->role == VAL_CONST ? fabs(v->literal) : type_bound(v->type);
    }
    for (size_t k = 0; k < g->ops.n; k++) {
        const struct op *op = g->ops.at[k];
        const struct value *y = op->out[0];
        enum op_family family = ops[op->id].family;
        double bound = HUGE_VAL;
        if (!y) continue;
        if (family == FAM_pointwise) {
            bound = pointwise_bound(op, most);
        } else if (family == FAM_matmul || family == FAM_conv) {
            bound = terms(op) * most[op->in[0]->id] * most[op->in[1]->id];
        }
        if (bound < most[y->id]) most[y->id] = bound;
    }
    return most;
}

bool lower_exact_in_f32(const struct lowering *l, const struct op *op)
{
    static const double exact = 16777216; /* 2^24 */
    for (int k = 0; k < ops[op->id].n_in && !(ops[op->id].traits & OPT_index); k++) {
        if (l->most[op->in[k]->id] > exact) return false;
    }
    return pointwise_bound(op, l->most) <= exact;
}
