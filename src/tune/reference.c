/* reference: every element of a job's outputs, judged on the device by the plain kernels of room
 * kernel.
 *
 * Invariant: values and bounds are computed from the job's inputs alone, before any plan runs; where
 * they cannot be had, the reason is kept and nothing is judged. */
#include <math.h>

#include "tune/internal.h"

enum { SLOT = 4095 }; /* the runner's last, which no candidate has */
static const double most_steps = 1e12; /* inner steps of all kernels: some seconds on an H200 */

static struct runner_arg arg_of(const struct kernel_arg *a, bool shares)
{
    const struct value *v = a->tensor;
    if (v && v->base && shares)
        return (struct runner_arg){.kind = RUNNER_TENSOR,
                                   .of = v->base,
                                   .offset = v->offset * (dtypes[v->type].bits / 8)};
    if (v) return (struct runner_arg){.kind = RUNNER_TENSOR, .of = v->uid};
    return (struct runner_arg){.kind = RUNNER_BUFFER, .of = a->buffer};
}

void program_of_kernels(struct arena *a, const struct kernel_program *k, bool shares,
                        struct runner_program *out)
{
    *out = (struct runner_program){.text = k->text};
    for (size_t i = 0; i < k->buffers.n; i++) vec_push(a, &out->buffers, k->buffers.at[i]);
    for (size_t i = 0; i < k->launches.n; i++) {
        const struct kernel_launch *from = &k->launches.at[i];
        struct runner_launch l = {
            .kernel = from->name, .plan = -1, .first = from->first, .count = from->count};
        for (size_t n = 0; n < from->args.n; n++) 
            vec_push(a, &l.args, arg_of(&from->args.at[n], shares));
        vec_push(a, &out->launches, l);
    }
}

void reference_begin(struct reference *f, const struct tune_job *j)
{
    struct arena *a = f->s->arena;
    double steps = 0;
    f->ready = false;
    f->why = NULL;
    if (!kernel_program(a, j->ir, KERNEL_REFERENCE, "r", &f->kernels)) {
        f->why = f->kernels.why;
        return;
    }
    for (size_t i = 0; i < f->kernels.launches.n; i++) steps += f->kernels.launches.at[i].cost;
    if (steps > most_steps)
        f->why = arena_printf(a, "the plain kernels would take %.3g steps", steps);
}

enum runner_status reference_compute(struct reference *f)
{
    struct runner_program p;
    if (f->ready || f->why) return RUNNER_OK;
    program_of_kernels(f->s->arena, &f->kernels, false, &p);
    enum runner_status st = runner_program(f->r, SLOT, &p);
    if (st == RUNNER_OK)
        st = runner_launch(f->r, SLOT, 0, f->kernels.launches.n - f->kernels.outputs.n);
    f->ready = st == RUNNER_OK;
    if (!f->ready) f->why = arena_strdup(f->s->arena, runner_why(f->r));
    if (st == RUNNER_REFUSED) runner_unload(f->r, SLOT);
    return st;
}

void reference_forget(struct reference *f)
{
    if (f->ready) runner_unload(f->r, SLOT);
    f->ready = false;
    f->why = "the inputs have changed since";
}

enum runner_status reference_judge(struct reference *f, struct arena *a, struct tune_whole *out)
{
    size_t n = f->kernels.launches.n, first = n - f->kernels.outputs.n;
    *out = (struct tune_whole){.why = f->why};
    if (!f->ready) return RUNNER_OK;
    enum runner_status st = runner_launch(f->r, SLOT, first, n);
    for (size_t i = 0; st == RUNNER_OK && i < f->kernels.outputs.n; i++) {
        const struct kernel_output *o = &f->kernels.outputs.at[i];
        int64_t parts = f->kernels.launches.at[first + i].count;
        st = runner_fetch(f->r, SLOT, o->buffer, (size_t)parts * sizeof(struct kernel_partial));
        if (st != RUNNER_OK) break;
        struct kernel_partial p = kernel_gather(runner_bytes(f->r, 0), parts);
        vec_push(a, &out->outputs,
                 ((struct tune_whole_output){
                     .value = o->value,
                     .worst = p.worst,
                     .got = p.got,
                     .want = p.want,
                     .bound = p.bound,
                     .wrong = p.wrong,
                     .at = (int64_t)p.at,
                     .relative = p.norm2 > 0 ? sqrt(p.error2 / p.norm2) : sqrt(p.error2),
                     .rule = o->rule}));
    }
    if (st != RUNNER_OK) out->why = f->why = arena_strdup(f->s->arena, runner_why(f->r));
    return st;
}
