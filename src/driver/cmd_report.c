/* cmd_report: a page of what was recorded: a tuning run's JSON, a bench's, or a scoreboard.
 *
 * Invariant: what is none of these is refused, and nothing is written then. */
#include "driver/report.h"

static const json_t *member(const json_t *list, const char *key)
{
    return json_object_get(json_array_get(list, 0), key);
}

/* By what only that kind has. */
static bool make_page(const json_t *j, struct buf *b)
{
    const json_t *rows = json_object_get(j, "rows");
    if (json_is_array(j) && json_is_array(member(j, "candidates")))
        report_tune(j, b);
    else if (strcmp(json_word(j, "kind"), "bench") == 0 && json_is_array(rows))
        report_bench(j, b);
    else if (json_is_object(json_object_get(j, "facts")) && json_is_array(rows))
        report_board(j, b);
    else
        return false;
    return true;
}

int cmd_report(struct session *s, const struct options *o)
{
    json_error_t where;
    char *text;
    size_t n;
    struct buf page = {0};
    if (o->operands.n != 1 || o->output.n > 1) {
        diag(s, DIAG_usage, NO_SPAN, "one FILE.json is needed, and at most one -o");
        return 0;
    }
    const char *path = o->operands.at[0];
    if (!file_read(s, path, &text, &n)) return 0;
    json_t *j = json_loadb(text, n, 0, &where);
    if (!j) {
        diag(s, DIAG_report, NO_SPAN, "'%s' is not JSON: line %d, column %d: %s", path, where.line,
             where.column, where.text);
    } else if (!make_page(j, &page)) {
        struct diag *d = diag(s, DIAG_report, NO_SPAN, "'%s' is no record of fgc", path);
        diag_hint(s, d, "`fgc tune --json`, `fgc bench --json` and bench/scoreboard write them");
    } else if (o->output.n) {
        file_write(s, o->output.at[0], page.at, page.n);
    } else {
        fwrite(page.at, 1, page.n, stdout);
    }
    json_decref(j);
    buf_fini(&page);
    return 0;
}
