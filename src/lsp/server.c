/* server: the conversation: life cycle, the table of methods, and the order of work.
 *
 * Invariant: messages are handled in their order; diagnostics are made when nothing waits to be
 * read, so a burst of edits is analysed once. */
#include "lsp/internal.h"

#include <stdlib.h>

enum {
    PARSE_ERROR = -32700,
    INVALID_REQUEST = -32600,
    NO_METHOD = -32601,
    INVALID_PARAMS = -32602,
    NOT_INITIALIZED = -32002,
    CANCELLED = -32800
};

/* ---- sending ----------------------------------------------------------------------------- */

static void respond(struct server *v, json_t *id, json_t *result)
{
    transport_send(&v->t, json_pack("{ss sO so}", "jsonrpc", "2.0", "id", id, "result",
                                    result ? result : json_null()));
}

static void fail(struct server *v, json_t *id, int code, const char *text)
{
    json_t *error = json_pack("{si so}", "code", code, "message", json_utf8(text));
    transport_send(&v->t, json_pack("{ss sO so}", "jsonrpc", "2.0", "id", id, "error", error));
}

/* ---- life cycle -------------------------------------------------------------------------- */

static bool lists(const json_t *list, const char *word)
{
    size_t i;
    json_t *one;
    json_array_foreach(list, i, one)
        if (json_is_string(one) && strcmp(json_string_value(one), word) == 0) return true;
    return false;
}

static const json_t *at_path(const json_t *from, const char *const *keys)
{
    for (; from && *keys; keys++) from = json_object_get(from, *keys);
    return from;
}
#define AT(from, ...) at_path((from), (const char *const[]){__VA_ARGS__, NULL})

static json_t *answer_initialize(struct server *v, const json_t *params)
{
    const json_t *c = json_object_get(params, "capabilities");
    v->utf8 = lists(AT(c, "general", "positionEncodings"), "utf-8");
    v->markdown = lists(AT(c, "textDocument", "hover", "contentFormat"), "markdown");
    v->hierarchical = json_is_true(
        AT(c, "textDocument", "documentSymbol", "hierarchicalDocumentSymbolSupport"));
    v->snippets = json_is_true(
        AT(c, "textDocument", "completion", "completionItem", "snippetSupport"));
    json_t *can = json_pack(
        "{ss s{sb si sb} sb sb sb sb sb sb s{sb} s{s[sss]} s{s[ss]}}", "positionEncoding",
        v->utf8 ? "utf-8" : "utf-16", "textDocumentSync", "openClose", 1, "change", 2, "save", 1,
        "hoverProvider", 1, "definitionProvider", 1, "referencesProvider", 1,
        "documentHighlightProvider", 1, "documentSymbolProvider", 1, "documentFormattingProvider",
        1, "renameProvider", "prepareProvider", 1, "completionProvider", "triggerCharacters", ".",
        "=", ">", "signatureHelpProvider", "triggerCharacters", "(", ",");
    v->state = RUNNING;
    return json_pack("{so s{ss ss}}", "capabilities", can, "serverInfo", "name", "fgc", "version",
                     v->host->version);
}

static json_t *answer_shutdown(struct server *v, const json_t *params)
{
    (void)params;
    v->state = SHUT;
    return json_null();
}

/* ---- notifications ----------------------------------------------------------------------- */

static void on_leave(struct server *v, const json_t *params)
{
    (void)params;
    v->left = true;
    v->status = v->state == SHUT ? 0 : 1;
}

static void on_open(struct server *v, const json_t *params)
{
    const json_t *x = json_object_get(params, "textDocument"), *text = json_object_get(x, "text"),
                 *uri = json_object_get(x, "uri");
    if (!json_is_string(text) || !json_is_string(uri)) return;
    struct document *d = document_open(v, json_string_value(uri), json_string_value(text),
                                       json_string_length(text));
    if (d) d->version = json_integer_value(json_object_get(x, "version"));
}

static void on_change(struct server *v, const json_t *params)
{
    const json_t *x = json_object_get(params, "textDocument");
    struct document *d = document_find(v, json_string_value(json_object_get(x, "uri")));
    size_t i;
    json_t *change;
    if (!d) return;
    json_array_foreach(json_object_get(params, "contentChanges"), i, change)
        if (!document_change(v, d, change)) break;
    d->version = json_integer_value(json_object_get(x, "version"));
}

/* What other files say may have changed: every document is looked at again. */
static void on_save(struct server *v, const json_t *params)
{
    (void)params;
    for (size_t i = 0; i < v->documents.n; i++) v->documents.at[i]->stale = true;
}

static void on_close(struct server *v, const json_t *params)
{
    struct document *d = document_find(v, json_string_value(AT(params, "textDocument", "uri")));
    if (!d) return;
    publish_nothing(v, d->uri);
    document_close(v, d);
}

static void on_nothing(struct server *v, const json_t *params)
{
    (void)v;
    (void)params;
}

/* ---- methods ----------------------------------------------------------------------------- */

static const struct {
    const char *name;
    answer_fn *answer;
} requests[] = {
    {"initialize", answer_initialize},
    {"shutdown", answer_shutdown},
    {"textDocument/hover", answer_hover},
    {"textDocument/signatureHelp", answer_signature_help},
    {"textDocument/completion", answer_completion},
    {"textDocument/definition", answer_definition},
    {"textDocument/references", answer_references},
    {"textDocument/documentHighlight", answer_highlight},
    {"textDocument/documentSymbol", answer_symbols},
    {"textDocument/formatting", answer_formatting},
    {"textDocument/rename", answer_rename},
    {"textDocument/prepareRename", answer_prepare_rename},
};
static const struct {
    const char *name;
    void (*handle)(struct server *, const json_t *);
} notifications[] = {
    {"exit", on_leave},
    {"initialized", on_nothing},
    {"textDocument/didOpen", on_open},
    {"textDocument/didChange", on_change},
    {"textDocument/didSave", on_save},
    {"textDocument/didClose", on_close},
};

static void handle_request(struct server *v, json_t *id, const char *method, const json_t *params)
{
    bool first = strcmp(method, "initialize") == 0;
    if (v->state == FRESH && !first) {
        fail(v, id, NOT_INITIALIZED, "the first request is 'initialize'");
        return;
    }
    if (v->state == SHUT || (v->state == RUNNING && first)) {
        fail(v, id, INVALID_REQUEST,
             v->state == SHUT ? "the server was shut down" : "a second 'initialize'");
        return;
    }
    for (size_t i = 0; i < COUNT_OF(requests); i++) {
        if (strcmp(requests[i].name, method) != 0) continue;
        json_t *result = requests[i].answer(v, params);
        if (result)
            respond(v, id, result);
        else
            fail(v, id, INVALID_PARAMS, "the parameters name no open document, or no place in it");
        return;
    }
    fail(v, id, NO_METHOD, method);
}

static void handle_notification(struct server *v, const char *method, const json_t *params)
{
    if (v->state != RUNNING && strcmp(method, "exit") != 0) return;
    for (size_t i = 0; i < COUNT_OF(notifications); i++)
        if (strcmp(notifications[i].name, method) == 0) notifications[i].handle(v, params);
}

/* ---- the queue --------------------------------------------------------------------------- */

static bool same_id(const json_t *a, const json_t *b)
{
    return (json_is_integer(a) || json_is_string(a)) && json_equal(a, b);
}

/* Is there a later message that takes this request back? */
static bool cancelled(const struct server *v, const json_t *id)
{
    for (size_t i = v->next; i < v->queue.n; i++) {
        const char *method = json_string_value(json_object_get(v->queue.at[i], "method"));
        if (method && strcmp(method, "$/cancelRequest") == 0 &&
            same_id(json_object_get(json_object_get(v->queue.at[i], "params"), "id"), id))
            return true;
    }
    return false;
}

static void handle(struct server *v, json_t *message)
{
    json_t *id = json_object_get(message, "id"), *null = json_null();
    const char *method = json_string_value(json_object_get(message, "method"));
    const json_t *params = json_object_get(message, "params");
    bool usable = !id || json_is_integer(id) || json_is_string(id);
    if (!json_is_object(message) || !usable) {
        fail(v, null, INVALID_REQUEST, "a message is an object, its id a number or a string");
        return;
    }
    if (!method) { /* an answer to nothing we asked, or no message at all */
        bool answer = json_object_get(message, "result") || json_object_get(message, "error");
        if (!answer) fail(v, id ? id : null, INVALID_REQUEST, "a message has a 'method'");
        return;
    }
    if (!id)
        handle_notification(v, method, params);
    else if (cancelled(v, id))
        fail(v, id, CANCELLED, "cancelled");
    else
        handle_request(v, id, method, params);
}

/* Takes whole messages off the stream into the queue. False when the stream is refused. */
static bool gather(struct server *v)
{
    if (v->next > 0) {
        memmove(v->queue.at, v->queue.at + v->next, (v->queue.n - v->next) * sizeof *v->queue.at);
        v->queue.n -= v->next;
        v->next = 0;
    }
    while (v->queue.n < MAX_QUEUED) {
        const char *body, *why;
        size_t n;
        enum frame f = transport_next(&v->t, &body, &n, &why);
        if (f == FRAME_MORE) return true;
        if (f == FRAME_REFUSED) {
            struct diag *d = diag(v->s, DIAG_protocol, NO_SPAN, "standard input: %s", why);
            diag_hint(v->s, d,
                      "fgc lsp is started by an editor, which speaks the Language Server "
                      "Protocol with it");
            return false;
        }
        json_error_t error;
        json_t *message = json_loadb(body, n, JSON_ALLOW_NUL, &error);
        if (message)
            vec_push(v->s->arena, &v->queue, message);
        else
            fail(v, json_null(), PARSE_ERROR, error.text);
    }
    return true;
}

static void analyse_all(struct server *v)
{
    for (size_t i = 0; i < v->documents.n; i++)
        if (v->documents.at[i]->stale) {
            document_analyse(v, v->documents.at[i]);
            return; /* one at a time: there may be something to read */
        }
}

static bool any_stale(const struct server *v)
{
    for (size_t i = 0; i < v->documents.n; i++)
        if (v->documents.at[i]->stale) return true;
    return false;
}

int lsp_serve(struct session *s, const struct lsp_host *host, int in, int out)
{
    struct server v = {.s = s, .host = host, .t = {.in = in, .out = out}, .status = 1};
    json_object_seed(0);
    while (!v.left && !v.t.broken) {
        while (transport_read(&v.t, false) && v.t.pending.n - v.t.at < MAX_MESSAGE) {
        }
        if (!gather(&v)) break;
        if (v.next < v.queue.n) {
            json_t *message = v.queue.at[v.next++];
            handle(&v, message);
            json_decref(message);
        } else if (any_stale(&v)) {
            analyse_all(&v);
        } else if (!transport_read(&v.t, true)) {
            break;
        }
    }
    while (v.next < v.queue.n) json_decref(v.queue.at[v.next++]);
    for (size_t i = 0; i < v.documents.n; i++) document_fini(v.documents.at[i]);
    transport_fini(&v.t);
    return v.status;
}
