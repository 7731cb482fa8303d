/* diag_json: diagnostics for programs: an object a line, or one SARIF 2.1.0 document.
 *
 * Invariant: bytes are offsets in the file, from 0; lines and columns start at 1, and columns count
 * code points, as in the text for people. Spans are half open. */
#include <jansson.h>
#include <stdlib.h>

#include "base/diag.h"

static const char *const severities[] = {"error", "warning", "note"};

static const struct source *source_at(const struct session *s, struct span at)
{
    return at.end ? source_place(s, at.begin).source : NULL;
}

static json_t *corner(const struct session *s, const struct source *src, uint32_t offset)
{
    if (offset - src->base > src->len) offset = src->base + (uint32_t)src->len;
    struct place p = source_place(s, offset);
    return json_pack("{sI sI sI}", "byte", (json_int_t)(offset - src->base), "line",
                     (json_int_t)p.line, "column", (json_int_t)p.column);
}

/* {"file", "begin", "end"}, or null for what has no place. */
static json_t *span_json(const struct session *s, struct span at)
{
    const struct source *src = source_at(s, at);
    if (!src) return json_null();
    return json_pack("{so so so}", "file", json_utf8(src->name), "begin", corner(s, src, at.begin),
                     "end", corner(s, src, at.end));
}

static void put_line(json_t *j, FILE *to)
{
    char *text = json_dumps(j, JSON_COMPACT);
    if (text) fprintf(to, "%s\n", text);
    free(text);
    json_decref(j);
}

void diag_put_json(struct session *s, const struct diag *d, FILE *to)
{
    json_t *notes = json_array(), *hints = json_array(), *fixes = json_array();
    for (size_t i = 0; i < d->notes.n; i++) {
        const struct diag_note *n = &d->notes.at[i];
        if (n->is_hint)
            json_array_append_new(hints, json_utf8(n->text));
        else
            json_array_append_new(notes, json_pack("{so so}", "message", json_utf8(n->text), "span",
                                                   span_json(s, n->span)));
        if (n->fix)
            json_array_append_new(fixes,
                                  json_pack("{so so so}", "message", json_utf8(n->text), "span",
                                            span_json(s, n->fix_at), "text", json_utf8(n->fix)));
    }
    struct buf rendered = {0};
    diag_render(s, d, &rendered);
    put_line(json_pack("{ss ss ss so so so so so so}", "kind", "diagnostic", "id",
                       diag_name(s->arena, d->id), "severity", severities[d->severity], "message",
                       json_utf8(d->text), "span", span_json(s, d->span), "notes", notes, "hints",
                       hints, "fixes", fixes, "rendered", json_utf8(rendered.n ? rendered.at : "")),
             to);
    buf_fini(&rendered);
}

void diag_put_json_command(const char *command, FILE *to)
{
    put_line(json_pack("{ss so}", "kind", "repeat", "command", json_utf8(command)), to);
}

/* ---- SARIF ------------------------------------------------------------------------------- */

static json_t *artifact(const struct source *src)
{
    struct buf uri = {0};
    if (*src->name == '/') buf_puts(&uri, "file://");
    path_to_uri(src->name, &uri);
    json_t *j = json_pack("{ss}", "uri", uri.n ? uri.at : "");
    buf_fini(&uri);
    return j;
}

static json_t *region(const struct session *s, const struct source *src, struct span at)
{
    if (at.end - src->base > src->len) at.end = src->base + (uint32_t)src->len;
    if (at.end < at.begin) at.end = at.begin;
    struct place a = source_place(s, at.begin), b = source_place(s, at.end);
    return json_pack("{sI sI sI sI sI sI}", "startLine", (json_int_t)a.line, "startColumn",
                     (json_int_t)a.column, "endLine", (json_int_t)b.line, "endColumn",
                     (json_int_t)b.column, "byteOffset", (json_int_t)(at.begin - src->base),
                     "byteLength", (json_int_t)(at.end - at.begin));
}

static json_t *location(const struct session *s, struct span at, const char *message)
{
    const struct source *src = source_at(s, at);
    json_t *j = json_pack("{s{so so}}", "physicalLocation", "artifactLocation", artifact(src),
                          "region", region(s, src, at));
    if (message) json_object_set_new(j, "message", json_pack("{so}", "text", json_utf8(message)));
    return j;
}

static json_t *sarif_fix(const struct session *s, const struct diag_note *n)
{
    const struct source *src = source_at(s, n->fix_at);
    if (!src) return NULL;
    return json_pack("{s{so} s[{so s[{so s{so}}]}]}", "description", "text", json_utf8(n->text),
                     "artifactChanges", "artifactLocation", artifact(src), "replacements",
                     "deletedRegion", region(s, src, n->fix_at), "insertedContent", "text",
                     json_utf8(n->fix));
}

static json_t *result(struct session *s, const struct diag *d, int64_t rule)
{
    struct buf text = {0};
    buf_puts(&text, d->text);
    json_t *related = json_array(), *fixes = json_array();
    for (size_t i = 0; i < d->notes.n; i++) {
        const struct diag_note *n = &d->notes.at[i];
        if (!n->is_hint && source_at(s, n->span))
            json_array_append_new(related, location(s, n->span, n->text));
        else
            buf_printf(&text, "\n%s: %s", n->is_hint ? "hint" : "note", n->text);
        json_t *fix = n->fix ? sarif_fix(s, n) : NULL;
        if (fix) json_array_append_new(fixes, fix);
    }
    json_t *j = json_pack("{ss sI ss s{so}}", "ruleId", diag_name(s->arena, d->id), "ruleIndex",
                          (json_int_t)rule, "level", severities[d->severity], "message", "text",
                          json_utf8(text.at));
    buf_fini(&text);
    if (source_at(s, d->span))
        json_object_set_new(j, "locations", json_pack("[o]", location(s, d->span, NULL)));
    if (json_array_size(related)) json_object_set(j, "relatedLocations", related);
    if (json_array_size(fixes)) json_object_set(j, "fixes", fixes);
    json_decref(related);
    json_decref(fixes);
    return j;
}

static json_t *rule_json(struct session *s, enum diag_id id)
{
    const struct diag_info *info = &diag_infos[id];
    return json_pack("{ss s{ss} s{ss} s{ss}}", "id", diag_name(s->arena, id), "shortDescription",
                     "text", info->title, "fullDescription", "text", info->page,
                     "defaultConfiguration", "level", severities[info->severity]);
}

void diag_put_sarif(struct session *s, const char *command, FILE *to)
{
    json_t *rules = json_array(), *results = json_array();
    int64_t index[N_DIAGS];
    for (size_t i = 0; i < N_DIAGS; i++) index[i] = -1;
    for (size_t i = 0; i < s->kept.n; i++) {
        const struct diag *d = s->kept.at[i];
        if (index[d->id] < 0) {
            index[d->id] = (int64_t)json_array_size(rules);
            json_array_append_new(rules, rule_json(s, d->id));
        }
        json_array_append_new(results, result(s, d, index[d->id]));
    }
    int status = session_exit_status(s);
    json_t *invocation = json_pack("{sb si}", "executionSuccessful", status < 2, "exitCode",
                                   status);
    if (command) json_object_set_new(invocation, "commandLine", json_utf8(command));
    json_t *document = json_pack("{ss ss s[{s{s{ss ss so}} s[o] ss so}]}", "version", "2.1.0",
                                 "$schema", "https://json.schemastore.org/sarif-2.1.0.json", "runs",
                                 "tool", "driver", "name", "fgc", "version", PACKAGE_VERSION,
                                 "rules", rules, "invocations", invocation, "columnKind",
                                 "unicodeCodePoints", "results", results);
    struct buf b = {0};
    json_print(document, &b);
    fprintf(to, "%s\n", b.at);
    buf_fini(&b);
    json_decref(document);
}
