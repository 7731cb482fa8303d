/* constant: arithmetic on what is known when compiling.
 *
 * Invariant: integers are exact in 63 bits or the result is an error; no NaN ever comes out;
 * unknown values (sm without a target) stay unknown. Nothing here depends on the locale. */
#include "sema/internal.h"

#include <math.h>

bool is_number(struct cell c)
{
    return c.kind == CELL_INT || c.kind == CELL_REAL;
}

static struct cell of_int(int64_t i)
{
    return (struct cell){CELL_INT, .i = i};
}
static struct cell of_bool(bool b)
{
    return (struct cell){CELL_BOOL, .b = b};
}
static double real_of(struct cell c)
{
    return c.kind == CELL_INT ? (double)c.i : c.r;
}

static struct cell overflow(struct sema *m, struct span at)
{
    error_at(m, DIAG_constant, at, "the result does not fit 63 bits");
    return POISON;
}

/* A real that is a number. `finite`: what went in was, so infinity is an overflow. */
static struct cell of_real(struct sema *m, double r, bool finite, struct span at)
{
    if (isnan(r)) {
        error_at(m, DIAG_constant, at, "this has no value: the result is not a number");
        return POISON;
    }
    if (finite && isinf(r)) {
        error_at(m, DIAG_constant, at, "the result is larger than any real (1.8e308)");
        return POISON;
    }
    return (struct cell){CELL_REAL, .r = r};
}

const char *cell_text(struct sema *m, struct cell c)
{
    struct buf b = {0};
    const char *t = "?";
    switch (c.kind) {
    case CELL_POISON:
    case CELL_UNKNOWN: return "unknown";
    case CELL_INT: return arena_printf(m->scratch, "%lld", (long long)c.i);
    case CELL_REAL:
        buf_real(&b, c.r);
        t = arena_strdup(m->scratch, b.at);
        break;
    case CELL_BOOL: return c.b ? "true" : "false";
    case CELL_TYPE: return dtypes[c.type].name;
    case CELL_VERSION:
        return arena_printf(m->scratch, "%lld.%lld.%lld", (long long)(c.i / 10000),
                            (long long)(c.i / 100 % 100), (long long)(c.i % 100));
    case CELL_LIST:
        buf_puts(&b, "[");
        for (size_t i = 0; i < c.list->n && i < 16; i++)
            buf_printf(&b, "%s%s", i > 0 ? ", " : "", cell_text(m, c.list->at[i]));
        buf_puts(&b, c.list->n > 16 ? ", ...]" : "]");
        t = arena_strdup(m->scratch, b.at);
        break;
    case CELL_TENSOR: return value_text(m, c.v);
    case CELL_TUPLE: return "several results";
    }
    buf_fini(&b);
    return t;
}

static const char *kind_words(struct cell c)
{
    static const char *const words[] = {
        [CELL_INT] = "an integer",    [CELL_REAL] = "a real",
        [CELL_BOOL] = "a condition",  [CELL_TYPE] = "an element type",
        [CELL_VERSION] = "a version", [CELL_LIST] = "a list",
        [CELL_TENSOR] = "a tensor",   [CELL_TUPLE] = "several results",
        [CELL_POISON] = "unknown",    [CELL_UNKNOWN] = "unknown",
    };
    return words[c.kind];
}

static struct cell wrong_kinds(struct sema *m, enum ast_op op, struct cell a, struct cell b,
                               struct span at)
{
    bool first = a.kind == CELL_VERSION || (a.kind == CELL_UNKNOWN && a.i == CELL_VERSION);
    bool second = b.kind == CELL_VERSION || (b.kind == CELL_UNKNOWN && b.i == CELL_VERSION);
    if (first || second) {
        struct diag *d = error_at(m, DIAG_version, at, "a version is compared with %s",
                                  kind_words(first ? b : a));
        hint(m, d, "write version(9, 15)");
        return POISON;
    }
    error_at(m, DIAG_kind, at, "'%s' between %s and %s", ast_op_names[op], kind_words(a),
             kind_words(b));
    return POISON;
}

static struct cell integers(struct sema *m, enum ast_op op, int64_t a, int64_t b, struct span at)
{
    int64_t r;
    switch (op) {
    case AST_ADD: return i64_add(a, b, &r) ? of_int(r) : overflow(m, at);
    case AST_SUB: return i64_sub(a, b, &r) ? of_int(r) : overflow(m, at);
    case AST_MUL: return i64_mul(a, b, &r) ? of_int(r) : overflow(m, at);
    default: break;
    }
    if (b == 0) {
        error_at(m, DIAG_constant, at, "division by zero");
        return POISON;
    }
    if (op == AST_DIV) return of_real(m, (double)a / (double)b, true, at);
    if (a == INT64_MIN && b == -1) return op == AST_MOD ? of_int(0) : overflow(m, at);
    int64_t q = a / b, rest = a % b;
    if (rest != 0 && (rest < 0) != (b < 0)) { /* C rounds to zero; the language rounds down */
        q--;
        rest += b;
    }
    return of_int(op == AST_MOD ? rest : q);
}

static struct cell reals(struct sema *m, enum ast_op op, double a, double b, struct span at)
{
    bool finite = isfinite(a) && isfinite(b);
    if ((op == AST_DIV || op == AST_FLOORDIV || op == AST_MOD) && b == 0) {
        error_at(m, DIAG_constant, at, "division by zero");
        return POISON;
    }
    switch (op) {
    case AST_ADD: return of_real(m, a + b, finite, at);
    case AST_SUB: return of_real(m, a - b, finite, at);
    case AST_MUL: return of_real(m, a * b, finite, at);
    case AST_DIV: return of_real(m, a / b, finite, at);
    case AST_FLOORDIV: return of_real(m, floor(a / b), finite, at);
    default: break;
    }
    double r = fmod(a, b);
    if (r != 0 && (r < 0) != (b < 0)) r += b;
    return of_real(m, r, finite, at);
}

/* -1, 0, 1; between an integer and a real as reals. */
static int order(struct cell a, struct cell b)
{
    if (a.kind != CELL_REAL && b.kind != CELL_REAL) return (a.i > b.i) - (a.i < b.i);
    double x = real_of(a), y = real_of(b);
    return (x > y) - (x < y);
}

static struct cell compare(struct sema *m, enum ast_op op, struct cell a, struct cell b,
                           struct span at)
{
    bool equality = op == AST_EQ || op == AST_NE;
    int o;
    if (is_number(a) && is_number(b))
        o = order(a, b);
    else if (a.kind == CELL_VERSION && b.kind == CELL_VERSION)
        o = (a.i > b.i) - (a.i < b.i);
    else if (equality && a.kind == CELL_TYPE && b.kind == CELL_TYPE)
        o = a.type != b.type;
    else if (equality && a.kind == CELL_BOOL && b.kind == CELL_BOOL)
        o = a.b != b.b;
    else
        return wrong_kinds(m, op, a, b, at);
    switch (op) {
    case AST_EQ: return of_bool(o == 0);
    case AST_NE: return of_bool(o != 0);
    case AST_LT: return of_bool(o < 0);
    case AST_LE: return of_bool(o <= 0);
    case AST_GT: return of_bool(o > 0);
    default: return of_bool(o >= 0);
    }
}

static struct cell logic(struct sema *m, enum ast_op op, struct cell a, struct cell b,
                         struct span at)
{
    bool decides = op == AST_OR; /* the value that decides alone */
    if ((a.kind == CELL_BOOL && a.b == decides) ||
        (b.kind == CELL_BOOL && b.b == decides && a.kind == CELL_UNKNOWN))
        return of_bool(decides);
    if (a.kind == CELL_UNKNOWN || b.kind == CELL_UNKNOWN) return (struct cell){CELL_UNKNOWN};
    if (a.kind != CELL_BOOL || b.kind != CELL_BOOL) return wrong_kinds(m, op, a, b, at);
    return b;
}

struct cell constant_binary(struct sema *m, enum ast_op op, struct cell a, struct cell b,
                            struct span at)
{
    if (a.kind == CELL_POISON || b.kind == CELL_POISON) return POISON;
    if (op == AST_AND || op == AST_OR) return logic(m, op, a, b, at);
    if (a.kind == CELL_UNKNOWN || b.kind == CELL_UNKNOWN) {
        /* Not knowing a version is no licence to compare it with a number. */
        if ((a.i == CELL_VERSION && is_number(b)) || (b.i == CELL_VERSION && is_number(a)))
            return wrong_kinds(m, op, a, b, at);
        return (struct cell){CELL_UNKNOWN};
    }
    if (op >= AST_EQ && op <= AST_GE) return compare(m, op, a, b, at);
    if (!is_number(a) || !is_number(b)) return wrong_kinds(m, op, a, b, at);
    if (a.kind == CELL_INT && b.kind == CELL_INT) return integers(m, op, a.i, b.i, at);
    return reals(m, op, real_of(a), real_of(b), at);
}

struct cell constant_unary(struct sema *m, enum ast_op op, struct cell a, struct span at)
{
    if (a.kind == CELL_POISON || a.kind == CELL_UNKNOWN) return a;
    if (op == AST_NOT && a.kind == CELL_BOOL) return of_bool(!a.b);
    if (op == AST_NEG && a.kind == CELL_REAL) return (struct cell){CELL_REAL, .r = -a.r};
    int64_t r;
    if (op == AST_NEG && a.kind == CELL_INT)
        return i64_sub(0, a.i, &r) ? of_int(r) : overflow(m, at);
    error_at(m, DIAG_kind, at, "'%s' before %s", op == AST_NOT ? "not" : "-", kind_words(a));
    return POISON;
}

struct cell constant_in(struct sema *m, struct cell a, struct cell list, struct span at)
{
    if (a.kind == CELL_POISON || list.kind == CELL_POISON) return POISON;
    if (list.kind != CELL_LIST) {
        error_at(m, DIAG_kind, at, "'in' needs a list on its right, not %s", kind_words(list));
        return POISON;
    }
    for (size_t i = 0; i < list.list->n; i++) {
        struct cell c = constant_binary(m, AST_EQ, a, list.list->at[i], at);
        if (c.kind != CELL_BOOL || c.b) return c;
    }
    return of_bool(false);
}

/* ---- functions --------------------------------------------------------------------------- */

static double reciprocal_root(double x)
{
    return 1 / sqrt(x);
}
static double inverse(double x)
{
    return 1 / x;
}
static const struct real_function {
    const char *name;
    double (*of)(double);
} real_functions[] = {
    {"sqrt", sqrt},
    {"rsqrt", reciprocal_root},
    {"reciprocal", inverse},
    {"exp", exp},
    {"log", log},
    {"sin", sin},
    {"cos", cos},
    {"tanh", tanh},
    {"erf", erf},
};
static const char *const other_functions[] = {"version", "prefer", "abs", "floor",
                                              "ceil",    "min",    "max", "pow"};

static const struct real_function *real_function(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(real_functions); i++)
        if (strcmp(real_functions[i].name, name) == 0) return &real_functions[i];
    return NULL;
}

bool constant_function(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(other_functions); i++)
        if (strcmp(other_functions[i], name) == 0) return true;
    return real_function(name) != NULL;
}

static struct cell version(struct sema *m, const struct cell *at, size_t n, struct span span)
{
    int64_t part[3] = {0};
    for (size_t i = 0; i < n; i++) {
        if (at[i].kind == CELL_POISON) return POISON;
        if (n > 3 || at[i].kind != CELL_INT || at[i].i < 0 || at[i].i > (i == 0 ? 9999 : 99))
            n = 0;
        else
            part[i] = at[i].i;
    }
    if (n < 1 || n > 3) {
        error_at(m, DIAG_arguments, span,
                 "version takes major, minor and patch: one to three integers, the last two "
                 "at most 99");
        return POISON;
    }
    return (struct cell){CELL_VERSION, .i = part[0] * 10000 + part[1] * 100 + part[2]};
}

/* The first of the element types that the target has; which one is told once, at the call. */
static struct cell prefer(struct sema *m, const struct cell *at, size_t n, struct span span)
{
    size_t take = n;
    for (size_t i = 0; i < n; i++) {
        if (at[i].kind == CELL_POISON) return POISON;
        if (at[i].kind != CELL_TYPE || at[i].type == DT_tf32) {
            error_at(m, DIAG_kind, span, "prefer chooses among element types, not %s",
                     cell_text(m, at[i]));
            return POISON;
        }
        if (take == n && (!m->o->has_type || m->o->has_type(m->o->target, at[i].type))) take = i;
    }
    if (take == n) {
        struct diag *d = error_at(m, DIAG_parameter, span,
                                  "the target has none of these element types");
        if (m->o->sm) diag_note(m->s, d, NO_SPAN, "it is sm_%d", m->o->sm);
        return POISON;
    }
    for (size_t i = 0; i < m->preferred.n; i++)
        if (m->preferred.at[i] == span.begin) return at[take];
    if (m->is_overridden) return at[take];
    vec_push(m->a, &m->preferred, span.begin);
    diag(m->s, DIAG_preferred, span, "%s is taken here", dtypes[at[take].type].name);
    return at[take];
}

static struct cell power(struct sema *m, struct cell a, struct cell b, struct span at)
{
    if (a.kind != CELL_INT || b.kind != CELL_INT || b.i < 0)
        return of_real(m, pow(real_of(a), real_of(b)), isfinite(real_of(a)) && isfinite(real_of(b)),
                       at);
    int64_t r = 1, base = a.i, e = b.i;
    while (e > 0) { /* by squaring: 64 rounds */
        if ((e & 1) != 0 && !i64_mul(r, base, &r)) return overflow(m, at);
        e >>= 1;
        if (e > 0 && !i64_mul(base, base, &base)) return overflow(m, at);
    }
    return of_int(r);
}

static struct cell to_int(struct sema *m, double r, struct span at)
{
    if (!(r >= -9223372036854775808.0 && r < 9223372036854775808.0)) return overflow(m, at);
    return of_int((int64_t)r);
}

struct cell constant_call(struct sema *m, const char *name, const struct cell *at, size_t n,
                          struct span span)
{
    if (strcmp(name, "version") == 0) return version(m, at, n, span);
    if (strcmp(name, "prefer") == 0) return prefer(m, at, n, span);
    size_t want = strcmp(name, "min") == 0 || strcmp(name, "max") == 0 || strcmp(name, "pow") == 0
                      ? 2
                      : 1;
    if (n != want) {
        error_at(m, DIAG_arguments, span, "'%s' takes %zu argument%s, not %zu", name, want,
                 want == 1 ? "" : "s", n);
        return POISON;
    }
    bool unknown = false;
    for (size_t i = 0; i < n; i++) {
        if (at[i].kind == CELL_POISON) return POISON;
        if (at[i].kind == CELL_UNKNOWN)
            unknown = true;
        else if (!is_number(at[i])) {
            error_at(m, DIAG_kind, span, "'%s' of %s", name, kind_words(at[i]));
            return POISON;
        }
    }
    if (unknown) return (struct cell){CELL_UNKNOWN};
    struct cell a = at[0];
    const struct real_function *f = real_function(name);
    if (f != NULL) return of_real(m, f->of(real_of(a)), isfinite(real_of(a)), span);
    if (strcmp(name, "pow") == 0) return power(m, a, at[1], span);
    if (strcmp(name, "min") == 0) return order(a, at[1]) <= 0 ? a : at[1];
    if (strcmp(name, "max") == 0) return order(a, at[1]) >= 0 ? a : at[1];
    if (strcmp(name, "abs") == 0) {
        if (a.kind == CELL_INT) return a.i < 0 ? constant_unary(m, AST_NEG, a, span) : a;
        return (struct cell){CELL_REAL, .r = fabs(a.r)};
    }
    if (a.kind == CELL_INT) return a;
    return to_int(m, strcmp(name, "floor") == 0 ? floor(a.r) : ceil(a.r), span);
}

/* ---- constants among tensors ------------------------------------------------------------- */

static bool int_fits(enum dtype type, int64_t i)
{
    switch (dtypes[type].klass) {
    case DTC_int: {
        if (dtypes[type].bits == 64) return true;
        bool is_signed = type != DT_u8;
        int64_t most = ((int64_t)1 << (dtypes[type].bits - is_signed)) - 1;
        return i <= most && i >= (is_signed ? -most - 1 : 0);
    }
    case DTC_float: {
        /* Through f64, which must be exact first: within 2^53, or a multiple of a larger power. */
        double d = (double)i;
        if (d >= 9223372036854775808.0 || (int64_t)d != i) return false;
        return dtype_round(type, d) == d;
    }
    default: return i == 0 || i == 1;
    }
}

bool constant_as(struct sema *m, struct cell c, enum dtype type, struct span at, double *out)
{
    if (!is_number(c)) {
        error_at(m, DIAG_kind, at, "a number is needed here, not %s", kind_words(c));
        return false;
    }
    if (type == DT_tf32) type = DT_f32;
    if (c.kind == CELL_INT) {
        /* The graph carries literals as f64: larger integers are refused, not rounded. */
        if (!int_fits(type, c.i) || c.i > ((int64_t)1 << 53) || c.i < -((int64_t)1 << 53)) {
            struct diag *d = error_at(m, DIAG_inexact, at, "%s cannot hold %lld exactly",
                                      dtypes[type].name, (long long)c.i);
            if (dtypes[type].klass == DTC_float)
                hint(m, d, "write %lld.0 if the nearest %s will do", (long long)c.i,
                     dtypes[type].name);
            return false;
        }
        *out = (double)c.i;
        return true;
    }
    if (dtypes[type].klass != DTC_float) {
        error_at(m, DIAG_inexact, at, "%s cannot hold %s: write an integer", dtypes[type].name,
                 cell_text(m, c));
        return false;
    }
    double r = dtype_round(type, c.r);
    if (isinf(c.r) ? !isinf(r) : isinf(r)) {
        error_at(m, DIAG_inexact, at, "%s is beyond the range of %s", cell_text(m, c),
                 dtypes[type].name);
        return false;
    }
    *out = r;
    return true;
}
