/* cmd_explain: the page of a diagnostic id, as printed in brackets behind every message. */
#include "driver/driver.h"

int cmd_explain(struct session *s, const struct options *o)
{
    if (o->operands.n != 1) {
        diag(s, DIAG_usage, NO_SPAN, "one diagnostic ID is needed, got %zu", o->operands.n);
        return 0;
    }
    char *wanted = arena_strdup(s->arena, o->operands.at[0]);
    const char *names[N_DIAGS];
    for (char *p = wanted; *p; p++)
        if (*p == '_') *p = '-';
    for (size_t i = 0; i < N_DIAGS; i++) {
        names[i] = diag_name(s->arena, (enum diag_id)i);
        if (strcmp(names[i], wanted) == 0) {
            printf("%s: %s\n\n%s\n", names[i], diag_infos[i].title, diag_infos[i].page);
            return 0;
        }
    }
    struct diag *d = diag(s, DIAG_usage, NO_SPAN, "there is no diagnostic '%s'", o->operands.at[0]);
    const char *near = closest_name(wanted, names, N_DIAGS);
    if (near) diag_hint(s, d, "did you mean '%s'", near);
    return 0;
}
