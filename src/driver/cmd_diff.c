/* cmd_diff: what differs between two plans, or between what they ask of their callers.
 *
 * Each plan is written out, a fact a line with the graph and variant it belongs to, and the texts
 * are compared: what is equal in both is not printed, so nothing printed means nothing differs. */
#include <inttypes.h>

#include "driver/driver.h"

static void put_dims(int rank, const int64_t *dim, const int64_t *stride, struct buf *out)
{
    for (int k = 0; k < rank; k++) buf_printf(out, "%s%" PRId64, k ? ", " : "[", dim[k]);
    for (int k = 0; k < rank; k++)
        buf_printf(out, "%s%" PRId64, k ? ", " : "] strides(", stride[k]);
    buf_puts(out, ")");
}

static void put_interface(const char *at, const struct plan_variant *v, struct buf *out)
{
    static const char *const roles[] = {
        [PLAN_INPUT] = "input", [PLAN_SCALAR] = "scalar", [PLAN_OUTPUT] = "output"};
    for (size_t i = 0; i < v->tensors.n; i++) {
        const struct plan_tensor *t = &v->tensors.at[i];
        buf_printf(out, "%s: %s %s : %s", at, roles[t->role], t->name, dtypes[t->type].name);
        if (t->role != PLAN_SCALAR) {
            put_dims(t->rank, t->dim, t->stride, out);
            buf_printf(out, " align(%" PRId64 ")", t->align);
        } else if (t->has_default) {
            buf_puts(out, " = ");
            buf_real(out, t->def);
        }
        buf_puts(out, "\n");
    }
}

static void put_steps(const char *at, const struct plan_variant *v, struct buf *out)
{
    for (size_t i = 0; i < v->steps.n; i++) {
        const struct plan_step *step = &v->steps.at[i];
        char digest[65];
        sha256_hex(step->plan, step->plan_bytes, digest);
        buf_printf(out, "%s: step %zu: engine %" PRId64 "\n", at, i, step->engine);
        for (size_t k = 0; k < step->knobs.n; k++)
            buf_printf(out, "%s: step %zu: knob %" PRId64 " = %" PRId64 "\n", at, i,
                       step->knobs.at[k].type, step->knobs.at[k].value);
        for (size_t k = 0; k < step->numerical.n; k++)
            buf_printf(out, "%s: step %zu: numerical note %s\n", at, i, step->numerical.at[k]);
        for (size_t k = 0; k < step->behavior.n; k++)
            buf_printf(out, "%s: step %zu: behavior note %s\n", at, i, step->behavior.at[k]);
        buf_printf(out, "%s: step %zu: workspace %" PRId64 " bytes\n", at, i,
                   step->workspace_bytes);
        buf_printf(out, "%s: step %zu: chosen by %s\n", at, i, step->chosen_by);
        for (size_t k = 0; k < step->constants.n; k++) {
            buf_printf(out, "%s: step %zu: constant %" PRId64 " %s ", at, i,
                       step->constants.at[k].uid, step->constants.at[k].type);
            buf_real(out, step->constants.at[k].value);
            buf_puts(out, "\n");
        }
        buf_printf(out, "%s: step %zu: plan of %zu bytes, sha256 %s\n", at, i, step->plan_bytes,
                   digest);
    }
    for (size_t i = 0; i < v->temporaries.n; i++) {
        const struct plan_temporary *t = &v->temporaries.at[i];
        buf_printf(out, "%s: temporary %" PRId64 " : %s", at, t->uid, dtypes[t->type].name);
        put_dims(t->rank, t->dim, t->stride, out);
        buf_printf(out, " at %" PRId64 ", made by step %" PRId64 ", read by", t->offset, t->made_by);
        for (size_t k = 0; k < t->read_by.n; k++)
            buf_printf(out, "%s %" PRId64, k ? "," : "", t->read_by.at[k]);
        buf_puts(out, "\n");
    }
    buf_printf(out, "%s: %sreproducible\n", at, v->reproducible ? "" : "not ");
}

static void put_lines(const char *at, const char *text, struct buf *out)
{
    while (text && *text) {
        size_t n = strcspn(text, "\n");
        buf_printf(out, "%s: %.*s\n", at, (int)n, text);
        text += text[n] ? n + 1 : n;
    }
}

static void put_plan(struct arena *a, const struct plan *p, bool interface, struct buf *out)
{
    if (!interface) {
        buf_printf(out, "fgc: %s\ncuDNN: %" PRId64 "\nNVRTC: %s\ntarget: %s%s\n", p->fgc_version,
                   p->cudnn_version, p->nvrtc_version, p->target.name,
                   p->target.host ? ", compiled on the device" : "");
        put_lines("target", p->target.json, out);
        put_lines("source", p->source, out);
        for (size_t i = 0; i < p->imports.n; i++)
            put_lines(p->imports.at[i].name, p->imports.at[i].text, out);
    }
    for (size_t i = 0; i < p->graphs.n; i++) {
        const struct plan_graph *g = &p->graphs.at[i];
        for (size_t k = 0; k < g->variants.n; k++) {
            const struct plan_variant *v = &g->variants.at[k];
            const char *at = arena_printf(a, "%s%s%s", g->name, *v->name ? " " : "", v->name);
            put_interface(at, v, out);
            if (interface) continue;
            put_lines(arena_printf(a, "%s: IR", at), v->ir, out);
            put_steps(at, v, out);
        }
    }
}

int cmd_diff(struct session *s, const struct options *o)
{
    if (o->operands.n != 2) {
        diag(s, DIAG_usage, NO_SPAN, "two FILE.plan are needed, got %zu", o->operands.n);
        return 0;
    }
    struct plan p[2];
    struct buf text[2] = {{0}, {0}}, out = {0};
    for (int i = 0; i < 2; i++)
        if (!driver_plan(s, o->operands.at[i], &p[i])) return 0;
    for (int i = 0; i < 2; i++) put_plan(s->arena, &p[i], o->interface, &text[i]);
    bool differ = diff_unified(o->operands.at[0], text[0].at, text[0].n, o->operands.at[1],
                               text[1].at, text[1].n, &out);
    if (out.n) fwrite(out.at, 1, out.n, stdout);
    for (int i = 0; i < 2; i++) buf_fini(&text[i]);
    buf_fini(&out);
    return differ && o->exit_code ? 1 : 0;
}
