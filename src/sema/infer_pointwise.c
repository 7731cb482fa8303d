/* infer_pointwise: shapes of pointwise operators and reductions.
 *
 * Invariant: ranks are equal or 0, an axis of size 1 spreads, and nothing else is broadcast. */
#include "sema/internal.h"

/* Where a value with one axis longer than 1 would go in a tensor like `big`: its channels where it
 * has spatial axes, else the axis of the same size, the last one first. */
static int home_axis(const struct value *big, int64_t size)
{
    if (big->rank >= 4 && (big->dim[1] == size || size == 0)) return 1;
    for (int i = big->rank - 1; i >= 0; i--)
        if (big->dim[i] == size) return i;
    return -1;
}

/* Dims of equal rank that `small` may have meant. False when there is no good guess. */
static bool extended(const struct value *small, const struct value *big, int64_t *dim)
{
    int long_axes = 0;
    int64_t size = 1;
    for (int i = 0; i < small->rank; i++) {
        if (small->dim[i] == 1) continue;
        long_axes++;
        size = small->dim[i];
    }
    for (int i = 0; i < big->rank; i++) dim[i] = 1;
    if (long_axes == 0) return true;
    if (long_axes == 1) {
        int axis = home_axis(big, size);
        if (axis < 0) return false;
        dim[axis] = size;
        return true;
    }
    if (small->rank >= big->rank) return false;
    for (int i = 0; i < small->rank; i++) {
        int at = big->rank - small->rank + i;
        if (small->dim[i] != 1 && small->dim[i] != big->dim[at]) return false;
        dim[at] = small->dim[i];
    }
    return true;
}

static void suggest_dims(struct sema *m, struct diag *d, const struct value *a,
                         const struct value *b)
{
    const struct value *small = a->rank < b->rank ? a : b, *big = small == a ? b : a;
    int64_t dim[MAX_RANK], n_a, n_b;
    if (a->rank == b->rank && dims_count(a->rank, a->dim, &n_a) &&
        dims_count(b->rank, b->dim, &n_b) && n_a < n_b) {
        small = a;
        big = b;
    }
    const char *name = small->name != NULL ? small->name : "it";
    if (extended(small, big, dim))
        hint(m, d, "declare %s%s%s as %s", small->name ? "'" : "", name, small->name ? "'" : "",
             dims_text(m, big->rank, dim));
    else if (big->rank >= 4)
        hint(m, d, "a value for each channel is [1, %lld%s", (long long)big->dim[1],
             big->rank == 4 ? ", 1, 1]" : ", 1, 1, 1]");
}

static bool ranks_differ(struct sema *m, const struct application *x, int i, const struct value *a)
{
    const struct value *b = x->in[i];
    struct diag *d = error_at(m, DIAG_broadcast, x->in_span[i], "'%s' of %s and %s: %d and %d axes",
                              ops[x->id].name, value_text(m, a), value_text(m, b), a->rank,
                              b->rank);
    diag_note(m->s, d, NO_SPAN, "operands have equal rank; only axes of size 1 spread");
    suggest_dims(m, d, a, b);
    return false;
}

bool infer_broadcast(struct sema *m, struct application *x, struct shape *out)
{
    const struct value *base = NULL;
    int widest[MAX_RANK] = {0}; /* the operand that gave each dim */
    for (int i = 0; i < ops[x->id].n_in; i++) {
        const struct value *v = x->in[i];
        if (v == NULL || v->rank == 0) continue;
        if (base == NULL) {
            base = v;
            out->rank = v->rank;
            for (int k = 0; k < v->rank; k++) {
                out->dim[k] = v->dim[k];
                widest[k] = i;
            }
            continue;
        }
        if (v->rank != out->rank) return ranks_differ(m, x, i, base);
        for (int k = 0; k < v->rank; k++) {
            if (v->dim[k] == out->dim[k] || v->dim[k] == 1) continue;
            if (out->dim[k] == 1) {
                out->dim[k] = v->dim[k];
                widest[k] = i;
                continue;
            }
            const struct value *w = x->in[widest[k]];
            struct diag *d = error_at(m, DIAG_broadcast, x->in_span[i],
                                      "'%s' of %s and %s: axis %d is %lld and %lld",
                                      ops[x->id].name, value_text(m, w), value_text(m, v), k,
                                      (long long)w->dim[k], (long long)v->dim[k]);
            diag_note(m->s, d, NO_SPAN, "only an axis of size 1 spreads");
            suggest_dims(m, d, w, v);
            return false;
        }
    }
    return true;
}

bool infer_select(struct sema *m, struct application *x, struct shape *out)
{
    return infer_broadcast(m, x, out);
}

bool infer_index(struct sema *m, struct application *x, struct shape *out)
{
    if (!infer_broadcast(m, x, out)) return false;
    if (x->attr[0].i < out->rank) return true;
    error_at(m, DIAG_reduce_axes, x->attr_span[0], "%s has axes 0 to %d, not %lld",
             value_text(m, x->in[0]), out->rank - 1, (long long)x->attr[0].i);
    return false;
}

bool infer_cast(struct sema *m, struct application *x, struct shape *out)
{
    return infer_broadcast(m, x, out);
}

bool infer_reduce(struct sema *m, struct application *x, struct shape *out)
{
    int at = op_attr_index(x->id, "axes");
    struct attr *axes = &x->attr[at];
    const struct value *v = x->in[0];
    bool reduced[MAX_RANK] = {false};
    if (axes->n < 0) /* all */
        for (int i = 0; i < v->rank; i++) reduced[i] = true;
    for (int i = 0; i < axes->n; i++) {
        int64_t a = axes->list[i];
        if (a < 0 || a >= v->rank) {
            error_at(m, DIAG_reduce_axes, x->attr_span[at], "%s has axes 0 to %d, not %lld",
                     value_text(m, v), v->rank - 1, (long long)a);
            return false;
        }
        if (reduced[a]) {
            error_at(m, DIAG_reduce_axes, x->attr_span[at], "axis %lld is given twice",
                     (long long)a);
            return false;
        }
        reduced[a] = true;
    }
    axes->n = 0;
    out->rank = v->rank;
    for (int i = 0; i < v->rank; i++) {
        out->dim[i] = reduced[i] ? 1 : v->dim[i];
        if (reduced[i]) axes->list[axes->n++] = i;
    }
    return true;
}
