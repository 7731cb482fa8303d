/* judge: whether what a plan computed is what the specification says.
 *
 * Invariant: passed means that every output was found within its bounds, each element by the plain
 * kernels on the device or, where those cannot run, elements drawn by the interpreter; where both
 * judge and do not agree, or neither can, the verdict is mistrusted. */
#include <math.h>

#include "driver/driver.h"

static const double budget = 3e7; /* multiplications an output: some tenths of a second */

struct judged {
    struct arena *a;
    const struct graph *g;
    void *const *bytes;
    const struct value *v;
    const char *name;
    struct tune_check *out;
};

static const struct tune_whole_output *whole_of(const struct tune_whole *w, const struct value *v)
{
    for (size_t i = 0; i < w->outputs.n; i++)
        if (w->outputs.at[i].value == v) return &w->outputs.at[i];
    return NULL;
}

static double share_of(const struct tune_whole_output *w)
{
    double by_norm = w->rule > 0 ? w->relative / w->rule : 0;
    return by_norm > w->worst ? by_norm : w->worst;
}

/* Wrong stands over mistrusted, and the first note of a verdict stays. */
static void say(struct judged *j, enum check_verdict verdict, const char *note)
{
    if (verdict <= j->out->verdict) return;
    j->out->verdict = verdict;
    j->out->note = note;
}

static const char *place(struct judged *j, int64_t at, double got, double want, double bound)
{
    return arena_printf(j->a, "at element %lld: got %.9g, want %.9g, bound %.3g", (long long)at,
                        got, want, bound);
}

static void by_samples(struct judged *j, const struct sampled *r)
{
    const struct verdict *v = &r->verdict;
    if (r->why)
        say(j, CHECK_MISTRUSTED, arena_printf(j->a, "'%s' cannot be checked: %s", j->name, r->why));
    else if (!v->ok)
        say(j, CHECK_WRONG,
            arena_printf(j->a, "'%s' %s", j->name, place(j, v->at, v->got, v->want, v->bound)));
}

/* The kernels find an element wrong: the interpreter, if it can, says whether it is. */
static void found_wrong(struct judged *j, const struct tune_whole_output *w)
{
    struct sampled one = {.why = "the error is of the whole"};
    const char *where = place(j, w->at, w->got, w->want, w->bound);
    if (w->worst > 1) interp_sample_one(j->a, j->g, j->bytes, j->v, w->at, budget, &one);
    if (!one.why && one.verdict.ok)
        say(j, CHECK_MISTRUSTED,
            arena_printf(j->a, "'%s' %s by the plain kernels; the interpreter wants %.9g", j->name,
                         where, one.verdict.want));
    else if (w->wrong > 0)
        say(j, CHECK_WRONG,
            arena_printf(j->a, "'%s' %s; elements out of bounds: %.0f", j->name, where, w->wrong));
    else
        say(j, CHECK_WRONG,
            arena_printf(j->a, "'%s': ||error|| is %.3g of the reference's norm, %.3g is the most",
                         j->name, w->relative, w->rule));
}

void driver_judge(struct session *s, struct arena *a, const struct tune_job *job,
                  void *const *bytes, uint64_t seed, const struct tune_whole *whole,
                  struct tune_check *out)
{
    const struct graph *g = job->ir;
    (void)s;
    *out = (struct tune_check){
        .verdict = CHECK_PASSED,
        .scope = whole->why ? arena_printf(a, "samples: %s", whole->why) : "every element"};
    for (size_t i = 0; i < g->outputs.n; i++) {
        const struct value *v = g->outputs.at[i];
        const char *name = v->name ? v->name : "what the next step reads";
        struct judged j = {a, g, bytes, v, name, out};
        const struct tune_whole_output *w = whole_of(whole, v);
        struct sampled r;
        if (!bytes[v->id]) continue; /* nothing computes it: an input stored as it is */
        interp_sample(a, g, bytes, v, seed, budget, &r);
        double share = w ? share_of(w) : r.why ? 0 : r.verdict.worst;
        if (share > out->error) out->error = share;
        if (!w)
            by_samples(&j, &r);
        else if (share > 1)
            found_wrong(&j, w);
        else if (!r.why && !r.verdict.ok)
            say(&j, CHECK_MISTRUSTED,
                arena_printf(a, "'%s' %s by the interpreter; the plain kernels find it right",
                             name,
                             place(&j, r.verdict.at, r.verdict.got, r.verdict.want,
                                   r.verdict.bound)));
    }
}
