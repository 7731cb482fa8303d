/* infer_view: shapes of views: transpose, reshape, slice and copy.
 *
 * Invariant: an attribute that was left out is filled in, so that slice has full lists, one number
 * an axis. */
#include "sema/internal.h"

bool infer_transpose(struct sema *m, struct application *x, struct shape *out)
{
    const struct value *v = x->in[0];
    const struct attr *axes = &x->attr[op_attr_index(x->id, "axes")];
    bool seen[MAX_RANK] = {false}, ok = axes->n == v->rank;
    for (int i = 0; ok && i < axes->n; i++) {
        int64_t k = axes->list[i];
        ok = k >= 0 && k < v->rank && !seen[k];
        if (!ok) break;
        seen[k] = true;
        out->dim[i] = v->dim[k];
    }
    out->rank = v->rank;
    if (ok) return true;
    error_at(m, DIAG_reduce_axes, x->attr_span[op_attr_index(x->id, "axes")],
             "the axes of %s are 0 to %d: a transposition names each of them once",
             value_text(m, v), v->rank - 1);
    return false;
}

bool infer_copy(struct sema *m, struct application *x, struct shape *out)
{
    (void)m;
    out->rank = x->in[0]->rank;
    memcpy(out->dim, x->in[0]->dim, sizeof out->dim);
    return true;
}

bool infer_reshape(struct sema *m, struct application *x, struct shape *out)
{
    const struct value *v = x->in[0];
    int at = op_attr_index(x->id, "dims");
    const struct attr *dims = &x->attr[at];
    int64_t count = 1, held;
    out->rank = dims->n;
    for (int i = 0; i < dims->n; i++) {
        out->dim[i] = dims->list[i];
        if (dims->list[i] >= 1 && i64_mul(count, dims->list[i], &count)) continue;
        error_at(m, DIAG_view_shape, x->attr_span[at],
                 dims->list[i] < 1 ? "a dim is at least 1, not %lld"
                                   : "the dims up to %lld do not fit 63 bits",
                 (long long)dims->list[i]);
        return false;
    }
    if (!dims_count(v->rank, v->dim, &held) || held == count) return true;
    error_at(m, DIAG_view_shape, x->attr_span[at], "%s has %lld elements, %s has %lld",
             value_text(m, v), (long long)held, dims_text(m, dims->n, dims->list),
             (long long)count);
    return false;
}

/* One number an axis; fills what was left out. */
static bool axis_list(struct sema *m, struct application *x, const char *name, const int64_t *def)
{
    const struct value *v = x->in[0];
    int at = op_attr_index(x->id, name);
    struct attr *a = &x->attr[at];
    if (!a->given) {
        a->given = true;
        a->n = v->rank;
        memcpy(a->list, def, sizeof *def * (size_t)v->rank);
    }
    if (a->n == v->rank) return true;
    error_at(m, DIAG_view_shape, x->attr_span[at], "'%s' has %d number%s; %s has %d ax%s", name,
             a->n, a->n == 1 ? "" : "s", value_text(m, v), v->rank, v->rank == 1 ? "is" : "es");
    return false;
}

bool infer_slice(struct sema *m, struct application *x, struct shape *out)
{
    static const int64_t zeros[MAX_RANK], ones[MAX_RANK] = {1, 1, 1, 1, 1, 1, 1, 1};
    const struct value *v = x->in[0];
    if (!axis_list(m, x, "start", zeros) || !axis_list(m, x, "end", v->dim) ||
        !axis_list(m, x, "step", ones))
        return false;
    int from = op_attr_index(x->id, "start"), to = op_attr_index(x->id, "end"),
        by = op_attr_index(x->id, "step");
    out->rank = v->rank;
    for (int k = 0; k < v->rank; k++) {
        int64_t start = x->attr[from].list[k], end = x->attr[to].list[k],
                step = x->attr[by].list[k];
        int wrong = start < 0 || start >= v->dim[k] ? from
                    : end <= start || end > v->dim[k] ? to
                    : step < 1                        ? by
                                                      : -1;
        if (wrong >= 0) {
            struct span at = x->attr_span[wrong].end ? x->attr_span[wrong] : x->span;
            if (wrong == by)
                error_at(m, DIAG_view_shape, at, "'step' must be at least 1, not %lld",
                         (long long)step);
            else
                error_at(m, DIAG_view_shape, at,
                         "axis %d of %s has indices 0 to %lld: %lld to before %lld is no part of it",
                         k, value_text(m, v), (long long)v->dim[k] - 1, (long long)start,
                         (long long)end);
            return false;
        }
        out->dim[k] = (end - start - 1) / step + 1;
    }
    return true;
}
