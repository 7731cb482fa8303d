/* rules: element types: what an operator computes in and what its results have.
 *
 * Invariant: an operand is read exactly into the compute type or the program is refused; nothing is
 * rounded except by a cast. tf32 is used only where it is written. */
#include "sema/internal.h"

/* Least and largest exponents (of 2) of the values that a float type holds, subnormals included.
 * f32 and its halves: IEEE 754; e4m3, e5m2, e2m1, e8m0: OCP 8-bit and microscaling formats. */
static const struct {
    int least, most;
} exponents[N_DTYPES] = {
    [DT_f64] = {-1074, 1023}, [DT_f32] = {-149, 127}, [DT_f16] = {-24, 15},
    [DT_bf16] = {-133, 127},  [DT_e4m3] = {-9, 8},    [DT_e5m2] = {-16, 15},
    [DT_e8m0] = {-127, 127},  [DT_e2m1] = {-1, 2},    [DT_tf32] = {-136, 127},
};

static int significand(enum dtype t) { return t == DT_tf32 ? 11 : dtypes[t].significand; }

bool holds_exactly(enum dtype to, enum dtype from)
{
    if (to == from) return true;
    enum dtype_class a = to == DT_tf32 ? DTC_float : dtypes[to].klass;
    enum dtype_class b = from == DT_tf32 ? DTC_float : dtypes[from].klass;
    if (b == DTC_bool) return true;
    if (a == DTC_float && b == DTC_float)
        return significand(to) >= significand(from) &&
               exponents[to].least <= exponents[from].least &&
               exponents[to].most >= exponents[from].most;
    int bits = dtypes[from].bits - (from != DT_u8); /* of the magnitude */
    if (a == DTC_float && b == DTC_int)
        return significand(to) >= bits && exponents[to].most >= bits;
    if (a == DTC_int && b == DTC_int)
        return dtypes[to].bits - (to != DT_u8) >= bits && (to != DT_u8 || from == DT_u8);
    return false;
}

bool compute_allowed(struct sema *m, enum dtype t, struct span at)
{
    if (t == DT_f64 || t == DT_f32 || t == DT_f16 || t == DT_bf16 || t == DT_i32 || t == DT_i64 ||
        t == DT_tf32)
        return true;
    struct diag *d = error_at(m, DIAG_compute_type, at, "nothing is computed in '%s'",
                              dtypes[t].name);
    diag_note(m->s, d, NO_SPAN, "compute types: f64 f32 tf32 f16 bf16 i64 i32");
    return false;
}

/* The condition of a select is no part of its arithmetic, and of an index the operand gives the
 * shape alone. */
static bool takes_part(const struct application *x, int i)
{
    return !(x->id == OP_select && i == 0) && !(ops[x->id].traits & OPT_index);
}

static bool is_matrix_family(enum op_id id)
{
    return ops[id].family == FAM_conv || ops[id].family == FAM_matmul || ops[id].family == FAM_sdpa;
}

/* The rule of the language: f64 if an operand is f64, i32 for i8, u8 and i32, i64 if one is i64,
 * else f32. */
static enum dtype by_operands(const struct application *x)
{
    bool any = false, has_f64 = false, has_i64 = false, integers = true;
    for (int i = 0; i < ops[x->id].n_in; i++) {
        if (x->in[i] == NULL || !takes_part(x, i)) continue;
        enum dtype t = x->in[i]->type;
        any = true;
        has_f64 = has_f64 || t == DT_f64;
        has_i64 = has_i64 || t == DT_i64;
        integers = integers && dtypes[t].klass == DTC_int;
    }
    if (has_f64) return DT_f64;
    if (any && integers) return has_i64 ? DT_i64 : DT_i32;
    return DT_f32;
}

static bool reads_as_is(enum op_id id) { return id == OP_cast || ops[id].family == FAM_view; }

static bool choose_compute(struct sema *m, struct application *x)
{
    x->compute = by_operands(x);
    if (ops[x->id].traits & OPT_index) x->compute = DT_i32;
    if (reads_as_is(x->id) || (ops[x->id].traits & OPT_index)) return true; /* no arithmetic */
    int i = op_attr_index(x->id, "compute");
    bool written = i >= 0 && x->attr[i].given;
    if (written) x->compute = (enum dtype)x->attr[i].i;
    else if (m->g != NULL && m->g->compute != DT_none) x->compute = m->g->compute;
    if (x->compute == DT_tf32 && ops[x->id].family != FAM_conv && ops[x->id].family != FAM_matmul) {
        if (written) {
            error_at(m, DIAG_compute_type, x->attr_span[i], "only conv and matmul compute in tf32");
            return false;
        }
        x->compute = DT_f32;
    }
    if (i >= 0) x->attr[i].i = x->compute;
    return true;
}

static const char *operand_text(struct sema *m, const struct application *x, int i)
{
    return arena_printf(m->scratch, "operand '%s' of '%s'", ops[x->id].in[i].name, ops[x->id].name);
}

static void suggest_pin(struct sema *m, struct diag *d, const struct value *v, const char *want)
{
    if (v->role == VAL_TEMP && !v->pinned)
        hint(m, d, "give the intermediate its type first: %s : %s = ...",
             v->name != NULL ? v->name : "h", want);
    else hint(m, d, "write cast(%s, type=%s)", v->name != NULL ? v->name : "...", want);
}

/* Operands have element types of the row; conv, matmul and sdpa want equal ones. */
static bool check_row(struct sema *m, const struct application *x)
{
    const struct op_info *info = &ops[x->id];
    bool ok = true;
    for (int i = 0; i < info->n_in; i++) {
        const struct value *v = x->in[i];
        if (v == NULL) continue;
        if (x->id == OP_select && i == 0) {
            if (v->type == DT_bool) continue;
            struct diag *d = error_at(m, DIAG_element_type, x->in_span[i],
                                      "%s must be bool, not %s", operand_text(m, x, i),
                                      dtypes[v->type].name);
            hint(m, d, "compare it: %s != 0", v->name != NULL ? v->name : "...");
            ok = false;
        } else if (word_index(info->types, dtypes[v->type].name) < 0) {
            struct diag *d = error_at(m, DIAG_element_type, x->in_span[i], "%s cannot be %s",
                                      operand_text(m, x, i), dtypes[v->type].name);
            diag_note(m->s, d, NO_SPAN, "'%s' takes %s", info->name, info->types);
            if (is_matrix_family(x->id)) suggest_pin(m, d, v, "bf16");
            else hint(m, d, "write cast(%s, type=f32)", v->name != NULL ? v->name : "...");
            ok = false;
        }
    }
    for (int i = 1; ok && is_matrix_family(x->id) && i < info->n_in; i++) {
        const struct value *a = x->in[0], *b = x->in[i];
        if (a == NULL || b == NULL || a->type == b->type) continue;
        struct diag *d = error_at(
            m, DIAG_element_type, x->in_span[i], "%s is %s, operand '%s' is %s: they must be equal",
            operand_text(m, x, i), dtypes[b->type].name, info->in[0].name, dtypes[a->type].name);
        if (a->role == VAL_TEMP && !a->pinned) suggest_pin(m, d, a, dtypes[b->type].name);
        else suggest_pin(m, d, b, dtypes[a->type].name);
        ok = false;
    }
    return ok;
}

bool type_rule(struct sema *m, struct application *x)
{
    const struct op_info *info = &ops[x->id];
    if (!check_row(m, x) || !choose_compute(m, x)) return false;
    bool ok = true;
    for (int i = 0; i < info->n_in; i++) {
        const struct value *v = x->in[i];
        if (v == NULL || reads_as_is(x->id) || !takes_part(x, i) ||
            holds_exactly(x->compute, v->type))
            continue;
        /* tf32 rounds f32 operands: that is what writing it asks for. */
        if (x->compute == DT_tf32 && v->type == DT_f32) continue;
        struct diag *d = error_at(m, DIAG_compute_type, x->in_span[i],
                                  "%s is %s, which %s cannot read exactly", operand_text(m, x, i),
                                  dtypes[v->type].name, dtypes[x->compute].name);
        diag_note(m->s, d, x->span, "'%s' computes in %s here", info->name,
                  dtypes[x->compute].name);
        hint(m, d, "write cast(%s, type=%s)", v->name != NULL ? v->name : "...",
             dtypes[x->compute].name);
        ok = false;
    }
    return ok;
}

enum dtype result_type(const struct application *x, int result)
{
    (void)result; /* every result of every row so far has the compute type */
    if ((ops[x->id].traits & (OPT_comparison | OPT_logical)) != 0) return DT_bool;
    if (ops[x->id].family == FAM_view) return x->in[0]->type;
    if (x->id == OP_cast) return (enum dtype)x->attr[op_attr_index(OP_cast, "type")].i;
    return x->compute == DT_tf32 ? DT_f32 : x->compute;
}
