/* attrs: name=value after an operator's operands, by the operator's row.
 *
 * Invariant: an attribute is either stored as written or reported; none is ever ignored. A name
 * given to an attribute of named choices is looked up among those alone. */
#include "sema/internal.h"

#include <math.h>

/* Attributes and masks of the language that have no row yet. */
static const struct {
    enum op_id op;
    const char *name;
} later_attributes[] = {
    {OP_sdpa, "bias"}, {OP_sdpa, "alibi"}, {OP_sdpa, "dropout"}, {OP_sdpa, "paged"}};

static const char *bare_name(const struct expr *e)
{
    return e->kind == EXPR_NAME && e->path.n == 1 ? e->path.at[0].text : NULL;
}

static bool wrong(struct sema *m, const struct attr_info *info, struct span at, const char *needs,
                  struct cell got)
{
    error_at(m, DIAG_attribute_value, at, "'%s' takes %s, not %s", info->name, needs,
             cell_text(m, got));
    return false;
}

static bool in_range(struct sema *m, const struct attr_info *info, struct span at, double x)
{
    if (!(info->least < info->most) || (x >= info->least && x <= info->most)) return true;
    if (info->most >= 9e18)
        error_at(m, DIAG_attribute_value, at, "'%s' must be at least %g, not %g", info->name,
                 info->least, x);
    else
        error_at(m, DIAG_attribute_value, at, "'%s' must lie within %g and %g, not %g", info->name,
                 info->least, info->most, x);
    return false;
}

static bool read_int(struct sema *m, const struct attr_info *info, const struct expr *e,
                     struct attr *out)
{
    struct cell c = eval(m, e);
    if (c.kind == CELL_POISON) return false;
    if (c.kind != CELL_INT) return wrong(m, info, e->span, "an integer", c);
    out->i = c.i;
    out->r = (double)c.i;
    return in_range(m, info, e->span, (double)c.i);
}

static bool read_real(struct sema *m, const struct attr_info *info, const struct expr *e,
                      struct attr *out)
{
    struct cell c = eval(m, e);
    if (c.kind == CELL_POISON) return false;
    if (!is_number(c)) return wrong(m, info, e->span, "a number known when compiling", c);
    return constant_as(m, c, DT_f64, e->span, &out->r) && in_range(m, info, e->span, out->r);
}

static bool read_bool(struct sema *m, const struct attr_info *info, const struct expr *e,
                      struct attr *out)
{
    struct cell c = eval(m, e);
    if (c.kind == CELL_POISON) return false;
    if (c.kind != CELL_BOOL) return wrong(m, info, e->span, "true or false", c);
    out->i = c.b;
    return true;
}

static bool read_ints(struct sema *m, const struct attr_info *info, const struct expr *e,
                      struct attr *out)
{
    struct cell c = eval(m, e);
    if (c.kind == CELL_POISON) return false;
    if (c.kind != CELL_LIST) return wrong(m, info, e->span, "a list of integers", c);
    if (c.list->n > MAX_RANK) {
        error_at(m, DIAG_attribute_value, e->span,
                 "'%s' has %zu numbers; a tensor has at most %d axes", info->name, c.list->n,
                 MAX_RANK);
        return false;
    }
    for (size_t i = 0; i < c.list->n; i++) {
        if (c.list->at[i].kind != CELL_INT)
            return wrong(m, info, e->span, "a list of integers", c.list->at[i]);
        out->list[i] = c.list->at[i].i;
    }
    out->n = (int)c.list->n;
    if (out->n == 0) {
        error_at(m, DIAG_attribute_value, e->span, "'%s' is an empty list", info->name);
        return false;
    }
    return true;
}

static bool read_axes(struct sema *m, const struct attr_info *info, const struct expr *e,
                      struct attr *out)
{
    const char *word = bare_name(e);
    if (word != NULL && strcmp(word, "all") == 0) {
        out->n = -1; /* the shape rule knows the rank */
        return true;
    }
    return read_ints(m, info, e, out);
}

static bool read_choice(struct sema *m, const struct attr_info *info, const struct expr *e,
                        struct attr *out)
{
    const char *word = bare_name(e);
    int i = word != NULL ? word_index(info->choices, word) : -1;
    if (i >= 0) {
        out->i = i;
        return true;
    }
    struct diag *d;
    if (word != NULL)
        d = error_at(m, DIAG_attribute_value, e->span, "'%s' is no choice of '%s'", word,
                     info->name);
    else
        d = error_at(m, DIAG_attribute_value, e->span, "'%s' takes one of its named choices",
                     info->name);
    diag_note(m->s, d, NO_SPAN, "its choices: %s", info->choices);
    char text[16][64];
    const char *at[16];
    size_t n = 0;
    while (n < COUNT_OF(at) && *(at[n] = word_at(info->choices, (int)n, text[n])) != '\0') n++;
    const char *close = word != NULL ? closest_name(word, at, n) : NULL;
    diag_did_you_mean(m->s, d, e->span, close);
    return false;
}

static bool read_dtype(struct sema *m, const struct attr_info *info, const struct expr *e,
                       struct attr *out)
{
    struct cell c = eval(m, e);
    if (c.kind == CELL_POISON) return false;
    if (c.kind != CELL_TYPE) return wrong(m, info, e->span, "an element type", c);
    out->i = c.type;
    if (strcmp(info->name, "compute") == 0) return compute_allowed(m, c.type, e->span);
    if (c.type != DT_tf32 && dtypes[c.type].bits >= 8) return true;
    error_at(m, DIAG_element_type, e->span, "'%s' is %s", dtypes[c.type].name,
             c.type == DT_tf32 ? "a compute type and no tensor has it"
                               : "not stored by any operator yet");
    return false;
}

/* window(left=L, right=R): both included, a side left out has no bound. */
static bool read_window(struct sema *m, const struct expr *call, struct mask_window *out)
{
    for (size_t k = 0; k < call->args.n; k++) {
        const struct arg *arg = &call->args.at[k];
        bool is_left = arg->name.text != NULL && strcmp(arg->name.text, "left") == 0;
        int64_t *side = is_left ? &out->left : &out->right;
        if (!is_left && (arg->name.text == NULL || strcmp(arg->name.text, "right") != 0)) {
            struct diag *d = error_at(m, DIAG_mask, arg->value->span,
                                      "a window's bounds are named, left=L and right=R");
            hint(m, d, "window(left=127, right=0) is the last 128 keys");
            return false;
        }
        if (!eval_int(m, arg->value, "a window's bound", side)) return false;
        if (*side >= 0 && *side <= INT32_MAX / 2) continue;
        error_at(m, DIAG_mask, arg->value->span, "a window's bound is from 0 to %d, not %lld",
                 INT32_MAX / 2, (long long)*side);
        return false;
    }
    if (out->left >= 0 || out->right >= 0) return true;
    error_at(m, DIAG_mask, call->span, "a window without left and right masks nothing");
    return false;
}

/* Masks joined by `and` narrow each other: a key takes part when all allow it. Joined ones are
 * walked down their left side, by a loop. */
static bool read_masks(struct sema *m, const struct attr_info *info, const struct expr *e,
                       struct mask_window *all)
{
    for (bool more = true; more;) {
        while (e->kind == EXPR_PAREN) e = e->right;
        more = e->kind == EXPR_BINARY && e->op == AST_AND;
        const struct expr *one = more ? e->right : e;
        while (one->kind == EXPR_PAREN) one = one->right;
        if (more) e = e->left;
        const char *word = bare_name(one);
        bool is_call = one->kind == EXPR_CALL && one->path.n == 1;
        struct mask_window w = {-1, -1};
        if (one->kind == EXPR_BINARY && one->op == AST_AND) {
            if (!read_masks(m, info, one, &w)) return false;
        } else if (word != NULL && strcmp(word, "causal") == 0) {
            w.right = 0;
        } else if (is_call && strcmp(one->path.at[0].text, "window") == 0) {
            if (!read_window(m, one, &w)) return false;
        } else if (is_call && strcmp(one->path.at[0].text, "padding") == 0) {
            error_at(m, DIAG_unsupported, one->span, "not supported yet: the mask 'padding'");
            return false;
        } else if (word != NULL && (m->body == NULL || scope_find(m->body, word) == NULL)) {
            static const char *const masks[] = {"causal", "window"};
            const char *close = closest_name(word, masks, 2);
            struct diag *d = error_at(m, DIAG_attribute_value, one->span, "'%s' is no mask", word);
            if (close != NULL)
                diag_did_you_mean(m->s, d, one->span, close);
            else
                hint(m, d, "the masks are causal and window(left=, right=)");
            return false;
        } else {
            struct cell c = eval(m, one);
            if (c.kind == CELL_POISON) return false;
            if (c.kind != CELL_TENSOR) return wrong(m, info, one->span, "a mask", c);
            error_at(m, DIAG_unsupported, one->span, "not supported yet: a tensor as a mask");
            return false;
        }
        if (w.left >= 0 && (all->left < 0 || w.left < all->left)) all->left = w.left;
        if (w.right >= 0 && (all->right < 0 || w.right < all->right)) all->right = w.right;
    }
    return true;
}

static bool read_mask(struct sema *m, const struct attr_info *info, const struct expr *e,
                      struct attr *out)
{
    struct mask_window all = {-1, -1};
    if (!read_masks(m, info, e, &all)) return false;
    out->i = all.left < 0 && all.right == 0 ? MASK_causal : MASK_window;
    out->list[0] = all.left;
    out->list[1] = all.right;
    return true;
}

static bool (*const readers[])(struct sema *, const struct attr_info *, const struct expr *,
                               struct attr *) = {
    [ATTR_INT] = read_int,     [ATTR_REAL] = read_real, [ATTR_BOOL] = read_bool,
    [ATTR_INTS] = read_ints,   [ATTR_AXES] = read_axes, [ATTR_CHOICE] = read_choice,
    [ATTR_DTYPE] = read_dtype, [ATTR_MASK] = read_mask,
};

static void unknown(struct sema *m, enum op_id id, struct name name)
{
    const struct op_info *info = &ops[id];
    for (size_t i = 0; i < COUNT_OF(later_attributes); i++) {
        if (later_attributes[i].op != id || strcmp(later_attributes[i].name, name.text) != 0)
            continue;
        error_at(m, DIAG_unsupported, name.span, "not supported yet: '%s' of '%s'", name.text,
                 info->name);
        return;
    }
    struct diag *d = error_at(m, DIAG_unknown_attribute, name.span, "'%s' has no attribute '%s'",
                              info->name, name.text);
    const char *at[MAX_ATTRS];
    int n = op_n_attrs(id);
    for (int i = 0; i < n; i++) at[i] = info->attr[i].name;
    diag_did_you_mean(m->s, d, name.span, closest_name(name.text, at, (size_t)n));
    for (int i = 0; i < info->n_in; i++)
        if (strcmp(info->in[i].name, name.text) == 0)
            hint(m, d, "'%s' is an operand: operands are positional", name.text);
}

static bool require_all(struct sema *m, struct application *x)
{
    const struct op_info *info = &ops[x->id];
    bool ok = true;
    for (int i = 0; i < op_n_attrs(x->id); i++) {
        const struct attr_info *a = &info->attr[i];
        if (!a->required || x->attr[i].given) continue;
        struct diag *d = error_at(m, DIAG_missing_attribute, x->span,
                                  "'%s' needs its attribute '%s'", info->name, a->name);
        diag_note(m->s, d, NO_SPAN, "%s: %s", a->name, a->doc);
        if (info->family == FAM_sdpa && strcmp(a->name, "scale") == 0)
            hint(m, d, "scale=1/sqrt(D), D the last dim of q, is the usual choice");
        else if (a->kind == ATTR_CHOICE)
            hint(m, d, "%s is one of: %s", a->name, a->choices);
        ok = false;
    }
    return ok;
}

bool attributes(struct sema *m, const struct arguments *args, struct application *x)
{
    const struct op_info *info = &ops[x->id];
    bool ok = true;
    for (int i = 0; i < op_n_attrs(x->id); i++) {
        x->attr[i].r = info->attr[i].def;
        if (info->attr[i].kind != ATTR_REAL) x->attr[i].i = (int64_t)info->attr[i].def;
    }
    for (size_t k = 0; k < args->args->n; k++) {
        const struct arg *arg = &args->args->at[k];
        if (arg->name.text == NULL) continue;
        int i = op_attr_index(x->id, arg->name.text);
        if (i < 0) {
            unknown(m, x->id, arg->name);
            ok = false;
            continue;
        }
        x->attr[i].given = true;
        x->attr_span[i] = arg->value->span;
        if (arg->value->kind == EXPR_ERROR ||
            !readers[info->attr[i].kind](m, &info->attr[i], arg->value, &x->attr[i]))
            ok = false;
    }
    return require_all(m, x) && ok;
}
