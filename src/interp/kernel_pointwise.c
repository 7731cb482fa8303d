/* kernel_pointwise: every pointwise operator as one line.
 *
 * Bounds are propagated by evaluation: the operator at operand + bound and operand - bound, one
 * operand at a time, shows how far its result can move; the moves add up. f32 arithmetic adds a few
 * roundings. */
#include <math.h>

#include "interp/internal.h"

/* Operands and attributes of one element. */
struct at {
    double a, b, c; /* first, second, third operand */
    const struct attr *attr;
};

#define ONE(name, expression)                      \
    static double point_##name(const struct at *p) \
    {                                              \
        double x = p->a;                           \
        return expression;                         \
    }
#define TWO(name, expression)                      \
    static double point_##name(const struct at *p) \
    {                                              \
        double a = p->a, b = p->b;                 \
        return expression;                         \
    }
#define REAL(i) (p->attr[i].r) /* the operator's i-th attribute */

TWO(add, a + b)
TWO(sub, a - b)
TWO(mul, a *b)
TWO(div, a / b)
TWO(mod, fmod(a, b))
TWO(pow, pow(a, b))
TWO(min, fmin(a, b))
TWO(max, fmax(a, b))
ONE(neg, -x)
ONE(abs, fabs(x))
ONE(exp, exp(x))
ONE(log, log(x))
ONE(sqrt, sqrt(x))
ONE(rsqrt, 1 / sqrt(x))
ONE(reciprocal, 1 / x)
ONE(sin, sin(x))
ONE(cos, cos(x))
ONE(erf, erf(x))
ONE(ceil, ceil(x))
ONE(floor, floor(x))
ONE(relu, isnan(x) ? x : x<REAL(0) ? REAL(0) : x> REAL(1) ? REAL(1) : x)
ONE(leaky_relu, x > 0 || isnan(x) ? x : REAL(0) * x)
ONE(elu, x > 0 || isnan(x) ? x : REAL(0) * expm1(x))
ONE(gelu, x * 0.5 * erfc(-x * 0.70710678118654752440))
ONE(gelu_tanh, 0.5 * x * (1 + tanh(0.79788456080286535588 * (x + 0.044715 * x * x * x))))
ONE(sigmoid, 1 / (1 + exp(-x)))
ONE(silu, x / (1 + exp(-x)))
ONE(swish, x / (1 + exp(-REAL(0) * x)))
ONE(softplus,
    (REAL(0) * x > 0 ? REAL(0) * x + log1p(exp(-REAL(0) * x)) : log1p(exp(REAL(0) * x))) / REAL(0))
ONE(tanh, tanh(x))
TWO(eq, a == b)
TWO(ne, a != b)
TWO(lt, a < b)
TWO(le, a <= b)
TWO(gt, a > b)
TWO(ge, a >= b)
ONE(identity, x)

static double point_select(const struct at *p)
{
    return p->a != 0 ? p->b : p->c;
}

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
static point_fn *const points[N_OPS] = {
#define OP(id, family, shape, eval, lower, ...) [OP_##id] = eval,
#include "op/ops.def"
#undef OP
};

static bool is_comparison(const struct op *op)
{
    return ops[op->id].traits & OPT_comparison;
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

static void run(void *data, int64_t from, int64_t to)
{
    struct eval *e = data;
    point_fn *f = points[e->op->id];
    int n = ops[e->op->id].n_in;
    struct array *out = e->out[0];
    for (int64_t i = from; i < to; i++) {
        struct at p = {.attr = e->op->attr};
        double bound[3] = {0, 0, 0};
        for (int k = 0; k < n; k++) {
            int64_t at = broadcast_index(out, e->in[k], i);
            *(k == 0 ? &p.a : k == 1 ? &p.b : &p.c) = e->in[k]->at[at];
            if (e->in[k]->bound) bound[k] = e->in[k]->bound[at];
        }
        if (ops[e->op->id].traits & OPT_exponential && isfinite(p.a))
            bound[0] += 0x1p-23 * fabs(p.a);
        double y = f(&p);
        if (e->op->id == OP_cast) y = dtype_round(e->op->out[0]->type, y);
        out->at[i] = y;
        if (!out->bound) continue;
        if (e->op->id == OP_cast) { /* the rounding may fall to the other neighbour */
            out->bound[i] = bound[0] + (e->op->out[0]->type == e->op->in[0]->type
                                            ? 0
                                            : dtype_ulp(e->op->out[0]->type, y));
        } else if (is_comparison(e->op)) {
            out->bound[i] = moved(f, &p, y, bound);
        } else {
            /* four roundings of f32, and the GPU's functions of a few ulp */
            double scale = fabs(y) > 0 ? fabs(y) : 0;
            out->bound[i] = moved(f, &p, y, bound) + (isfinite(scale) ? 0x1p-21 * scale : 0);
            if (ops[e->op->id].traits & OPT_cancels && isfinite(p.a))
                out->bound[i] += 0x1p-23 * fabs(p.a);
        }
    }
}

void eval_pointwise(struct eval *e)
{
    parallel_for(e->out[0]->count, run, e);
}
