/* key: what decides which plan is the fastest, as one name.
 *
 * Invariant: two keys are equal only if every part is; where two writings of one graph cannot be
 * told to be the same, they have different keys, which costs a search and never gives a wrong
 * plan. */
#include <stdlib.h>

#include "tune/internal.h"

/* ---- the region's canonical text ------------------------------------------------------------ */

/* Outputs with equal labels are tried in every order, up to so many orders in all. */
enum { MAX_ORDERS = 120 };

struct canon {
    struct arena *a;
    const struct graph *g;
    uint64_t *label; /* by value id: of all that it is computed from, without regard to sharing */
    int *number;     /* by value id, from 1 in the order of the text; 0: not yet */
    bool *done;      /* by op index */
    int next, orders;
};

static uint64_t mix(uint64_t h, const void *bytes, size_t n)
{
    const unsigned char *p = bytes; /* FNV-1a: only an order, never an identity, hangs on it */
    for (size_t i = 0; i < n; i++) h = (h ^ p[i]) * 1099511628211u;
    return h;
}

/* What a value is, apart from how it is computed. */
static void describe(const struct value *v, struct buf *out)
{
    static const char *const roles[] = {[VAL_INPUT] = "input",
                                        [VAL_OUTPUT] = "output",
                                        [VAL_SCALAR] = "scalar",
                                        [VAL_CONST] = "const",
                                        [VAL_TEMP] = "temp"};
    buf_printf(out, "%s %s", roles[v->role], dtypes[v->type].name);
    for (int i = 0; i < v->rank; i++)
        buf_printf(out, "%s%lld", i ? "," : " [", (long long)v->dim[i]);
    for (int i = 0; i < v->rank; i++)
        buf_printf(out, "%s%lld", i ? "," : "] (", (long long)v->stride[i]);
    if (v->rank) buf_printf(out, ") align %lld", (long long)v->align);
    if (v->stored) buf_puts(out, " stored");
    if (v->role == VAL_CONST) {
        buf_puts(out, " ");
        buf_real(out, v->literal);
    }
}

static void label_values(struct canon *c)
{
    for (size_t i = 0; i < c->g->values.n; i++) {
        struct buf b = {0};
        describe(c->g->values.at[i], &b);
        c->label[c->g->values.at[i]->id] = mix(14695981039346656037u, b.at, b.n);
        buf_fini(&b);
    }
    for (size_t i = 0; i < c->g->ops.n; i++) {
        const struct op *op = c->g->ops.at[i];
        struct buf b = {0};
        buf_puts(&b, ops[op->id].name);
        ir_print_attrs(op, &b);
        uint64_t h = mix(14695981039346656037u, b.at, b.n);
        buf_fini(&b);
        for (int k = 0; k < ops[op->id].n_in; k++)
            if (op->in[k]) h = mix(h, &c->label[op->in[k]->id], sizeof h);
        for (int k = 0; k < ops[op->id].n_out; k++) {
            if (!op->out[k]) continue;
            uint64_t *own = &c->label[op->out[k]->id];
            *own = mix(mix(h, own, sizeof *own), &k, sizeof k);
        }
    }
}

static void put_value(struct canon *c, const struct value *v, struct buf *out)
{
    if (c->number[v->id]) return;
    c->number[v->id] = c->next++;
    buf_printf(out, "%%%d ", c->number[v->id]);
    describe(v, out);
    buf_puts(out, "\n");
}

static void put_op(struct canon *c, const struct op *op, struct buf *out)
{
    const struct op_info *info = &ops[op->id];
    for (int k = 0; k < info->n_in; k++)
        if (op->in[k]) put_value(c, op->in[k], out);
    for (int k = 0; k < info->n_out; k++)
        if (op->out[k]) put_value(c, op->out[k], out);
    for (int k = 0; k < info->n_out; k++)
        buf_printf(out, "%s%%%d", k ? " " : "", op->out[k] ? c->number[op->out[k]->id] : 0);
    buf_printf(out, " = %s", info->name);
    for (int k = 0; k < info->n_in; k++)
        buf_printf(out, " %%%d", op->in[k] ? c->number[op->in[k]->id] : 0);
    ir_print_attrs(op, out);
    buf_puts(out, "\n");
}

/* Everything that `last` needs, operands before results. A chain may be 100,000 long: no recursion.
 */
static void put_ops(struct canon *c, const struct op *last, const struct op **stack,
                    struct buf *out)
{
    size_t n = 0;
    if (!last || c->done[last->index]) return;
    stack[n++] = last;
    while (n) {
        const struct op *op = stack[n - 1], *first = NULL;
        for (int k = 0; !first && k < ops[op->id].n_in; k++)
            if (op->in[k] && op->in[k]->producer && !c->done[op->in[k]->producer->index])
                first = op->in[k]->producer;
        if (first) {
            stack[n++] = first;
            continue;
        }
        c->done[op->index] = true;
        put_op(c, op, out);
        n--;
    }
}

static char *write_text(struct canon *c, struct value *const *order)
{
    const struct graph *g = c->g;
    struct buf out = {0};
    memset(c->number, 0, sizeof *c->number * (g->values.n + 1));
    memset(c->done, 0, g->ops.n + 1);
    c->next = 1;
    int rank = 1; /* by-value tensors take the largest rank there is */
    for (size_t i = 0; i < g->values.n; i++)
        if (g->values.at[i]->rank > rank) rank = g->values.at[i]->rank;
    buf_printf(&out, "rank %d\n", rank);
    const struct op **stack = NEW_N(c->a, const struct op *, g->ops.n + 1);
    for (size_t i = 0; i < g->outputs.n; i++) put_ops(c, order[i]->producer, stack, &out);
    for (size_t i = 0; i < g->ops.n; i++) put_ops(c, g->ops.at[i], stack, &out);
    char *text = arena_strndup(c->a, out.at, out.n);
    buf_fini(&out);
    return text;
}

/* The least text over the orders of outputs that labels do not tell apart. */
static void try_orders(struct canon *c, struct value **order, size_t at, char **best)
{
    size_t n = c->g->outputs.n;
    if (c->orders >= MAX_ORDERS) return;
    if (at == n) {
        c->orders++;
        char *text = write_text(c, order);
        if (!*best || strcmp(text, *best) < 0) *best = text;
        return;
    }
    size_t end = at + 1;
    while (end < n && c->label[order[end]->id] == c->label[order[at]->id]) end++;
    for (size_t i = at; i < end; i++) {
        struct value *v = order[at];
        order[at] = order[i];
        order[i] = v;
        try_orders(c, order, at + 1, best);
        order[i] = order[at];
        order[at] = v;
    }
}

char *tune_region(struct arena *a, const struct graph *g)
{
    struct canon c = {.a = a, .g = g};
    c.label = NEW_N(a, uint64_t, g->values.n + 1);
    c.number = NEW_N(a, int, g->values.n + 1);
    c.done = NEW_N(a, bool, g->ops.n + 1);
    label_values(&c);
    struct value **order = NEW_N(a, struct value *, g->outputs.n + 1);
    for (size_t i = 0; i < g->outputs.n; i++) { /* few: insertion, stable */
        size_t k = i;
        for (; k > 0 && c.label[order[k - 1]->id] > c.label[g->outputs.at[i]->id]; k--)
            order[k] = order[k - 1];
        order[k] = g->outputs.at[i];
    }
    char *best = NULL;
    try_orders(&c, order, 0, &best);
    return best;
}

/* ---- the key -------------------------------------------------------------------------------- */

json_t *key_json(const struct tune_key *k, bool build)
{
    json_t *j = json_pack("{s:i, s:s, s:s, s:I, s:s, s:I, s:b}", "lowering", TUNE_LOWERING,
                          "region", k->region, "target", k->target, "cudnn", (json_int_t)k->cudnn,
                          "nvrtc", k->nvrtc, "workspace_limit",
                          (json_int_t)(k->workspace_limit < 0 ? -1 : k->workspace_limit),
                          "deterministic", k->deterministic);
    if (!build) {
        json_object_set_new(j, "policy", json_integer(TUNE_POLICY));
        json_object_set_new(j, "driver", json_integer((json_int_t)k->driver));
    }
    return j;
}

static void name(const struct tune_key *k, bool build, char out[65])
{
    struct buf b = {0};
    json_t *j = key_json(k, build);
    json_print(j, &b);
    sha256_hex(b.at, b.n, out);
    json_decref(j);
    buf_fini(&b);
}

void tune_key_name(const struct tune_key *k, char out[65])
{
    name(k, false, out);
}

void tune_key_build_name(const struct tune_key *k, char out[65])
{
    name(k, true, out);
}
