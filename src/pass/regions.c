/* regions: the passes, and the graph as one graph a kernel.
 *
 * Invariant: a value has the same uid in every region that mentions it. What a region makes for a
 * later one is its output, what it takes from an earlier one its input; an output of the whole
 * graph that is read later is read from the output's own memory, rounded as it was stored. After
 * each pass ops are in topological order, no dead op or unread temporary is left, values are
 * numbered as they stand, interface uids are those of the graph that came in. */
#include "pass/passes.h"

#include <assert.h>

/* What crosses a cut is stored; engines of conv want its channels innermost. */
static void store_crossing(struct graph *g, const int *region)
{
    for (size_t k = 0; k < g->ops.n; k++) {
        const struct op *op = g->ops.at[k];
        for (int j = 0; region[k] >= 0 && j < ops[op->id].n_in; j++) {
            struct value *v = pass_looked_at(op->in[j]);
            if (!v->producer || v->rank == 0 || region[v->producer->index] == region[k]) continue;
            v->stored = true;
            bool conv = ops[op->id].family == FAM_conv || ops[v->producer->id].family == FAM_conv;
            if (v != op->in[j]) conv = false; /* a view says how it is read */
            if (v->role != VAL_TEMP || !conv || v->layout != LAYOUT_row_major) continue;
            v->layout = LAYOUT_channels_last;
            dims_channels_last(v->rank, v->dim, v->stride);
        }
    }
}

/* Which ops of the part are in region r; a view is where it is read. */
static bool *belonging(struct arena *a, const struct graph *part, const int *region, int r,
                       bool *read)
{
    bool *in = NEW_N(a, bool, part->ops.n + 1);
    for (size_t k = part->ops.n; k > 0; k--) {
        const struct op *op = part->ops.at[k - 1];
        in[k - 1] = is_view(op) ? read[op->out[0]->id]
                                                   : region[k - 1] == r || region[k - 1] < 0;
        for (int j = 0; in[k - 1] && j < ops[op->id].n_in; j++) read[op->in[j]->id] = true;
    }
    return in;
}

/* Region r of g as a graph of its own. */
static struct graph *extract(struct arena *a, const struct graph *g, const int *region, int r)
{
    struct graph *part = ir_clone(a, g);
    bool *read = NEW_N(a, bool, g->values.n + 1), *made = NEW_N(a, bool, g->values.n + 1);
    const bool *in = belonging(a, part, region, r, read);
    size_t n = 0;
    for (size_t k = 0; k < part->ops.n; k++) {
        struct op *op = part->ops.at[k];
        if (!in[k]) continue;
        for (int j = 0; j < ops[op->id].n_out; j++)
            if (op->out[j]) made[op->out[j]->id] = true;
        part->ops.at[n++] = op;
    }
    part->ops.n = n;
    part->inputs.n = part->scalars.n = part->outputs.n = 0;
    n = 0;
    for (size_t k = 0; k < part->values.n; k++) {
        struct value *v = part->values.at[k];
        if (!read[k] && !made[k]) continue;
        if (!made[k] && v->producer) {
            v->role = VAL_INPUT;
            v->producer = NULL;
        } else if (made[k] && v->stored) {
            v->role = VAL_OUTPUT;
        }
        v->id = (int)n;
        part->values.at[n++] = v;
        if (v->role == VAL_INPUT) vec_push(a, &part->inputs, v);
        if (v->role == VAL_SCALAR) vec_push(a, &part->scalars, v);
        if (v->role == VAL_OUTPUT) vec_push(a, &part->outputs, v);
    }
    part->values.n = n;
    ir_sort(a, part);
    return part;
}

/* Sorted and numbered again after a pass. `next`: the first uid for what a pass added, beyond all
 * that the regions share; 0: the graph is whole, and numbered as one. */
static void settle(struct session *s, struct graph *g, const char *after, int64_t next)
{
    ir_sort(s->arena, g);
    if (next == 0) ir_number(g);
    for (size_t k = 0; k < g->values.n; k++)
        if (next && g->values.at[k]->uid >= next) next = g->values.at[k]->uid + 1;
    for (size_t k = 0; k < g->values.n; k++)
        if (g->values.at[k]->uid == 0) g->values.at[k]->uid = next++;
    const char *wrong = ir_verify(s->arena, g);
    if (wrong) fprintf(stderr, "after %s: %s\n", after, wrong);
    assert(!wrong);
}

/* Cuts the simplified graph; *next: the first uid that no region has. */
static bool cut(struct session *s, struct graph *whole, graphs_vec *out, int64_t *next)
{
    int *region;
    size_t n;
    if (!pass_assign_regions(s, whole, &region, &n)) return false;
    if (n > MAX_REGIONS) {
        diag(s, DIAG_too_large, whole->span,
             "graph '%s' is cut into %zu kernels; at most %d can follow each other", whole->name, n,
             MAX_REGIONS);
        return false;
    }
    store_crossing(whole, region);
    *next = 1;
    for (size_t k = 0; k < whole->values.n; k++)
        if (whole->values.at[k]->uid >= *next) *next = whole->values.at[k]->uid + 1;
    for (size_t r = 0; r < n; r++) {
        struct graph *part = extract(s->arena, whole, region, (int)r);
        part->free_uid = *next;
        if (!fold_views(s, part)) return false;
        settle(s, part, "partition", *next);
        if (!pass_one_kernel(s->arena, part)) fprintf(stderr, "region %zu is no kernel\n", r);
        assert(pass_one_kernel(s->arena, part));
        vec_push(s->arena, out, part);
    }
    return true;
}

bool pass_regions(struct session *s, const struct graph *g, const char *last, graphs_vec *out)
{
    struct graph *whole = ir_clone(s->arena, g);
    int64_t next = 0;
    if (!pass_simplify(s, whole)) return false;
    settle(s, whole, "simplify", 0);
    if ((last && strcmp(last, "simplify") == 0) || pass_one_kernel(s->arena, whole))
        vec_push(s->arena, out, whole);
    else if (!cut(s, whole, out, &next))
        return false;
    bool ok = true, all = !last || strcmp(last, "redescribe") == 0;
    for (size_t r = 0; all && r < out->n; r++) {
        ok = pass_redescribe(s, out->at[r]) && ok;
        if (ok) settle(s, out->at[r], "redescribe", next);
    }
    return ok;
}
