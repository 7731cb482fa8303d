/* publish: an analysis' diagnostics, as the client shows them: what `fgc check` prints, with notes
 * as related places, notes without a place and hints on lines of their own. */
#include "lsp/internal.h"

static const struct source *source_at(const struct session *s, struct span at)
{
    return at.end ? source_place(s, at.begin).source : NULL;
}

static json_t *range_of(const struct server *v, const struct source *src, struct span at)
{
    return document_range(v, src, at.begin - src->base, at.end - src->base);
}

/* Where the document imports the file, if it does so itself. */
static struct span import_of(const struct document *d, const struct source *src)
{
    for (size_t i = 0; d->ast && src && i < d->ast->imports.n; i++) {
        const struct ast *by = d->ast->imports.at[i];
        if (by->source == src && source_at(d->session, by->imported_at) == d->source)
            return by->imported_at;
    }
    return (struct span){d->source->base, d->source->base};
}

static void related(const struct server *v, const struct document *d, const struct source *src,
                    struct span at, const char *text, json_t *list)
{
    json_t *uri = unit_uri(v, d, src);
    if (!uri) return;
    json_array_append_new(list, json_pack("{s{so so} so}", "location", "uri", uri, "range",
                                          range_of(v, src, at), "message", json_utf8(text)));
}

static json_t *message(const struct diag *d, const struct session *s)
{
    struct buf b = {0};
    buf_puts(&b, d->text);
    for (size_t i = 0; i < d->notes.n; i++) {
        const struct diag_note *n = &d->notes.at[i];
        if (n->is_hint)
            buf_printf(&b, "\nhint: %s", n->text);
        else if (!source_at(s, n->span))
            buf_printf(&b, "\nnote: %s", n->text);
    }
    json_t *text = json_utf8(b.at);
    buf_fini(&b);
    return text;
}

static json_t *one(const struct server *v, const struct document *doc, const struct diag *d)
{
    const struct session *s = doc->session;
    const struct source *src = source_at(s, d->span);
    json_t *list = json_array(), *range;
    if (src == doc->source)
        range = range_of(v, src, d->span);
    else
        range = range_of(v, doc->source, import_of(doc, src));
    if (src && src != doc->source) related(v, doc, src, d->span, "in this file", list);
    for (size_t i = 0; i < d->notes.n; i++) {
        const struct source *at = source_at(s, d->notes.at[i].span);
        if (at) related(v, doc, at, d->notes.at[i].span, d->notes.at[i].text, list);
    }
    json_t *out = json_pack("{so si ss ss so}", "range", range, "severity", (int)d->severity + 1,
                            "code", diag_name(doc->session->arena, d->id), "source", "fgc", "message", message(d, s));
    if (d->id == DIAG_unused) json_object_set_new(out, "tags", json_pack("[i]", 1));
    if (json_array_size(list) > 0) json_object_set(out, "relatedInformation", list);
    json_decref(list);
    return out;
}

static void send(struct server *v, const char *uri, const int64_t *version, json_t *list)
{
    json_t *params = json_pack("{ss so}", "uri", uri, "diagnostics", list);
    if (version) json_object_set_new(params, "version", json_integer(*version));
    transport_send(&v->t, json_pack("{ss ss so}", "jsonrpc", "2.0", "method",
                                    "textDocument/publishDiagnostics", "params", params));
}

void publish_diagnostics(struct server *v, struct document *d)
{
    json_t *list = json_array();
    for (size_t i = 0; d->source && i < d->session->diags.n; i++)
        json_array_append_new(list, one(v, d, d->session->diags.at[i]));
    if (d->source && d->session->diags_full)
        json_array_append_new(list, json_pack("{so si ss ss ss}", "range",
                                              document_range(v, d->source, 0, 0), "severity", 1,
                                              "code", "too-many-errors", "source", "fgc", "message",
                                              "more than 20 errors; the rest is not shown"));
    send(v, d->uri, &d->version, list);
}

void publish_nothing(struct server *v, const char *uri)
{
    send(v, uri, NULL, json_array());
}
