/* op: what an operator and an element type *are*: the tables every other room reads.
 * Depends on nothing above it: a row names rules by identifier and each room pastes its prefix. */
#ifndef FGC_OP_H
#define FGC_OP_H

#include "base/base.h"

#define MAX_RANK 8

/* ---- element types ----------------------------------------------------------------------- */

enum dtype {
    DT_none, /* not known yet */
#define DTYPE(id, bits, cudnn, npy, klass, sig, doc) DT_##id,
#include "op/dtypes.def"
#undef DTYPE
    DT_tf32, /* a compute type only: never stored, never chosen unless written */
    N_DTYPES
};
enum dtype_class { DTC_none, DTC_float, DTC_int, DTC_bool };
struct dtype_info {
    const char *name;  /* as in .fg */
    const char *cudnn; /* "BFLOAT16": CUDNN_DATA_ without the prefix */
    const char *npy;   /* numpy descr; NULL where numpy has none (stored as raw bytes) */
    int bits;
    int significand; /* bits with the hidden one; 0 for integers */
    enum dtype_class klass;
    const char *doc;
};
extern const struct dtype_info dtypes[N_DTYPES];
enum dtype dtype_find(const char *name); /* DT_none when no such type */
/* Element <-> f64. Reading is exact. Writing rounds once, to nearest even; f16 and bf16 overflow
 * to infinity, e4m3, e5m2, e2m1 saturate, integers clamp after rounding, NaN stays NaN where the
 * type has it (0 in integers). `index` counts elements. Types of less than a byte are refused
 * by assertion: nothing stores them yet. i64 beyond 2^53 is not exact in f64: callers that need it
 * use the integer itself. */
double dtype_load(enum dtype t, const void *data, int64_t index);
void dtype_store(enum dtype t, void *data, int64_t index, double value);
double dtype_round(enum dtype t, double value);
/* Distance between neighbours of the type at |value| (the ulp the bounds speak of); at overflow
 * that of the largest finite value, below the normal range the smallest subnormal; 1 for integers.
 */
double dtype_ulp(enum dtype t, double value);

/* ---- operators --------------------------------------------------------------------------- */

enum op_id {
    OP_none,
#define OP(id, ...) OP_##id,
#include "op/ops.def"
#undef OP
    N_OPS
};
enum op_family { FAM_pointwise, FAM_reduction, FAM_conv, FAM_matmul, FAM_sdpa, FAM_view };

enum attr_kind {
    ATTR_none,
    ATTR_INT,    /* one integer                       -> i */
    ATTR_REAL,   /* one real or integer               -> r */
    ATTR_BOOL,   /*                                   -> i */
    ATTR_INTS,   /* list of integers                  -> n, list */
    ATTR_AXES,   /* list of axes, or `all` (n == rank) -> n, list (sorted, from 0) */
    ATTR_CHOICE, /* one of .choices                   -> i (index into choices) */
    ATTR_DTYPE,  /* an element type                   -> i (enum dtype) */
    ATTR_MASK,   /* mask expression                   -> i (enum mask); a window's list: left, right */
};
enum mask { MASK_none, MASK_causal, MASK_window };
struct attr_info {
    const char *name;
    enum attr_kind kind;
    bool required;
    double def;          /* INT, REAL, BOOL, CHOICE (index) when left out */
    double least, most;  /* allowed range when least < most */
    const char *choices; /* CHOICE: words separated by blanks */
    const char *doc;
};
struct attr {
    bool given;
    int64_t i;
    double r;
    int n;
    int64_t list[MAX_RANK];
};
/* Query i sees keys i - left .. i + right, both included, moved by Skv - Sq where the diagonal starts at the
 * bottom right; -1: no bound on that side. */
struct mask_window {
    int64_t left, right;
};
static inline struct mask_window mask_window(const struct attr *mask)
{
    if (mask->i == MASK_window) return (struct mask_window){mask->list[0], mask->list[1]};
    return (struct mask_window){-1, mask->i == MASK_causal ? 0 : -1};
}
/* The bound of ||error|| / ||reference|| of attention, by q's type: probabilities are rounded to it. */
static inline double sdpa_ratio(enum dtype q)
{
    return q == DT_bf16 ? 5e-3 : 1e-3;
}
#define MAX_ATTRS 8
#define MAX_OPERANDS 4
#define MAX_RESULTS 3

enum operand_class { OPND_tensor, OPND_any /* tensor, scalar or constant */ };
struct operand_info {
    const char *name;
    enum operand_class klass;
};
struct result_info {
    const char *name;
    bool optional; /* may be left off or skipped with _ */
};
enum op_trait {
    OPT_commutative = 1,
    OPT_comparison = 2,   /* result is bool */
    OPT_compute_attr = 4, /* takes compute=T */
    OPT_anchor = 8,       /* conv, matmul, sdpa: what an epilogue hangs on */
    OPT_cancels = 16,     /* x (1 + f(x)) with f near -1: f32 loses 2^-24 |x| of any small result */
    OPT_logical = 64,     /* operands and result are bool */
    OPT_index = 128,      /* an i32 index: the operand's values are not read */
    OPT_exponential = 32, /* e^x by way of 2^(x log2 e): the argument rounds, 2^-23 |x| in all */
};
struct op_info {
    const char *name;
    enum op_family family;
    const char *shape_rule, *eval_rule; /* names only, for prints */
    const char *mode; /* the cuDNN mode or operator name without prefix, "RELU_FWD" */
    int n_in;
    struct operand_info in[MAX_OPERANDS];
    int n_out;
    struct result_info out[MAX_RESULTS];
    struct attr_info attr[MAX_ATTRS];
    unsigned traits;
    int cudnn_min;      /* 90000 style; 0 = any cuDNN 9 */
    const char *types;  /* element types the operands may have, separated by blanks */
    const char *limits; /* what is known not to work, for `fgc ops` and the man page */
    const char *formula, *doc;
};
extern const struct op_info ops[N_OPS];
enum op_id op_find(const char *name);               /* OP_none when there is none */
int op_attr_index(enum op_id op, const char *name); /* -1 when there is none */
int op_n_attrs(enum op_id op);

/* ---- words that are neither ---------------------------------------------------------------- */

enum word_kind { WORD_item, WORD_statement, WORD_layout, WORD_constant, WORD_function, WORD_mask };
struct word_info {
    enum word_kind kind;
    const char *name, *doc;
};
extern const struct word_info fg_words[];
extern const size_t n_fg_words;
const struct word_info *fg_word_find(enum word_kind kind, const char *name); /* NULL: none */

/* An operator as it is called: "conv(x, w [, pad=]) -> y". */
void op_signature(enum op_id op, struct buf *out);

/* The index of `word` in a blank-separated list, -1 when absent; and the i-th word (interned
 * nowhere: written to out, at most 63 bytes). */
int word_index(const char *words, const char *word);
const char *word_at(const char *words, int i, char out[64]);

#endif
