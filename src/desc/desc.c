/* Builds descriptor trees and prints them.
 *
 * Invariant: a descriptor's children stand before it in the graph's list, every attribute is set at
 * most once, with the type that desc.def gives it. */
#include "desc/desc.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>

const char *const desc_kind_names[N_DESC_KINDS] = {
#define DESC_KIND(name, cudnn) [DESC_KIND_##name] = #name,
#define DESC_ATTR(name, type)
#include "desc/desc.def"
#undef DESC_KIND
#undef DESC_ATTR
};
const struct desc_attr_info desc_attrs[N_DESC_ATTRS] = {
#define DESC_KIND(name, cudnn)
#define DESC_ATTR(name, type) [DESC_ATTR_##name] = {#name, DESC_##type},
#include "desc/desc.def"
#undef DESC_KIND
#undef DESC_ATTR
};

struct desc *desc_new(struct arena *a, struct desc_graph *g, enum desc_kind kind, const char *id)
{
    struct desc *d = NEW(a, struct desc);
    d->id = arena_strdup(a, id);
    d->kind = kind;
    vec_push(a, &g->descs, d);
    return d;
}

const struct desc_attr *desc_get(const struct desc *d, enum desc_attr_id id)
{
    for (size_t k = 0; k < d->attrs.n; k++) {
        if (d->attrs.at[k].id == id) return &d->attrs.at[k];
    }
    return NULL;
}

static struct desc_attr *add(struct arena *a, struct desc *d, enum desc_attr_id id, int n)
{
    enum { FEW = 7 }; /* few descriptors have more, so few storages are left behind */
    assert(!desc_get(d, id));
    struct desc_attr attr = {.id = id, .n = (short)n};
    if (d->attrs.cap == 0) {
        d->attrs.cap = FEW;
        d->attrs.at = NEW_N(a, struct desc_attr, FEW);
    }
    vec_push(a, &d->attrs, attr);
    return &d->attrs.at[d->attrs.n - 1];
}

void desc_set_i64(struct arena *a, struct desc *d, enum desc_attr_id id, int64_t v)
{
    assert(desc_attrs[id].type == DESC_INT64 || desc_attrs[id].type == DESC_BOOLEAN);
    add(a, d, id, 1)->i = arena_copy(a, &v, sizeof v);
}

void desc_set_list(struct arena *a, struct desc *d, enum desc_attr_id id, int n, const int64_t *v)
{
    assert(desc_attrs[id].type == DESC_INT64 && n >= 1 && n <= MAX_RANK);
    struct desc_attr *attr = add(a, d, id, n);
    attr->is_list = true;
    attr->i = arena_copy(a, v, (size_t)n * sizeof *v);
}

void desc_set_real(struct arena *a, struct desc *d, enum desc_attr_id id, double v)
{
    assert(desc_attrs[id].type == DESC_DOUBLE || desc_attrs[id].type == DESC_FLOAT);
    add(a, d, id, 1)->r[0] = v;
}

void desc_set_word(struct arena *a, struct desc *d, enum desc_attr_id id, const char *word)
{
    assert(desc_attrs[id].type >= DESC_DATA_TYPE && desc_attrs[id].type <= DESC_NAN_PROPAGATION);
    add(a, d, id, 1)->word = word;
}

void desc_set_child(struct arena *a, struct desc *d, enum desc_attr_id id, struct desc *child)
{
    assert(desc_attrs[id].type == DESC_DESCRIPTOR);
    add(a, d, id, 1)->child = child;
}

/* JSON has no infinities: they travel as strings. */
static void put_real(struct buf *out, double x)
{
    bool quote = !isfinite(x);
    if (quote) buf_puts(out, "\"");
    buf_real(out, x);
    if (quote) buf_puts(out, "\"");
}

static void print_value(const struct desc_attr *attr, struct buf *out)
{
    switch (desc_attrs[attr->id].type) {
    case DESC_INT64:
        if (attr->is_list) buf_puts(out, "[");
        for (int k = 0; k < attr->n; k++) buf_printf(out, "%s%" PRId64, k ? "," : "", attr->i[k]);
        if (attr->is_list) buf_puts(out, "]");
        break;
    case DESC_BOOLEAN: buf_puts(out, attr->i[0] ? "true" : "false"); break;
    case DESC_DOUBLE:
    case DESC_FLOAT: put_real(out, attr->r[0]); break;
    case DESC_DESCRIPTOR: buf_printf(out, "\"%s\"", attr->child->id); break;
    default: buf_printf(out, "\"%s\"", attr->word);
    }
}

void desc_print(const struct desc_graph *g, struct buf *out)
{
    buf_puts(out, "{\"descriptors\": [\n");
    for (size_t k = 0; k < g->descs.n; k++) {
        const struct desc *d = g->descs.at[k];
        buf_printf(out, "{\"id\":\"%s\",\"kind\":\"%s\"", d->id, desc_kind_names[d->kind]);
        for (size_t j = 0; j < d->attrs.n; j++) {
            buf_printf(out, ",\"%s\":", desc_attrs[d->attrs.at[j].id].name);
            print_value(&d->attrs.at[j], out);
        }
        buf_puts(out, k + 1 < g->descs.n ? "},\n" : "}\n");
    }
    buf_puts(out, "],\"operations\":[");
    for (size_t k = 0; k < g->operations.n; k++) {
        buf_printf(out, "%s\"%s\"", k ? "," : "", g->operations.at[k]->id);
    }
    buf_puts(out, "],\"constants\":{");
    for (size_t k = 0; k < g->constants.n; k++) {
        const struct desc_constant *c = &g->constants.at[k];
        buf_printf(out, "%s\"%" PRId64 "\":{\"type\":\"%s\",\"value\":", k ? "," : "", c->uid,
                   c->type);
        put_real(out, c->value);
        buf_puts(out, "}");
    }
    buf_puts(out, "}}\n");
}
