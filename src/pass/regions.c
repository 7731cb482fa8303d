/* regions: the graph as one graph a kernel, and the passes over each.
 *
 * Invariant: a value has the same uid in every region that mentions it. What a region makes for a
 * later one is its output, what it takes from an earlier one its input; an output of the whole
 * graph that is read later is read from the output's own memory, rounded as it was stored. */
#include "pass/passes.h"

#include <assert.h>

static bool belongs(const int *region, const struct op *op, int r)
{
    return region[op->index] == r || region[op->index] < 0;
}

/* What crosses a cut is stored; engines of conv want its channels innermost. */
static void store_crossing(struct graph *g, const int *region)
{
    for (size_t k = 0; k < g->ops.n; k++) {
        const struct op *op = g->ops.at[k];
        for (int j = 0; region[k] >= 0 && j < ops[op->id].n_in; j++) {
            struct value *v = op->in[j];
            if (!v->producer || v->rank == 0 || region[v->producer->index] == region[k]) continue;
            v->stored = true;
            bool conv = ops[op->id].family == FAM_conv || ops[v->producer->id].family == FAM_conv;
            if (v->role != VAL_TEMP || !conv || v->layout != LAYOUT_row_major) continue;
            v->layout = LAYOUT_channels_last;
            dims_channels_last(v->rank, v->dim, v->stride);
        }
    }
}

/* Region r of g as a graph of its own. */
static struct graph *extract(struct arena *a, const struct graph *g, const int *region, int r)
{
    struct graph *part = ir_clone(a, g);
    bool *read = NEW_N(a, bool, g->values.n + 1), *made = NEW_N(a, bool, g->values.n + 1);
    size_t n = 0;
    for (size_t k = 0; k < part->ops.n; k++) {
        struct op *op = part->ops.at[k];
        if (!belongs(region, op, r)) continue;
        for (int j = 0; j < ops[op->id].n_in; j++) read[op->in[j]->id] = true;
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

/* Uids for what a pass added, beyond all that the regions share. */
static void number_new(struct graph *part, int64_t next)
{
    for (size_t k = 0; k < part->values.n; k++)
        if (part->values.at[k]->uid == 0) part->values.at[k]->uid = next++;
}

/* The passes from the cut on, up to `last`. */
static bool finish(struct session *s, struct graph *part, const char *last, int64_t next)
{
    bool on = false;
    for (size_t k = 0; k < n_passes; k++) {
        on |= passes[k].run == pass_partition;
        if (on) {
            if (!passes[k].run(s, part)) return false;
            ir_sort(s->arena, part);
            number_new(part, next);
            const char *wrong = ir_verify(s->arena, part);
            if (wrong) fprintf(stderr, "after %s: %s\n", passes[k].name, wrong);
            assert(!wrong);
        }
        if (last && strcmp(last, passes[k].name) == 0) break;
    }
    return true;
}

/* Asked without a word: what one kernel holds is not cut. */
static bool one_kernel(const struct graph *g)
{
    struct session *quiet = session_new();
    struct graph *copy = ir_clone(quiet->arena, g);
    bool one = pass_partition(quiet, copy);
    session_free(quiet);
    return one;
}

bool pass_regions(struct session *s, const struct graph *g, const char *last, graphs_vec *out)
{
    struct graph *whole = pass_run(s, g, passes[0].name);
    if (!whole) return false;
    bool cut = !last || strcmp(last, passes[0].name) != 0;
    if (!cut || one_kernel(whole)) {
        whole = pass_run(s, g, last);
        if (whole) vec_push(s->arena, out, whole);
        return whole != NULL;
    }
    int *region;
    size_t n;
    int64_t next = 1;
    if (!pass_assign_regions(s, whole, &region, &n)) return false;
    if (n > MAX_REGIONS) {
        diag(s, DIAG_too_large, g->span,
             "graph '%s' is cut into %zu kernels; at most %d can follow "
             "each other",
             g->name, n, MAX_REGIONS);
        return false;
    }
    store_crossing(whole, region);
    for (size_t k = 0; k < whole->values.n; k++)
        if (whole->values.at[k]->uid >= next) next = whole->values.at[k]->uid + 1;
    bool ok = true;
    for (size_t r = 0; r < n; r++) {
        struct graph *part = extract(s->arena, whole, region, (int)r);
        ok = finish(s, part, last, next) && ok;
        vec_push(s->arena, out, part);
    }
    return ok;
}
