/* kernel_pointwise: the pointwise operators, whose formulas are op/pointwise.def.
 *
 * Bounds are propagated by evaluation: the operator at operand + bound and operand - bound, one
 * operand at a time, shows how far its result can move; the moves add up. f32 arithmetic adds a few
 * roundings. */
#include <math.h>

#include "interp/internal.h"

/* Operands and attributes of one element. */
struct at {
    double a, b, c; /* first, second, third operand */
    int64_t index;  /* of the element along the operator's axis, where it has one */
    const struct attr *attr;
};

#define REAL(i) (p->attr[i].r)
#define HELP(name, expression)   \
    static double name(double x) \
    {                            \
        return expression;       \
    }
#define POINT(name, locals, expression)            \
    static double point_##name(const struct at *p) \
    {                                              \
        locals;                                    \
        return expression;                         \
    }
#define ONE(name, expression) POINT(name, double x = p->a, expression)
#define TWO(name, expression) POINT(name, double a = p->a; double b = p->b, expression)
#define THREE(name, expression) \
    POINT(name, double a = p->a; double b = p->b; double c = p->c, expression)
#define PLACE(name, expression) POINT(name, int64_t at = p->index, (double)(expression))
#include "op/pointwise.def"

typedef double point_fn(const struct at *p);
#define FAMILY(f)
#define SHAPE(r)
#define LOWER(builder, mode)
#define EVAL(k) point_##k
/* Other families have kernels of their own. */
#define point_conv NULL
#define point_matmul NULL
#define point_sdpa NULL
#define point_reduce NULL
#define point_view NULL
static point_fn *const points[N_OPS] = {
#define OP(id, family, shape, eval, lower, ...) [OP_##id] = eval,
#include "op/ops.def"
#undef OP
};

static bool gives_bool(const struct op *op)
{
    return ops[op->id].traits & (OPT_comparison | OPT_logical);
}

static int64_t index_along(const struct array *a, int64_t axis, int64_t flat)
{
    for (int k = a->rank - 1; k > axis; k--) flat /= a->dim[k];
    return flat % a->dim[axis];
}

/* How far the result can be from `y` when each operand is within its bound. */
static double moved(point_fn *f, const struct at *p, double y, const double bound[3])
{
    double total = 0;
    for (int i = 0; i < 3; i++) {
        if (!(bound[i] > 0)) continue;
        double most = 0;
        for (int sign = -1; sign <= 1; sign += 2) {
            struct at q = *p;
            *(i == 0 ? &q.a : i == 1 ? &q.b : &q.c) += sign * bound[i];
            double d = fabs(f(&q) - y);
            if (isnan(d)) d = INFINITY;
            if (d > most) most = d;
        }
        total += most;
    }
    return total;
}

struct number eval_point(const struct op *op, int64_t index, const struct number *in)
{
    point_fn *f = points[op->id];
    unsigned traits = ops[op->id].traits;
    int n = ops[op->id].n_in;
    struct at p = {.a = in[0].value, .index = index, .attr = op->attr};
    double bound[3] = {in[0].bound, n > 1 ? in[1].bound : 0, n > 2 ? in[2].bound : 0};
    if (n > 1) p.b = in[1].value;
    if (n > 2) p.c = in[2].value;
    /* the argument of an activation or of its gradient is the last operand */
    if (traits & OPT_exponential && isfinite(n == 2 ? p.b : p.a))
        bound[n - 1] += 0x1p-23 * fabs(n == 2 ? p.b : p.a);
    double y = f(&p);
    if (op->id == OP_cast) { /* the rounding may fall to the other neighbour */
        enum dtype to = op->out[0]->type;
        y = dtype_round(to, y);
        return (struct number){y, bound[0] + (to == op->in[0]->type ? 0 : dtype_ulp(to, y))};
    }
    if (traits & OPT_index) return (struct number){y, 0};
    if (gives_bool(op)) return (struct number){y, moved(f, &p, y, bound)};
    /* four roundings of f32, and the GPU's functions of a few ulp */
    double all = moved(f, &p, y, bound) + (isfinite(y) ? 0x1p-21 * fabs(y) : 0);
    if (traits & OPT_cancels && isfinite(p.a)) /* gradients: a is dy, b is x */
        all += 0x1p-23 * fabs(p.a) * (n == 2 && isfinite(p.b) ? 1 + fabs(p.b) : 1);
    return (struct number){y, all};
}

static void run(void *data, int64_t from, int64_t to)
{
    struct eval *e = data;
    int n = ops[e->op->id].n_in;
    struct array *out = e->out[0];
    for (int64_t i = from; i < to; i++) {
        struct number in[3] = {{0, 0}};
        int64_t index = 0;
        if (ops[e->op->id].traits & OPT_index) index = index_along(out, e->op->attr[0].i, i);
        for (int k = 0; k < n; k++) {
            int64_t at = broadcast_index(out, e->in[k], i);
            in[k].value = e->in[k]->at[at];
            if (e->in[k]->bound) in[k].bound = e->in[k]->bound[at];
        }
        struct number y = eval_point(e->op, index, in);
        out->at[i] = y.value;
        if (out->bound) out->bound[i] = y.bound;
    }
}

void eval_pointwise(struct eval *e)
{
    parallel_for(e->out[0]->count, run, e);
}
