/* space: the configurations of an engine, in the order in which they are tried.
 *
 * Invariant: no configuration twice, none beyond `most`, and a knob's values lie in its range. */
#include "tune/tune.h"

enum { MAX_VALUES = 64, MAX_KNOBS = 32 };

struct values {
    int64_t at[MAX_VALUES + 4];
    int n;
};

bool knobs_equal(const knobs_vec *x, const knobs_vec *y)
{
    if (x->n != y->n) return false;
    for (size_t i = 0; i < x->n; i++)
        if (x->at[i].type != y->at[i].type || x->at[i].value != y->at[i].value) return false;
    return true;
}

static struct values values_of(const struct knob_range *k)
{
    struct values v = {.n = 0};
    int64_t step = k->stride > 0 ? k->stride : 1, span;
    if (k->most < k->least || !i64_sub(k->most, k->least, &span)) return v;
    if (span / step < MAX_VALUES) {
        for (int64_t i = 0; i <= span / step; i++) v.at[v.n++] = k->least + i * step;
        return v;
    }
    v.at[v.n++] = k->least;
    for (int64_t p = 1; p <= span / step && v.n < MAX_VALUES; p *= 2) {
        int64_t value = k->least + (k->least == 1 ? p - 1 : p) * step;
        if (value > v.at[v.n - 1]) v.at[v.n++] = value;
        if (p > INT64_MAX / 2) break;
    }
    int64_t last = k->least + span / step * step;
    if (last > v.at[v.n - 1]) v.at[v.n++] = last;
    return v;
}

static void push(struct arena *a, int64_t engine, const knobs_vec *knobs, configs_vec *out)
{
    struct engine_config c = {.engine = engine, .workspace_bytes = -1};
    for (size_t i = 0; i < knobs->n; i++) vec_push(a, &c.knobs, knobs->at[i]);
    vec_push(a, out, c);
}

void space_of_engine(struct arena *a, const struct engine_info *e, size_t most, configs_vec *out)
{
    struct values v[MAX_KNOBS];
    int n = e->knobs.n < MAX_KNOBS ? (int)e->knobs.n : MAX_KNOBS, digit[MAX_KNOBS] = {0};
    size_t end = out->n + most;
    knobs_vec knobs = {0};
    if (out->n < end) push(a, e->engine, &knobs, out); /* all at their defaults */
    for (int i = 0; i < n; i++) {
        v[i] = values_of(&e->knobs.at[i]);
        if (v[i].n == 0) return;
    }
    for (int i = 0; i < n; i++)
        for (int k = 0; k < v[i].n && out->n < end; k++) {
            knobs.n = 0;
            vec_push(a, &knobs, ((struct knob){e->knobs.at[i].type, v[i].at[k]}));
            push(a, e->engine, &knobs, out);
        }
    if (n < 2) return;
    for (int i = 0; out->n < end && i < n;) {
        knobs.n = 0;
        for (int k = 0; k < n; k++)
            vec_push(a, &knobs, ((struct knob){e->knobs.at[k].type, v[k].at[digit[k]]}));
        push(a, e->engine, &knobs, out);
        for (i = 0; i < n && ++digit[i] == v[i].n; i++) digit[i] = 0;
    }
}

void space_near(struct arena *a, const struct engine_info *e, const knobs_vec *from, size_t most,
                configs_vec *out)
{
    size_t end = out->n + most;
    for (size_t i = 0; i < e->knobs.n && i < MAX_KNOBS; i++) {
        struct values v = values_of(&e->knobs.at[i]);
        for (int k = 0; k < v.n && out->n < end; k++) {
            knobs_vec knobs = {0};
            bool set = false, same = false;
            for (size_t m = 0; m < from->n; m++) {
                struct knob x = from->at[m];
                if (x.type == e->knobs.at[i].type) {
                    set = true;
                    same = x.value == v.at[k];
                    x.value = v.at[k];
                }
                vec_push(a, &knobs, x);
            }
            if (same) continue;
            if (!set) vec_push(a, &knobs, ((struct knob){e->knobs.at[i].type, v.at[k]}));
            push(a, e->engine, &knobs, out);
        }
    }
}
