/* junit: what `fgc check` found as a JUnit report, a test case a file, for the CI server.
 *
 * Invariant: the report is well-formed XML 1.0 whatever the files and their names hold. */
#include <jansson.h>

#include "driver/driver.h"

/* Plain characters of an XML text; what XML cannot hold becomes '?'. */
void markup_put(struct buf *b, const char *text)
{
    json_t *j = json_utf8(text);
    for (const char *p = json_string_value(j); *p; p++) {
        bool none = strncmp(p, "\xef\xbf\xbe", 3) == 0 || strncmp(p, "\xef\xbf\xbf", 3) == 0;
        if (*p == '<')
            buf_puts(b, "&lt;");
        else if (*p == '>')
            buf_puts(b, "&gt;");
        else if (*p == '&')
            buf_puts(b, "&amp;");
        else if (*p == '"')
            buf_puts(b, "&quot;");
        else if (none || ((unsigned char)*p < 0x20 && *p != '\n' && *p != '\t'))
            buf_puts(b, "?");
        else
            buf_put(b, p, 1);
        if (none) p += 2;
    }
    json_decref(j);
}

static void put_attribute(struct buf *b, const char *name, const char *value)
{
    buf_printf(b, " %s=\"", name);
    markup_put(b, value);
    buf_puts(b, "\"");
}

static void put_diags(const struct session *s, bool errors, struct buf *b)
{
    for (size_t i = 0; i < s->diags.n; i++) {
        struct buf text = {0};
        if ((s->diags.at[i]->severity == SEV_ERROR) == errors)
            diag_render(s, s->diags.at[i], &text);
        if (text.n) markup_put(b, text.at);
        buf_fini(&text);
    }
}

void junit_case(struct session *s, struct junit *j, const char *path, int status)
{
    const struct diag *first = NULL;
    size_t warnings = 0;
    diag_settle(s);
    for (size_t i = 0; i < s->diags.n; i++) {
        const struct diag *d = s->diags.at[i];
        if (d->severity == SEV_ERROR && !first) first = d;
        warnings += d->severity == SEV_WARNING;
    }
    bool world = first && diag_infos[first->id].klass == DIAG_WORLD && !first->span.end;
    j->tests++;
    buf_puts(&j->cases, "    <testcase classname=\"fgc.check\"");
    put_attribute(&j->cases, "name", path);
    put_attribute(&j->cases, "file", path);
    if (!first && status == 0 && warnings == 0) {
        buf_puts(&j->cases, "/>\n");
        return;
    }
    buf_puts(&j->cases, ">\n");
    if (first || status) {
        const char *element = world ? "error" : "failure";
        *(world ? &j->errors : &j->failures) += 1;
        buf_printf(&j->cases, "      <%s", element);
        put_attribute(&j->cases, "type", first ? diag_name(s->arena, first->id) : "plan");
        put_attribute(&j->cases, "message",
                      first ? first->text : "the plan does not fit the target");
        buf_puts(&j->cases, ">");
        put_diags(s, true, &j->cases);
        buf_printf(&j->cases, "</%s>\n", element);
    }
    if (warnings) {
        buf_puts(&j->cases, "      <system-err>");
        put_diags(s, false, &j->cases);
        buf_puts(&j->cases, "</system-err>\n");
    }
    buf_puts(&j->cases, "    </testcase>\n");
}

bool junit_write(struct session *s, struct junit *j, const char *path)
{
    struct buf b = {0};
    char counts[96];
    snprintf(counts, sizeof counts, "tests=\"%zu\" failures=\"%zu\" errors=\"%zu\"", j->tests,
             j->failures, j->errors);
    buf_printf(&b,
               "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites %s>\n"
               "  <testsuite name=\"fgc check\" %s>\n",
               counts, counts);
    buf_put(&b, j->cases.at, j->cases.n);
    buf_puts(&b, "  </testsuite>\n</testsuites>\n");
    bool ok = file_write(s, path, b.at, b.n);
    buf_fini(&b);
    buf_fini(&j->cases);
    return ok;
}
