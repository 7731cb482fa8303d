/* lsp, inside: framing, documents, the outline of a text, and the answers. */
#ifndef FGC_LSP_INTERNAL_H
#define FGC_LSP_INTERNAL_H

#include "lsp/lsp.h"

#include <jansson.h>

#define MAX_HEADER 4096        /* bytes of one message's header */
#define MAX_MESSAGE (64 << 20) /* bytes of one message's body */
#define MAX_QUEUED 256         /* messages read ahead, to see cancellations */

/* ---- transport.c ------------------------------------------------------------------------- */

struct transport {
    int in, out;
    struct buf pending; /* read and not yet handed out from `at` on */
    size_t at;
    bool ended;  /* no more will come */
    bool broken; /* the client no longer reads */
};
enum frame { FRAME_MORE, FRAME_WHOLE, FRAME_REFUSED };
/* The next message's body, valid until the next read; FRAME_REFUSED: *why says what is wrong with
 * its header, and nothing after it can be found. */
enum frame transport_next(struct transport *t, const char **body, size_t *n, const char **why);
/* Reads what is there, waiting for it when `wait`. False when there was nothing. */
bool transport_read(struct transport *t, bool wait);
void transport_send(struct transport *t, json_t *message); /* takes the reference */
void transport_fini(struct transport *t);

/* ---- outline.c: tokens and declared names of a text, however broken ------------------------ */

enum token_kind { TOKEN_NAME, TOKEN_NUMBER, TOKEN_STRING, TOKEN_SIGN, TOKEN_COMMENT };
struct lexeme { /* offsets in the text */
    enum token_kind kind;
    uint32_t begin, end;
    bool first; /* on its line; comments too */
};
enum decl_kind {
    DECL_PARAM,
    DECL_CONST,
    DECL_INPUT,
    DECL_SCALAR,
    DECL_OUTPUT,
    DECL_BINDING,
    DECL_FN,
    DECL_EPILOGUE,
    DECL_GRAPH,
    DECL_IMPORT,
    N_DECL_KINDS
};
extern const char *const decl_words[N_DECL_KINDS]; /* as a declaration starts; "" for bindings */
struct decl {
    enum decl_kind kind;
    const char *name;
    uint32_t begin, end; /* the name */
    uint32_t from, to;   /* the statement; of an item its whole text */
    uint32_t head;       /* items: end of the head, before '{' */
    int item;            /* index of the item it stands in; -1 for the file's own */
};
struct outline {
    struct arena *a;
    const char *text;
    uint32_t len;
    VEC(struct lexeme) tokens; /* comments left out */
    VEC(struct lexeme) comments;
    VEC(struct decl) decls;   /* in the order of the text */
    VEC(uint32_t) statements; /* index in tokens of each one's first */
};
void outline_make(struct outline *o, struct arena *a, const char *text, size_t len);
bool lexeme_is(const struct outline *o, const struct lexeme *t, const char *word);
const char *lexeme_text(const struct outline *o, const struct lexeme *t); /* in the arena */
/* Index of the first token that ends after the offset; tokens.n when none does. */
size_t outline_token(const struct outline *o, uint32_t offset);
/* The item (index in decls) whose text holds the offset; -1 outside. */
int outline_item(const struct outline *o, uint32_t offset);
/* What a name means at an offset: in the item there, then in the file. NULL when neither has it. */
const struct decl *outline_find(const struct outline *o, const char *name, uint32_t offset);
/* Comment lines directly above, and the comment at the end of the statement's first line. */
const char *outline_doc(const struct outline *o, const struct decl *d);

/* ---- cursor.c: what is being written at an offset ------------------------------------------ */

struct server;
enum spot {
    SPOT_NONE,     /* in a comment or a string, or where a new name is made up */
    SPOT_TOP,      /* start of a statement of the file */
    SPOT_BODY,     /* start of a statement in a body */
    SPOT_TYPE,     /* after ':' */
    SPOT_CLAUSE,   /* after a type */
    SPOT_DIM,      /* inside a type's brackets, or a layout's parentheses */
    SPOT_EXPR,     /* an expression outside calls */
    SPOT_ARGUMENT, /* an expression or `attribute=` in the call `callee` */
    SPOT_VALUE,    /* after `attribute=` in the call `callee` */
    SPOT_CALLEE,   /* after |> */
    SPOT_MEMBER,   /* after NAME. */
    SPOT_IMPORT,   /* after `import` */
    SPOT_LIBRARY,  /* after `import std.` */
};
struct cursor {
    enum spot spot;
    uint32_t begin, end;   /* the word there, empty when there is none */
    const char *word;      /* its text, whole */
    const char *callee;    /* innermost call, NULL outside; "a.b" for a member */
    int argument;          /* which of its arguments, from 0, without what |> brings */
    bool chained;          /* the call stands after |> */
    const char *attribute; /* SPOT_VALUE; or the word is itself an attribute's name */
    bool is_attribute;     /* the word stands before '=' in a call */
    const char *qualifier; /* SPOT_MEMBER: what stands before the last dot */
    uint32_t open;         /* offset of the call's parenthesis */
    int item;              /* as outline_item */
};
void cursor_find(struct cursor *c, const struct outline *o, uint32_t offset);

/* ---- names.c: what a name stands for, here or in an imported file --------------------------- */

struct unit { /* a file: the document, or one that it imports */
    struct source *source;
    const struct ast *ast; /* NULL: the document */
    const char *qualifier; /* what may stand before a dot */
    uint32_t from, to;     /* its import statement */
    struct outline outline;
};
struct found {
    const struct unit *unit; /* NULL: nothing */
    const struct decl *decl; /* NULL: the imported file itself */
};
struct document;
/* The document's own unit comes first. */
void units_make(struct document *d, const struct ast *ast);
/* A name where it stands: "gelu", or "act.gelu" and "std.act.gelu". */
struct found name_find(const struct document *d, const char *name, uint32_t offset);
/* The word at the cursor: a name, a parameter before its '=', a file's qualifier, an import. */
struct found cursor_target(const struct document *d, const struct cursor *c, uint32_t offset);
/* Can another file use it? */
bool is_shared(const struct decl *d);
/* What a call's name stands for; without unit and OP_none: nothing. */
struct callee {
    struct found f;
    enum op_id op;
};
struct callee callee_find(const struct document *d, const char *name, uint32_t offset);
/* The parameters of a function, in order; *n how many. */
const struct decl *decl_parameters(const struct outline *o, const struct decl *f, size_t *n);
/* The address of a unit, as a new string; NULL when it is in no file. */
json_t *unit_uri(const struct server *v, const struct document *d, const struct source *src);

/* ---- document.c -------------------------------------------------------------------------- */

struct document {
    char *uri;
    struct buf text;
    int64_t version;
    bool stale; /* changed since it was analysed */
    /* one analysis; all of it in the session's arena */
    struct session *session;
    struct source *source;
    const struct ast *ast;
    struct sema_index *index;
    struct arena *arena;    /* the session's */
    VEC(struct unit) units; /* the text itself, then its imports */
};
struct server {
    struct session *s; /* for complaints about the stream */
    const struct lsp_host *host;
    struct transport t;
    VEC(struct document *) documents; /* in s->arena: grows only by open documents */
    VEC(json_t *) queue;
    size_t next; /* of the queue */
    bool utf8;   /* positions count bytes, else UTF-16 units */
    bool markdown, hierarchical, snippets;
    enum { FRESH, RUNNING, SHUT } state;
    bool left;
    int status;
};
struct document *document_find(struct server *v, const char *uri);
/* Copies the text; replaces that of a document that is open already. NULL without memory. */
struct document *document_open(struct server *v, const char *uri, const char *text, size_t n);
void document_close(struct server *v, struct document *d);
/* One contentChange; false when it is malformed. */
bool document_change(struct server *v, struct document *d, const json_t *change);
/* Brings the analysis up to date and publishes its diagnostics. */
void document_analyse(struct server *v, struct document *d);
void document_fini(struct document *d);
/* Positions. Offsets beyond a line or the text are moved to its end. */
uint32_t document_offset(const struct server *v, const char *text, size_t len, int64_t line,
                         int64_t character);
json_t *document_range(const struct server *v, const struct source *src, uint32_t begin,
                       uint32_t end);
bool position_read(const json_t *position, int64_t *line, int64_t *character);
/* Where `textDocument` and `position` of the parameters point, analysed; NULL when not open. */
struct document *document_at(struct server *v, const json_t *params, uint32_t *offset);
const char *uri_path(struct arena *a, const char *uri); /* NULL when it is not a file's */
json_t *path_uri(const char *path);

/* ---- publish.c --------------------------------------------------------------------------- */

void publish_diagnostics(struct server *v, struct document *d);
void publish_nothing(struct server *v, const char *uri);

/* ---- answers: the result, a new reference ---------------------------------------------------- */

typedef json_t *answer_fn(struct server *v, const json_t *params);
answer_fn answer_hover, answer_signature_help, answer_completion, answer_definition,
    answer_references, answer_highlight, answer_symbols, answer_formatting, answer_rename,
    answer_prepare_rename;

/* describe.c: texts for hover, completion and signature help; in the arena */
struct text_parts {
    const char *code; /* one declaration or signature */
    const char *prose;
};
struct text_parts describe_op(struct arena *a, enum op_id id);
struct text_parts describe_attribute(struct arena *a, enum op_id id, int attr);
struct text_parts describe_decl(const struct document *d, struct found f);
json_t *markup(const struct server *v, struct text_parts p);

#endif
