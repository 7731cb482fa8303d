/* Lowers attention into the composite that cuDNN's attention engines match.
 *
 *   P = q kT; P = P * scale; [P = row >= column ? P : -inf]; m = max(P); e = exp(P - m);
 *   s = sum(e); stats = m + log(s); p = e / s, rounded to q's type; o = p v
 *
 * Invariant: exactly this order of operations, LOG and the ADD after it always there (virtual when
 * unwanted): the engines of cuDNN 9.19 refuse any other. Rows without a key give 0 and stats of
 * -inf on both engines (measured, bottom_right with Sq > Skv). */
#include "desc/lower.h"

#include <math.h>

struct attention {
    const struct op *op;
    int64_t scores[4]; /* B, Hq, Sq, Skv */
    int64_t rows[4];   /* B, Hq, Sq, 1 */
};

/* k with its last two axes swapped: the same bytes read as [B, Hk, D, Skv]. */
static struct desc *transposed(struct lowering *l, const struct value *k)
{
    struct value t = *k;
    t.dim[2] = k->dim[3];
    t.dim[3] = k->dim[2];
    t.stride[2] = k->stride[3];
    t.stride[3] = k->stride[2];
    return lower_value(l, &t);
}

static struct desc *index_along(struct lowering *l, const struct attention *at, struct desc *scores,
                                int axis)
{
    struct desc *index = lower_virtual(l, DT_i32, 4, at->scores);
    desc_set_i64(l->arena, lower_pw(l, at->op, "GEN_INDEX", "FLOAT", scores, NULL, NULL, index),
                 DESC_ATTR_POINTWISE_AXIS, axis);
    return index;
}

static struct desc *moved(struct lowering *l, const struct attention *at, const char *mode,
                          struct desc *index, int64_t by)
{
    struct desc *to = lower_virtual(l, DT_i32, 4, at->scores);
    lower_pw(l, at->op, mode, "INT32", index, lower_literal(l, DT_i32, (double)by), NULL, to);
    return to;
}

/* Scores where the two indices compare so, else -inf. */
static struct desc *keep(struct lowering *l, const struct attention *at, struct desc *scores,
                         const char *mode, struct desc *x, struct desc *y)
{
    struct desc *kept = lower_virtual(l, DT_bool, 4, at->scores);
    lower_pw(l, at->op, mode, "BOOLEAN", x, y, NULL, kept);
    struct desc *masked = lower_virtual(l, DT_f32, 4, at->scores);
    lower_pw(l, at->op, "BINARY_SELECT", "FLOAT", scores, lower_literal(l, DT_f32, -HUGE_VAL), kept,
             masked);
    return masked;
}

/* The mask's two bounds, each as cuDNN's attention engines match it: row + right >= column, and
 * column + left + 1 > row; bottom_right moves the diagonal by Skv - Sq. */
static struct desc *mask(struct lowering *l, const struct attention *at, struct desc *scores,
                         const struct mask_window *w, bool bottom_right)
{
    if (w->right >= 0) {
        struct desc *row = index_along(l, at, scores, 2), *column = index_along(l, at, scores, 3);
        if (bottom_right) {
            row = moved(l, at, "ADD", row, at->scores[3]);
            row = moved(l, at, "SUB", row, at->scores[2]);
        }
        if (w->right > 0) row = moved(l, at, "ADD", row, w->right);
        scores = keep(l, at, scores, "CMP_GE", row, column);
    }
    if (w->left >= 0) {
        int64_t by = w->left + 1 + (bottom_right ? at->scores[2] - at->scores[3] : 0);
        struct desc *row = index_along(l, at, scores, 2), *column = index_along(l, at, scores, 3);
        scores = keep(l, at, scores, "CMP_GT", moved(l, at, "ADD", column, by), row);
    }
    return scores;
}

/* Softmax of the scores along the last axis; the logarithms of the sums go to `stats`. */
static struct desc *softmax(struct lowering *l, const struct attention *at, struct desc *scores,
                            struct desc *stats)
{
    const struct op *op = at->op;
    struct desc *most = lower_virtual(l, DT_f32, 4, at->rows);
    lower_reduce(l, op, "MAX", "FLOAT", scores, most);
    struct desc *below = lower_virtual(l, DT_f32, 4, at->scores);
    lower_pw(l, op, "SUB", "FLOAT", scores, most, NULL, below);
    struct desc *e = lower_virtual(l, DT_f32, 4, at->scores);
    lower_pw(l, op, "EXP", "FLOAT", below, NULL, NULL, e);
    struct desc *sum = lower_virtual(l, DT_f32, 4, at->rows);
    lower_reduce(l, op, "ADD", "FLOAT", e, sum);
    struct desc *log = lower_virtual(l, DT_f32, 4, at->rows);
    lower_pw(l, op, "LOG", "FLOAT", sum, NULL, NULL, log);
    lower_pw(l, op, "ADD", "FLOAT", most, log, NULL,
             stats ? stats : lower_virtual(l, DT_f32, 4, at->rows));
    struct desc *p = lower_virtual(l, op->in[0]->type, 4, at->scores);
    lower_pw(l, op, "DIV", "FLOAT", e, sum, NULL, p);
    return p;
}

static bool refuse(struct lowering *l, const struct op *op, const char *why, const char *hint)
{
    struct diag *d = diag(l->session, DIAG_no_lowering, op->span,
                          "no cuDNN engine takes this 'sdpa': %s", why);
    if (hint) diag_hint(l->session, d, "%s", hint);
    return false;
}

/* With rows that start elsewhere than at a multiple of 16 bytes, attention engines read and write
 * wrong elements without a word, whatever alignment the descriptors declare (measured on an H200,
 * cuDNN 9.19: pointers 2 bytes off, and a row stride of 136 bytes). That they copy in blocks of 16
 * is inferred. */
static bool sixteen_byte_rows(struct lowering *l, const struct op *op, const struct value *v)
{
    const char *name = v->name ? v->name : "a result";
    int64_t size = dtypes[v->type].bits / 8;
    if (v->align < 16) {
        return refuse(
            l, op,
            arena_printf(l->arena, "'%s' is aligned to %lld bytes only", name, (long long)v->align),
            "attention engines copy rows in blocks of 16 bytes: declare align(16) and keep it");
    }
    for (int i = 0; i < 3; i++) {
        if (v->dim[i] == 1 || v->stride[i] * size % 16 == 0) continue;
        return refuse(
            l, op,
            arena_printf(l->arena,
                         "'%s' has stride %lld along axis %d, %lld bytes past a multiple of 16",
                         name, (long long)v->stride[i], i, (long long)(v->stride[i] * size % 16)),
            "attention engines copy rows in blocks of 16 bytes");
    }
    return true;
}

static bool supported(struct lowering *l, const struct op *op)
{
    const struct value *q = op->in[0], *k = op->in[1], *v = op->in[2], *o = op->out[0];
    const struct value *all[] = {q, k, v, o};
    for (size_t j = 0; j < COUNT_OF(all); j++) {
        if (all[j]->stride[3] == 1) continue;
        const char *name = all[j]->name ? all[j]->name : "a result";
        return refuse(l, op,
                      arena_printf(l->arena, "'%s' has stride %lld along its last axis", name,
                                   (long long)all[j]->stride[3]),
                      "attention engines need the head's elements next to each other");
    }
    if (q->dim[3] % 8 != 0 || v->dim[3] % 8 != 0) {
        int64_t odd = q->dim[3] % 8 ? q->dim[3] : v->dim[3];
        return refuse(
            l, op,
            arena_printf(l->arena, "the head size %lld is not a multiple of 8", (long long)odd),
            "pad the head axis with zeros to the next multiple of 8");
    }
    if (o->type != q->type) {
        return refuse(l, op,
                      arena_printf(l->arena, "the result is %s and q is %s", dtypes[o->type].name,
                                   dtypes[q->type].name),
                      "declare the result with q's element type");
    }
    for (size_t j = 0; j < COUNT_OF(all); j++)
        if (!sixteen_byte_rows(l, op, all[j])) return false;
    return true;
}

bool lower_sdpa(struct lowering *l, const struct op *op)
{
    const struct value *q = op->in[0], *k = op->in[1];
    struct mask_window w = mask_window(lower_attr(op, "mask"));
    int align = op_attr_index(op->id, "align");
    bool bottom_right = op->attr[align].given &&
                        op->attr[align].i ==
                            word_index(ops[op->id].attr[align].choices, "bottom_right");
    if (!supported(l, op)) return false;

    struct attention at = {
        op, {q->dim[0], q->dim[1], q->dim[2], k->dim[2]}, {q->dim[0], q->dim[1], q->dim[2], 1}};
    const char *compute = lower_compute(op->compute);
    struct desc *scores = lower_virtual(l, DT_f32, 4, at.scores);
    struct desc *left = lower_value(l, q);
    lower_mm(l, op, compute, left, transposed(l, k), scores);
    struct desc *scaled = lower_virtual(l, DT_f32, 4, at.scores);
    lower_pw(l, op, "MUL", "FLOAT", scores, lower_literal(l, DT_f32, lower_attr(op, "scale")->r),
             NULL, scaled);
    scaled = mask(l, &at, scaled, &w, bottom_right);
    struct desc *stats = op->out[1] ? lower_value(l, op->out[1]) : NULL;
    struct desc *p = softmax(l, &at, scaled, stats);
    struct desc *v = lower_value(l, op->in[2]);
    lower_mm(l, op, compute, p, v, lower_value(l, op->out[0]));
    return true;
}
