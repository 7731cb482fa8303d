/* The form of a component without an anchor: as few axes as the addresses and the broadcasts allow.
 *
 * Invariant: elements keep their addresses. Axes that every tensor walks with one step become one
 * axis, in the order of memory. cuDNN 9.19 takes pointwise graphs of rank 3, row-major, and
 * reductions of rank 2 to rows or to one, or as channels-last [R, C, 1, 1] to rows, columns or one.
 */
#include "pass/passes.h"

struct groups {
    int n;                              /* merged axes, slowest first */
    int64_t full[MAX_RANK];             /* their lengths */
    int fastest[MAX_RANK];              /* the axis whose stride is the group's */
    const struct value *stop[MAX_RANK]; /* why it was not merged with the one before */
};

static void full_dims(const struct component *c, int64_t *full)
{
    for (int k = 0; k < c->rank; k++) {
        full[k] = 1;
        for (size_t j = 0; j < c->values.n; j++) {
            if (c->values.at[j]->dim[k] > full[k]) full[k] = c->values.at[j]->dim[k];
        }
    }
}

/* The tensor whose strides give the order of memory: the largest stored one, results first (every
 * element of a result has its own address). */
static const struct value *leader(const struct component *c)
{
    const struct value *best = NULL;
    int64_t most = 0, count;
    for (size_t k = 0; k < c->values.n; k++) {
        const struct value *v = c->values.at[k];
        if (!in_memory(v) || !dims_count(v->rank, v->dim, &count)) continue;
        bool result = v->role != VAL_INPUT;
        if (!best || count > most || (count == most && result && best->role == VAL_INPUT)) {
            best = v;
            most = count;
        }
    }
    return best;
}

/* Axes longer than 1, slowest first. */
static int ordered_axes(const struct component *c, const int64_t *full, int *axes)
{
    const struct value *first = leader(c);
    int n = 0;
    for (int k = 0; k < c->rank; k++) {
        if (full[k] == 1) continue;
        int at = n++;
        while (first && at > 0 && first->stride[axes[at - 1]] < first->stride[k] &&
               first->dim[axes[at - 1]] > 1 && first->dim[k] > 1) {
            axes[at] = axes[at - 1];
            at--;
        }
        axes[at] = k;
    }
    if (n == 0) axes[n++] = c->rank - 1;
    return n;
}

/* The first value that does not walk axes `outer` and `inner` with one step. */
static const struct value *keeps_apart(const struct component *c, const int64_t *full, int outer,
                                       int inner)
{
    const struct op *counts = pass_index_along(c, outer);
    if (!counts) counts = pass_index_along(c, inner);
    if (counts) return counts->out[0];
    for (size_t k = 0; k < c->values.n; k++) {
        const struct value *v = c->values.at[k];
        if (v->dim[outer] == 1 && v->dim[inner] == 1) continue;
        if (v->dim[outer] != full[outer] || v->dim[inner] != full[inner]) return v;
        int64_t step;
        if (in_memory(v) &&
            (!i64_mul(v->stride[inner], v->dim[inner], &step) || step != v->stride[outer])) {
            return v;
        }
    }
    return NULL;
}

static struct groups merge(const struct component *c)
{
    struct groups g = {0};
    int64_t full[MAX_RANK];
    int axes[MAX_RANK];
    full_dims(c, full);
    int n = ordered_axes(c, full, axes);
    for (int k = 0; k < n; k++) {
        const struct value *stop = k ? keeps_apart(c, full, axes[k - 1], axes[k]) : NULL;
        if (k && !stop) {
            g.full[g.n - 1] *= full[axes[k]];
        } else {
            g.full[g.n] = full[axes[k]];
            g.stop[g.n++] = stop;
        }
        g.fastest[g.n - 1] = axes[k];
    }
    return g;
}

static struct diag *complain(struct session *s, const struct component *c, const struct value *v,
                             const char *why)
{
    const struct op *op = pass_op_at(c, v);
    const char *name = v->name ? arena_printf(s->arena, "'%s'", v->name) : "an intermediate";
    struct diag *d = diag(s, DIAG_no_form, op->span, "no cuDNN engine takes this form: %s %s", name,
                          why);
    diag_note(s, d, v->span, "its dims are %s, its strides %s",
              pass_dims_text(s->arena, v->rank, v->dim),
              pass_dims_text(s->arena, v->rank, v->stride));
    return d;
}

static bool refuse(struct session *s, const struct component *c, const struct value *v,
                   const char *why)
{
    complain(s, c, v, why);
    return false;
}

/* The fastest axis must be contiguous in every tensor that has it. */
static bool contiguous(struct session *s, const struct component *c, const struct groups *g)
{
    int axis = g->fastest[g->n - 1];
    for (size_t k = 0; k < c->values.n; k++) {
        const struct value *v = c->values.at[k];
        if (!in_memory(v) || v->dim[axis] == 1 || v->stride[axis] == 1) continue;
        return refuse(s, c, v,
                      arena_printf(s->arena,
                                   "is not contiguous along axis %d, the fastest of "
                                   "the others",
                                   axis));
    }
    return true;
}

enum flat_form {
    FLAT_ROWS,     /* [.., R, C] row-major */
    FLAT_CHANNELS, /* [R, C, 1, 1] channels-last */
};
/* v's groups become axes first, first+1, ... of a tensor of `rank`; the rest are 1. */
static void restate(struct value *v, const struct groups *g, enum flat_form form, int rank,
                    int first)
{
    int64_t dim[MAX_RANK], stride[MAX_RANK];
    for (int k = 0; k < rank; k++) dim[k] = stride[k] = 1;
    for (int k = 0; k < g->n; k++) {
        int axis = g->fastest[k];
        dim[first + k] = v->dim[axis] == 1 ? 1 : g->full[k];
        stride[first + k] = v->stride[axis];
    }
    bool memory = in_memory(v);
    v->rank = rank;
    memcpy(v->dim, dim, sizeof dim);
    memcpy(v->stride, stride, sizeof stride);
    if (memory) {
        struct axis_order by = form == FLAT_CHANNELS ? order_channels_last(rank)
                                                     : order_row_major(rank);
        canonical_strides(v, 1, &by);
    } else {
        (form == FLAT_CHANNELS ? dims_channels_last : dims_row_major)(rank, v->dim, v->stride);
    }
}

/* Where the axes went that operators name by number: to their group, which they have alone; an axis
 * of size 1 to one that the form adds. */
static bool renumber(struct session *s, const struct component *c, const struct groups *g,
                     int first)
{
    int to[MAX_RANK];
    for (int k = 0; k < MAX_RANK; k++) to[k] = first > 0 ? 0 : -1;
    for (int k = 0; k < g->n; k++) to[g->fastest[k]] = first + k;
    return pass_renumber_axes(s, c, to);
}

/* cuDNN 9.19: as rank 2, reductions along rows and of everything are right, but a pointwise result
 * that is stored beside them is written in its first row only (measured); columns have no such form
 * at all. Both are right as channels-last. */
static bool needs_channels(const struct component *c, const struct groups *g)
{
    if (g->n != 2) return false;
    for (size_t k = 0; k < c->ops.n; k++) {
        const struct op *op = c->ops.at[k];
        const struct value *x = op->in[0], *y = op->out[0];
        if (ops[op->id].family != FAM_reduction) {
            if (in_memory(y)) return true;
            continue;
        }
        bool slow = x->dim[g->fastest[0]] != y->dim[g->fastest[0]];
        bool fast = x->dim[g->fastest[1]] != y->dim[g->fastest[1]];
        if (slow && !fast) return true;
    }
    return false;
}

/* A stride of 0 repeats one element, which is what a broadcast axis of size 1 says. The operand of
 * a reduction keeps its length: what is gathered is counted. */
static bool gathered(const struct component *c, const struct value *v)
{
    for (size_t k = 0; k < c->ops.n; k++) {
        const struct op *op = c->ops.at[k];
        if (ops[op->id].family == FAM_reduction && op->in[0] == v) return true;
    }
    return false;
}

static void unrepeat(const struct component *c)
{
    for (size_t k = 0; k < c->values.n; k++) {
        struct value *v = c->values.at[k];
        if (v->role != VAL_INPUT || gathered(c, v)) continue;
        for (int a = 0; a < v->rank; a++) {
            if (v->stride[a] == 0) v->dim[a] = 1;
        }
    }
}

/* cuDNN 9.19: a pointwise kernel walks an input that has every axis; an outer product has none. */
static bool has_full_input(struct session *s, const struct component *c)
{
    int64_t full[MAX_RANK];
    full_dims(c, full);
    for (size_t k = 0; k < c->values.n; k++) {
        const struct value *v = c->values.at[k];
        if (v->role == VAL_INPUT && memcmp(v->dim, full, sizeof *full * (size_t)c->rank) == 0) {
            return true;
        }
    }
    const struct op *op = c->ops.at[0];
    struct diag *d = diag(
        s, DIAG_no_form, op->span,
        "no cuDNN engine takes this form: no input has all dims of the result, %s",
        pass_dims_text(s->arena, c->rank, full));
    diag_hint(s, d, "give one input its full dims");
    return false;
}

/* cuDNN 9.19: reductions take packed tensors only, a pitch between rows is refused. */
static bool packed(struct session *s, const struct component *c, const struct groups *g)
{
    if (g->n < 2) return true;
    int slow = g->fastest[0], fast = g->fastest[1];
    for (size_t k = 0; k < c->values.n; k++) {
        const struct value *v = c->values.at[k];
        if (!in_memory(v) || v->dim[slow] == 1) continue;
        int64_t row = v->dim[fast] == 1 ? 1 : g->full[1];
        if (v->stride[slow] == row) continue;
        struct diag *d = complain(s, c, v, "has gaps between its rows, and reductions take none");
        diag_hint(s, d, "copy(%s) is packed", v->name ? v->name : "...");
        return false;
    }
    return true;
}

/* cuDNN 9.19: over three axes a tensor broadcast along two of them is read at the wrong addresses,
 * and no engine says so (measured: [1, R, 1], [B, 1, 1] and [1, 1, C] against [B, R, C]; those with
 * one axis broadcast are read right). */
static bool read_right(struct session *s, const struct component *c, const struct groups *g)
{
    for (size_t k = 0; g->n == 3 && k < c->values.n; k++) {
        const struct value *v = c->values.at[k];
        int spread = 0;
        for (int j = 0; j < g->n; j++) spread += v->dim[g->fastest[j]] == 1;
        if (spread < 2) continue;
        return refuse(s, c, v, "is broadcast along two of three axes, which engines get wrong");
    }
    return true;
}

/* cuDNN 9.19: an operator whose operands are all columns [R, 1] reads them at the wrong addresses,
 * and no engine says so (measured); a column as one operand of a full-size operator is read right,
 * and so are rows [1, C]. */
static bool no_column_alone(struct session *s, const struct component *c, const struct groups *g)
{
    for (size_t k = 0; g->n >= 2 && k < c->ops.n; k++) {
        const struct op *op = c->ops.at[k];
        const struct value *y = op->out[0];
        int fast = g->fastest[g->n - 1];
        if (ops[op->id].family != FAM_pointwise || y->rank == 0 || y->dim[fast] != 1) continue;
        bool column = false; /* longer than 1 along some other axis */
        for (int j = 0; j + 1 < g->n; j++) column = column || y->dim[g->fastest[j]] > 1;
        if (!column) continue;
        struct diag *d = diag(
            s, DIAG_no_form, op->span,
            "no cuDNN engine takes this form: '%s' works on a column alone, dims %s, "
            "which engines get wrong",
            ops[op->id].name, pass_dims_text(s->arena, y->rank, y->dim));
        diag_hint(s, d, "compute it in a graph of its own, or give it an operand of full size");
        return false;
    }
    return true;
}

/* A condition in memory is compared with 0 on its own before it selects, so it counts as an
 * operator over its own dims. */
static bool no_column_condition(struct session *s, const struct component *c,
                                const struct groups *g)
{
    for (size_t k = 0; g->n >= 2 && k < c->ops.n; k++) {
        const struct op *op = c->ops.at[k];
        const struct value *cond = op->in[0];
        int fast = g->fastest[g->n - 1];
        if (op->id != OP_select || !in_memory(cond) || cond->dim[fast] != 1) continue;
        bool column = false;
        for (int j = 0; j + 1 < g->n; j++) column = column || cond->dim[g->fastest[j]] > 1;
        if (column) return refuse(s, c, cond, "is a column condition, which engines get wrong");
    }
    return true;
}

bool form_flat(struct session *s, struct component *c)
{
    unrepeat(c);
    if (!has_full_input(s, c)) return false;
    struct groups g = merge(c);
    const struct op *reduction = NULL;
    for (size_t k = 0; k < c->ops.n && !reduction; k++) {
        if (ops[c->ops.at[k]->id].family == FAM_reduction) reduction = c->ops.at[k];
    }
    int most = reduction ? 2 : 3;
    if (g.n > most) {
        return refuse(s, c, g.stop[g.n - 1],
                      arena_printf(s->arena,
                                   "keeps the tensors from being walked as %d axes, the "
                                   "most that %s take; %d are left",
                                   most, reduction ? "reductions" : "pointwise kernels", g.n));
    }
    if (!read_right(s, c, &g) || !no_column_alone(s, c, &g) || !no_column_condition(s, c, &g)) {
        return false;
    }
    if (!contiguous(s, c, &g) || (reduction && !packed(s, c, &g))) return false;
    bool channels = reduction && needs_channels(c, &g);
    if (!renumber(s, c, &g, channels ? 0 : (reduction ? 2 : 3) - g.n)) return false;
    for (size_t k = 0; k < c->values.n; k++) {
        struct value *v = c->values.at[k];
        if (channels)
            restate(v, &g, FLAT_CHANNELS, 4, 0);
        else if (reduction)
            restate(v, &g, FLAT_ROWS, 2, 2 - g.n);
        else
            restate(v, &g, FLAT_ROWS, 3, 3 - g.n);
    }
    return true;
}
