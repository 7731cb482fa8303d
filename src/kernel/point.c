/* point: pointwise operators, by the formulas of op/pointwise.def, and views.
 *
 * Bounds are the interpreter's: how far the formula moves when an operand moves by its bound, and
 * four roundings of f32 on top. */
#include <ctype.h>
#include <math.h>

#include "kernel/internal.h"

/* ---- formulas as text
 * ------------------------------------------------------------------------------- */

#define ONE(name, expression) static const char text_##name[] = #expression;
#define TWO(name, expression) ONE(name, expression)
#define THREE(name, expression) ONE(name, expression)
#define PLACE(name, expression) ONE(name, expression)
#define HELP(name, expression)
#include "op/pointwise.def"

#define FAMILY(f)
#define SHAPE(r)
#define LOWER(builder, mode)
#define EVAL(k) text_##k
/* Other families have files of their own. */
#define text_conv NULL
#define text_matmul NULL
#define text_sdpa NULL
#define text_reduce NULL
#define text_view NULL
static const char *const formulas[N_OPS] = {
#define OP(id, family, shape, eval, lower, ...) [OP_##id] = eval,
#include "op/ops.def"
#undef OP
};

static const struct {
    const char *name, *text;
} helpers[] = {
#define ONE(name, expression)
#define TWO(name, expression)
#define THREE(name, expression)
#define PLACE(name, expression)
#define HELP(name, expression) {#name, #expression},
#include "op/pointwise.def"
};

/* The formula with its attributes as numbers; in f32 every real gets its suffix. */
static void put_formula(struct buf *b, const char *p, const struct attr *attr, bool f32)
{
    while (*p) {
        if (strncmp(p, "REAL(", 5) == 0 && isdigit((unsigned char)p[5]) && p[6] == ')') {
            put_number(b, attr[p[5] - '0'].r, f32);
            p += 7;
        } else if (isdigit((unsigned char)*p)) {
            size_t n = strspn(p, "0123456789.");
            bool real = memchr(p, '.', n) != NULL;
            buf_put(b, p, n);
            if (real && f32) buf_puts(b, "f");
            p += n;
        } else if (isalpha((unsigned char)*p) || *p == '_') { /* digits in names are no numbers */
            size_t n = 1;
            while (isalnum((unsigned char)p[n]) || p[n] == '_') n++;
            buf_put(b, p, n);
            p += n;
        } else {
            buf_put(b, p++, 1);
        }
    }
}

void kernel_helpers(struct maker *m)
{
    buf_puts(&m->text, "\n// ---- what formulas call ----\n");
    for (size_t i = 0; i < COUNT_OF(helpers); i++)
        for (int f32 = 0; f32 <= !is_reference(m); f32++) {
            const char *real = f32 ? "float" : "double";
            buf_printf(&m->text, "DEVICE %s %s(%s x) { return ", real, helpers[i].name, real);
            put_formula(&m->text, helpers[i].text, NULL, f32);
            buf_puts(&m->text, "; }\n");
        }
}

/* DEVICE double PREFIXf3(double a, double b, double c, i64 at) */
static void put_function(struct maker *m, const struct op *op, const char *real)
{
    buf_printf(&m->text,
               "\nDEVICE %s %sf%d(%s a, %s b, %s c, i64 at)\n{\n    %s x = a;\n    return ", real,
               m->prefix, op->index, real, real, real, real);
    put_formula(&m->text, formulas[op->id], op->attr, strcmp(real, "float") == 0);
    buf_puts(&m->text, ";\n}\n");
}

/* ---- bounds
 * ------------------------------------------------------------------------------------------- */

static const char *of_function(struct maker_kernel *k, int moved, const char *by)
{
    static const char *const names[] = {"a", "b", "c"};
    const char *in[3];
    for (int i = 0; i < 3; i++)
        in[i] = i == moved ? arena_printf(k->m->a, "%s %s e%s", names[i], by, names[i]) : names[i];
    return arena_printf(k->m->a, "%sf%d(%s, %s, %s, at)", k->m->prefix, k->op->index, in[0], in[1],
                        in[2]);
}

/* The distance of neighbours of type t at y, as prelude.cu computes it. */
static const char *ulp_text(struct arena *a, enum dtype t, const char *y)
{
    if (dtypes[t].klass != DTC_float) return "1.0";
    int fraction = dtypes[t].significand - 1;
    int least = ilogb(dtype_ulp(t, 0)) + fraction, most = ilogb(dtype_ulp(t, INFINITY)) + fraction;
    return arena_printf(a, "ulp(%s, %d, %d, %d)", y, fraction, least, most);
}

/* Declares `bound` from y, a, b, c and what ea, eb, ec say of them. */
static void say_bound(struct maker_kernel *k, const struct operand *in, int n)
{
    static const char *const names[] = {"a", "b", "c"};
    const struct op *op = k->op;
    unsigned traits = ops[op->id].traits;
    const char *last = names[n - 1];
    if (traits & OPT_index) {
        kernel_say(k, "    double bound = 0;\n");
        return;
    }
    if (op->id == OP_cast) { /* the rounding may fall to the other neighbour */
        enum dtype to = op->out[0]->type;
        kernel_say(k, "    y = round_%s(y);\n    double bound = ea%s%s;\n", dtypes[to].name,
                   to == op->in[0]->type ? "" : " + ",
                   to == op->in[0]->type ? "" : ulp_text(k->m->a, to, "y"));
        return;
    }
    if (traits & OPT_exponential)
        kernel_say(k, "    if (isfinite(%s)) e%s += %s * fabs(%s);\n", last, last, "0x1p-23", last);
    kernel_say(k, "    double bound = 0;\n");
    for (int i = 0; i < n; i++)
        if (in[i].bound || (traits & OPT_exponential && i == n - 1))
            kernel_say(k, "    if (e%s > 0) bound += moved(%s, %s, y);\n", names[i],
                       of_function(k, i, "+"), of_function(k, i, "-"));
    if (traits & (OPT_comparison | OPT_logical)) return;
    kernel_say(k, "    if (isfinite(y)) bound += 0x1p-21 * fabs(y);\n");
    if (traits & OPT_cancels)
        kernel_say(k, "    if (isfinite(a)) bound += 0x1p-23 * fabs(a)%s;\n",
                   n == 2 ? " * (isfinite(b) ? 1 + fabs(b) : 1)" : "");
}

/* ---- kernels
 * ------------------------------------------------------------------------------------------ */

bool kernel_pointwise(struct maker *m, const struct op *op)
{
    static const char *const names[] = {"a", "b", "c"};
    const struct op_info *info = &ops[op->id];
    const struct value *y = op->out[0];
    const char *real = real_of(m, op);
    int64_t count = 1;
    if (!formulas[op->id]) return false;
    dims_count(y->rank, y->dim, &count);
    put_function(m, op, real);
    struct maker_kernel k = kernel_begin(m, op, "", count);
    struct operand in[3] = {{0}};
    kernel_indices_by(&k, y->rank, y->dim, m->place[y->id].stride, "i", "x");
    const char *const *x = index_names(m->a, "x", MAX_RANK);
    for (int i = 0; i < 3; i++) {
        bool is_there = i < info->n_in;
        bool is_read = is_there && !(info->traits & OPT_index);
        if (is_read) in[i] = kernel_operand(&k, op->in[i]);
        kernel_say(&k, "    %s %s = %s;\n", real, names[i],
                   is_read ? element_text(&k, &in[i], x) : "0");
        if (is_reference(m))
            kernel_say(&k, "    double e%s = %s;\n", names[i],
                       is_read ? bound_text(&k, &in[i], x) : "0");
    }
    if (info->traits & OPT_index)
        kernel_say(&k, "    i64 at = x%d;\n", (int)op->attr[0].i);
    else
        kernel_say(&k, "    i64 at = 0;\n");
    kernel_say(&k, "    %s y = %s;\n", real, of_function(&k, -1, ""));
    if (is_reference(m)) say_bound(&k, in, info->n_in);
    kernel_store(&k, y, "x", "y", "bound");
    kernel_end(&k, (double)count, NULL);
    return true;
}

/* Names of the variables that hold the operand's indices. */
static const char *const *view_from(struct maker_kernel *k, const struct op *op)
{
    const struct value *x = op->in[0], *y = op->out[0];
    struct arena *a = k->m->a;
    const char **names = NEW_N(a, const char *, MAX_RANK);
    if (op->id == OP_reshape || op->id == OP_copy) {
        kernel_indices(k, x->rank, x->dim, "i", "z");
        return index_names(a, "z", x->rank);
    }
    for (int i = 0; i < y->rank; i++) {
        if (op->id == OP_transpose)
            names[attr_of(op, "axes")->list[i]] = arena_printf(a, "x%d", i);
        else
            names[i] = arena_printf(a, "(%lldLL + x%d * %lldLL)",
                                    (long long)attr_of(op, "start")->list[i], i,
                                    (long long)attr_of(op, "step")->list[i]);
    }
    return names;
}

bool kernel_view(struct maker *m, const struct op *op)
{
    const struct value *y = op->out[0];
    int64_t count = 1;
    if (op->id != OP_transpose && op->id != OP_reshape && op->id != OP_slice &&
        op->id != OP_copy)
        return false;
    dims_count(y->rank, y->dim, &count);
    struct maker_kernel k = kernel_begin(m, op, "", count);
    if (op->id == OP_reshape || op->id == OP_copy) /* by the flat index that both have */
        kernel_indices(&k, y->rank, y->dim, "i", "x");
    else
        kernel_indices_by(&k, y->rank, y->dim, m->place[y->id].stride, "i", "x");
    const char *const *names = view_from(&k, op);
    struct operand from = kernel_operand(&k, op->in[0]);
    kernel_store(&k, y, "x", element_text(&k, &from, names), bound_text(&k, &from, names));
    kernel_end(&k, (double)count, NULL);
    return true;
}
