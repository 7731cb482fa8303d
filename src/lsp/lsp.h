/* lsp: the language server: JSON-RPC 2.0 in, answers and diagnostics out, by the Language Server
 * Protocol 3.17.
 *
 * Invariants: every request gets exactly one answer; nothing but protocol is written; what the
 * server keeps is the open documents and one analysis of each, however many edits come. Names and
 * the place of the cursor are found in the text's tokens, not in its tree, so that half-written
 * files are answered too; types come from the analysis, through sema's index. */
#ifndef FGC_LSP_H
#define FGC_LSP_H

#include "sema/sema.h"

struct lsp_host {
    void *self;
    const char *version; /* of the server, for the client's log */
    /* All that `fgc check` says about the source, into the session; fills the index. The tree, with
     * what it imports. */
    struct ast *(*check)(void *self, struct session *s, struct source *src,
                         struct sema_index *index);
    /* A file that holds this library's text ("std.act"), for an editor to open; NULL when there is
     * none. */
    const char *(*library)(void *self, struct arena *a, const struct ast *library);
};
/* Serves until the client says `exit` or closes its end. Returns the exit status the protocol asks
 * for: 0 after `shutdown` and `exit`, else 1. A stream that is not the protocol is refused with a
 * diagnostic in s. */
int lsp_serve(struct session *s, const struct lsp_host *host, int in, int out);

#endif
