/* dtype: element types and their exact conversions to and from f64.
 *
 * Invariant: reading is exact; writing rounds once, to nearest, ties to even. Small float types are
 * described by their fields (exponent bits, fraction bits, bias) and converted by one routine each
 * way. */
#include "op/op.h"

#include <assert.h>
#include <math.h>

const struct dtype_info dtypes[N_DTYPES] = {
    [DT_none] = {.name = "none"},
#define DTYPE(id, bits_, cudnn_, npy_, klass_, sig, doc_) \
    [DT_##id] = {.name = #id,                             \
                 .cudnn = #cudnn_,                        \
                 .npy = npy_,                             \
                 .bits = bits_,                           \
                 .significand = sig,                      \
                 .klass = DTC_##klass_,                   \
                 .doc = doc_},
#include "op/dtypes.def"
#undef DTYPE
    [DT_tf32] = {.name = "tf32",
                 .cudnn = "FLOAT",
                 .bits = 32,
                 .significand = 11,
                 .klass = DTC_float,
                 .doc = "f32 with 10 fraction bits; compute type only"},
};

enum dtype dtype_find(const char *name)
{
    for (int i = DT_none + 1; i < N_DTYPES; i++)
        if (strcmp(dtypes[i].name, name) == 0) return (enum dtype)i;
    return DT_none;
}

/* A binary format of at most 16 bits: sign, `exponent` bits, `fraction` bits. */
struct format {
    int exponent, fraction, bias;
    bool infinity; /* the top exponent holds infinity and NaN (IEEE); else only all-ones is NaN */
    bool saturate; /* overflow gives the largest finite value instead of infinity */
    double largest;
};
static const struct format formats[N_DTYPES] = {
    [DT_f16] = {5, 10, 15, true, false, 65504.0},
    [DT_bf16] = {8, 7, 127, true, false, 0x1.fep127},
    [DT_e4m3] = {4, 3, 7, false, true, 448.0},
    [DT_e5m2] = {5, 2, 15, true, true, 57344.0},
};

static double load_small(const struct format *f, uint32_t bits)
{
    uint32_t frac_mask = (1u << f->fraction) - 1, exp_mask = (1u << f->exponent) - 1;
    uint32_t frac = bits & frac_mask, exp = bits >> f->fraction & exp_mask;
    double sign = bits >> (f->fraction + f->exponent) & 1 ? -1.0 : 1.0;
    if (f->infinity && exp == exp_mask) return frac ? NAN : sign * INFINITY;
    if (!f->infinity && exp == exp_mask && frac == frac_mask) return NAN;
    if (exp == 0) return sign * ldexp(frac, 1 - f->bias - f->fraction);
    return sign * ldexp(frac | (frac_mask + 1), (int)exp - f->bias - f->fraction);
}

/* The exponent e of the spacing 2^e between neighbours of the format near |x| (x finite). */
static int spacing(int fraction, int min_exponent, double x)
{
    int e;
    if (x == 0) return min_exponent - fraction;
    frexp(x, &e); /* |x| in [2^(e-1), 2^e) */
    e -= 1;
    return (e < min_exponent ? min_exponent : e) - fraction;
}

static double round_small(const struct format *f, double x)
{
    if (isnan(x)) return x;
    if (isinf(x)) return f->saturate ? copysign(f->largest, x) : x;
    int e = spacing(f->fraction, 1 - f->bias, x);
    double r = ldexp(nearbyint(ldexp(x, -e)), e);
    if (fabs(r) > f->largest) return copysign(f->saturate ? f->largest : INFINITY, x);
    return r;
}

static uint32_t store_small(const struct format *f, double x)
{
    uint32_t sign = signbit(x) ? 1u << (f->fraction + f->exponent) : 0;
    uint32_t exp_mask = (1u << f->exponent) - 1, frac_mask = (1u << f->fraction) - 1;
    if (isnan(x))
        return f->infinity ? sign | exp_mask << f->fraction | 1u << (f->fraction - 1)
                           : sign | exp_mask << f->fraction | frac_mask;
    double r = fabs(round_small(f, x));
    if (isinf(r)) return sign | exp_mask << f->fraction;
    if (r == 0) return sign;
    int e;
    frexp(r, &e);
    int exponent = e - 1 + f->bias;
    if (exponent < 1) return sign | (uint32_t)ldexp(r, f->bias - 1 + f->fraction);
    uint32_t frac = (uint32_t)ldexp(r, f->fraction - (e - 1)) & frac_mask;
    return sign | (uint32_t)exponent << f->fraction | frac;
}

static double round_int(double x, double least, double most)
{
    if (isnan(x)) return 0;
    x = nearbyint(x);
    return x < least ? least : x > most ? most : x;
}

static bool is_small(enum dtype t)
{
    return formats[t].exponent != 0;
}

double dtype_round(enum dtype t, double x)
{
    if (is_small(t)) return round_small(&formats[t], x);
    switch (t) {
    case DT_f64: return x;
    case DT_f32: return (double)(float)x;
    case DT_tf32: {
        static const struct format tf32 = {8, 10, 127, true, false, 0x1.ffcp127};
        return round_small(&tf32, x);
    }
    case DT_e8m0: {
        if (isnan(x) || x <= 0) return NAN;
        if (x >= 0x1p127) return 0x1p127;
        if (x <= 0x1p-127) return 0x1p-127;
        int e = spacing(0, -127, x); /* nearest in value, not in the exponent */
        return ldexp(nearbyint(ldexp(x, -e)), e);
    }
    case DT_i64: {
        double r = round_int(x, -0x1p63, 0x1p63);
        return r >= 0x1p63 ? 0x1p63 - 1024 : r;
    }
    case DT_i32: return round_int(x, -0x1p31, 0x1p31 - 1);
    case DT_i8: return round_int(x, -128, 127);
    case DT_u8: return round_int(x, 0, 255);
    case DT_bool: return x != 0;
    default: assert(!"a type that nothing stores"); return x;
    }
}

double dtype_load(enum dtype t, const void *data, int64_t i)
{
    const unsigned char *p = (const unsigned char *)data + i * (dtypes[t].bits / 8);
    union {
        double f64;
        float f32;
        uint16_t u16;
        int64_t i64;
        int32_t i32;
        int8_t i8;
    } v;
    assert(dtypes[t].bits >= 8);
    memcpy(&v, p, (size_t)dtypes[t].bits / 8);
    if (is_small(t)) return load_small(&formats[t], dtypes[t].bits == 16 ? v.u16 : *p);
    switch (t) {
    case DT_f64: return v.f64;
    case DT_f32: return v.f32;
    case DT_e8m0: return *p == 255 ? NAN : ldexp(1.0, *p - 127);
    case DT_i64: return (double)v.i64;
    case DT_i32: return v.i32;
    case DT_i8: return v.i8;
    case DT_u8: return *p;
    case DT_bool: return *p != 0;
    default: assert(!"a type that nothing stores"); return 0;
    }
}

void dtype_store(enum dtype t, void *data, int64_t i, double x)
{
    unsigned char *p = (unsigned char *)data + i * (dtypes[t].bits / 8);
    union {
        double f64;
        float f32;
        uint16_t u16;
        uint8_t u8;
        int64_t i64;
        int32_t i32;
        int8_t i8;
    } v = {0};
    assert(dtypes[t].bits >= 8);
    double r = t == DT_f64 || is_small(t) ? x : dtype_round(t, x);
    if (is_small(t)) {
        uint32_t bits = store_small(&formats[t], x);
        if (dtypes[t].bits == 16)
            v.u16 = (uint16_t)bits;
        else
            v.u8 = (uint8_t)bits;
    } else {
        switch (t) {
        case DT_f64: v.f64 = r; break;
        case DT_f32: v.f32 = (float)r; break;
        case DT_e8m0: v.u8 = isnan(r) ? 255 : (uint8_t)(ilogb(r) + 127); break;
        case DT_i64: v.i64 = (int64_t)r; break;
        case DT_i32: v.i32 = (int32_t)r; break;
        case DT_i8: v.i8 = (int8_t)r; break;
        case DT_u8: v.u8 = (uint8_t)r; break;
        case DT_bool: v.u8 = r != 0; break;
        default: assert(!"a type that nothing stores");
        }
    }
    memcpy(p, &v, (size_t)dtypes[t].bits / 8);
}

double dtype_ulp(enum dtype t, double x)
{
    if (dtypes[t].klass != DTC_float) return 1;
    if (t == DT_e8m0) return isnan(x) || x <= 0x1p-127 ? 0x1p-127 : dtype_round(t, x);
    if (!isfinite(x))
        x = is_small(t) ? formats[t].largest : t == DT_f32 ? 0x1.fffffep127 : 0x1p1023;
    if (is_small(t)) {
        if (fabs(x) > formats[t].largest) x = formats[t].largest;
        return ldexp(1.0, spacing(formats[t].fraction, 1 - formats[t].bias, x));
    }
    return t == DT_f64 ? ldexp(1.0, spacing(52, -1022, x)) : ldexp(1.0, spacing(23, -126, x));
}
