/* print: the text of a graph, for goldens, `-d ir` and a plan's graph.ir.
 *
 * Invariant: complete and deterministic. Everything that decides a result or an address is printed;
 * nothing of the run that printed it (pointers, spans, times) is. */
#include "ir/ir.h"

static const char *const layout_names[] = {"row_major", "channels_last", "col_major", "order",
                                           "strides"};

static void print_ref(const struct value *v, struct buf *out)
{
    buf_printf(out, "%s%%%lld", v->name != NULL ? v->name : "", (long long)v->uid);
}

static void print_list(const int64_t *at, int n, struct buf *out)
{
    for (int i = 0; i < n; i++) buf_printf(out, "%s%lld", i > 0 ? ", " : "", (long long)at[i]);
}

/* Integers as integers: they are exact in f64 up to 2^53, and sema admits no others. */
static void print_literal(const struct value *v, struct buf *out)
{
    buf_puts(out, " = ");
    if (dtypes[v->type].klass == DTC_float) buf_real(out, v->literal);
    else buf_printf(out, "%lld", (long long)v->literal);
}

/* name%uid : type[dims] strides(...) layout align(n) */
static void print_value(const struct value *v, struct buf *out)
{
    print_ref(v, out);
    buf_printf(out, " : %s", dtypes[v->type].name);
    if (v->rank == 0) return;
    buf_puts(out, "[");
    print_list(v->dim, v->rank, out);
    buf_puts(out, "] strides(");
    print_list(v->stride, v->rank, out);
    buf_printf(out, ") %s align(%lld)", layout_names[v->layout], (long long)v->align);
    if (v->pinned) buf_puts(out, " pinned");
    if (v->stored && v->role == VAL_TEMP) buf_puts(out, " stored");
    if (v->base)
        buf_printf(out, " in(%%%lld, %lld)", (long long)v->base, (long long)v->offset);
}

static void print_attr(const struct attr_info *info, const struct attr *x, struct buf *out)
{
    char word[64];
    switch (info->kind) {
    case ATTR_none: break;
    case ATTR_INT: buf_printf(out, " %s=%lld", info->name, (long long)x->i); break;
    case ATTR_REAL:
        buf_printf(out, " %s=", info->name);
        buf_real(out, x->r);
        break;
    case ATTR_BOOL: buf_printf(out, " %s=%s", info->name, x->i ? "true" : "false"); break;
    case ATTR_INTS:
    case ATTR_AXES:
        if (x->n == 0) break;
        buf_printf(out, " %s=[", info->name);
        print_list(x->list, x->n, out);
        buf_puts(out, "]");
        break;
    case ATTR_CHOICE:
        buf_printf(out, " %s=%s", info->name, word_at(info->choices, (int)x->i, word));
        break;
    case ATTR_DTYPE:
        if (x->i != DT_none) buf_printf(out, " %s=%s", info->name, dtypes[x->i].name);
        break;
    case ATTR_MASK:
        if (x->i != MASK_window) {
            buf_printf(out, " %s=%s", info->name, x->i == MASK_causal ? "causal" : "none");
            break;
        }
        buf_printf(out, " %s=window(", info->name);
        if (x->list[0] >= 0) buf_printf(out, "left=%lld", (long long)x->list[0]);
        if (x->list[1] >= 0)
            buf_printf(out, "%sright=%lld", x->list[0] >= 0 ? ", " : "", (long long)x->list[1]);
        buf_puts(out, ")");
        break;
    }
}

void ir_print_attrs(const struct op *op, struct buf *out)
{
    const struct op_info *info = &ops[op->id];
    for (int i = 0, k = op_n_attrs(op->id); i < k; i++)
        if (strcmp(info->attr[i].name, "compute") != 0)
            print_attr(&info->attr[i], &op->attr[i], out);
    buf_printf(out, " compute=%s", dtypes[op->compute].name);
}

static void print_op(const struct op *op, struct buf *out)
{
    const struct op_info *info = &ops[op->id];
    int n = info->n_out;
    while (n > 1 && op->out[n - 1] == NULL) n--;
    buf_puts(out, "  ");
    for (int i = 0; i < n; i++) {
        if (i > 0) buf_puts(out, ", ");
        if (op->out[i] == NULL) buf_puts(out, "_");
        else if (op->out[i]->role == VAL_OUTPUT) print_ref(op->out[i], out);
        else print_value(op->out[i], out);
    }
    buf_printf(out, " = %s(", info->name);
    for (int i = 0; i < info->n_in; i++) {
        if (i > 0) buf_puts(out, ", ");
        print_ref(op->in[i], out);
    }
    buf_puts(out, ")");
    ir_print_attrs(op, out);
    if (op->promise != NULL)
        buf_printf(out, " epilogue=%s#%d", op->promise->name, op->promise->number);
    buf_puts(out, "\n");
}

static void print_interface(const char *word, const values_vec *v, struct buf *out)
{
    for (size_t i = 0; i < v->n; i++) {
        buf_printf(out, "  %s ", word);
        print_value(v->at[i], out);
        if (v->at[i]->has_default) print_literal(v->at[i], out);
        buf_puts(out, "\n");
    }
}

static bool listed(const values_vec *all, const struct value *v)
{
    for (size_t i = 0; i < all->n; i++)
        if (all->at[i] == v) return true;
    return false;
}

void ir_print(const struct graph *g, struct buf *out)
{
    buf_printf(out, "graph %s\n", g->name);
    for (size_t i = 0; i < g->params.n; i++) {
        const struct graph_param *p = &g->params.at[i];
        buf_printf(out, "  param %s = ", p->name);
        if (p->is_type) buf_puts(out, dtypes[p->type].name);
        else buf_printf(out, "%lld", (long long)p->i);
        buf_puts(out, p->is_variant ? " variant\n" : "\n");
    }
    if (g->compute != DT_none) buf_printf(out, "  compute %s\n", dtypes[g->compute].name);
    print_interface("input", &g->inputs, out);
    for (size_t i = 0; i < g->values.n; i++) {
        if (!g->values.at[i]->base || listed(&g->inputs, g->values.at[i])) continue;
        buf_puts(out, "  view ");
        print_value(g->values.at[i], out);
        buf_puts(out, "\n");
    }
    print_interface("scalar", &g->scalars, out);
    print_interface("output", &g->outputs, out);
    for (size_t i = 0; i < g->values.n; i++) {
        const struct value *v = g->values.at[i];
        if (v->role != VAL_CONST) continue;
        buf_puts(out, "  const ");
        print_value(v, out);
        print_literal(v, out);
        buf_puts(out, "\n");
    }
    for (size_t i = 0; i < g->ops.n; i++) print_op(g->ops.at[i], out);
}
