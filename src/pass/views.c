/* views: an input that is read in one other order of its axes gets that order: dims and strides
 * change places, bytes stay.
 *
 * Invariant: after it no view is left. A tensor is bound once, so one that is read in two orders
 * would have to be two tensors; a computed value would have to be moved in memory. Both are refused
 * by name. */
#include "pass/passes.h"

static struct diag *refuse(struct session *s, const struct op *op, const char *why,
                           const char *hint)
{
    struct diag *d = diag(s, DIAG_no_lowering, op->span, "'%s' %s", ops[op->id].name, why);
    diag_hint(s, d, "%s", hint);
    return d;
}

static bool same_axes(const struct op *a, const struct op *b)
{
    int k = op_attr_index(a->id, "axes");
    return b->id == a->id && memcmp(a->attr[k].list, b->attr[k].list,
                                    sizeof *a->attr[k].list * (size_t)a->attr[k].n) == 0;
}

/* A view that is an output is a copy of what it looks at. */
static void copy_instead(struct arena *a, struct op *view)
{
    view->id = OP_cast;
    view->attr = NEW_N(a, struct attr, op_n_attrs(OP_cast));
    view->attr[op_attr_index(OP_cast, "type")] = (struct attr){.given = true,
                                                               .i = view->out[0]->type};
}

/* The op's input in the view's order; every view of it alike becomes the input itself. */
static bool fold(struct session *s, struct graph *g, struct op *view)
{
    struct value *x = view->in[0], old = *x;
    const int64_t *axes = view->attr[op_attr_index(view->id, "axes")].list;
    if (x->role != VAL_INPUT) {
        refuse(s, view, "of a computed value would move it in memory, which is not supported yet",
               "write the order into the input's dims and strides, or hand the value over as an "
               "output");
        return false;
    }
    for (size_t i = 0; i < g->ops.n; i++)
        for (int k = 0; k < ops[g->ops.at[i]->id].n_in; k++) {
            if (g->ops.at[i]->in[k] != x || same_axes(view, g->ops.at[i])) continue;
            struct diag *d = refuse(
                s, view, "of an input that is read in another order too",
                "declare a second input: the launcher takes one pointer for both");
            diag_note(s, d, g->ops.at[i]->span, "it is read as it is here");
            return false;
        }
    for (int i = 0; i < x->rank; i++) {
        x->dim[i] = old.dim[axes[i]];
        x->stride[i] = old.stride[axes[i]];
    }
    x->layout = LAYOUT_strides;
    for (size_t i = 0; i < g->ops.n; i++)
        for (int k = 0; k < ops[g->ops.at[i]->id].n_in; k++) {
            struct op *by = g->ops.at[i]->in[k] ? g->ops.at[i]->in[k]->producer : NULL;
            if (by && by->in[0] == x && same_axes(view, by)) g->ops.at[i]->in[k] = x;
        }
    struct op like = *view;
    for (size_t i = 0; i < g->ops.n; i++) {
        struct op *op = g->ops.at[i];
        if (op->in[0] == x && same_axes(&like, op) && op->out[0]->role == VAL_OUTPUT)
            copy_instead(s->arena, op);
    }
    return true;
}

static bool is_read(const struct graph *g, const struct value *v)
{
    for (size_t i = 0; i < g->ops.n; i++)
        for (int k = 0; k < ops[g->ops.at[i]->id].n_in; k++)
            if (g->ops.at[i]->in[k] == v) return true;
    return false;
}

bool fold_views(struct session *s, struct graph *g)
{
    bool ok = true;
    for (size_t i = 0; i < g->ops.n; i++) {
        struct op *op = g->ops.at[i];
        bool is_output = op->out[0] && op->out[0]->role == VAL_OUTPUT;
        if (ops[op->id].family != FAM_view) continue;
        /* one that nobody reads went with another view alike */
        if ((is_output || is_read(g, op->out[0])) && !fold(s, g, op))
            ok = false;
        else if (is_output)
            copy_instead(s->arena, op);
    }
    if (ok) ir_sort(s->arena, g);
    return ok;
}
