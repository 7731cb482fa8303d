/* depfile: what a compilation's files depend on, as make and ninja read it.
 *
 * Invariant: every file that was read is listed: the text, what it imports, a description of a
 * target, a lock. Each has an empty rule of its own, so that one that is gone stops no build. */
#include <sys/stat.h>

#include "driver/driver.h"

/* Blanks, '#' and '$' are make's own; ninja reads the same quoting. */
static void put_name(struct buf *b, const char *name)
{
    for (; *name; name++) {
        if (*name == ' ' || *name == '#' || *name == '\\') buf_puts(b, "\\");
        if (*name == '$') buf_puts(b, "$");
        buf_put(b, name, 1);
    }
}

static bool is_file(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

static const char *default_name(struct session *s, const char *output)
{
    const char *slash = strrchr(output, '/'), *dot = strrchr(output, '.');
    size_t n = dot && (!slash || dot > slash + 1) ? (size_t)(dot - output) : strlen(output);
    return arena_printf(s->arena, "%.*s.d", (int)n, output);
}

bool depfile_write(struct session *s, const struct options *o, const char *header)
{
    if (!o->depfile && !o->depend) return true;
    const char *plan = o->output.n ? o->output.at[o->output.n - 1] : NULL;
    const char *outputs[] = {plan, o->launcher, o->launcher ? header : NULL, o->launcher_plan};
    const char *lock = arena_printf(s->arena, "%s.lock", o->operands.at[0]), *first = NULL;
    VEC(const char *) inputs = {0};
    struct buf b = {0};
    for (size_t i = 0; i < s->sources.n; i++)
        if (is_file(s->sources.at[i]->name)) vec_push(s->arena, &inputs, s->sources.at[i]->name);
    if (o->target && is_file(o->target)) vec_push(s->arena, &inputs, o->target);
    if (o->locked && is_file(lock)) vec_push(s->arena, &inputs, lock);
    for (size_t i = 0; i < COUNT_OF(outputs); i++) {
        if (!outputs[i] || strcmp(outputs[i], "-") == 0) continue;
        if (first) buf_puts(&b, " ");
        if (!first) first = outputs[i];
        put_name(&b, outputs[i]);
    }
    if (!first && !o->depfile) {
        diag(s, DIAG_usage, NO_SPAN, "-MD needs an output to be named for; -MF names a file");
        return false;
    }
    buf_puts(&b, ":");
    for (size_t i = 0; i < inputs.n; i++) {
        buf_puts(&b, " \\\n ");
        put_name(&b, inputs.at[i]);
    }
    buf_puts(&b, "\n");
    for (size_t i = 0; i < inputs.n; i++) {
        put_name(&b, inputs.at[i]);
        buf_puts(&b, ":\n");
    }
    bool ok = file_write(s, o->depfile ? o->depfile : default_name(s, first), b.at, b.n);
    buf_fini(&b);
    return ok;
}
