/* names: what is shared by the two texts of a launcher: identifiers, literals, parameters.
 *
 * Invariant: a name of the specification becomes an identifier that neither C, nor C++, nor a
 * header that a launcher includes gives another meaning, and no two names become the same one. */
#include "emit/internal.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>

/* ---- names --------------------------------------------------------------------------------- */

/* Keywords of C and C++; macros, types, tags and function families of the headers that a launcher
 * includes. */
static const char reserved[] =
    " alignas alignof and and_eq asm auto bitand bitor bool break case catch char class co_await"
    " co_return co_yield compl concept const const_cast consteval constexpr constinit continue"
    " decltype default delete do double dynamic_cast else enum explicit export extern false float"
    " for fortran friend goto if inline int long mutable namespace new noexcept not not_eq nullptr"
    " operator or or_eq private protected public register reinterpret_cast requires restrict return"
    " short signed sizeof static static_assert static_cast struct switch template this thread_local"
    " throw true try typedef typeid typename typeof typeof_unqual union unsigned using virtual void"
    " volatile while xor xor_eq main size"
    " NULL EOF NZERO BUFSIZ FILE DOMAIN SING OVERFLOW UNDERFLOW PLOSS TLOSS MAXFLOAT HUGE X_TLOSS "
    "INFINITY"
    " NAN HUGE_VAL HUGE_VALF HUGE_VALL EXIT_SUCCESS EXIT_FAILURE FILENAME_MAX CLOCKS_PER_SEC"
    " P_tmpdir TIME_UTC BIG_ENDIAN LITTLE_ENDIAN PDP_ENDIAN BYTE_ORDER NFDBITS WNOHANG WUNTRACED"
    " WSTOPPED WEXITED WCONTINUED WNOWAIT I assert complex environ errno imaginary linux"
    " math_errhandling offsetof signgam stderr stdin stdout unix"
    " uchar ushort uint ulong dim3 surfaceReference textureReference tm timespec timeval itimerspec"
    " sigevent random_data drand48_data timex stat locale"
    " std timer thrd pthread mtx cnd tss sem mq key hash ";

static const char *const reserved_starts[] = {
    "fgc", "FGC", "cuda", "cudnn", "CUDA", "CUDNN", "CUstream", "L_tmpnam", "L_ctermid",
    "L_cuserid", "INT", "UINT", "M_", "SNAN", "i386", "libraryProperty",
};
static const char *const reserved_ends[] = {"_t"};

/* float4, ulonglong2, ... : vector types of CUDA's headers. */
static bool is_vector_type(const char *word)
{
    static const char *const of[] = {"char", "short", "int", "long", "longlong", "float", "double"};
    const char *from = *word == 'u' ? word + 1 : word;
    for (size_t i = 0; i < COUNT_OF(of); i++) {
        size_t n = strlen(of[i]);
        if (strncmp(from, of[i], n) == 0 && from[n] >= '1' && from[n] <= '4') return true;
    }
    return false;
}

/* CHAR_BIT, M_PI: capitals in parts are how macros are spelled. */
static bool is_macro_like(const char *word)
{
    if (!strchr(word, '_')) return false;
    for (; *word; word++)
        if (islower((unsigned char)*word)) return false;
    return true;
}

/* True for a word that means something already, and for one with underscores behind. */
static bool is_reserved(const char *name, const char *more)
{
    char word[80], spaced[84];
    size_t n = strlen(name);
    while (n > 1 && name[n - 1] == '_') n--;
    snprintf(word, sizeof word, "%.*s", (int)n, name);
    n = strlen(word);
    snprintf(spaced, sizeof spaced, " %s ", word);
    if (strstr(reserved, spaced) || strstr(more, spaced) || is_vector_type(word) ||
        is_macro_like(word))
        return true;
    for (size_t i = 0; i < COUNT_OF(reserved_starts); i++)
        if (strncmp(word, reserved_starts[i], strlen(reserved_starts[i])) == 0) return true;
    for (size_t i = 0; i < COUNT_OF(reserved_ends); i++) {
        size_t m = strlen(reserved_ends[i]);
        if (n > m && strcmp(word + n - m, reserved_ends[i]) == 0) return true;
    }
    return false;
}

/* __x, _Exit, fg_Exit: what C keeps for itself, and what the former become here. */
static bool is_implementation(const char *name)
{
    while (strncmp(name, "fg", 2) == 0) name += 2;
    return name[0] == '_' && (name[1] == '_' || isupper((unsigned char)name[1]));
}

/* One to one, since only a name of such a kind becomes one of that kind. */
static const char *escape(struct writer *w, const char *name, const char *more)
{
    if (is_implementation(name)) return arena_printf(w->s->arena, "fg%s", name);
    return is_reserved(name, more) ? arena_printf(w->s->arena, "%s_", name) : name;
}

const char *emit_identifier(struct writer *w, const char *name)
{
    return escape(w, name, "");
}

const char *emit_parameter(struct writer *w, const char *name)
{
    return escape(w, name, " m handle o status params ");
}

/* "S=512,T=bf16" -> "_S_512_T_bf16" */
const char *emit_suffix(struct writer *w, const struct plan_variant *v)
{
    if (!*v->name) return "";
    char *out = arena_printf(w->s->arena, "_%s", v->name);
    for (char *q = out; *q; q++)
        if (!isalnum((unsigned char)*q)) *q = '_';
    return out;
}

void emit_string(struct buf *b, const char *text)
{
    buf_puts(b, "\"");
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c < 32 || c == '"' || c == '\\' || c == '?' || c == 127)
            buf_printf(b, "\\%03o", c);
        else
            buf_put(b, text, 1);
    }
    buf_puts(b, "\"");
}

/* ---- values -------------------------------------------------------------------------------- */

const char *emit_ctype(enum dtype t)
{
    return t == DT_f64 ? "double" : t == DT_i64 ? "int64_t" : t == DT_i32 ? "int32_t" : "float";
}

enum dtype emit_field_type(const struct plan_graph *g, size_t tensor)
{
    bool f64 = false, f32 = false, i64 = false, i32 = false;
    for (size_t i = 0; i < g->variants.n; i++) {
        enum dtype t = g->variants.at[i].tensors.at[tensor].type;
        f64 |= t == DT_f64;
        i64 |= t == DT_i64;
        i32 |= t == DT_i32;
        f32 |= t != DT_f64 && t != DT_i64 && t != DT_i32;
    }
    if (f64 || (f32 && (i64 || i32))) return DT_f64;
    return f32 ? DT_f32 : i64 ? DT_i64 : DT_i32;
}

void emit_real(struct buf *b, double x)
{
    if (isnan(x))
        buf_puts(b, "NAN");
    else if (isinf(x))
        buf_puts(b, x < 0 ? "-HUGE_VAL" : "HUGE_VAL");
    else
        buf_real(b, x);
}

size_t emit_bytes(const struct plan_tensor *t)
{
    int64_t extent = 0;
    dims_extent(t->rank, t->dim, t->stride, &extent);
    return (size_t)extent * (size_t)dtypes[t->type].bits / 8;
}

bool emit_is_read(const struct plan_variant *v, const struct plan_tensor *t)
{
    for (size_t i = 0; i < v->steps.n; i++)
        if (plan_step_uses(&v->steps.at[i], t->uid)) return true;
    return false;
}

void emit_list(struct buf *b, int n, const int64_t *v)
{
    buf_puts(b, "{");
    for (int i = 0; i < n || i == 0; i++)
        buf_printf(b, "%s%" PRId64, i ? ", " : "", i < n ? v[i] : 0);
    buf_puts(b, "}");
}

size_t emit_n_choosers(const struct plan_variant *v)
{
    size_t n = 0;
    for (size_t i = 0; i < v->params.n; i++) n += v->params.at[i].is_variant;
    return n;
}

/* ", int64_t S, int64_t T" */
void emit_params(struct writer *w, struct buf *b, const struct plan_variant *v, bool with_type)
{
    for (size_t i = 0; i < v->params.n; i++)
        if (v->params.at[i].is_variant)
            buf_printf(b, ", %s%s", with_type ? "int64_t " : "",
                       emit_parameter(w, v->params.at[i].name));
}

int64_t emit_param_value(const struct graph_param *p)
{
    return p->is_type ? (int64_t)p->type : p->i;
}

bool emit_has_round_up(const struct plan_graph *g)
{
    const struct plan_variant *v = &g->variants.at[0];
    if (emit_n_choosers(v) != 1) return false;
    for (size_t i = 0; i < v->params.n; i++)
        if (v->params.at[i].is_variant && v->params.at[i].is_type) return false;
    return true;
}

