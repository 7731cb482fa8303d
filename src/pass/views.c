/* views: what reads a view of an input reads the input itself, under other dims and strides.
 *
 * Invariant: after it no view of an input is left, and no byte has moved. A tensor is bound once,
 * at its beginning: one that is read in two ways, or not from its first element, would have to be
 * two tensors; a computed value would have to be moved in memory. All are refused by name. */
#include "pass/passes.h"

struct walk { /* where elements lie */
    int rank;
    int64_t dim[MAX_RANK], stride[MAX_RANK];
    int64_t offset; /* of the first, from the input's first, in elements */
};

static struct walk walk_of(const struct value *v)
{
    struct walk p = {.rank = v->rank};
    memcpy(p.dim, v->dim, sizeof p.dim);
    memcpy(p.stride, v->stride, sizeof p.stride);
    return p;
}

static const int64_t *list_of(const struct op *view, const char *name)
{
    return view->attr[op_attr_index(view->id, name)].list;
}

/* The axes of x from *i on that hold n elements and are walked with one step; false where there is
 * a step between them. Axes of size 1 address nothing. */
static bool one_run(const struct walk *x, int *i, int64_t n, int64_t *step)
{
    int64_t held = 1, next;
    *step = 0;
    for (; held < n; ++*i) {
        if (x->dim[*i] == 1) continue;
        if (held > 1 && (!i64_mul(x->stride[*i], x->dim[*i], &next) || next != *step)) return false;
        *step = x->stride[*i];
        held *= x->dim[*i];
    }
    return true;
}

/* Runs of x's axes beside the runs of y's that hold as many elements, the fewest at a time. */
static bool reshape(const struct walk *x, const struct value *like, struct walk *y)
{
    int i = 0, k = 0;
    y->rank = like->rank;
    y->offset = x->offset;
    memcpy(y->dim, like->dim, sizeof y->dim);
    for (int j = 0; j < y->rank; j++) y->stride[j] = 1;
    while (i < x->rank && k < y->rank) {
        int from = i, to = k;
        int64_t have = x->dim[i++], want = y->dim[k++], step;
        while (have != want) {
            if (have < want)
                have *= x->dim[i++];
            else
                want *= y->dim[k++];
        }
        if (!one_run(x, &from, have, &step)) return false;
        for (int j = k - 1; j >= to; j--) {
            y->stride[j] = have == 1 ? 1 : step;
            if (!i64_mul(step, y->dim[j], &step)) return false;
        }
    }
    return true;
}

/* The view's elements; false where strides cannot say it. */
static bool look(const struct op *view, const struct walk *x, struct walk *y)
{
    *y = *x;
    if (view->id == OP_reshape) return reshape(x, view->out[0], y);
    for (int k = 0; k < x->rank; k++) {
        if (view->id == OP_transpose) {
            int64_t axis = list_of(view, "axes")[k];
            y->dim[k] = x->dim[axis];
            y->stride[k] = x->stride[axis];
            continue;
        }
        int64_t start;
        y->dim[k] = view->out[0]->dim[k];
        if (!i64_mul(list_of(view, "start")[k], x->stride[k], &start) ||
            !i64_add(y->offset, start, &y->offset) ||
            (y->dim[k] > 1 && !i64_mul(list_of(view, "step")[k], x->stride[k], &y->stride[k])))
            return false;
    }
    return true;
}

static struct diag *refuse(struct session *s, const struct op *op, const char *why,
                           const char *hint)
{
    struct diag *d = diag(s, DIAG_no_lowering, op->span, "'%s' %s", ops[op->id].name, why);
    diag_hint(s, d, "%s", hint);
    return d;
}

/* A view that is an output is a copy of what it looks at. */
static void copy_instead(struct arena *a, struct op *view)
{
    view->id = OP_cast;
    view->attr = NEW_N(a, struct attr, op_n_attrs(OP_cast));
    view->attr[op_attr_index(OP_cast, "type")] = (struct attr){.given = true,
                                                               .i = view->out[0]->type};
}

struct alias { /* an input again, under other dims and strides */
    struct value *v, *base;
    int64_t offset;        /* elements */
    const struct op *view; /* the first that needs it */
};
typedef VEC(struct alias) aliases_vec;

static struct alias *find(aliases_vec *all, const struct value *v)
{
    for (size_t i = 0; i < all->n; i++)
        if (all->at[i].v == v) return &all->at[i];
    return NULL;
}

static bool same_walk(const struct value *v, const struct walk *p)
{
    size_t n = sizeof *p->dim * (size_t)p->rank;
    return v->rank == p->rank && memcmp(v->dim, p->dim, n) == 0 &&
           memcmp(v->stride, p->stride, n) == 0;
}

/* The tensor that the view's readers read: one a place, whatever the views that lead there. */
static struct value *tensor_at(struct arena *a, struct graph *g, aliases_vec *all,
                               struct value *base, const struct walk *p, const struct op *view)
{
    if (p->offset == 0 && same_walk(base, p)) return base;
    for (size_t i = 0; i < all->n; i++)
        if (all->at[i].base == base && all->at[i].offset == p->offset &&
            same_walk(all->at[i].v, p))
            return all->at[i].v;
    struct value *v = arena_copy(a, base, sizeof *base);
    v->id = (int)g->values.n;
    v->uid = 0;
    v->layout = LAYOUT_strides;
    v->rank = p->rank;
    memcpy(v->dim, p->dim, sizeof p->dim);
    memcpy(v->stride, p->stride, sizeof p->stride);
    vec_push(a, &g->values, v);
    vec_push(a, all, ((struct alias){v, base, p->offset, view}));
    return v;
}

static bool fold(struct session *s, struct graph *g, aliases_vec *all, struct op *view)
{
    struct alias *of = find(all, view->in[0]);
    struct walk x = walk_of(view->in[0]), y;
    x.offset = of ? of->offset : 0;
    if (!look(view, &x, &y)) {
        struct diag *d = refuse(
            s, view, "cannot be said in strides: it joins axes that are apart in memory",
            "declare the tensor packed along these axes, or under the other dims");
        diag_note(s, d, view->in[0]->span, "dims %s, strides %s",
                  pass_dims_text(s->arena, x.rank, x.dim),
                  pass_dims_text(s->arena, x.rank, x.stride));
        return false;
    }
    view->in[0] = tensor_at(s->arena, g, all, of ? of->base : view->in[0], &y, view);
    return true;
}

/* What reads v, or NULL. */
static const struct op *reader(const struct graph *g, const struct value *v)
{
    for (size_t i = 0; i < g->ops.n; i++)
        for (int k = 0; k < ops[g->ops.at[i]->id].n_in; k++)
            if (g->ops.at[i]->in[k] == v) return g->ops.at[i];
    return NULL;
}

/* An input that is read in one other way alone, from its first element on, is described so. */
static bool settle(struct session *s, struct graph *g, struct alias *x)
{
    const struct op *as_is = reader(g, x->base);
    if (!reader(g, x->v)) return true;
    if (x->offset) {
        refuse(s, x->view, "does not begin at the tensor's first element, where it is bound",
               "declare the part as an input of its own, with strides(...) of the whole");
        return false;
    }
    if (as_is) {
        struct diag *d = refuse(s, x->view, "of an input that is read in another way too",
                                "declare a second input: the launcher takes one pointer for both");
        diag_note(s, d, as_is->span, "the other is here");
        return false;
    }
    x->base->rank = x->v->rank;
    x->base->layout = LAYOUT_strides;
    memcpy(x->base->dim, x->v->dim, sizeof x->v->dim);
    memcpy(x->base->stride, x->v->stride, sizeof x->v->stride);
    for (size_t i = 0; i < g->ops.n; i++)
        for (int k = 0; k < ops[g->ops.at[i]->id].n_in; k++)
            if (g->ops.at[i]->in[k] == x->v) g->ops.at[i]->in[k] = x->base;
    return true;
}

/* Ops read what their operands became; views that are no output go. */
static bool fold_all(struct session *s, struct graph *g, aliases_vec *all)
{
    struct value **instead = NEW_N(s->arena, struct value *, g->values.n + 1);
    size_t n_values = g->values.n, n = 0;
    bool ok = true;
    for (size_t i = 0; i < g->ops.n; i++) {
        struct op *op = g->ops.at[i];
        g->ops.at[n++] = op;
        for (int k = 0; k < ops[op->id].n_in; k++)
            if ((size_t)op->in[k]->id < n_values && instead[op->in[k]->id])
                op->in[k] = instead[op->in[k]->id];
        if (ops[op->id].family != FAM_view) continue;
        if (op->in[0]->role != VAL_INPUT) {
            refuse(s, op, "of a computed value would move it in memory, which is not supported yet",
                   "write the order into the input's dims and strides, or hand the value over as "
                   "an output");
            ok = false;
        } else if (!fold(s, g, all, op)) {
            ok = false;
        } else if (op->out[0]->role == VAL_OUTPUT) {
            instead[op->out[0]->id] = op->in[0];
            copy_instead(s->arena, op);
        } else {
            instead[op->out[0]->id] = op->in[0];
            n--;
        }
    }
    g->ops.n = n;
    return ok;
}

bool fold_views(struct session *s, struct graph *g)
{
    aliases_vec all = {0};
    size_t n = g->values.n;
    bool ok = fold_all(s, g, &all);
    for (size_t i = 0; ok && i < all.n; i++) ok = settle(s, g, &all.at[i]);
    g->values.n = n;
    if (ok) ir_sort(s->arena, g);
    return ok;
}
