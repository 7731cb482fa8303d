/* front: what the scanner, the token filter, the grammar and the node builders share while one
 * source is parsed. Not for other rooms. */
#ifndef FGC_AST_FRONT_H
#define FGC_AST_FRONT_H

#include "ast/ast.h"

enum { MAX_NESTING = 200, MAX_NAME = 63 };

struct literal {
    const char *text; /* as written, interned */
    int64_t i;
    double r;
};
struct token {
    int kind; /* TOK_... ; 0 ends the text */
    struct span span;
    const char *text; /* NAME, STRING, INT, REAL */
    int64_t i;
    double r;
    uint32_t column; /* bytes of white space before it when it starts a line, else UINT32_MAX */
};

struct names {
    names_vec v;
};
struct args {
    args_vec v;
};
struct exprs {
    exprs_vec v;
};
struct stmts {
    VEC(struct stmt *) v;
};
struct params {
    VEC(struct param) v;
};

struct open_bracket {
    int kind; /* TOK_LPAREN or TOK_LBRACKET */
    struct span span;
    int prefix; /* length of the run of prefix operators before it */
};
struct front {
    struct session *session;
    struct arena *arena;
    struct arena *scratch; /* gone when parsing ends: the tokens */
    struct source *source;
    struct ast *ast;
    const char *underscore;

    /* scanner */
    void *scanner;
    uint32_t begin, end; /* of the current token, offsets in the text */
    bool stop;           /* nothing more is to be scanned */
    int scanned;         /* kind scanned last */
    struct token made;   /* value of the token the scanner is returning */

    /* token filter */
    VEC(struct token)
    tokens; /* scanned and not yet handed out from `next` on; before it, old ones */
    size_t next;
    int last; /* kind handed out last */
    struct span last_span;
    VEC(struct open_bracket) open;
    int prefix; /* current run of prefix operators */
    int depth;  /* open brackets and prefix runs together */
    uint32_t statement_column;
    struct token first;      /* of the statement at hand */
    struct span body;        /* the '{' of the body that is open; NO_SPAN between bodies */
    VEC(struct token) queue; /* inserted tokens, to be handed out first */
    size_t queue_next;
    bool given_up;
};

/* scanner (grammar/fg.l) and what it calls */
void front_scan_open(struct front *f, char *text, size_t n);
int front_scan_next(struct front *f); /* a kind, 0 at the end, less for what is no token */
void front_scan_close(struct front *f);
void front_comment(struct front *f, const char *text, size_t n);
int front_name(struct front *f, const char *text, size_t n);
int front_integer(struct front *f, const char *text, size_t n);
int front_real(struct front *f, const char *text, size_t n);
int front_string(struct front *f, const char *text, size_t n);
int front_bad_number(struct front *f, const char *text, size_t n);
int front_bad_string(struct front *f, const char *why, const char *hint);
int front_bad_name(struct front *f);
int front_bad_byte(struct front *f, unsigned char byte);

/* False, with a diagnostic, when the text is UTF-16 or UTF-32. */
bool front_is_utf8(struct front *f);
/* token filter: the raw token `ahead` places further on; the end of the file for ever after it */
struct token front_raw(struct front *f, size_t ahead);

/* reports of the parser */
void front_unexpected(struct front *f, struct span at, int found, const int *expected, size_t n);
void front_too_deep(struct front *f, struct span at);
const char *front_symbol_name(int symbol);
/* The closest of the statement words that are expected, or NULL. */
const char *front_keyword_near(const char *word, const int *expected, size_t n);

/* node builders. A NULL list starts one. */
struct names *ast_name(struct front *f, struct names *l, const char *text, struct span at);
struct params *ast_param(struct front *f, struct params *l, struct param p);
struct exprs *ast_expr_add(struct front *f, struct exprs *l, struct expr *e);
struct args *ast_arg(struct front *f, struct args *l, struct arg a);
struct stmts *ast_stmts(struct front *f);
struct stmts *ast_stmt_add(struct front *f, struct stmts *l, struct stmt *s);

void ast_import_path(struct front *f, struct span at, struct names *path);
void ast_import_file(struct front *f, struct span at, const char *file);
void ast_const_item(struct front *f, struct span at, const char *name, struct span name_at,
                    struct expr *e);
void ast_item(struct front *f, enum item_kind kind, struct span at, const char *name,
              struct span name_at, struct params *p, struct span body_at, struct stmts *body);
void ast_error_item(struct front *f, struct span at);

struct stmt *ast_declare(struct front *f, enum stmt_kind kind, struct span at, struct names *names,
                         struct type_expr *type, struct expr *value);
struct stmt *ast_return(struct front *f, struct span at, struct exprs *results);
struct stmt *ast_error_stmt(struct front *f, struct span at);

struct type_expr *ast_type(struct front *f, const char *name, struct span at);
struct type_expr *ast_type_end(struct type_expr *t, const struct type_expr *dims,
                               const struct type_expr *clauses, struct span at);
struct type_expr *ast_dims_all(struct front *f);
struct type_expr *ast_dim(struct front *f, struct type_expr *l, struct expr *e, struct span at);
struct type_expr *ast_clause(struct front *f, struct type_expr *l, struct clause c);
struct clause ast_clause_make(const char *name, struct span name_at, bool parens,
                              const struct args *args, struct span at);

struct expr *ast_chain(struct front *f, struct span at, struct expr *left, struct span op,
                       const struct names *path, bool parens, const struct args *args);
struct expr *ast_binary(struct front *f, struct span at, enum ast_op op, struct span op_at,
                        struct expr *left, struct expr *right);
struct expr *ast_unary(struct front *f, struct span at, enum ast_op op, struct span op_at,
                       struct expr *right);
struct expr *ast_in(struct front *f, struct span at, struct span op_at, struct expr *left,
                    struct expr *list);
struct expr *ast_path(struct front *f, struct span at, const struct names *path);
struct expr *ast_call(struct front *f, struct span at, const struct names *path,
                      const struct args *args);
struct expr *ast_int(struct front *f, struct span at, struct literal v);
struct expr *ast_real(struct front *f, struct span at, struct literal v);
struct expr *ast_list(struct front *f, struct span at, const struct exprs *items);
struct expr *ast_unread(struct front *f, struct span at);
struct expr *ast_paren(struct front *f, struct span at, struct expr *e);

#endif
