/* views: what reads a view of a tensor reads the tensor itself, under other dims and strides, from
 * where the view begins.
 *
 * Invariant: after it no view of a tensor in memory is left, and no byte has moved. What is left
 * are views of values that the graph computes: they are cut off what makes the value, and are views
 * of tensors in memory then. */
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
    if (view->id == OP_reshape || view->id == OP_copy) return reshape(x, view->out[0], y);
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

struct value *pass_looked_at(struct value *v)
{
    while (is_view(v->producer)) v = v->producer->in[0];
    return v;
}

static struct value *temporary(struct arena *a, struct graph *g, const struct value *like,
                               enum dtype type)
{
    struct value *v = ir_value(a, g, VAL_TEMP, type);
    ir_shape(v, like->rank, like->dim);
    v->span = like->span;
    return v;
}

/* ---- of what is computed ---------------------------------------------------------------------
 */

/* The chain of views from x to v, over `from`, which x became; the last makes `out`. */
static void look_again(struct arena *a, struct graph *g, struct value *v, const struct value *x,
                       struct value *from, struct value *out)
{
    while (v != x) { /* from the last to the first */
        struct op *view = arena_copy(a, v->producer, sizeof *view);
        struct value *under = view->in[0] == x ? from : temporary(a, g, view->in[0], out->type);
        view->in[0] = under;
        ir_result(view, 0, out);
        vec_push(a, &g->ops, view);
        v = v->producer->in[0];
        out = under;
    }
}

/* Rounding a view of a value is looking at the rounded value: that is what is stored, then. */
static void round_first(struct arena *a, struct graph *g)
{
    for (size_t i = 0, n = g->ops.n; i < n; i++) {
        struct op *op = g->ops.at[i];
        struct value *v = op->in[0], *y = op->out[0];
        if (op->id != OP_cast || !is_view(v->producer)) continue;
        struct value *x = pass_looked_at(v);
        if (x->role == VAL_INPUT) continue;
        struct value *rounded = temporary(a, g, x, y->type);
        rounded->pinned = y->pinned;
        rounded->name = y->role == VAL_TEMP ? y->name : NULL; /* the output is another tensor */
        op->in[0] = x;
        ir_result(op, 0, rounded);
        look_again(a, g, v, x, rounded, y);
    }
    ir_sort(a, g);
}

/* The strides under which what the view looks at is written where the view's elements lie. */
static bool look_back(const struct op *view, struct walk *x)
{
    const struct walk y = walk_of(view->out[0]);
    if (view->id == OP_slice) return false;
    if (view->id == OP_reshape || view->id == OP_copy) return reshape(&y, view->in[0], x);
    *x = walk_of(view->in[0]);
    for (int k = 0; k < y.rank; k++) x->stride[list_of(view, "axes")[k]] = y.stride[k];
    return true;
}

static void take_walk(struct value *v, const struct walk *w)
{
    v->layout = LAYOUT_strides;
    v->rank = w->rank;
    memcpy(v->dim, w->dim, sizeof w->dim);
    memcpy(v->stride, w->stride, sizeof w->stride);
}

static void read_instead(struct graph *g, const struct value *from, struct value *to)
{
    for (size_t i = 0; i < g->ops.n; i++)
        for (int k = 0; k < ops[g->ops.at[i]->id].n_in; k++)
            if (g->ops.at[i]->in[k] == from) g->ops.at[i]->in[k] = to;
}

/* An output that is a view of a value: the value is written there itself, where strides can say
 * so, else it is copied. */
static void store_through(struct arena *a, struct graph *g)
{
    for (size_t i = g->ops.n; i > 0; i--) {
        struct op *op = g->ops.at[i - 1];
        struct value *x = op->in[0], *y = op->out[0];
        struct walk w;
        if (!is_view(op) || y->role != VAL_OUTPUT || pass_looked_at(x)->role == VAL_INPUT) continue;
        if (x->role == VAL_TEMP && !x->stored && look_back(op, &w)) {
            struct op *maker = x->producer;
            take_walk(y, &w);
            for (int k = 0; k < ops[maker->id].n_out; k++)
                if (maker->out[k] == x) ir_result(maker, k, y);
            read_instead(g, x, y);
            continue;
        }
        struct value *seen = temporary(a, g, y, y->type);
        struct op *copy = ir_op(a, g, OP_cast);
        copy->attr[op_attr_index(OP_cast, "type")] = (struct attr){.given = true, .i = y->type};
        copy->compute = op->compute;
        copy->span = op->span;
        copy->in[0] = seen;
        ir_result(op, 0, seen);
        ir_result(copy, 0, y);
    }
    ir_sort(a, g);
}

/* copy(x): x is stored as the copy is declared, or what is stored so is made of x; who reads the copy
 * looks at that, and is in a later kernel. */
static void ask_for_memory(struct arena *a, struct graph *g)
{
    for (size_t i = 0, n = g->ops.n; i < n; i++) {
        struct op *op = g->ops.at[i];
        struct value *x = op->in[0], *y = op->out[0];
        if (op->id != OP_copy || y->role == VAL_OUTPUT) continue;
        const struct walk w = walk_of(y);
        if (x->role != VAL_TEMP || x->stored || is_view(x->producer)) {
            struct op *cast = ir_op(a, g, OP_cast);
            cast->attr[op_attr_index(OP_cast, "type")] = (struct attr){.given = true, .i = y->type};
            cast->compute = op->compute;
            cast->span = op->span;
            cast->in[0] = x;
            op->in[0] = temporary(a, g, y, y->type);
            ir_result(cast, 0, op->in[0]);
            x = op->in[0];
        }
        take_walk(x, &w);
        x->layout = y->layout;
        x->stored = x->pinned = true; /* as asked for */
        if (!x->name) x->name = y->name;
        op->id = OP_reshape; /* a view like any other now, to the same dims */
        op->attr = NEW_N(a, struct attr, op_n_attrs(OP_reshape));
        struct attr *dims = &op->attr[op_attr_index(OP_reshape, "dims")];
        *dims = (struct attr){.given = true, .n = y->rank};
        memcpy(dims->list, y->dim, sizeof y->dim);
    }
    ir_sort(a, g);
}

/* ---- of tensors in memory --------------------------------------------------------------------
 */

/* A view that is an output is a copy of what it looks at. */
static void copy_instead(struct arena *a, struct op *view)
{
    view->id = OP_cast;
    view->attr = NEW_N(a, struct attr, op_n_attrs(OP_cast));
    view->attr[op_attr_index(OP_cast, "type")] = (struct attr){.given = true,
                                                               .i = view->out[0]->type};
}

struct alias { /* a tensor again, under other dims and strides */
    struct value *v, *base;
    int64_t offset; /* elements */
};
typedef VEC(struct alias) aliases_vec;

static struct alias *find(aliases_vec *all, const struct value *v)
{
    for (size_t i = 0; i < all->n; i++)
        if (all->at[i].v == v) return &all->at[i];
    return NULL;
}

/* The stride of an axis of size 1 addresses nothing. */
static bool same_walk(const struct value *v, const struct walk *p)
{
    bool same = v->rank == p->rank;
    for (int k = 0; same && k < p->rank; k++)
        same = v->dim[k] == p->dim[k] && (p->dim[k] == 1 || v->stride[k] == p->stride[k]);
    return same;
}

static struct value *add_alias(struct arena *a, struct graph *g, aliases_vec *all,
                               struct value *base, const struct walk *p)
{
    struct value *v = arena_copy(a, base, sizeof *base);
    v->id = (int)g->values.n;
    v->uid = 0;
    take_walk(v, p);
    vec_push(a, &g->values, v);
    vec_push(a, all, ((struct alias){v, base, p->offset}));
    return v;
}

/* The tensor that the view's readers read: one a place, whatever the views that lead there. */
static struct value *tensor_at(struct arena *a, struct graph *g, aliases_vec *all,
                               struct value *base, const struct walk *p)
{
    if (p->offset == 0 && same_walk(base, p)) return base;
    for (size_t i = 0; i < all->n; i++)
        if (all->at[i].base == base && all->at[i].offset == p->offset &&
            same_walk(all->at[i].v, p))
            return all->at[i].v;
    return add_alias(a, g, all, base, p);
}

static bool fold(struct session *s, struct graph *g, aliases_vec *all, struct op *view)
{
    struct alias *of = find(all, view->in[0]);
    struct walk x = walk_of(view->in[0]), y;
    x.offset = of ? of->offset : 0;
    if (!look(view, &x, &y)) {
        struct diag *d = diag(s, DIAG_no_lowering, view->span,
                              "'%s' cannot be said in strides: it joins axes that are apart in "
                              "memory",
                              ops[view->id].name);
        diag_hint(s, d, "declare the tensor packed along these axes, or under the other dims");
        diag_note(s, d, view->in[0]->span, "dims %s, strides %s",
                  pass_dims_text(s->arena, x.rank, x.dim),
                  pass_dims_text(s->arena, x.rank, x.stride));
        return false;
    }
    view->in[0] = tensor_at(s->arena, g, all, of ? of->base : view->in[0], &y);
    return true;
}

/* Attention takes three tensors; one that is given twice gets a second uid. */
static void tell_apart(struct arena *a, struct graph *g, aliases_vec *all, struct op *op)
{
    for (int k = 1; k < 3; k++)
        for (int j = 0; j < k; j++) {
            if (op->in[k] != op->in[j] || op->in[k]->role != VAL_INPUT) continue;
            const struct alias *of = find(all, op->in[k]);
            struct walk w = walk_of(op->in[k]);
            w.offset = of ? of->offset : 0;
            op->in[k] = add_alias(a, g, all, of ? of->base : op->in[k], &w);
        }
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
        if (op->id == OP_sdpa) tell_apart(s->arena, g, all, op);
        if (!is_view(op) || op->in[0]->role != VAL_INPUT) continue;
        if (!fold(s, g, all, op)) {
            ok = false;
            continue;
        }
        instead[op->out[0]->id] = op->in[0];
        if (op->out[0]->role == VAL_OUTPUT)
            copy_instead(s->arena, op);
        else
            n--;
    }
    g->ops.n = n;
    return ok;
}

static bool is_read(const struct graph *g, const struct value *v)
{
    for (size_t i = 0; i < g->ops.n; i++)
        for (int k = 0; k < ops[g->ops.at[i]->id].n_in; k++)
            if (g->ops.at[i]->in[k] == v) return true;
    return false;
}

/* The largest alignment that an address has `bytes` past one of alignment `align`. */
static int64_t aligned(int64_t align, int64_t bytes)
{
    while (bytes % align) align /= 2;
    return align;
}

/* A tensor that is read in one other way alone, from its first element on, is described so; else
 * the view is a tensor of its own. */
static void settle(struct arena *a, struct graph *g, const struct alias *x)
{
    struct value *v = x->v, *base = x->base;
    if (!is_read(g, v)) return;
    if (x->offset == 0 && !is_read(g, base)) {
        const struct walk w = walk_of(v);
        take_walk(base, &w);
        read_instead(g, v, base);
        return;
    }
    v->base = base->base ? base->base : base->uid;
    v->offset = base->offset + x->offset;
    v->align = aligned(v->align, x->offset * (dtypes[v->type].bits / 8));
    v->id = (int)g->values.n;
    vec_push(a, &g->values, v);
    if (g->free_uid) vec_push(a, &g->inputs, v); /* of a part */
}

bool fold_views(struct session *s, struct graph *g)
{
    aliases_vec all = {0};
    round_first(s->arena, g);
    store_through(s->arena, g);
    ask_for_memory(s->arena, g);
    size_t n = g->values.n;
    if (!fold_all(s, g, &all)) return false;
    g->values.n = n;
    for (size_t i = 0; i < all.n; i++) settle(s->arena, g, &all.at[i]);
    ir_sort(s->arena, g);
    return true;
}
