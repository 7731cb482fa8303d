/* product: conv and matmul, a thread an element of the result.
 *
 * Bounds are the interpreter's: 4 sqrt(n) 2^-24 of the sum of the products' magnitudes, operands'
 * on top. */
#include <math.h>

#include "kernel/internal.h"

static void say_start(struct maker_kernel *k, const char *real)
{
    kernel_say(k, "    %s sum = 0;\n", real);
    if (is_reference(k->m)) kernel_say(k, "    double magnitude = 0, carried = 0;\n");
}

static void say_product(struct maker_kernel *k, const char *real, const struct operand *a,
                        const char *const *ia, const struct operand *b, const char *const *ib)
{
    kernel_say(k, "    %s p = %s, q = %s;\n    sum += p * q;\n", real, element_text(k, a, ia),
               element_text(k, b, ib));
    if (!is_reference(k->m)) return;
    kernel_say(k, "    magnitude += fabs(p) * fabs(q);\n");
    if (a->bound) kernel_say(k, "    carried += %s * fabs(q);\n", bound_text(k, a, ia));
    if (b->bound) kernel_say(k, "    carried += %s * fabs(p);\n", bound_text(k, b, ib));
}

static void finish(struct maker_kernel *k, const struct value *y, double n)
{
    if (is_reference(k->m))
        kernel_say(k, "    double bound = %.17g * magnitude + carried;\n", 4 * sqrt(n) * 0x1p-24);
    kernel_store(k, y, "x", "sum", "bound");
    kernel_end(k, (double)k->launch.count * n, NULL);
}

bool kernel_matmul(struct maker *m, const struct op *op)
{
    const struct value *a = op->in[0], *b = op->in[1], *y = op->out[0];
    const char *real = real_of(m, op), *ia[MAX_RANK], *ib[MAX_RANK];
    int r = y->rank;
    int64_t count = 1;
    if (op->id != OP_matmul) return false;
    dims_count(r, y->dim, &count);
    struct maker_kernel k = kernel_begin(m, op, "", count);
    struct operand oa = kernel_operand(&k, a), ob = kernel_operand(&k, b);
    kernel_indices(&k, r, y->dim, "i", "x");
    for (int i = 0; i < r; i++) ia[i] = ib[i] = arena_printf(m->a, "x%d", i);
    ia[r - 1] = ib[r - 2] = "j";
    say_start(&k, real);
    kernel_say(&k, "    for (i64 j = 0; j < %lldLL; j++) {\n", (long long)a->dim[r - 1]);
    say_product(&k, real, &oa, ia, &ob, ib);
    kernel_say(&k, "    }\n");
    finish(&k, y, (double)a->dim[r - 1]);
    return true;
}

static int64_t list_or(const struct attr *a, int i, int64_t otherwise)
{
    return a->n > i ? a->list[i] : otherwise;
}

bool kernel_conv(struct maker *m, const struct op *op)
{
    const struct value *x = op->in[0], *w = op->in[1], *y = op->out[0];
    const char *real = real_of(m, op), *ix[MAX_RANK], *iw[MAX_RANK];
    int64_t count = 1, channels = w->dim[1], taps = 1;
    if (op->id != OP_conv) return false;
    dims_count(y->rank, y->dim, &count);
    struct maker_kernel k = kernel_begin(m, op, "", count);
    struct operand ox = kernel_operand(&k, x), ow = kernel_operand(&k, w);
    kernel_indices(&k, y->rank, y->dim, "i", "x");
    say_start(&k, real);
    kernel_say(&k, "    i64 g = x1 / %lldLL * %lldLL;\n",
               (long long)(w->dim[0] / attr_of(op, "groups")->i), (long long)channels);
    kernel_say(&k, "    for (i64 c = 0; c < %lldLL; c++) {\n    i64 h1 = g + c;\n",
               (long long)channels);
    ix[0] = "x0", ix[1] = "h1", iw[0] = "x1", iw[1] = "c";
    for (int i = 2; i < w->rank; i++) {
        taps *= w->dim[i];
        ix[i] = arena_printf(m->a, "h%d", i);
        iw[i] = arena_printf(m->a, "r%d", i);
        kernel_say(&k,
                   "    for (i64 r%d = 0; r%d < %lldLL; r%d++) {\n"
                   "    i64 h%d = x%d * %lldLL + r%d * %lldLL - %lldLL;\n"
                   "    if (h%d < 0 || h%d >= %lldLL) continue;\n",
                   i, i, (long long)w->dim[i], i, i, i,
                   (long long)list_or(attr_of(op, "stride"), i - 2, 1), i,
                   (long long)list_or(attr_of(op, "dilation"), i - 2, 1),
                   (long long)list_or(attr_of(op, "pre_pad"), i - 2, 0), i, i,
                   (long long)x->dim[i]);
    }
    say_product(&k, real, &ox, ix, &ow, iw);
    for (int i = 1; i < w->rank; i++) kernel_say(&k, "    }\n");
    finish(&k, y, (double)(channels * taps));
    return true;
}
