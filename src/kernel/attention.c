/* attention: sdpa in steps, each a thread an element: the values' largest magnitudes, scores, rows'
 * maxima and sums, probabilities, products. Scores of as many rows as CHUNK_BYTES hold lie in
 * memory at once.
 *
 * Bounds are the interpreter's: of an element four times what the rule of the norm allows the row's
 * largest |v|. */
#include "kernel/internal.h"

enum { CHUNK_BYTES = 1 << 30 };

struct attention {
    struct maker *m;
    const struct op *op;
    const struct value *q, *k, *v, *o, *stats;
    int64_t n, rows, chunk;                  /* keys; rows in all, and at once */
    int scores, most, sum, largest, of_keys; /* buffers */
};

/* Why this form has no kernels, or NULL. What is not known here is never taken for absent. */
static const char *barred(const struct op *op)
{
    static const char known[] = "scale mask align compute";
    for (int i = 0; i < op_n_attrs(op->id); i++)
        if (op->attr[i].given && word_index(known, ops[op->id].attr[i].name) < 0)
            return ops[op->id].attr[i].name;
    for (int i = 3; i < ops[op->id].n_in; i++)
        if (op->in[i]) return ops[op->id].in[i].name;
    int64_t mask = attr_of(op, "mask")->i;
    return mask == MASK_none || mask == MASK_causal || mask == MASK_window ? NULL : "that mask";
}

/* Indices of row `row`: x0 batch, x1 head, x2 query; and the keys [first, last) that it sees. */
static void say_row(struct maker_kernel *k, const struct attention *t, const char *row)
{
    struct mask_window w = mask_window(attr_of(t->op, "mask"));
    bool right = attr_of(t->op, "align")->i == 1;
    kernel_indices(k, 3, t->q->dim, row, "x");
    kernel_say(k, "    i64 from, to;\n    keys(x2 + %lldLL, %lldLL, %lldLL, %lldLL, &from, &to);\n",
               (long long)(right ? t->n - t->q->dim[2] : 0), (long long)t->n, (long long)w.left,
               (long long)w.right);
}

static void say_head(struct maker_kernel *k, const struct attention *t, const struct value *of)
{
    kernel_say(k, "    i64 h = x1 / %lldLL;\n", (long long)(t->q->dim[1] / of->dim[1]));
}

/* The largest |v| of each key: the bound's measure. */
static void magnitudes(struct attention *t)
{
    int64_t count = t->v->dim[0] * t->v->dim[1] * t->n;
    static const char *const index[] = {"x0", "x1", "x2", "d"};
    t->of_keys = new_buffer(t->m, count * 8);
    struct maker_kernel k = kernel_begin(t->m, t->op, "v", count);
    struct operand v = kernel_operand(&k, t->v);
    kernel_indices(&k, 3, t->v->dim, "i", "x");
    kernel_say(&k,
               "    double most = 0;\n    for (i64 d = 0; d < %lldLL; d++) {\n"
               "    double x = fabs((double)%s);\n    if (x > most) most = x;\n    }\n"
               "    store_f64(%s, i, most);\n",
               (long long)t->v->dim[3], element_text(&k, &v, index), kernel_buffer(&k, t->of_keys));
    kernel_end(&k, (double)count * (double)t->v->dim[3], NULL);
}

/* A thread a (row, key): the score, or -inf. */
static struct kernel_launch scores(struct attention *t)
{
    static const char *const iq[] = {"x0", "x1", "x2", "d"}, *const ik[] = {"x0", "h", "j", "d"};
    struct kernel_launch l;
    struct maker_kernel k = kernel_begin(t->m, t->op, "s", t->chunk * t->n);
    struct operand q = kernel_operand(&k, t->q), key = kernel_operand(&k, t->k);
    kernel_say(&k, "    i64 row = i / %lldLL, j = i %% %lldLL;\n", (long long)t->n,
               (long long)t->n);
    say_row(&k, t, "row");
    say_head(&k, t, t->k);
    struct buf scale = {0};
    put_number(&scale, attr_of(t->op, "scale")->r, false);
    kernel_say(
        &k,
        "    double s = 0;\n    if (j >= from && j < to) {\n"
        "    for (i64 d = 0; d < %lldLL; d++) s += (double)%s * (double)%s;\n"
        "    s *= %s;\n    } else {\n    s = -INF;\n    }\n    store_f64(%s, i - first, s);\n",
        (long long)t->q->dim[3], element_text(&k, &q, iq), element_text(&k, &key, ik), scale.at,
        kernel_buffer(&k, t->scores));
    buf_fini(&scale);
    kernel_end(&k, (double)k.launch.count * (double)t->q->dim[3], &l);
    return l;
}

/* A thread a row: the largest score, the sum of exponentials, the largest |v|; stats, when asked.
 */
static struct kernel_launch rows(struct attention *t)
{
    struct kernel_launch l;
    struct maker_kernel k = kernel_begin(t->m, t->op, "r", t->chunk);
    say_row(&k, t, "i");
    say_head(&k, t, t->v);
    const char *s = kernel_buffer(&k, t->scores), *v = kernel_buffer(&k, t->of_keys);
    kernel_say(&k,
               "    const double *s = (const double *)%s + (i - first) * %lldLL;\n"
               "    const double *v = (const double *)%s + (x0 * %lldLL + h) * %lldLL;\n"
               "    double most = -INF, sum = 0, largest = 0;\n"
               "    for (i64 j = from; j < to; j++) if (s[j] > most) most = s[j];\n"
               "    for (i64 j = from; j < to; j++) sum += exp(s[j] - most);\n"
               "    for (i64 j = from; j < to; j++) if (v[j] > largest) largest = v[j];\n"
               "    store_f64(%s, i - first, most);\n    store_f64(%s, i - first, sum);\n"
               "    store_f64(%s, i - first, largest);\n",
               s, (long long)t->n, v, (long long)t->v->dim[1], (long long)t->n,
               kernel_buffer(&k, t->most), kernel_buffer(&k, t->sum),
               kernel_buffer(&k, t->largest));
    if (t->stats) {
        kernel_say(&k, "    i64 x3 = 0;\n    double y = to > from ? most + log(sum) : -INF;\n"
                       "    double e = to > from ? 1e-3 + 1e-4 * fabs(y) : 0;\n");
        kernel_store(&k, t->stats, "x", "y", "e");
    }
    kernel_end(&k, 3.0 * (double)k.launch.count * (double)t->n, &l);
    return l;
}

/* A thread a (row, key): the probability, rounded to q's type, in the score's place. */
static struct kernel_launch probabilities(struct attention *t)
{
    struct kernel_launch l;
    struct maker_kernel k = kernel_begin(t->m, t->op, "p", t->chunk * t->n);
    const char *s = kernel_buffer(&k, t->scores);
    kernel_say(&k,
               "    i64 own = i - first, row = own / %lldLL;\n    double s = load_f64(%s, own);\n"
               "    double p = s == -INF ? 0 : exp(s - load_f64(%s, row)) / load_f64(%s, row);\n"
               "    store_f64(%s, own, round_%s(p));\n",
               (long long)t->n, s, kernel_buffer(&k, t->most), kernel_buffer(&k, t->sum), s,
               dtypes[t->q->type].name);
    kernel_end(&k, (double)k.launch.count, &l);
    return l;
}

/* A thread a (row, dim): the sum of probabilities times values. */
static struct kernel_launch products(struct attention *t)
{
    static const char *const iv[] = {"x0", "h", "j", "x3"};
    struct kernel_launch l;
    int64_t d = t->v->dim[3];
    struct maker_kernel k = kernel_begin(t->m, t->op, "o", t->chunk * d);
    struct operand v = kernel_operand(&k, t->v);
    kernel_say(&k, "    i64 row = i / %lldLL, x3 = i %% %lldLL, own = row - first / %lldLL;\n",
               (long long)d, (long long)d, (long long)d);
    say_row(&k, t, "row");
    say_head(&k, t, t->v);
    kernel_say(&k,
               "    const double *p = (const double *)%s + own * %lldLL;\n    double y = 0;\n"
               "    for (i64 j = from; j < to; j++) y += p[j] * (double)%s;\n"
               "    double e = %.17g * load_f64(%s, own);\n",
               kernel_buffer(&k, t->scores), (long long)t->n, element_text(&k, &v, iv),
               4 * sdpa_ratio(t->q->type), kernel_buffer(&k, t->largest));
    kernel_store(&k, t->o, "x", "y", "e");
    kernel_end(&k, (double)k.launch.count * (double)t->n, &l);
    return l;
}

bool kernel_sdpa(struct maker *m, const struct op *op)
{
    struct attention t = {.m = m,
                          .op = op,
                          .q = op->in[0],
                          .k = op->in[1],
                          .v = op->in[2],
                          .o = op->out[0],
                          .stats = op->out[1]};
    const char *why = op->id == OP_sdpa ? barred(op) : "that operator";
    if (why) {
        m->out->why = arena_printf(m->a, "'%s' with %s has no plain kernel", ops[op->id].name, why);
        return false;
    }
    t.n = t.k->dim[2];
    t.rows = t.q->dim[0] * t.q->dim[1] * t.q->dim[2];
    t.chunk = CHUNK_BYTES / 8 / t.n;
    t.chunk = t.chunk < 1 ? 1 : t.chunk > t.rows ? t.rows : t.chunk;
    t.scores = new_buffer(m, t.chunk * t.n * 8);
    t.most = new_buffer(m, t.chunk * 8);
    t.sum = new_buffer(m, t.chunk * 8);
    t.largest = new_buffer(m, t.chunk * 8);
    magnitudes(&t);
    struct {
        struct kernel_launch l;
        int64_t a_row;
    } step[] = {
        {scores(&t), t.n}, {rows(&t), 1}, {probabilities(&t), t.n}, {products(&t), t.v->dim[3]}};
    for (int64_t at = 0; at < t.rows; at += t.chunk)
        for (size_t i = 0; i < COUNT_OF(step); i++) {
            struct kernel_launch l = step[i].l;
            int64_t n = t.rows - at < t.chunk ? t.rows - at : t.chunk;
            l.first = at * step[i].a_row;
            l.count = n * step[i].a_row;
            vec_push(m->a, &m->out->launches, l);
        }
    return true;
}
