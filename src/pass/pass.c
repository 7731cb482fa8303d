/* What several passes need: names, places for complaints, axes, components. */
#include "pass/passes.h"

#include <inttypes.h>

const char *const pass_stages[] = {"simplify", "partition", "redescribe"};
const size_t n_pass_stages = COUNT_OF(pass_stages);

const char *pass_dims_text(struct arena *a, int rank, const int64_t *dim)
{
    const char *text = "[";
    for (int k = 0; k < rank; k++)
        text = arena_printf(a, "%s%s%" PRId64, text, k ? ", " : "", dim[k]);
    return arena_printf(a, "%s]", text);
}

struct op *pass_op_at(const struct component *c, const struct value *v)
{
    if (v->producer && v->producer->id != OP_cast) return v->producer;
    for (size_t k = 0; k < c->ops.n; k++) {
        const struct op *op = c->ops.at[k];
        for (int j = 0; j < ops[op->id].n_in; j++) {
            if (op->in[j] == v) return c->ops.at[k];
        }
    }
    return v->producer ? v->producer : c->ops.at[0];
}

const struct op *pass_index_along(const struct component *c, int axis)
{
    for (size_t k = 0; k < c->ops.n; k++) {
        const struct op *op = c->ops.at[k];
        if ((ops[op->id].traits & OPT_index) && op->attr[0].i == axis) return op;
    }
    return NULL;
}

bool pass_renumber_axes(struct session *s, const struct component *c, const int *to)
{
    for (size_t k = 0; k < c->ops.n; k++) {
        struct op *op = c->ops.at[k];
        if (!(ops[op->id].traits & OPT_index)) continue;
        int64_t axis = op->attr[0].i;
        if (to[axis] < 0) {
            diag(s, DIAG_no_form, op->span,
                 "no cuDNN engine takes this form: axis %" PRId64
                 " is folded with others, and '%s' counts along it",
                 axis, ops[op->id].name);
            return false;
        }
        op->attr[0].i = to[axis];
    }
    return true;
}

/* ---- components ---------------------------------------------------------------------------- */

static int root(int *of, int k)
{
    while (of[k] != k) k = of[k] = of[of[k]];
    return k;
}

components_vec pass_components(struct arena *a, const struct graph *g, bool by_inputs)
{
    components_vec found = {0};
    int *of = NEW_N(a, int, g->ops.n + 1);
    int *reader = NEW_N(a, int, g->values.n + 1); /* 1 + an op that reads or makes the value */
    struct component **at = NEW_N(a, struct component *, g->ops.n + 1);
    for (size_t k = 0; k < g->ops.n; k++) {
        const struct op *op = g->ops.at[k];
        of[k] = (int)k;
        for (int j = 0; j < ops[op->id].n_in; j++) {
            const struct value *v = op->in[j];
            if (!v->producer && (v->rank == 0 || !by_inputs)) continue;
            if (reader[v->id]) of[root(of, reader[v->id] - 1)] = root(of, (int)k);
            reader[v->id] = (int)k + 1;
        }
        for (int j = 0; j < ops[op->id].n_out; j++) {
            if (op->out[j]) reader[op->out[j]->id] = (int)k + 1;
        }
    }
    bool *listed = NEW_N(a, bool, g->values.n + 1);
    for (size_t k = 0; k < g->ops.n; k++) {
        struct op *op = g->ops.at[k];
        int r = root(of, (int)k);
        if (!at[r]) {
            at[r] = NEW(a, struct component);
            vec_push(a, &found, at[r]);
        }
        struct component *c = at[r];
        vec_push(a, &c->ops, op);
        if (is_anchor(op) && !c->anchor) c->anchor = op;
        int n_in = ops[op->id].n_in, n = n_in + ops[op->id].n_out;
        for (int j = 0; j < n; j++) {
            struct value *v = j < n_in ? op->in[j] : op->out[j - n_in];
            if (!v || v->rank == 0 || listed[v->id]) continue;
            listed[v->id] = true;
            vec_push(a, &c->values, v);
            c->rank = v->rank;
        }
    }
    return found;
}
