/* infer_matrix: shapes of conv, matmul and sdpa.
 *
 * Invariant: every product and sum of dims, pads and dilations is checked in 63 bits. */
#include "sema/internal.h"

static struct diag *wrong(struct sema *m, enum diag_id id, const struct application *x, int operand,
                          const char *what)
{
    struct diag *d = error_at(m, id, x->in_span[operand], "%s", what);
    for (int i = 0; i < ops[x->id].n_in; i++)
        if (x->in[i] != NULL && x->in[i]->name == NULL)
            diag_note(m->s, d, x->in_span[i], "operand '%s' is %s", ops[x->id].in[i].name,
                      value_text(m, x->in[i]));
    return d;
}

/* ---- conv -------------------------------------------------------------------------------- */

struct conv_attrs {
    int pad, pre, post, stride, dilation, groups;
};

/* One number a spatial axis; fills what was left out. */
static bool spatial_list(struct sema *m, struct application *x, int i, int n, int64_t least,
                         int64_t def)
{
    struct attr *a = &x->attr[i];
    if (!a->given) {
        a->n = n;
        for (int k = 0; k < n; k++) a->list[k] = def;
        a->given = true;
        return true;
    }
    const char *name = ops[x->id].attr[i].name;
    if (a->n != n) {
        error_at(m, DIAG_conv_shape, x->attr_span[i],
                 "'%s' has %d number%s; %s has %d spatial ax%s", name, a->n, a->n == 1 ? "" : "s",
                 value_text(m, x->in[0]), n, n == 1 ? "is" : "es");
        return false;
    }
    for (int k = 0; k < n; k++) {
        if (a->list[k] >= least) continue;
        error_at(m, DIAG_conv_shape, x->attr_span[i], "'%s' must be at least %lld, not %lld", name,
                 (long long)least, (long long)a->list[k]);
        return false;
    }
    return true;
}

static bool conv_lists(struct sema *m, struct application *x, const struct conv_attrs *c, int n)
{
    if (x->attr[c->pad].given && (x->attr[c->pre].given || x->attr[c->post].given)) {
        error_at(m, DIAG_conv_shape, x->attr_span[c->pad], "'pad' is given together with '%s'",
                 x->attr[c->pre].given ? "pre_pad" : "post_pad");
        return false;
    }
    bool folded = x->attr[c->pad].given;
    if (folded) { /* pad is pre_pad and post_pad */
        x->attr[c->pre] = x->attr[c->post] = x->attr[c->pad];
        x->attr_span[c->pre] = x->attr_span[c->post] = x->attr_span[c->pad];
        if (!spatial_list(m, x, c->pad, n, 0, 0)) return false;
        memset(&x->attr[c->pad], 0, sizeof x->attr[c->pad]);
    }
    bool ok = spatial_list(m, x, c->pre, n, 0, 0) && spatial_list(m, x, c->post, n, 0, 0);
    return spatial_list(m, x, c->stride, n, 1, 1) && spatial_list(m, x, c->dilation, n, 1, 1) && ok;
}

static bool conv_channels(struct sema *m, struct application *x, int64_t groups)
{
    const struct value *in = x->in[0], *w = x->in[1];
    if (in->dim[1] % groups != 0 || w->dim[0] % groups != 0) {
        bool input = in->dim[1] % groups != 0;
        error_at(m, DIAG_conv_shape, x->in_span[input ? 0 : 1],
                 "%s has %lld %s, which %lld groups do not divide", value_text(m, input ? in : w),
                 (long long)(input ? in->dim[1] : w->dim[0]), input ? "channels" : "filters",
                 (long long)groups);
        return false;
    }
    if (in->dim[1] / groups == w->dim[1]) return true;
    struct diag *d = error_at(m, DIAG_conv_shape, x->in_span[1],
                              "%s takes %lld channel%s, but %s has %lld", value_text(m, w),
                              (long long)w->dim[1], w->dim[1] == 1 ? "" : "s", value_text(m, in),
                              (long long)in->dim[1]);
    if (groups > 1)
        diag_note(m->s, d, NO_SPAN, "%lld in each of %lld groups", (long long)(in->dim[1] / groups),
                  (long long)groups);
    else if (in->dim[1] % w->dim[1] == 0 && w->dim[0] % (in->dim[1] / w->dim[1]) == 0)
        hint(m, d, "groups=%lld would fit", (long long)(in->dim[1] / w->dim[1]));
    return false;
}

/* out = floor((in + pre + post - ((r - 1) * dilation + 1)) / stride) + 1 */
static bool conv_axis(struct sema *m, struct application *x, const struct conv_attrs *c, int k,
                      int64_t *out)
{
    int axis = k + 2;
    int64_t in = x->in[0]->dim[axis], r = x->in[1]->dim[axis], padded, filter;
    if (!i64_add(in, x->attr[c->pre].list[k], &padded) ||
        !i64_add(padded, x->attr[c->post].list[k], &padded) ||
        !i64_mul(r - 1, x->attr[c->dilation].list[k], &filter) || !i64_add(filter, 1, &filter)) {
        error_at(m, DIAG_conv_shape, x->span,
                 "the padded extent or the filter's extent along axis %d does not fit 63 bits",
                 axis);
        return false;
    }
    if (padded < filter) {
        struct diag *d = error_at(m, DIAG_conv_shape, x->span,
                                  "no output is left along axis %d: the padded input has %lld "
                                  "elements, the filter reaches over %lld",
                                  axis, (long long)padded, (long long)filter);
        diag_note(m->s, d, x->in_span[0], "%lld elements and %lld + %lld of padding", (long long)in,
                  (long long)x->attr[c->pre].list[k], (long long)x->attr[c->post].list[k]);
        diag_note(m->s, d, x->in_span[1], "%lld taps, dilation %lld", (long long)r,
                  (long long)x->attr[c->dilation].list[k]);
        return false;
    }
    *out = (padded - filter) / x->attr[c->stride].list[k] + 1;
    return true;
}

static bool is_channels_last(const struct value *v)
{
    int64_t stride[MAX_RANK];
    dims_channels_last(v->rank, v->dim, stride);
    for (int i = 0; i < v->rank; i++)
        if (v->dim[i] > 1 && v->stride[i] != stride[i]) return false;
    return true;
}

static void warn_layout(struct sema *m, const struct application *x)
{
    const struct value *v = x->in[0];
    int64_t n;
    if (v->role != VAL_INPUT || is_channels_last(v) || !dims_count(v->rank, v->dim, &n)) return;
    struct diag *d = warn_at(m, DIAG_slow_layout, x->in_span[0],
                             "%s is not channels_last: its %lld bytes are transposed before "
                             "the kernel, or a slower engine runs",
                             value_text(m, v), (long long)n * dtypes[v->type].bits / 8);
    if (d != NULL) hint(m, d, "declare it channels_last if its producer can write it so");
}

bool infer_conv(struct sema *m, struct application *x, struct shape *out)
{
    const struct value *in = x->in[0], *w = x->in[1];
    const struct conv_attrs c = {op_attr_index(x->id, "pad"),      op_attr_index(x->id, "pre_pad"),
                                 op_attr_index(x->id, "post_pad"), op_attr_index(x->id, "stride"),
                                 op_attr_index(x->id, "dilation"), op_attr_index(x->id, "groups")};
    if (in->rank < 3 || w->rank != in->rank) {
        struct diag *d = error_at(m, DIAG_conv_shape, x->in_span[in->rank < 3 ? 0 : 1],
                                  "'conv' of %s with %s: %d and %d axes", value_text(m, in),
                                  value_text(m, w), in->rank, w->rank);
        diag_note(m->s, d, NO_SPAN,
                  "x is [N, C, spatial], w is [K, C/groups, spatial], of equal rank");
        return false;
    }
    int n = in->rank - 2;
    if (n > 3) {
        error_at(m, DIAG_unsupported, x->span,
                 "not supported yet: convolution over %d spatial axes", n);
        return false;
    }
    bool ok = conv_lists(m, x, &c, n);
    if (!conv_channels(m, x, x->attr[c.groups].i) || !ok) return false;
    out->rank = in->rank;
    out->dim[0] = in->dim[0];
    out->dim[1] = w->dim[0];
    for (int k = 0; k < n; k++)
        if (!conv_axis(m, x, &c, k, &out->dim[k + 2])) return false;
    warn_layout(m, x);
    return true;
}

/* ---- matmul ------------------------------------------------------------------------------ */

bool infer_matmul(struct sema *m, struct application *x, struct shape *out)
{
    const struct value *a = x->in[0], *b = x->in[1];
    int r = a->rank;
    if (r < 2 || b->rank != r) {
        struct diag *d = error_at(m, DIAG_matmul_shape, x->in_span[r < 2 ? 0 : 1],
                                  "'matmul' of %s and %s: %d and %d axes", value_text(m, a),
                                  value_text(m, b), r, b->rank);
        diag_note(m->s, d, NO_SPAN, "a is [.., M, K], b is [.., K, N], of equal rank");
        return false;
    }
    if (a->dim[r - 1] != b->dim[r - 2]) {
        struct diag *d = error_at(
            m, DIAG_matmul_shape, x->in_span[1], "'matmul' of %s and %s: K is %lld and %lld",
            value_text(m, a), value_text(m, b), (long long)a->dim[r - 1], (long long)b->dim[r - 2]);
        diag_note(m->s, d, NO_SPAN, "a is [.., M, K], b is [.., K, N]");
        if (a->dim[r - 1] == b->dim[r - 1])
            hint(m, d, "weights stored [N, K] are declared [K, N] col_major");
        return false;
    }
    out->rank = r;
    for (int i = 0; i < r - 2; i++) {
        if (a->dim[i] != b->dim[i] && a->dim[i] != 1 && b->dim[i] != 1) {
            struct diag *d = error_at(m, DIAG_matmul_shape, x->in_span[1],
                                      "'matmul' of %s and %s: batch axis %d is %lld and %lld",
                                      value_text(m, a), value_text(m, b), i, (long long)a->dim[i],
                                      (long long)b->dim[i]);
            diag_note(m->s, d, NO_SPAN, "batch axes are equal or 1");
            return false;
        }
        out->dim[i] = a->dim[i] != 1 ? a->dim[i] : b->dim[i];
    }
    out->dim[r - 2] = a->dim[r - 2];
    out->dim[r - 1] = b->dim[r - 1];
    return true;
}

/* ---- sdpa -------------------------------------------------------------------------------- */

static bool sdpa_mask(struct sema *m, struct application *x)
{
    int mask = op_attr_index(x->id, "mask"), align = op_attr_index(x->id, "align");
    int64_t sq = x->in[0]->dim[2], skv = x->in[1]->dim[2];
    if (x->attr[mask].i == MASK_none) {
        if (!x->attr[align].given) return true;
        struct diag *d = error_at(m, DIAG_mask, x->attr_span[align],
                                  "'align' without a mask means nothing");
        hint(m, d, "add mask=causal, or leave align out");
        return false;
    }
    if (x->attr[align].given || sq == skv) return true;
    struct diag *d = error_at(
        m, DIAG_mask, x->attr_span[mask],
        "the %s diagonal may start at either corner: Sq is %lld, Skv is %lld",
        x->attr[mask].i == MASK_causal ? "causal" : "mask's", (long long)sq, (long long)skv);
    hint(m, d,
         "align=top_left lets query i see keys up to i; align=bottom_right lets the last query see "
         "all keys");
    return false;
}

bool infer_sdpa(struct sema *m, struct application *x, struct shape *out)
{
    const struct value *q = x->in[0], *k = x->in[1], *v = x->in[2];
    for (int i = 0; i < 3; i++) {
        if (x->in[i]->rank == 4) continue;
        wrong(m, DIAG_sdpa_shape, x, i,
              arena_printf(m->scratch, "operand '%s' of 'sdpa' has 4 axes, [B, H, S, D]; %s has %d",
                           ops[x->id].in[i].name, value_text(m, x->in[i]), x->in[i]->rank));
        return false;
    }
    const struct {
        int operand;
        bool ok;
        const char *what;
        int64_t a, b;
    } checks[] = {
        {1, q->dim[0] == k->dim[0], "q and k have batches of %lld and %lld", q->dim[0], k->dim[0]},
        {2, q->dim[0] == v->dim[0], "q and v have batches of %lld and %lld", q->dim[0], v->dim[0]},
        {2, k->dim[1] == v->dim[1], "k and v have %lld and %lld heads", k->dim[1], v->dim[1]},
        {1, q->dim[1] % k->dim[1] == 0, "q has %lld heads, which is no multiple of the %lld of k",
         q->dim[1], k->dim[1]},
        {2, k->dim[2] == v->dim[2], "k and v have %lld and %lld keys", k->dim[2], v->dim[2]},
        {1, q->dim[3] == k->dim[3], "q and k have %lld and %lld elements a head", q->dim[3],
         k->dim[3]},
    };
    for (size_t i = 0; i < COUNT_OF(checks); i++) {
        if (checks[i].ok) continue;
        char text[128];
        snprintf(text, sizeof text, checks[i].what, (long long)checks[i].a, (long long)checks[i].b);
        struct diag *d = wrong(m, DIAG_sdpa_shape, x, checks[i].operand, text);
        diag_note(m->s, d, NO_SPAN, "q %s, k %s, v %s", dims_text(m, 4, q->dim),
                  dims_text(m, 4, k->dim), dims_text(m, 4, v->dim));
        return false;
    }
    if (!sdpa_mask(m, x)) return false;
    out[0].rank = out[1].rank = 4;
    for (int i = 0; i < 3; i++) out[0].dim[i] = out[1].dim[i] = q->dim[i];
    out[0].dim[3] = v->dim[3];
    out[1].dim[3] = 1;
    return true;
}
