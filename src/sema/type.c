/* type: declared types: element type, dims, layout clauses, and what they make of a value.
 *
 * Invariant: dims are in logical order and clauses change strides alone; elements, bytes and the
 * last offset fit 63 bits or the declaration is refused. */
#include "sema/internal.h"

const char *dims_text(struct sema *m, int rank, const int64_t *dim)
{
    struct buf b = {0};
    buf_puts(&b, "[");
    for (int i = 0; i < rank; i++)
        if (dim[i] == 0) buf_printf(&b, "%s_", i > 0 ? ", " : "");
        else buf_printf(&b, "%s%lld", i > 0 ? ", " : "", (long long)dim[i]);
    buf_puts(&b, "]");
    const char *t = arena_strdup(m->scratch, b.at);
    buf_fini(&b);
    return t;
}

const char *value_text(struct sema *m, const struct value *v)
{
    if (v->role == VAL_SCALAR) return arena_printf(m->scratch, "'%s'", v->name);
    const char *dims = dims_text(m, v->rank, v->dim);
    if (v->name != NULL) return arena_printf(m->scratch, "'%s' %s", v->name, dims);
    const char *op = v->producer != NULL ? ops[v->producer->id].name : "value";
    return arena_printf(m->scratch, "the result of '%s' %s", op, dims);
}

enum dtype type_named(struct sema *m, struct name name)
{
    struct sym *sym = m->body != NULL ? scope_find(m->body, name.text) : NULL;
    if (sym == NULL) sym = file_find(m, name.text, NULL);
    if (sym != NULL) {
        struct cell c = lookup(m, name);
        if (c.kind == CELL_TYPE) return c.type;
        if (c.kind != CELL_POISON)
            error_at(m, DIAG_kind, name.span, "'%s' is %s, not an element type", name.text,
                     cell_text(m, c));
        return DT_none;
    }
    enum dtype t = dtype_find(name.text);
    if (t != DT_none || is_torn(m)) return t;
    struct diag *d = error_at(m, DIAG_unknown_name, name.span, "unknown element type '%s'",
                              name.text);
    const char *at[N_DTYPES];
    size_t n = 0;
    for (int i = DT_none + 1; i < N_DTYPES; i++) at[n++] = dtypes[i].name;
    static const char *const foreign[][2] = {
        {"float", "f32"},   {"float32", "f32"}, {"fp32", "f32"},      {"half", "f16"},
        {"float16", "f16"}, {"fp16", "f16"},    {"bfloat16", "bf16"}, {"double", "f64"},
        {"float64", "f64"}, {"int8", "i8"},     {"int32", "i32"},     {"int", "i32"},
        {"int64", "i64"},   {"uint8", "u8"},    {"fp8", "e4m3"},      {"boolean", "bool"},
    };
    const char *close = NULL;
    for (size_t i = 0; i < COUNT_OF(foreign) && close == NULL; i++)
        if (strcmp(foreign[i][0], name.text) == 0) close = foreign[i][1];
    if (close == NULL) close = closest_name(name.text, at, n);
    diag_did_you_mean(m->s, d, name.span, close);
    return DT_none;
}

/* ---- dims -------------------------------------------------------------------------------- */

static bool cannot_infer(struct sema *m, const char *what, struct span at)
{
    error_at(m, DIAG_type_syntax, at,
             "'%s' stands only in outputs and annotations: write the dims out", what);
    return false;
}

static bool read_dims(struct sema *m, const struct type_expr *te, bool may_infer, struct tspec *out)
{
    out->has_dims = te->has_brackets;
    if (te->infer_all) {
        out->infer_all = true;
        return may_infer || cannot_infer(m, "...", te->span);
    }
    if (te->has_brackets && (te->dims.n < 1 || te->dims.n > MAX_RANK)) {
        error_at(m, DIAG_dims, te->span, "a tensor has 1 to %d axes, not %zu", MAX_RANK,
                 te->dims.n);
        return false;
    }
    bool ok = true;
    out->rank = (int)te->dims.n;
    for (int i = 0; i < out->rank; i++) {
        struct expr *e = te->dims.at[i];
        struct span at = te->dim_spans.at[i];
        if (e == NULL) {
            if (!may_infer) ok = cannot_infer(m, "_", at);
            continue;
        }
        int64_t *d = &out->dim[i];
        if (!eval_int(m, e, "a dim", d)) ok = false;
        else if (*d < 1) {
            error_at(m, DIAG_dims, at, "dim %d is %lld: each is at least 1", i, (long long)*d);
            ok = false;
        }
    }
    return ok;
}

/* ---- clauses ----------------------------------------------------------------------------- */

static bool layout_error(struct sema *m, struct span at, const char *what)
{
    error_at(m, DIAG_layout, at, "%s", what);
    return false;
}

/* The axis that an argument of order(...) means: a number, or the name of a dim that is a bare name
 * and stands once. -1 when reported. */
static int order_axis(struct sema *m, const struct type_expr *te, const struct expr *e)
{
    if (e->kind != EXPR_NAME || e->path.n != 1) {
        int64_t i;
        return eval_int(m, e, "an axis", &i) ? (i >= 0 && i < MAX_RANK ? (int)i : MAX_RANK) : -1;
    }
    const char *word = e->path.at[0].text;
    int axis = -1, n = 0;
    for (size_t i = 0; i < te->dims.n; i++) {
        const struct expr *d = te->dims.at[i];
        if (d == NULL || d->kind != EXPR_NAME || d->path.n != 1 || d->path.at[0].text != word)
            continue;
        axis = (int)i;
        n++;
    }
    if (n == 1) return axis;
    struct diag *d = error_at(m, DIAG_layout, e->span,
                              n == 0 ? "no dim is the bare name '%s'" : "'%s' is more than one dim",
                              word);
    hint(m, d, "order takes axes slowest first, by number or by the names of their dims");
    return -1;
}

static bool read_order(struct sema *m, const struct type_expr *te, const struct clause *c,
                       struct tspec *out)
{
    bool ok = true, seen[MAX_RANK + 1] = {false};
    if (!te->infer_all && (int)c->args.n != out->rank) {
        error_at(m, DIAG_layout, c->span, "order names %zu ax%s of %d", c->args.n,
                 c->args.n == 1 ? "is" : "es", out->rank);
        return false;
    }
    if (c->args.n < 1 || c->args.n > MAX_RANK)
        return layout_error(m, c->span, "order names every axis once, slowest first");
    out->layout = LAYOUT_order;
    out->n_order = (int)c->args.n;
    for (int i = 0; i < out->n_order; i++) {
        int axis = order_axis(m, te, c->args.at[i].value);
        if (axis < 0) {
            ok = false;
            continue;
        }
        if (axis >= out->n_order || seen[axis]) {
            error_at(m, DIAG_layout, c->args.at[i].value->span,
                     "order names every axis from 0 to %d once", out->n_order - 1);
            return false;
        }
        seen[axis] = true;
        out->order[i] = axis;
    }
    return ok;
}

static bool read_strides(struct sema *m, const struct type_expr *te, const struct clause *c,
                         struct tspec *out)
{
    if ((!te->infer_all && (int)c->args.n != out->rank) || c->args.n < 1 || c->args.n > MAX_RANK) {
        error_at(m, DIAG_layout, c->span, "%zu stride%s for %d ax%s", c->args.n,
                 c->args.n == 1 ? "" : "s", out->rank, out->rank == 1 ? "is" : "es");
        return false;
    }
    bool ok = true;
    out->layout = LAYOUT_strides;
    out->n_strides = (int)c->args.n;
    for (int i = 0; i < out->n_strides; i++) {
        const struct expr *e = c->args.at[i].value;
        if (!eval_int(m, e, "a stride", &out->stride[i])) ok = false;
        else if (out->stride[i] < 0) {
            error_at(m, DIAG_layout, e->span, "stride %d is %lld: each is at least 0", i,
                     (long long)out->stride[i]);
            ok = false;
        }
    }
    return ok;
}

static bool read_align(struct sema *m, const struct clause *c, struct tspec *out)
{
    if (c->args.n != 1) return layout_error(m, c->span, "align takes one number of bytes");
    if (!eval_int(m, c->args.at[0].value, "an alignment", &out->align)) return false;
    int64_t a = out->align, element = dtypes[out->type].bits / 8;
    if (a >= 1 && a <= (1 << 20) && (a & (a - 1)) == 0 && a >= element) return true;
    error_at(m, DIAG_layout, c->args.at[0].value->span,
             "align(%lld): a power of two from %lld (the size of %s) to 1048576 bytes is needed",
             (long long)a, (long long)element, dtypes[out->type].name);
    return false;
}

static bool plain_layout(struct sema *m, const struct clause *c, enum layout layout,
                         struct tspec *out)
{
    out->layout = layout;
    if (c->has_parens) {
        error_at(m, DIAG_layout, c->span, "'%s' takes no arguments", c->name.text);
        return false;
    }
    int least = layout == LAYOUT_channels_last ? 3 : layout == LAYOUT_col_major ? 2 : 1;
    if (out->infer_all || out->rank >= least) return true;
    error_at(m, DIAG_layout, c->span, "'%s' needs %d axes or more, not %d", c->name.text, least,
             out->rank);
    return false;
}

static bool unknown_clause(struct sema *m, const struct clause *c)
{
    const char *w = c->name.text, *layouts[16];
    size_t n = 0;
    for (size_t i = 0; i < n_fg_words && n < COUNT_OF(layouts); i++)
        if (fg_words[i].kind == WORD_layout) layouts[n++] = fg_words[i].name;
    struct diag *d = error_at(m, DIAG_layout, c->name.span, "unknown layout '%s'", w);
    if (strcmp(w, "nhwc") == 0 || strcmp(w, "NHWC") == 0 || strcmp(w, "ndhwc") == 0)
        hint(m, d, "dims are always in logical order; the layout is called channels_last");
    else if (strcmp(w, "nchw") == 0 || strcmp(w, "NCHW") == 0)
        hint(m, d, "dims are always in logical order; the layout is row_major, the default");
    else diag_did_you_mean(m->s, d, c->name.span, closest_name(w, layouts, n));
    return false;
}

static bool read_clause(struct sema *m, const struct type_expr *te, const struct clause *c,
                        struct tspec *out)
{
    const char *w = c->name.text;
    for (size_t i = 0; i < c->args.n; i++)
        if (c->args.at[i].name.text != NULL)
            return layout_error(m, c->args.at[i].name.span, "clauses take no named arguments");
    if (strcmp(w, "align") == 0) return read_align(m, c, out);
    out->has_layout = true;
    out->layout_span = c->span;
    if (strcmp(w, "row_major") == 0) return plain_layout(m, c, LAYOUT_row_major, out);
    if (strcmp(w, "channels_last") == 0) return plain_layout(m, c, LAYOUT_channels_last, out);
    if (strcmp(w, "col_major") == 0) return plain_layout(m, c, LAYOUT_col_major, out);
    if (strcmp(w, "order") == 0) return read_order(m, te, c, out);
    if (strcmp(w, "strides") == 0) return read_strides(m, te, c, out);
    return unknown_clause(m, c);
}

static bool read_clauses(struct sema *m, const struct type_expr *te, struct tspec *out)
{
    bool ok = true;
    const struct clause *layout = NULL, *align = NULL;
    out->align = 16;
    for (size_t i = 0; i < te->clauses.n; i++) {
        const struct clause *c = &te->clauses.at[i];
        const struct clause **slot = strcmp(c->name.text, "align") == 0 ? &align : &layout;
        if (*slot != NULL) {
            struct diag *d = error_at(m, DIAG_layout, c->span, "a second %s",
                                      slot == &align ? "alignment" : "layout");
            diag_note(m->s, d, (*slot)->span, "the first is here");
            ok = false;
            continue;
        }
        *slot = c;
        if (!te->has_brackets && slot == &layout) {
            error_at(m, DIAG_layout, c->span,
                     "a layout needs dims: write [...] to have them inferred");
            ok = false;
        } else if (!read_clause(m, te, c, out)) {
            ok = false;
        }
    }
    return ok;
}

bool tspec_read(struct sema *m, const struct type_expr *te, bool may_infer, struct tspec *out)
{
    *out = (struct tspec){.span = te->span, .layout = LAYOUT_row_major};
    out->type = type_named(m, te->elem);
    bool ok = out->type != DT_none;
    if (out->type == DT_tf32) {
        error_at(m, DIAG_element_type, te->elem.span,
                 "'tf32' is a compute type and no tensor has it");
        ok = false;
    } else if (ok && dtypes[out->type].bits < 8) {
        error_at(m, DIAG_unsupported, te->elem.span, "not supported yet: tensors of %s",
                 dtypes[out->type].name);
        ok = false;
    }
    if (!read_dims(m, te, may_infer, out)) ok = false;
    return ok && read_clauses(m, te, out); /* clauses speak of the dims and of the element's size */
}

/* ---- on a value -------------------------------------------------------------------------- */

static const char *label(struct sema *m, const char *name)
{
    return name != NULL ? arena_printf(m->scratch, "'%s'", name) : "this";
}

bool check_size(struct sema *m, const struct value *v, const char *name, struct span at)
{
    int64_t count, extent, bytes, element = dtypes[v->type].bits / 8;
    if (!dims_count(v->rank, v->dim, &count)) {
        error_at(m, DIAG_dims, at, "%s has more than 2^63 - 1 elements: %s", label(m, name),
                 dims_text(m, v->rank, v->dim));
        return false;
    }
    if (!i64_mul(count, element, &bytes)) {
        error_at(m, DIAG_dims, at, "%s has more than 2^63 - 1 bytes: %lld elements of %lld",
                 label(m, name), (long long)count, (long long)element);
        return false;
    }
    if (dims_extent(v->rank, v->dim, v->stride, &extent) && i64_mul(extent, element, &bytes))
        return true;
    error_at(m, DIAG_dims, at, "the strides of %s reach beyond 2^63 - 1 bytes", label(m, name));
    return false;
}

/* Strides of packed axes, slowest first. */
static void order_strides(struct value *v, const int *order)
{
    int64_t step = 1;
    for (int i = v->rank - 1; i >= 0; i--) {
        v->stride[order[i]] = step;
        if (!i64_mul(step, v->dim[order[i]], &step)) step = INT64_MAX; /* check_size counts again */
    }
}

static bool fits_rank(struct sema *m, const struct tspec *t, const struct value *v,
                      const char *name)
{
    int least = t->layout == LAYOUT_channels_last ? 3 : t->layout == LAYOUT_col_major ? 2 : 1;
    int exactly = t->layout == LAYOUT_order     ? t->n_order
                  : t->layout == LAYOUT_strides ? t->n_strides
                                                : v->rank;
    if (v->rank >= least && v->rank == exactly) return true;
    error_at(m, DIAG_layout, t->layout_span, "%s has %d ax%s, which this layout does not fit",
             label(m, name), v->rank, v->rank == 1 ? "is" : "es");
    return false;
}

bool tspec_layout(struct sema *m, const struct tspec *t, struct value *v, const char *name,
                  bool unique)
{
    if (!fits_rank(m, t, v, name)) return false;
    int order[MAX_RANK];
    for (int i = 0; i < v->rank; i++) order[i] = i;
    v->layout = t->layout;
    v->align = t->align;
    switch (t->layout) {
    case LAYOUT_row_major: dims_row_major(v->rank, v->dim, v->stride); break;
    case LAYOUT_channels_last: dims_channels_last(v->rank, v->dim, v->stride); break;
    case LAYOUT_col_major:
        order[v->rank - 2] = v->rank - 1;
        order[v->rank - 1] = v->rank - 2;
        order_strides(v, order);
        break;
    case LAYOUT_order: order_strides(v, t->order); break;
    case LAYOUT_strides:
        for (int i = 0; i < v->rank; i++) v->stride[i] = t->stride[i];
        break;
    }
    if (!check_size(m, v, name, t->span)) return false;
    if (!unique || t->layout != LAYOUT_strides || dims_injective(v->rank, v->dim, v->stride))
        return true;
    struct diag *d = error_at(m, DIAG_overlap, t->layout_span,
                              "these strides give two elements of %s one address", label(m, name));
    diag_note(m->s, d, NO_SPAN, "its dims are %s", dims_text(m, v->rank, v->dim));
    return false;
}

bool tspec_match(struct sema *m, const struct tspec *t, const struct value *v, const char *name,
                 struct span at)
{
    if (!t->has_dims || t->infer_all) return true;
    bool same = t->rank == v->rank;
    for (int i = 0; same && i < t->rank; i++) same = t->dim[i] == 0 || t->dim[i] == v->dim[i];
    if (same) return true;
    struct diag *d = error_at(m, DIAG_shape_mismatch, at, "'%s' is declared %s, but this is %s",
                              name, dims_text(m, t->rank, t->dim), dims_text(m, v->rank, v->dim));
    const struct op *by = v->producer;
    if (by != NULL && (by->span.begin < at.begin || by->span.begin > at.end))
        diag_note(m->s, d, by->span, "%s comes from here", value_text(m, v));
    if (t->span.begin < at.begin || t->span.begin > at.end)
        diag_note(m->s, d, t->span, "declared here");
    return false;
}
