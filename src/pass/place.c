/* place: where in the workspace the values lie that cross cuts.
 *
 * Invariant: two temporaries share bytes only where no step makes or reads both: one that a step
 * reads never lies where the step writes. Offsets and sizes are checked 63-bit numbers. The largest
 * are placed first, each at the lowest offset that is free while it lives. */
#include "pass/passes.h"

#include <inttypes.h>
#include <stdlib.h>

static bool is_output(const struct graph *g, int64_t uid)
{
    for (size_t k = 0; k < g->outputs.n; k++)
        if (g->outputs.at[k]->uid == uid) return true;
    return false;
}

/* One entry a value that a step makes and that is no output of the graph. */
static bool collect(struct session *s, const struct graph *g, const graphs_vec *steps,
                    temporaries_vec *out)
{
    struct map *seen = map_new(s->arena);
    for (size_t r = 0; r < steps->n; r++) {
        const struct graph *part = steps->at[r];
        for (size_t k = 0; k < part->inputs.n; k++) {
            char key[24];
            const struct value *in = part->inputs.at[k];
            snprintf(key, sizeof key, "%" PRId64, in->base ? in->base : in->uid);
            const int *at = map_get(seen, key);
            if (at) out->at[*at].last = (int)r;
        }
        for (size_t k = 0; k < part->outputs.n; k++) {
            const struct value *v = part->outputs.at[k];
            if (is_output(g, v->uid)) continue;
            struct temporary t = {.value = v, .first = (int)r, .last = (int)r};
            if (!dims_extent(v->rank, v->dim, v->stride, &t.bytes) ||
                !i64_mul(t.bytes, (dtypes[v->type].bits + 7) / 8, &t.bytes)) {
                diag(s, DIAG_too_large, v->span,
                     "a value between two kernels is larger than 63 "
                     "bits can address");
                return false;
            }
            int *at = NEW(s->arena, int);
            *at = (int)out->n;
            map_put(seen, arena_printf(s->arena, "%" PRId64, v->uid), at);
            vec_push(s->arena, out, t);
        }
    }
    return true;
}

static int larger_first(const void *a, const void *b)
{
    const struct temporary *x = *(struct temporary *const *)a, *y = *(struct temporary *const *)b;
    if (x->bytes != y->bytes) return x->bytes < y->bytes ? 1 : -1;
    return x < y ? -1 : x > y;
}

static bool live_together(const struct temporary *x, const struct temporary *y)
{
    return x->first <= y->last && y->first <= x->last;
}

/* placed: by offset. */
static bool place_one(struct temporary *t, struct temporary **placed, size_t n, int64_t *total)
{
    int64_t end;
    for (size_t k = 0; k < n; k++) {
        const struct temporary *p = placed[k];
        if (!live_together(t, p)) continue;
        if (p->offset > t->offset && p->offset - t->offset >= t->bytes) break;
        if (!i64_add(p->offset, p->bytes, &end) || !i64_add(end, TEMPORARY_ALIGN - 1, &end))
            return false;
        end -= end % TEMPORARY_ALIGN;
        if (end > t->offset) t->offset = end;
    }
    if (!i64_add(t->offset, t->bytes, &end)) return false;
    if (end > *total) *total = end;
    size_t at = n;
    for (; at > 0 && placed[at - 1]->offset > t->offset; at--) placed[at] = placed[at - 1];
    placed[at] = t;
    return true;
}

bool pass_place(struct session *s, const struct graph *g, const graphs_vec *steps,
                temporaries_vec *out, int64_t *total)
{
    *total = 0;
    if (!collect(s, g, steps, out)) return false;
    struct temporary **order = NEW_N(s->arena, struct temporary *, out->n + 1);
    struct temporary **placed = NEW_N(s->arena, struct temporary *, out->n + 1);
    for (size_t k = 0; k < out->n; k++) order[k] = &out->at[k];
    qsort(order, out->n, sizeof *order, larger_first);
    for (size_t k = 0; k < out->n; k++) {
        if (place_one(order[k], placed, k, total)) continue;
        diag(s, DIAG_too_large, g->span,
             "the values between the kernels of graph '%s' are larger than 63 bits can address",
             g->name);
        return false;
    }
    return true;
}

/* ---- for people ------------------------------------------------------------------------------ */

static void print_reader_list(const graphs_vec *steps, size_t from, int64_t uid, struct buf *out)
{
    const char *before = ", read by step ";
    for (size_t k = from; k < steps->n; k++)
        for (size_t j = 0; j < steps->at[k]->inputs.n; j++) {
            const struct value *in = steps->at[k]->inputs.at[j];
            if ((in->base ? in->base : in->uid) != uid) continue;
            buf_printf(out, "%s%zu", before, k);
            before = ", ";
            break; /* it may look at it more than once */
        }
    buf_puts(out, "\n");
}

static const struct temporary *find(const temporaries_vec *all, const struct value *v)
{
    for (size_t k = 0; k < all->n; k++)
        if (all->at[k].value == v) return &all->at[k];
    return NULL;
}

bool pass_print_regions(struct session *s, const struct graph *g, const graphs_vec *steps,
                        struct buf *out)
{
    temporaries_vec all = {0};
    int64_t total;
    if (steps->n > 1 && !pass_place(s, g, steps, &all, &total)) return false;
    if (steps->n > 1)
        buf_printf(out, "# %zu steps, %" PRId64 " bytes between them\n", steps->n, total);
    for (size_t r = 0; r < steps->n; r++) {
        const struct graph *part = steps->at[r];
        if (steps->n > 1) buf_printf(out, "# step %zu\n", r);
        for (size_t k = 0; steps->n > 1 && k < part->outputs.n; k++) {
            const struct value *v = part->outputs.at[k];
            const struct temporary *t = find(&all, v);
            buf_printf(out, "#   %s%%%" PRId64 " : %s", v->name ? v->name : "", v->uid,
                       dtypes[v->type].name);
            if (t)
                buf_printf(out, ", %" PRId64 " bytes at %" PRId64 "%s", t->bytes, t->offset,
                           v->pinned ? "" : ", not pinned: kept as computed");
            else
                buf_puts(out, ", an output");
            print_reader_list(steps, r + 1, v->uid, out);
        }
        ir_print(part, out);
    }
    return true;
}
