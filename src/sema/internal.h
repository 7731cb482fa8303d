/* sema, inside: what its files share: compile-time values, scopes, the state of one analysis.
 *
 * Invariant: a mistake is reported where it is found and gives a poison cell (all zero bytes);
 * whoever meets poison stays silent and yields poison. */
#ifndef FGC_SEMA_INTERNAL_H
#define FGC_SEMA_INTERNAL_H

#include "sema/sema.h"

#define MAX_DEPTH 300      /* nested expressions and inlined calls together */
#define MAX_VARIANTS 64
#define MAX_GRAPH_OPS 1000000
#define MAX_INLINED 1000000 /* calls, in one graph */
#define MAX_RETURNS 32     /* results of one fn */

/* ---- what an expression yields ----------------------------------------------------------- */

enum cell_kind {
    CELL_POISON,   /* a mistake was reported */
    CELL_UNKNOWN,  /* not known when compiling (sm without a target): conditions on it pass; i is
                    * the kind that it would have, 0 when that is not known either */
    CELL_INT, CELL_REAL, CELL_BOOL, CELL_TYPE, CELL_VERSION, CELL_LIST,
    CELL_TENSOR,   /* a tensor, or a scalar of the graph (rank 0) */
    CELL_TUPLE,    /* several results of one call; a skipped one is CELL_UNKNOWN */
};
struct cells;
struct cell {
    enum cell_kind kind;
    union {
        int64_t i;          /* INT; VERSION: as cuDNN counts, major*10000 + minor*100 + patch */
        double r;
        bool b;
        enum dtype type;
        struct value *v;
        struct cells *list; /* LIST, TUPLE */
    };
};
struct cells {
    size_t n;
    struct cell *at;
};
#define POISON ((struct cell){CELL_POISON})

/* ---- names ------------------------------------------------------------------------------- */

enum sym_kind {
    SYM_PARAM, SYM_CONST, SYM_INPUT, SYM_SCALAR, SYM_OUTPUT, SYM_BINDING,
    SYM_FN, SYM_EPILOGUE, SYM_GRAPH,
};
struct sym {
    const char *name;       /* interned: compared as pointers */
    enum sym_kind kind;
    struct span span;
    bool defined;           /* its statement was reached */
    bool used;
    bool reported;          /* an early use was: once is enough */
    bool cyclic;            /* FN, EPILOGUE: on a cycle that was reported */
    struct cell cell;
    struct item *item;      /* FN, EPILOGUE, GRAPH */
    struct scope *home;     /* where it is declared */
    struct stmt *stmt;      /* what defines it; NULL for params */
    size_t index;           /* in its scope */
    struct span bound;      /* OUTPUT: the binding, NO_SPAN before it */
    struct tspec *spec;     /* OUTPUT; NULL when its declaration is wrong */
    struct value *out;      /* OUTPUT */
};
/* A body's or the file's names. Few are searched in order, many through a map. */
struct import {
    struct name name;       /* by which it may qualify: act of std.act, mine of "lib/mine.fg" */
    const char *path;       /* std.act; NULL for a file */
    struct scope *file;
    bool used;
};
struct scope {
    struct arena *a;
    struct ast *ast;        /* of a file */
    VEC(struct import) imports; /* of a file */
    VEC(struct sym *) syms;
    struct map *map;
    bool torn;              /* a statement could not be read: it may be what defines a name */
};
struct sym *scope_find(const struct scope *s, const char *name);
/* Adds a name; when it is there already, returns NULL and sets *before to it. */
struct sym *scope_add(struct scope *s, enum sym_kind kind, struct name name, struct sym **before);

/* ---- a declared type --------------------------------------------------------------------- */

struct tspec {
    enum dtype type;
    bool has_dims, infer_all;
    int rank;
    int64_t dim[MAX_RANK];      /* 0: to be inferred */
    bool has_layout;
    enum layout layout;
    int n_order, order[MAX_RANK];
    int n_strides;
    int64_t stride[MAX_RANK];
    int64_t align;
    struct span span, layout_span;
};

/* ---- the analysis ------------------------------------------------------------------------ */

struct inlined {                /* a call that is being inlined; for notes and promises */
    const struct inlined *outer;
    const struct item *item;
    struct span span;
};
struct usage {                  /* of a value, by its id */
    unsigned reads;
    bool named;                 /* bound to a name of the graph's body */
    struct value *became;       /* the output that took its place */
};
struct sema {
    struct session *s;
    struct arena *a;            /* the session's: what outlives the analysis */
    struct arena *scratch;      /* rewound after each statement of a graph */
    const struct sema_options *o;
    struct scope *file;         /* whose names the text at hand sees: the first file's, or that of the
                                 * fn being inlined */
    bool *define_told;          /* by index in o->defines: a mistake in it was */
    /* the graph at hand */
    struct graph *g;            /* NULL while constants of the file are evaluated */
    VEC(struct usage) usage;
    struct scope *body;         /* of the graph or of the fn being inlined; NULL at file level */
    const struct inlined *call;
    const struct stmt *stmt;    /* the binding at hand */
    struct promise *promise;
    int n_promises;
    int n_inlined;
    int depth;
    size_t n_errors;            /* found so far, repeated ones included */
    size_t errors_before;       /* n_errors when the graph at hand was begun */
    VEC(uint32_t) preferred;    /* calls of prefer whose choice was told, by their place */
    bool is_overridden;         /* a value is evaluated that -D takes the place of */
    bool first_variant;         /* warnings are given once */
    bool many_variants;
    bool too_large, too_deep;   /* reported for this graph */
};

/* diag(), plus notes naming the variant and the calls that lead here. */
struct diag *error_at(struct sema *m, enum diag_id id, struct span at, const char *fmt, ...)
    PRINTF_LIKE(4, 5);
/* A warning, given for the first variant only: NULL for the others. */
struct diag *warn_at(struct sema *m, enum diag_id id, struct span at, const char *fmt, ...)
    PRINTF_LIKE(4, 5);
void hint(struct sema *m, struct diag *d, const char *fmt, ...) PRINTF_LIKE(3, 4);

/* import.c */
/* Scopes for the file and all that it imports, their names declared and constants known; the first
 * file's is m->file. */
void declare_files(struct sema *m, struct ast *ast);
void warn_unused_imports(struct sema *m);
/* A name of the file at hand or of one of its imports, NULL when there is none. `twice`, unless NULL,
 * is set to the second import that defines it too. */
struct sym *file_find(const struct sema *m, const char *name, const struct import **twice);
/* act.gelu6 or std.act.gelu6; NULL when no import of that name has it. */
struct sym *file_find_path(const struct sema *m, const names_vec *path);
/* The same, for a use: reports a name that two imports define, and marks what is found as used. */
struct sym *file_use(struct sema *m, struct name name, bool *reported);
/* scope.c */
struct cell lookup(struct sema *m, struct name name);          /* in an expression; reports */
/* True when an unknown name may be defined in text that could not be read: stay silent. */
bool is_torn(const struct sema *m);
struct cell predeclared(struct sema *m, const char *name);     /* POISON when it is none */
void warn_shadow(struct sema *m, struct name name);
struct span path_span(const names_vec *path);
void suggest(struct sema *m, struct diag *d, struct name word, bool callable);
/* Declares names of a body; reports those given twice. */
struct sym *declare(struct sema *m, struct scope *s, enum sym_kind kind, struct name name);
const char *sym_word(enum sym_kind kind);                       /* "input" */
const char *path_text(struct sema *m, const names_vec *path);   /* a.b */
bool is_later(const char *name);                /* an operator that is not built yet */

/* constant.c: arithmetic on compile-time values */
struct cell constant_binary(struct sema *m, enum ast_op op, struct cell a, struct cell b,
                            struct span at);
struct cell constant_unary(struct sema *m, enum ast_op op, struct cell a, struct span at);
struct cell constant_in(struct sema *m, struct cell a, struct cell list, struct span at);
bool constant_function(const char *name);
struct cell constant_call(struct sema *m, const char *name, const struct cell *at, size_t n,
                          struct span span);
/* The value as a real that the type holds: reals rounded once, integers exact. False, reported,
 * when it cannot. */
bool constant_as(struct sema *m, struct cell c, enum dtype type, struct span at, double *out);
const char *cell_text(struct sema *m, struct cell c); /* for messages: 3, 'x' [1, 2] */
bool is_number(struct cell c);

/* expr.c */
struct cell eval(struct sema *m, const struct expr *e);
/* True, reported once a graph, when expressions and calls are nested too deeply. */
bool too_deep(struct sema *m, struct span at);
/* For a binding of n names: a tuple when n > 1. skip: bit i set when name i is _. */
struct cell eval_results(struct sema *m, const struct expr *e, int n, unsigned skip);
bool eval_int(struct sema *m, const struct expr *e, const char *what, int64_t *out);
struct cell eval_condition(struct sema *m, const struct expr *e);

/* call.c */
struct arguments {              /* of one call, evaluated where it stands */
    struct span span;           /* the whole call */
    struct name callee;
    const args_vec *args;
    size_t n;                   /* positional, the left side of |> first */
    struct cell *at;
    struct span *at_span;
};
struct cell eval_call(struct sema *m, const struct expr *e, const struct cell *left, int n,
                      unsigned skip);

/* inline.c */
struct cell inline_call(struct sema *m, struct sym *fn, const struct arguments *args, int n,
                        unsigned skip);
struct cell pack_results(struct sema *m, const struct cell *at, int n);

/* apply.c: an operator on operands */
struct shape {
    int rank;
    int64_t dim[MAX_RANK];
};
struct application {
    enum op_id id;
    struct span span;           /* the operator's name or token */
    struct value *in[MAX_OPERANDS];  /* NULL: a constant */
    struct cell cell[MAX_OPERANDS];
    struct span in_span[MAX_OPERANDS];
    struct attr attr[MAX_ATTRS];
    struct span attr_span[MAX_ATTRS];
    enum dtype compute;
};
/* skip: results not wanted. With n <= 1 the first result alone. */
struct cell apply(struct sema *m, struct application *x, int n, unsigned skip);
struct value *cast_to(struct sema *m, struct value *v, enum dtype type, struct span at);
struct op *append_op(struct sema *m, enum op_id id, enum dtype compute, struct span at);
void read_value(struct sema *m, struct value *v);
struct usage *usage_of(struct sema *m, const struct value *v);

/* attrs.c: false when a mistake was reported */
bool attributes(struct sema *m, const struct arguments *args, struct application *x);

/* rules.c: element types */
bool holds_exactly(enum dtype to, enum dtype from);
bool type_rule(struct sema *m, struct application *x);
enum dtype result_type(const struct application *x, int result);
bool compute_allowed(struct sema *m, enum dtype t, struct span at);

/* infer_*.c: shape rules; out has one shape a result. False when a mistake was reported. */
bool infer_broadcast(struct sema *m, struct application *x, struct shape *out);
bool infer_select(struct sema *m, struct application *x, struct shape *out);
bool infer_cast(struct sema *m, struct application *x, struct shape *out);
bool infer_transpose(struct sema *m, struct application *x, struct shape *out);
bool infer_reshape(struct sema *m, struct application *x, struct shape *out);
bool infer_copy(struct sema *m, struct application *x, struct shape *out);
bool infer_slice(struct sema *m, struct application *x, struct shape *out);
bool infer_index(struct sema *m, struct application *x, struct shape *out);
bool infer_reduce(struct sema *m, struct application *x, struct shape *out);
bool infer_conv(struct sema *m, struct application *x, struct shape *out);
bool infer_matmul(struct sema *m, struct application *x, struct shape *out);
bool infer_sdpa(struct sema *m, struct application *x, struct shape *out);

/* type.c */
bool tspec_read(struct sema *m, const struct type_expr *te, bool may_infer, struct tspec *out);
/* Gives v (whose dims are known) the declared layout and alignment; checks sizes. unique: every
 * element must have its own address. */
bool tspec_layout(struct sema *m, const struct tspec *t, struct value *v, const char *name,
                  bool unique);
/* Do the dims found agree with those declared? Reports at `at`. */
bool tspec_match(struct sema *m, const struct tspec *t, const struct value *v, const char *name,
                 struct span at);
bool check_size(struct sema *m, const struct value *v, const char *name, struct span at);
enum dtype type_named(struct sema *m, struct name name);         /* DT_none, reported */
const char *dims_text(struct sema *m, int rank, const int64_t *dim);
const char *value_text(struct sema *m, const struct value *v);   /* 'x' [1, 2], for messages */

/* body.c */
void bind_stmt(struct sema *m, struct stmt *st);
void const_stmt(struct sema *m, struct stmt *st);
void declare_body(struct sema *m, struct scope *s, const struct item *item);

/* require.c */
void require_stmt(struct sema *m, struct stmt *st);

/* graph.c */
void graph_body(struct sema *m, struct item *item);

/* names.c: names and cycles of functions, called or not */
void check_functions(struct sema *m);

/* index.c: notes what the name at this place stands for; nothing when no index is wanted */
void index_cell(struct sema *m, struct span at, struct cell c);

/* cycle.c */
void explain_early_use(struct sema *m, struct diag *d, const struct sym *sym);

#endif
