/* cut: which operators share a kernel, where one kernel cannot hold the graph.
 *
 * Invariant: regions are numbered in an order in which they can run: an operator reads results of
 * its own region and of earlier ones only. What crosses a cut is kept in its own element type, so
 * no number depends on where the cuts are. An epilogue's operators are in its anchor's region.
 *
 * One walk in the graph's order. An operator joins the latest region that it reads from where a
 * kernel may hold it there, else it opens a region. Pointwise operators over inputs alone float
 * until somebody reads them. What has rank 0 is computed anew in each region that reads it. A view
 * belongs to its readers, and they to regions behind what makes the value that it looks at. */
#include "pass/passes.h"

enum { FLOATS = -1, EVERYWHERE = -2 };

struct cut {
    struct session *s;
    const struct graph *g;
    int *region;                    /* by op: its region, or FLOATS or EVERYWHERE */
    bool *below;                    /* by op: its result depends on the anchor of its region */
    bool *has_pow;                  /* by op that floats: it or what it reads is a pow */
    struct op **todo;               /* room for all ops */
    VEC(const struct op *) anchors; /* by region; NULL: none */
};

static int open_region(struct cut *c, const struct op *anchor)
{
    vec_push(c->s->arena, &c->anchors, anchor);
    return (int)c->anchors.n - 1;
}

static bool is_floating(const struct cut *c, const struct op *p)
{
    return p && c->region[p->index] == FLOATS;
}

/* Whatever floats and op reads, directly or not, goes into region r. */
static void pull(struct cut *c, const struct op *op, int r)
{
    size_t n = 0;
    for (const struct op *at = op; at; at = n ? c->todo[--n] : NULL) {
        for (int j = 0; j < ops[at->id].n_in; j++) {
            struct op *p = at->in[j]->producer;
            if (!is_floating(c, p)) continue;
            c->region[p->index] = r;
            c->todo[n++] = p;
        }
    }
}

static void place(struct cut *c, const struct op *op, int r)
{
    pull(c, op, r);
    c->region[op->index] = r;
    bool below = op == c->anchors.at[r];
    for (int j = 0; j < ops[op->id].n_in; j++) {
        const struct op *p = op->in[j]->producer;
        below |= p && c->region[p->index] == r && c->below[p->index];
    }
    c->below[op->index] = below;
}

/* Engines get columns that a chain computes on its way wrong (form_flat.c refuses them): beside
 * values with more than a column they are stored first. */
static bool widens_column(const struct value *from, const struct value *to)
{
    return from->rank > 0 && to && from->dim[from->rank - 1] == 1 && to->dim[to->rank - 1] != 1;
}

/* Why region r cannot hold op too; NULL when it can. The rules are partition.c's. */
static const char *why_not(const struct cut *c, const struct op *op, int r)
{
    const struct op *anchor = c->anchors.at[r];
    if (is_anchor(op)) return "is a second conv, matmul or sdpa: a kernel holds one";
    if (anchor && anchor->id == OP_sdpa) return "stands next to 'sdpa': attention fills its kernel";
    bool gathers_below = false, floating_pow = op->id == OP_pow;
    for (int j = 0; j < ops[op->id].n_in; j++) {
        const struct op *p = op->in[j]->producer;
        if (!p) continue;
        floating_pow |= is_floating(c, p) && c->has_pow[p->index];
        if (c->region[p->index] != r) continue;
        if (ops[p->id].family == FAM_reduction)
            return "reads the result of a reduction: a kernel ends with its reductions";
        if (!anchor && widens_column(op->in[j], op->out[0]))
            return "spreads a column that the same kernel computes";
        gathers_below |= c->below[p->index];
    }
    if (anchor && floating_pow)
        return "gives NaN for bases below 0 in the kernel of a matmul or conv";
    if (anchor && ops[op->id].family == FAM_reduction && !gathers_below)
        return "gathers a value that does not come from the kernel's conv or matmul";
    return NULL;
}

/* The region of the anchor that op's epilogue hangs on. */
static int home(const struct cut *c, const struct op *op)
{
    for (size_t r = 0; r < c->anchors.n; r++) {
        const struct op *anchor = c->anchors.at[r];
        if (anchor && anchor->made == op->promise->anchor) return (int)r;
    }
    return FLOATS;
}

static bool break_promise(struct cut *c, const struct op *op, const char *why)
{
    struct diag *d = diag(c->s, DIAG_broken_promise, op->promise->span,
                          "epilogue '%s' cannot be placed in the kernel that it hangs on",
                          op->promise->name);
    diag_note(c->s, d, op->span, "'%s' %s", ops[op->id].name, why);
    return false;
}

static bool keep_promise(struct cut *c, const struct op *op, int latest)
{
    int r = home(c, op);
    if (latest > r)
        return break_promise(c, op, "reads what a later kernel makes, or a view of its own");
    const char *why = why_not(c, op, r);
    if (why) return break_promise(c, op, why);
    place(c, op, r);
    return true;
}

/* Operators that may not share op's kernel though they float: in front of attention all, in front
 * of a matmul or conv those that a pow is among. They get a region before op's. */
static bool set_apart(const struct cut *c, const struct op *op)
{
    for (int j = 0; is_anchor(op) && j < ops[op->id].n_in; j++) {
        const struct op *p = op->in[j]->producer;
        if (is_floating(c, p) && (op->id == OP_sdpa || c->has_pow[p->index])) return true;
    }
    return false;
}

/* The latest region that makes what op sees through views, which op cannot be in; FLOATS: none. */
static int behind(struct cut *c, const struct op *op)
{
    int latest = FLOATS;
    for (int j = 0; j < ops[op->id].n_in; j++) {
        const struct op *made = pass_looked_at(op->in[j])->producer;
        if (op->in[j]->producer == made) continue; /* no view */
        if (is_floating(c, made)) place(c, made, open_region(c, NULL));
        if (c->region[made->index] > latest) latest = c->region[made->index];
    }
    return latest;
}

static bool assign(struct cut *c, const struct op *op)
{
    int latest = FLOATS;
    bool has_pow = op->id == OP_pow;
    for (int j = 0; j < ops[op->id].n_in; j++) {
        const struct op *p = op->in[j]->producer;
        if (!p) continue;
        if (c->region[p->index] > latest) latest = c->region[p->index];
        if (is_floating(c, p)) has_pow |= c->has_pow[p->index];
    }
    c->region[op->index] = FLOATS;
    c->has_pow[op->index] = has_pow;
    if ((op->out[0] && op->out[0]->rank == 0) || is_view(op)) {
        c->region[op->index] = EVERYWHERE;
        return true;
    }
    int seen = behind(c, op);
    bool gathers = is_anchor(op) || ops[op->id].family == FAM_reduction;
    if (latest == FLOATS && seen == FLOATS && !gathers) return true;
    if (op->promise) return keep_promise(c, op, latest > seen ? latest : seen + 1);
    if (latest <= seen || why_not(c, op, latest)) {
        if (set_apart(c, op)) pull(c, op, open_region(c, NULL));
        latest = open_region(c, is_anchor(op) ? op : NULL);
    }
    place(c, op, latest);
    return true;
}

/* Nobody reads them: outputs over inputs alone. Chains of one size share a region. */
static void place_rest(struct cut *c)
{
    components_vec all = pass_components(c->s->arena, c->g, false);
    int *rest = NEW_N(c->s->arena, int, all.n + 1);
    for (size_t k = 0; k < all.n; k++) {
        rest[k] = FLOATS;
        for (size_t j = 0; j < all.at[k]->ops.n; j++) {
            const struct op *op = all.at[k]->ops.at[j];
            if (c->region[op->index] != FLOATS) continue;
            for (size_t i = 0; rest[k] == FLOATS && i < k; i++)
                if (rest[i] != FLOATS && pass_same_size(all.at[i], all.at[k])) rest[k] = rest[i];
            if (rest[k] == FLOATS) rest[k] = open_region(c, NULL);
            c->region[op->index] = rest[k];
        }
    }
}

bool pass_assign_regions(struct session *s, const struct graph *g, int **region, size_t *n)
{
    struct arena *a = s->arena;
    struct cut c = {.s = s, .g = g};
    c.region = NEW_N(a, int, g->ops.n + 1);
    c.below = NEW_N(a, bool, g->ops.n + 1);
    c.has_pow = NEW_N(a, bool, g->ops.n + 1);
    c.todo = NEW_N(a, struct op *, g->ops.n + 1);
    bool ok = true;
    for (size_t k = 0; k < g->ops.n; k++) ok = assign(&c, g->ops.at[k]) && ok;
    place_rest(&c);
    *region = c.region;
    *n = c.anchors.n;
    return ok;
}
