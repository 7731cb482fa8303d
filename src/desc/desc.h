/* desc: the descriptor tree, a plain-data image of cuDNN's backend descriptors, and the lowering
 * of IR into it. No cuDNN call is made here: gpu/ turns the tree into handles.
 *
 * Text form (printed goldens and the helper's request are the same): JSON, one descriptor a line,
 * children before parents:
 *   {"descriptors": [
 *   {"id":"t1","kind":"TENSOR","TENSOR_DATA_TYPE":"BFLOAT16","TENSOR_DIMENSIONS":[8,64],...},
 *   {"id":"op1","kind":"OPERATION_POINTWISE","OPERATION_POINTWISE_XDESC":"t1",...}
 *   ],"operations":["op1"],"constants":{"7":{"type":"FLOAT","value":0.5}}}
 * Attribute names are cuDNN's without CUDNN_ATTR_; kinds without CUDNN_BACKEND_ and _DESCRIPTOR;
 * words without CUDNN_DATA_, CUDNN_POINTWISE_, CUDNN_REDUCE_TENSOR_ or (PROPAGATE_NAN,
 * CROSS_CORRELATION) CUDNN_. Reals that are not finite are the strings "inf" and "-inf". */
#ifndef FGC_DESC_H
#define FGC_DESC_H

#include "ir/ir.h"

enum desc_type {
    DESC_INT64, DESC_DOUBLE, DESC_FLOAT, DESC_BOOLEAN, DESC_DATA_TYPE, DESC_POINTWISE_MODE,
    DESC_REDUCTION_OPERATOR, DESC_CONVOLUTION_MODE, DESC_NAN_PROPAGATION, DESC_DESCRIPTOR,
};
enum desc_kind {
#define DESC_KIND(name, cudnn) DESC_KIND_##name,
#define DESC_ATTR(name, type)
#include "desc/desc.def"
#undef DESC_KIND
#undef DESC_ATTR
    N_DESC_KINDS
};
enum desc_attr_id {
#define DESC_KIND(name, cudnn)
#define DESC_ATTR(name, type) DESC_ATTR_##name,
#include "desc/desc.def"
#undef DESC_KIND
#undef DESC_ATTR
    N_DESC_ATTRS
};
struct desc_attr_info {
    const char *name;
    enum desc_type type;
};
extern const char *const desc_kind_names[N_DESC_KINDS];
extern const struct desc_attr_info desc_attrs[N_DESC_ATTRS];

struct desc;
struct desc_attr {
    enum desc_attr_id id;
    short n;                  /* number of values; lists keep order */
    bool is_list;             /* printed as a list */
    union {                   /* by desc_attrs[id].type; small, for a graph may have 100,000 operators */
        const int64_t *i;     /* INT64, BOOLEAN: n of them */
        double r[1];          /* DOUBLE, FLOAT */
        const char *word;     /* DATA_TYPE, modes: cuDNN's name without prefix */
        struct desc *child;   /* DESCRIPTOR */
    };
};
struct desc {
    const char *id;           /* "t3", "op2", "pw2" */
    enum desc_kind kind;
    VEC(struct desc_attr) attrs; /* in the order they are set */
    struct op *origin;        /* the IR operator it stands for, NULL when none; not printed */
};
/* A host scalar that the lowering needs (a literal, -inf of a mask ...), bound by the launcher. */
struct desc_constant {
    int64_t uid;
    const char *type;         /* cuDNN data type word */
    double value;             /* printed so that it reads back; "inf", "-inf" as strings */
};
struct desc_graph {
    VEC(struct desc *) descs;      /* children before parents */
    VEC(struct desc *) operations; /* in graph order */
    VEC(struct desc_constant) constants;
};

struct desc *desc_new(struct arena *a, struct desc_graph *g, enum desc_kind kind, const char *id);
void desc_set_i64(struct arena *a, struct desc *d, enum desc_attr_id id, int64_t v);
void desc_set_list(struct arena *a, struct desc *d, enum desc_attr_id id, int n, const int64_t *v);
void desc_set_real(struct arena *a, struct desc *d, enum desc_attr_id id, double v);
/* word is kept as it is: it must live as long as the tree */
void desc_set_word(struct arena *a, struct desc *d, enum desc_attr_id id, const char *word);
void desc_set_child(struct arena *a, struct desc *d, enum desc_attr_id id, struct desc *child);
const struct desc_attr *desc_get(const struct desc *d, enum desc_attr_id id); /* NULL when unset */

void desc_print(const struct desc_graph *g, struct buf *out);
/* Reads what desc_print wrote. NULL with *why set (in the arena) when it is not a sound tree: every
 * name, type, count and reference is checked. */
struct desc_graph *desc_read(struct arena *a, const char *text, size_t n, const char **why);

/* Lowers one region. `g` has gone through the passes (pass/pass.h). NULL with diagnostics when an
 * operator, type or layout has no lowering; the diagnostic names the operator's place. */
struct desc_graph *desc_lower(struct session *s, const struct graph *g);

#endif
