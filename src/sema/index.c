/* index: what editors ask for: the type of a name, the result of a call, by its place in the text.
 *
 * Invariant: without an index nothing is done; with one, a place is described once, so a function
 * that is inlined a thousand times costs a look-up each. */
#include "sema/internal.h"

#include <inttypes.h>

struct fact {
    uint32_t begin; /* 0: an empty slot */
    const char *text;
};
struct sema_index {
    struct arena *a;
    struct fact *at; /* open addressing, at most half full */
    size_t n, cap;   /* cap is a power of two */
};

struct sema_index *sema_index_new(struct arena *a)
{
    struct sema_index *x = NEW(a, struct sema_index);
    *x = (struct sema_index){.a = a, .cap = 256};
    x->at = NEW_N(a, struct fact, x->cap);
    return x;
}

static struct fact *slot(const struct sema_index *x, uint32_t begin)
{
    size_t i = (begin * UINT32_C(2654435769)) & (x->cap - 1);
    while (x->at[i].begin != 0 && x->at[i].begin != begin) i = (i + 1) & (x->cap - 1);
    return &x->at[i];
}

const char *sema_index_at(const struct sema_index *x, uint32_t begin)
{
    return begin != 0 ? slot(x, begin)->text : NULL;
}

static void grow(struct sema_index *x)
{
    struct sema_index old = *x;
    x->cap *= 2;
    x->at = NEW_N(x->a, struct fact, x->cap);
    for (size_t i = 0; i < old.cap; i++)
        if (old.at[i].begin != 0) *slot(x, old.at[i].begin) = old.at[i];
}

/* Elements, not bytes: as in strides(...). */
static void describe_layout(const struct value *v, struct buf *b)
{
    static const char *const words[] = {
        [LAYOUT_row_major] = "",           [LAYOUT_channels_last] = " channels_last",
        [LAYOUT_col_major] = " col_major", [LAYOUT_order] = NULL,
        [LAYOUT_strides] = NULL,
    };
    if (words[v->layout] != NULL) {
        buf_puts(b, words[v->layout]);
        return;
    }
    buf_puts(b, " strides(");
    for (int i = 0; i < v->rank; i++) buf_printf(b, "%s%" PRId64, i > 0 ? ", " : "", v->stride[i]);
    buf_puts(b, ")");
}

static void describe_memory(const struct value *v, struct buf *b)
{
    int64_t extent, bytes;
    buf_puts(b, "\nstrides ");
    for (int i = 0; i < v->rank; i++) buf_printf(b, "%s%" PRId64, i > 0 ? ", " : "", v->stride[i]);
    if (dims_extent(v->rank, v->dim, v->stride, &extent) &&
        i64_mul(extent, dtypes[v->type].bits / 8, &bytes))
        buf_printf(b, "; %" PRId64 " bytes, aligned to %" PRId64, bytes, v->align);
}

static void describe_value(const struct value *v, struct buf *b)
{
    buf_puts(b, dtypes[v->type].name);
    if (v->role == VAL_SCALAR && v->has_default) {
        buf_puts(b, " = ");
        buf_real(b, v->literal);
    }
    if (v->rank == 0) return;
    buf_puts(b, "[");
    for (int i = 0; i < v->rank; i++) buf_printf(b, "%s%" PRId64, i > 0 ? ", " : "", v->dim[i]);
    buf_puts(b, "]");
    describe_layout(v, b);
    if (v->role == VAL_INPUT || v->role == VAL_OUTPUT || v->pinned) describe_memory(v, b);
}

/* Whose first result, or what constant. False when there is nothing to say. */
static bool describe(struct sema *m, struct cell c, struct buf *b)
{
    switch (c.kind) {
    case CELL_TENSOR: describe_value(c.v, b); return true;
    case CELL_TUPLE: return c.list->n > 0 && describe(m, c.list->at[0], b);
    case CELL_POISON:
    case CELL_UNKNOWN: return false;
    default: buf_puts(b, cell_text(m, c)); return true;
    }
}

void index_cell(struct sema *m, struct span at, struct cell c)
{
    struct sema_index *x = m->o->index;
    if (x == NULL || at.end == 0 || slot(x, at.begin)->begin != 0) return;
    struct buf b = {0};
    if (describe(m, c, &b)) {
        if (m->call != NULL)
            buf_printf(&b, "\nin the first call of '%s'", m->call->item->name.text);
        else if (m->g != NULL && m->g->variant[0] != '\0')
            buf_printf(&b, "\nin the variant %s", m->g->variant);
        if (2 * (x->n + 1) > x->cap) grow(x);
        *slot(x, at.begin) = (struct fact){at.begin, arena_strdup(x->a, b.at)};
        x->n++;
    }
    buf_fini(&b);
}
