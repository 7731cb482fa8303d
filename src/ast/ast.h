/* ast: what a .fg file says, before any name means anything: nodes, the parser's entry, the
 * canonical printer (the formatter) and the tree dump.
 *
 * Nodes live in the session's arena and are never freed one by one. Parser actions call only the
 * ast_* builders; nothing here checks types. Nesting is limited to 200 levels by the token filter,
 * but left-recursive runs (a + a + ..., x |> f |> g ...) are unlimited: whoever walks an expression
 * must iterate down the left spine instead of recursing. */
#ifndef FGC_AST_H
#define FGC_AST_H

#include "base/base.h"

struct expr;

struct name {         /* an identifier where it stands */
    const char *text; /* interned */
    struct span span;
};
struct arg {
    struct name name; /* text NULL: positional */
    struct expr *value;
};
typedef VEC(struct arg) args_vec;
typedef VEC(struct expr *) exprs_vec;
typedef VEC(struct name) names_vec;

enum expr_kind {
    EXPR_ERROR,  /* a syntax error was reported here: stay silent */
    EXPR_NAME,   /* path */
    EXPR_INT,    /* i */
    EXPR_REAL,   /* r */
    EXPR_LIST,   /* items */
    EXPR_CALL,   /* path, args */
    EXPR_CHAIN,  /* left |> path(args); has_parens tells f from f() */
    EXPR_UNARY,  /* op, right */
    EXPR_BINARY, /* left op right */
    EXPR_IN,     /* left in right (a list) */
    EXPR_PAREN,  /* right; kept so that the printer can keep it */
};
enum ast_op {
    AST_ADD,
    AST_SUB,
    AST_MUL,
    AST_DIV,
    AST_FLOORDIV,
    AST_MOD,
    AST_EQ,
    AST_NE,
    AST_LT,
    AST_LE,
    AST_GT,
    AST_GE,
    AST_AND,
    AST_OR,
    AST_NOT,
    AST_NEG,
    N_AST_OPS
};
struct expr {
    enum expr_kind kind;
    enum ast_op op;
    bool has_parens;
    struct span span;    /* the whole expression */
    struct span op_span; /* the operator's token; for EXPR_CHAIN the |> */
    names_vec path;      /* NAME, CALL, CHAIN: act.gelu is two names */
    int64_t i;
    double r;
    const char *literal; /* INT, REAL: its text as written */
    struct expr *left, *right;
    exprs_vec items;
    args_vec args;
};

struct clause { /* channels_last, order(0, 2, 1), strides(...), align(n) ... */
    struct name name;
    bool has_parens;
    args_vec args;
    struct span span;
};
struct type_expr {
    struct name elem; /* element type or parameter name */
    bool has_brackets;
    bool infer_all; /* [...] */
    exprs_vec dims; /* NULL entry: _ */
    VEC(struct span) dim_spans;
    VEC(struct clause) clauses;
    struct span span;
};

enum stmt_kind {
    STMT_ERROR,
    STMT_INPUT,
    STMT_OUTPUT,
    STMT_SCALAR,
    STMT_CONST,
    STMT_COMPUTE,
    STMT_REQUIRE,
    STMT_BIND,
    STMT_RETURN,
};
struct stmt {
    enum stmt_kind kind;
    struct span span;
    names_vec names; /* INPUT OUTPUT SCALAR CONST COMPUTE: declared; BIND: targets ("_" skips) */
    struct type_expr *type; /* INPUT OUTPUT SCALAR; BIND when annotated; else NULL */
    struct expr *value;     /* SCALAR (may be NULL), CONST, REQUIRE, BIND */
    exprs_vec results;      /* RETURN */
    const char *doc;        /* comments directly above, inside, and at the end of its last line, '#'
                               dropped; or NULL. Of a graph or function: of its head */
};

struct param {
    struct name name;
    struct expr *def;     /* = expr, or NULL */
    struct expr *choices; /* in [..], or NULL; graphs only */
};
enum item_kind { ITEM_ERROR, ITEM_IMPORT, ITEM_CONST, ITEM_GRAPH, ITEM_FN, ITEM_EPILOGUE };
struct item {
    enum item_kind kind;
    struct span span;
    struct span head;        /* GRAPH FN EPILOGUE: up to the body's '{', included */
    struct name name;        /* CONST GRAPH FN EPILOGUE */
    names_vec import_path;   /* IMPORT std.act */
    const char *import_file; /* IMPORT "x.fg" */
    struct ast *imported;    /* IMPORT: what it names (ast_import), NULL when it was refused */
    struct expr *value;      /* CONST */
    VEC(struct param) params;
    VEC(struct stmt *) body;
    const char *doc;
};

struct comment {
    struct span span; /* from '#' to the end of the line, line end excluded */
    bool own_line;    /* nothing but blanks before it */
};
struct ast {
    struct source *source;
    /* by ast_import: */
    const char *name;        /* "std.act", or the path from the folder of the first file */
    const char *identity;    /* what makes two imports one file; not for output */
    struct span imported_at; /* the first import of it */
    bool is_library;
    VEC(struct ast *) imports; /* first file: all that are imported, each after what it imports */
    int64_t version; /* fg N */
    VEC(struct item *) items;
    VEC(struct comment) comments; /* in order */
};

/* Parses one source. Never NULL; on errors they are in the session, and what could be read is in
 * the tree with ERROR nodes where it could not. */
struct ast *ast_parse(struct session *s, struct source *src);
/* Reads and parses what the file imports: libraries carried inside the program, and files by their
 * path from the importing file's folder. What cannot be read, is there twice in a circle, or is no
 * library is reported at the import; item->imported stays NULL. given: files by their names, ended by a
 * NULL name, instead of those on the disk; NULL: the disk's. */
void ast_import(struct session *s, struct ast *ast, const struct embedded *given);
/* The canonical text: what `fgc fmt` writes and a plan's source.fg holds. Keeps every comment;
 * 100 columns; idempotent. */
void ast_format(const struct ast *a, struct buf *out);
/* A tree dump, one node a line, for tests and `-d ast`. */
void ast_dump(const struct ast *a, struct buf *out);

extern const char *const ast_op_names[N_AST_OPS]; /* "+", "//", "and" ... */

#endif
