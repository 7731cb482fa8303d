/* temporaries: what the steps of a variant hand on in the workspace.
 *
 * Invariant of what passes the checks: a step reads only what an earlier one made, two that are
 * needed at once share no byte, and cuDNN's plans bind what the manifest says. */
#include <inttypes.h>

#include "plan/internal.h"

enum { STEP_ALIGN = 256 }; /* what launchers ask of the workspace's address */

int64_t plan_temporary_bytes(const struct plan_temporary *t)
{
    int64_t extent = 0;
    dims_extent(t->rank, t->dim, t->stride, &extent);
    return extent * (dtypes[t->type].bits / 8);
}

int64_t plan_workspace(const struct plan_variant *v, int64_t *steps_at)
{
    int64_t end = 0, most = 0;
    for (size_t i = 0; i < v->temporaries.n; i++) {
        const struct plan_temporary *t = &v->temporaries.at[i];
        if (t->offset + plan_temporary_bytes(t) > end) end = t->offset + plan_temporary_bytes(t);
    }
    end = (end + STEP_ALIGN - 1) / STEP_ALIGN * STEP_ALIGN;
    for (size_t i = 0; i < v->steps.n; i++)
        if (v->steps.at[i].workspace_bytes > most) most = v->steps.at[i].workspace_bytes;
    if (steps_at) *steps_at = end;
    return end + most;
}

/* cuDNN's plans hold the graph that they are of, and name a tensor by its uid. */
bool plan_step_binds(const struct plan_step *step, int64_t uid)
{
    char field[64];
    int n = snprintf(field, sizeof field, "{\"name\":\"%" PRId64 "\",\"dataType\"", uid);
    return memmem(step->plan, step->plan_bytes, field, (size_t)n) != NULL;
}

bool plan_step_uses(const struct plan_step *step, int64_t uid)
{
    for (size_t i = 0; i < step->views.n; i++)
        if (step->views.at[i].of == uid) return true;
    return plan_step_binds(step, uid);
}

static int64_t last_step(const struct plan_temporary *t)
{
    return t->read_by.n ? t->read_by.at[t->read_by.n - 1] : t->made_by;
}

static const char *check_steps(struct arena *a, const struct plan_variant *v,
                               const struct plan_temporary *t)
{
    int64_t before = t->made_by;
    if (t->read_by.n == 0) return arena_printf(a, "nothing reads temporary %" PRId64, t->uid);
    for (size_t i = 0; i < t->read_by.n; i++) {
        if (t->read_by.at[i] <= before || t->read_by.at[i] >= (int64_t)v->steps.n)
            return arena_printf(a, "temporary %" PRId64 " is read by step %" PRId64
                                   ", made by step %" PRId64 " of %zu",
                                t->uid, t->read_by.at[i], t->made_by, v->steps.n);
        before = t->read_by.at[i];
    }
    return NULL;
}

static bool both_needed(const struct plan_temporary *t, const struct plan_temporary *u)
{
    return t->made_by <= last_step(u) && u->made_by <= last_step(t);
}

static bool share_memory(const struct plan_temporary *t, const struct plan_temporary *u)
{
    return t->offset < u->offset + plan_temporary_bytes(u) &&
           u->offset < t->offset + plan_temporary_bytes(t);
}

static const char *check_place(struct arena *a, const struct plan_variant *v, size_t i)
{
    const struct plan_temporary *t = &v->temporaries.at[i];
    for (size_t k = 0; k < i; k++) {
        const struct plan_temporary *u = &v->temporaries.at[k];
        if (u->uid == t->uid) return arena_printf(a, "uid %" PRId64 " is of two temporaries", t->uid);
        if (both_needed(t, u) && share_memory(t, u))
            return arena_printf(a, "temporaries %" PRId64 " and %" PRId64
                                   " lie in the same memory while both are needed",
                                u->uid, t->uid);
    }
    for (size_t k = 0; k < v->tensors.n; k++)
        if (v->tensors.at[k].uid == t->uid)
            return arena_printf(a, "temporary %" PRId64 " has the uid of tensor '%s'", t->uid,
                                v->tensors.at[k].name);
    for (size_t k = 0; k < v->steps.n; k++)
        for (size_t c = 0; c < v->steps.at[k].constants.n; c++)
            if (v->steps.at[k].constants.at[c].uid == t->uid)
                return arena_printf(a, "temporary %" PRId64 " has the uid of a constant of step %zu",
                                    t->uid, k);
    return NULL;
}

/* The workspace's size is a number too: plan_workspace adds without a check. */
static bool fits(const struct plan_variant *v, const struct plan_temporary *t)
{
    int64_t end, all;
    if (!i64_add(t->offset, plan_temporary_bytes(t), &end) || !i64_add(end, STEP_ALIGN, &end))
        return false;
    for (size_t i = 0; i < v->steps.n; i++)
        if (!i64_add(end, v->steps.at[i].workspace_bytes, &all)) return false;
    return true;
}

/* The bytes of what has the uid in the interface or in the workspace; 0: nothing has. */
static int64_t bytes_of(const struct plan_variant *v, int64_t uid)
{
    for (size_t i = 0; i < v->tensors.n; i++) {
        const struct plan_tensor *t = &v->tensors.at[i];
        int64_t extent = 0;
        if (t->uid != uid || t->role == PLAN_SCALAR) continue;
        dims_extent(t->rank, t->dim, t->stride, &extent);
        return extent * (dtypes[t->type].bits / 8);
    }
    for (size_t i = 0; i < v->temporaries.n; i++)
        if (v->temporaries.at[i].uid == uid) return plan_temporary_bytes(&v->temporaries.at[i]);
    return 0;
}

/* A view lies within what it looks at, and has a uid of its own in its step. */
static const char *check_views(struct arena *a, const struct plan_variant *v, size_t step)
{
    const struct plan_step *s = &v->steps.at[step];
    for (size_t i = 0; i < s->views.n; i++) {
        const struct plan_view *view = &s->views.at[i];
        int64_t bytes = bytes_of(v, view->of), end;
        bool taken = view->uid == view->of || bytes_of(v, view->uid) != 0;
        for (size_t k = 0; k < v->tensors.n; k++) taken |= v->tensors.at[k].uid == view->uid;
        for (size_t k = 0; k < i; k++) taken |= s->views.at[k].uid == view->uid;
        for (size_t k = 0; k < s->constants.n; k++) taken |= s->constants.at[k].uid == view->uid;
        if (taken)
            return arena_printf(a, "a view of step %zu has uid %" PRId64 ", which is taken", step,
                                view->uid);
        if (!i64_add(view->offset, view->bytes, &end) || end > bytes)
            return arena_printf(a, "view %" PRId64 " of step %zu ends behind what it looks at",
                                view->uid, step);
    }
    return NULL;
}

const char *temporaries_check(struct arena *a, const struct plan_variant *v)
{
    for (size_t i = 0; i < v->steps.n; i++) {
        const char *why = check_views(a, v, i);
        if (why) return why;
    }
    for (size_t i = 0; i < v->temporaries.n; i++) {
        const struct plan_temporary *t = &v->temporaries.at[i];
        if (t->offset % STEP_ALIGN)
            return arena_printf(a, "temporary %" PRId64 " lies at %" PRId64 ", no multiple of %d",
                                t->uid, t->offset, STEP_ALIGN);
        if (!fits(v, t)) return "the workspace is larger than 63 bits can address";
        const char *why = check_steps(a, v, t);
        if (!why) why = check_place(a, v, i);
        if (why) return why;
    }
    return NULL;
}

static bool uses(const struct plan_temporary *t, int64_t step)
{
    if (t->made_by == step) return true;
    for (size_t i = 0; i < t->read_by.n; i++)
        if (t->read_by.at[i] == step) return true;
    return false;
}

const char *temporaries_bound(struct arena *a, const struct plan_variant *v)
{
    for (size_t k = 0; k < v->steps.n; k++)
        for (size_t i = 0; i < v->steps.at[k].views.n; i++)
            if (!plan_step_binds(&v->steps.at[k], v->steps.at[k].views.at[i].uid))
                return arena_printf(a, "the plan of step %zu lacks view %" PRId64, k,
                                    v->steps.at[k].views.at[i].uid);
    for (size_t i = 0; i < v->temporaries.n; i++)
        for (size_t k = 0; k < v->steps.n; k++) {
            const struct plan_temporary *t = &v->temporaries.at[i];
            bool says = uses(t, (int64_t)k), binds = plan_step_uses(&v->steps.at[k], t->uid);
            if (says != binds)
                return arena_printf(a, "the plan of step %zu %s temporary %" PRId64
                                       ", the manifest says otherwise",
                                    k, binds ? "has" : "lacks", t->uid);
        }
    return NULL;
}
