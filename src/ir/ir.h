/* ir: the typed graph. One struct graph is one variant of one graph of a file, every dim a number.
 *
 * Invariants (ir_verify): ops are in topological order; every value is defined once, before its
 * uses; types, ranks and dims agree with the operators' shape rules; strides and dims are within
 * checked 63-bit bounds. An operator's result has its compute type; *rounding is always an explicit
 * `cast` op* (binding a name with a declared element type makes one unless the types are equal). */
#ifndef FGC_IR_H
#define FGC_IR_H

#include "op/op.h"

enum value_role {
    VAL_INPUT,   /* device tensor the caller binds */
    VAL_OUTPUT,  /* device tensor the launcher writes; made by an op */
    VAL_SCALAR,  /* host value, by value at each launch; rank 0 */
    VAL_CONST,   /* literal; rank 0 */
    VAL_TEMP,    /* made by an op, not part of the interface */
};
enum layout {
    LAYOUT_row_major, LAYOUT_channels_last, LAYOUT_col_major, LAYOUT_order, LAYOUT_strides,
};

struct value {
    int id;                 /* index in graph->values */
    enum value_role role;
    enum dtype type;
    int rank;               /* 0 for scalars and constants: goes with any rank */
    int64_t dim[MAX_RANK];
    int64_t stride[MAX_RANK]; /* elements. TEMP: row major unless annotated; a pass may change it */
    enum layout layout;
    int64_t align;          /* bytes */
    bool pinned;            /* TEMP with a declared element type: rounding the program asked for */
    bool stored;            /* must exist in memory: outputs, and temporaries that cross a cut */
    const char *name;       /* as in the source; NULL for unnamed intermediates */
    const char *doc;
    struct span span;       /* where it is declared or computed */
    double literal;         /* CONST; SCALAR: default */
    bool has_default;       /* SCALAR */
    int64_t uid;            /* 1.. in interface order, then temporaries; set by the builder */
    struct op *producer;    /* NULL for INPUT, SCALAR, CONST */
    int64_t base, offset;   /* INPUT that a view made: the uid of the tensor that it looks into, and where
                             * it begins there, in elements; base 0: it is bound itself */
};

/* A use of `epilogue`: all its ops must end in the anchor's kernel. */
struct promise {
    const char *name;
    struct span span;       /* the call */
    int number;             /* from 1, in the order of the calls */
    int anchor;             /* `made` of the conv or matmul whose kernel it must be in */
};

struct op {
    int index;              /* position in graph->ops */
    int made;               /* its index when it was made; copies and sorting keep it */
    enum op_id id;
    struct value *in[MAX_OPERANDS];  /* n = ops[id].n_in */
    struct value *out[MAX_RESULTS];  /* NULL: skipped optional result */
    struct attr *attr;      /* parallel to ops[id].attr (op_n_attrs of them); defaults filled in.
                             * conv: pre_pad, post_pad, stride and dilation are always full lists,
                             * one number a spatial axis; pad is folded into the first two and left
                             * empty. reduce: axes sorted, from 0. */
    enum dtype compute;     /* arithmetic; DT_tf32 only when written (its results are f32) */
    struct span span;       /* the operator's name or infix token in the source */
    struct promise *promise; /* NULL outside epilogues */
};

struct graph_param {
    const char *name;
    bool is_type;
    int64_t i;
    enum dtype type;
    bool is_variant;        /* declared with `in` */
};
typedef VEC(struct value *) values_vec;
struct graph {
    const char *name;
    const char *variant;    /* "S=512" or "" ; parameters declared with `in`, joined by "," */
    const char *doc;
    struct span span;
    VEC(struct graph_param) params; /* all, in order of declaration */
    enum dtype compute;     /* DT_none: by the rule of the language */
    values_vec values;
    values_vec inputs, scalars, outputs; /* in order of declaration */
    VEC(struct op *) ops;
    int64_t free_uid; /* of a part of a graph: beyond the uids of all parts; 0: it is whole */
};

/* What a compilation yields: every variant of every chosen graph. */
struct module {
    struct ast *ast;
    VEC(struct graph *) graphs; /* variants of one graph stand together */
};

/* A value of rank 0, added to the graph and to the list of its role. */
struct value *ir_value(struct arena *a, struct graph *g, enum value_role role, enum dtype type);
/* Sets rank and dims, and row-major strides. */
void ir_shape(struct value *v, int rank, const int64_t *dim);
struct value *ir_const(struct arena *a, struct graph *g, enum dtype type, double literal);
struct op *ir_op(struct arena *a, struct graph *g, enum op_id id); /* appended; attr defaults set */
/* Makes v the op's i-th result. */
void ir_result(struct op *op, int i, struct value *v);
/* Numbers the interface 1.. (inputs, scalars, outputs), then views of inputs, then every other value
 * in the order in which the ops mention it. */
void ir_number(struct graph *g);
/* A deep copy into `a`: passes work on copies, so the interpreter's graph is never the lowered
 * one. */
struct graph *ir_clone(struct arena *a, const struct graph *g);
/* Puts ops back in topological order (stably) and drops ops none of whose results reach an output,
 * and values that nothing defines or reads; ids and indices are renewed. */
void ir_sort(struct arena *a, struct graph *g);
int ir_uses(const struct graph *g, const struct value *v); /* number of operand slots that read v */
/* One line a parameter, an interface value, a constant, an op; values are written name%uid.
 * Complete and deterministic: what a plan's graph.ir holds. */
void ir_print(const struct graph *g, struct buf *out);
/* An op's attributes and compute type as ir_print writes them: " name=value..." */
void ir_print_attrs(const struct op *op, struct buf *out);
/* NULL when sound, else what is wrong (in the arena): a bug of fgc. */
const char *ir_verify(struct arena *a, const struct graph *g);

/* Shapes and strides, in checked arithmetic. */
void dims_row_major(int rank, const int64_t *dim, int64_t *stride);
void dims_channels_last(int rank, const int64_t *dim, int64_t *stride);
/* Elements, or false on overflow of 63 bits. */
bool dims_count(int rank, const int64_t *dim, int64_t *count);
/* One past the largest element offset that is reached, or false on overflow. */
bool dims_extent(int rank, const int64_t *dim, const int64_t *stride, int64_t *extent);
/* True when no two index tuples share an address. Exact for every layout that a search of a million
 * steps can decide; false beyond it. */
bool dims_injective(int rank, const int64_t *dim, const int64_t *stride);

#endif
