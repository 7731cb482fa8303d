/* cmd_run: evaluates one graph by the reference interpreter, and judges outputs made elsewhere. */
#include "driver/driver.h"

#include <inttypes.h>
#include <math.h>
#include <sys/stat.h>

static const struct graph *only_graph(struct session *s, const struct module *m)
{
    if (m->graphs.n == 1) return m->graphs.at[0];
    struct diag *d = diag(s, DIAG_usage, NO_SPAN,
                          "there are %zu graphs or variants here; run evaluates one", m->graphs.n);
    for (size_t i = 0; i < m->graphs.n && i < 8; i++)
        diag_note(s, d, NO_SPAN, "%s %s", m->graphs.at[i]->name, m->graphs.at[i]->variant);
    diag_hint(s, d, "--graph NAME chooses a graph, -D NAME=VALUE a variant");
    return NULL;
}

static const struct value *find(const values_vec *of, const char *name)
{
    for (size_t i = 0; i < of->n; i++)
        if (strcmp(of->at[i]->name, name) == 0) return of->at[i];
    return NULL;
}

static const struct value *find_or_say(struct session *s, const values_vec *of, const char *what,
                                       const char *name)
{
    const struct value *v = find(of, name);
    if (v) return v;
    const char *names[64];
    size_t n = 0;
    for (; n < of->n && n < 64; n++) names[n] = of->at[n]->name;
    struct diag *d = diag(s, DIAG_usage, NO_SPAN, "there is no %s '%s'", what, name);
    const char *near = closest_name(name, names, n);
    if (near) diag_hint(s, d, "did you mean '%s'", near);
    return NULL;
}

static bool read_inputs(struct session *s, const struct options *o, const struct graph *g,
                        struct array **in)
{
    const char *name, *text;
    for (size_t i = 0; i < o->input.n; i++) {
        if (!driver_pair(s, "-i", o->input.at[i], &name, &text)) return false;
        const struct value *v = find_or_say(s, &g->inputs, "input", name);
        if (!v) return false;
        in[v->id] = NEW(s->arena, struct array);
        if (!npy_read(s, s->arena, text, v, in[v->id])) return false;
    }
    for (size_t i = 0; i < o->scalar.n; i++) {
        double x;
        if (!driver_pair(s, "--scalar", o->scalar.at[i], &name, &text)) return false;
        const struct value *v = find_or_say(s, &g->scalars, "scalar", name);
        if (!v) return false;
        if (!real_parse(text, &x)) {
            diag(s, DIAG_usage, NO_SPAN, "--scalar %s needs a number, got '%s'", name, text);
            return false;
        }
        in[v->id] = NEW(s->arena, struct array);
        *in[v->id] = (struct array){.count = 1, .at = NEW(s->arena, double)};
        in[v->id]->at[0] = dtype_round(v->type, x);
    }
    for (size_t i = 0; i < g->scalars.n; i++)
        if (!in[g->scalars.at[i]->id] && !g->scalars.at[i]->has_default) {
            diag(s, DIAG_usage, NO_SPAN, "scalar '%s' has no default; --scalar %s=VALUE gives it",
                 g->scalars.at[i]->name, g->scalars.at[i]->name);
            return false;
        }
    for (size_t i = 0; i < g->inputs.n; i++) {
        const struct value *v = g->inputs.at[i];
        if (in[v->id]) continue;
        in[v->id] = NEW(s->arena, struct array);
        interp_random(v, (uint64_t)o->seed.value, in[v->id], s->arena);
    }
    return true;
}

static bool save_inputs(struct session *s, const struct options *o, const struct graph *g,
                        struct array *const *in)
{
    if (!o->save_inputs) return true;
    mkdir(o->save_inputs, 0777);
    for (size_t i = 0; i < g->inputs.n; i++) {
        const struct value *v = g->inputs.at[i];
        if (!npy_write(s, arena_printf(s->arena, "%s/%s.npy", o->save_inputs, v->name), v,
                       in[v->id]))
            return false;
    }
    return true;
}

static bool judge(struct session *s, const struct value *v, const char *path,
                  const struct array *want)
{
    struct array got;
    if (!npy_read(s, s->arena, path, v, &got)) return false;
    struct verdict r = interp_compare(v, want, &got);
    printf("%s: %s: worst error is %.3g of its bound, at %" PRId64
           ": got %.9g, want %.9g, bound %.3g; ||e||/||ref|| %.3g\n",
           v->name, r.ok ? "right" : "WRONG", r.worst, r.at, r.got, r.want, r.bound, r.relative);
    return r.ok;
}

/* Without -o and --check: what came out, in a line each. */
static void print_summary(const struct value *v, const struct array *x)
{
    double least = INFINITY, most = -INFINITY, sum = 0;
    for (int64_t i = 0; i < x->count; i++) {
        if (x->at[i] < least) least = x->at[i];
        if (x->at[i] > most) most = x->at[i];
        sum += x->at[i];
    }
    printf("%s: %" PRId64 " elements, least %.9g, largest %.9g, mean %.9g\n", v->name, x->count,
           least, most, sum / (double)x->count);
}

static int finish(struct session *s, const struct options *o, const struct graph *g,
                  const struct interp_result *r)
{
    const char *name, *path;
    int status = 0;
    for (size_t i = 0; i < o->output.n; i++) {
        if (!driver_pair(s, "-o", o->output.at[i], &name, &path)) return 0;
        const struct value *v = find_or_say(s, &g->outputs, "output", name);
        if (!v || !npy_write(s, path, v, r->of[v->id])) return 0;
    }
    for (size_t i = 0; i < o->check_output.n; i++) {
        if (!driver_pair(s, "--check", o->check_output.at[i], &name, &path)) return 0;
        const struct value *v = find_or_say(s, &g->outputs, "output", name);
        if (!v) return 0;
        if (!judge(s, v, path, r->of[v->id])) status = 1;
    }
    for (size_t i = 0; o->output.n + o->check_output.n == 0 && i < g->outputs.n; i++)
        print_summary(g->outputs.at[i], r->of[g->outputs.at[i]->id]);
    return status;
}

int cmd_run(struct session *s, const struct options *o)
{
    if (o->operands.n != 1 || !o->reference) {
        struct diag *d = diag(s, DIAG_usage, NO_SPAN, "%s",
                              o->reference ? "one FILE.fg is needed" : "run needs --reference");
        diag_hint(s, d,
                  "fgc run --reference model.fg; on a GPU, a launcher made with --launcher-main "
                  "runs the plan");
        return 0;
    }
    struct module *m = driver_module(s, o, o->operands.at[0], NULL);
    const struct graph *g = m ? only_graph(s, m) : NULL;
    if (!g) return 0;
    struct array **in = NEW_N(s->arena, struct array *, g->values.n + 1);
    struct interp_result r;
    if (!read_inputs(s, o, g, in) || !save_inputs(s, o, g, in)) return 0;
    if (!interp_run(s, s->arena, g, in, o->check_output.n > 0, &r)) return 0;
    return finish(s, o, g, &r);
}
