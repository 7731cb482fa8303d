/* text: how a kernel is put together: parameters, indices, loads and stores. */
#include <math.h>
#include <stdlib.h>

#include "kernel/internal.h"

void put_number(struct buf *b, double x, bool f32)
{
    buf_puts(b, "(");
    if (isnan(x) || isinf(x))
        buf_puts(b, isnan(x) ? "NOT_A_NUMBER" : x < 0 ? "-INF" : "INF");
    else
        buf_real(b, x);
    if (f32 && isfinite(x)) buf_puts(b, "f");
    buf_puts(b, ")");
}

struct maker_kernel kernel_begin(struct maker *m, const struct op *op, const char *suffix,
                                 int64_t count)
{
    struct maker_kernel k = {.m = m, .op = op};
    k.launch = (struct kernel_launch){
        .name = op ? arena_printf(m->a, "%sk%d%s", m->prefix, op->index, suffix)
                   : arena_printf(m->a, "%s%s", m->prefix, suffix),
        .op = op,
        .what = op ? ops[op->id].name : "",
        .count = count};
    return k;
}

const char *kernel_pointer(struct maker_kernel *k, struct kernel_arg at)
{
    const char *name = arena_printf(k->m->a, "p%zu", k->launch.args.n);
    vec_push(k->m->a, &k->launch.args, at);
    buf_printf(&k->params, "void *%s, ", name);
    return name;
}

const char *kernel_buffer(struct maker_kernel *k, int buffer)
{
    return kernel_pointer(k, (struct kernel_arg){.buffer = buffer});
}

void kernel_say(struct maker_kernel *k, const char *fmt, ...)
{
    va_list args;
    char *line = NULL;
    size_t n = 0;
    va_start(args, fmt);
    FILE *f = open_memstream(&line, &n);
    if (f) {
        vfprintf(f, fmt, args);
        fclose(f);
        buf_put(&k->body, line, n);
    }
    free(line);
    va_end(args);
}

void axes_by_stride(int rank, const int64_t *stride, int *axis)
{
    for (int i = 0; i < rank; i++) {
        int k = i;
        for (; k > 0 && stride[axis[k - 1]] < stride[i]; k--) axis[k] = axis[k - 1];
        axis[k] = i;
    }
}

/* Divisions are of 32 bits where the count allows it: those of 64 take longer than the loads. */
void kernel_indices_by(struct maker_kernel *k, int rank, const int64_t *dim, const int64_t *stride,
                       const char *flat, const char *prefix)
{
    int axis[MAX_RANK];
    int64_t count = 1, below = 1;
    axes_by_stride(rank, stride, axis);
    for (int i = 0; i < rank; i++) count *= dim[i];
    const char *as = count < INT32_MAX ? "(u32)" : "", *suffix = count < INT32_MAX ? "u" : "LL";
    for (int n = rank - 1; n >= 0; n--) {
        int i = axis[n];
        kernel_say(k, "    i64 %s%d = ", prefix, i);
        if (dim[i] == 1)
            kernel_say(k, "0");
        else
            kernel_say(k, "%s%s", as, flat);
        if (dim[i] != 1 && below != 1) kernel_say(k, " / %lld%s", (long long)below, suffix);
        if (dim[i] != 1 && below * dim[i] != count)
            kernel_say(k, " %% %lld%s", (long long)dim[i], suffix);
        kernel_say(k, ";\n");
        below *= dim[i];
    }
}

void kernel_indices(struct maker_kernel *k, int rank, const int64_t *dim, const char *flat,
                    const char *prefix)
{
    static const int64_t equal[MAX_RANK];
    kernel_indices_by(k, rank, dim, equal, flat, prefix);
}

const char *const *index_names(struct arena *a, const char *prefix, int rank)
{
    const char **names = NEW_N(a, const char *, MAX_RANK);
    for (int i = 0; i < rank; i++) names[i] = arena_printf(a, "%s%d", prefix, i);
    return names;
}

struct operand kernel_operand(struct maker_kernel *k, const struct value *v)
{
    const struct storage *p = &k->m->place[v->id];
    struct operand o = {.place = p, .value = v};
    if (p->literal) return o;
    o.at = kernel_pointer(k, p->at);
    if (p->bound >= 0) o.bound = kernel_buffer(k, p->bound);
    return o;
}

/* The element offset of indices; axes of size 1 do not count. */
static const char *offset(struct arena *a, const struct value *v, const int64_t *stride,
                          const char *const *index)
{
    const char *text = NULL;
    for (int i = 0; i < v->rank; i++) {
        if (v->dim[i] == 1 || stride[i] == 0) continue;
        const char *one = stride[i] == 1
                              ? index[i]
                              : arena_printf(a, "%s * %lldLL", index[i], (long long)stride[i]);
        text = text ? arena_printf(a, "%s + %s", text, one) : one;
    }
    return text ? text : "0";
}

const char *element_text(struct maker_kernel *k, const struct operand *o, const char *const *index)
{
    struct arena *a = k->m->a;
    if (!o->place->literal)
        return arena_printf(a, "load_%s(%s, %s)", dtypes[o->place->type].name, o->at,
                            offset(a, o->value, o->place->stride, index));
    struct buf b = {0};
    put_number(&b, o->place->number, false);
    const char *text = arena_strndup(a, b.at, b.n);
    buf_fini(&b);
    return text;
}

const char *bound_text(struct maker_kernel *k, const struct operand *o, const char *const *index)
{
    if (!o->bound) return "0";
    return arena_printf(k->m->a, "load_f64(%s, %s)", o->bound,
                        offset(k->m->a, o->value, o->place->stride, index));
}

void kernel_store(struct maker_kernel *k, const struct value *v, const char *prefix,
                  const char *value, const char *bound)
{
    struct maker *m = k->m;
    const struct storage *p = &m->place[v->id];
    const char *at = offset(m->a, v, p->stride, index_names(m->a, prefix, v->rank));
    kernel_say(k, "    store_%s(%s, %s, %s);\n", dtypes[p->type].name, kernel_pointer(k, p->at), at,
               value);
    if (p->bound >= 0)
        kernel_say(k, "    store_f64(%s, %s, %s);\n", kernel_buffer(k, p->bound), at, bound);
}

void kernel_end(struct maker_kernel *k, double cost, struct kernel_launch *copy)
{
    struct maker *m = k->m;
    k->launch.cost = cost;
    buf_printf(&m->text, "\n// %s\nKERNEL %s(%si64 first, i64 count)\n{\n", k->launch.what,
               k->launch.name, k->params.n ? k->params.at : "");
    buf_puts(&m->text, "    i64 i = element();\n    if (i >= count) return;\n    i += first;\n");
    buf_put(&m->text, k->body.at ? k->body.at : "", k->body.n);
    buf_puts(&m->text, "}\n");
    buf_fini(&k->params);
    buf_fini(&k->body);
    if (copy)
        *copy = k->launch;
    else
        vec_push(m->a, &m->out->launches, k->launch);
}
