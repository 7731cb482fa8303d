// What every kernel stands on: loading an element exactly, storing it by one rounding, and the
// bounds that an element's error is judged by. Needs no header; the arithmetic of conversions is done on
// bits, so that it is the same wherever it is compiled.

typedef long long i64;
typedef unsigned long long u64;
typedef unsigned int u32;
#define DEVICE static __device__ __forceinline__
#define KERNEL extern "C" __global__ void
#define INF __longlong_as_double(0x7ff0000000000000LL)
#define NOT_A_NUMBER __longlong_as_double(0x7ff8000000000000LL)

DEVICE i64 element()
{
    return (i64)blockIdx.x * blockDim.x + threadIdx.x;
}
DEVICE double power_of_two(int e) // a normal one
{
    return __longlong_as_double((i64)(e + 1023) << 52);
}

// ---- loading: exact --------------------------------------------------------------------------------

// A float whose fraction begins `fraction` bits below the sign's place, exponent biased by `bias`: put where
// f32 has them and scaled; subnormals come out right because the product is exact.
DEVICE float widen(u32 bits, int width, int fraction, int bias)
{
    float x = __uint_as_float((bits & ((1u << (width - 1)) - 1)) << (23 - fraction));
    x *= __uint_as_float((u32)(254 - bias) << 23);
    return bits >> (width - 1) & 1 ? -x : x;
}
DEVICE double load_f64(const void *p, i64 i) { return ((const double *)p)[i]; }
DEVICE float load_f32(const void *p, i64 i) { return ((const float *)p)[i]; }
DEVICE float load_bf16(const void *p, i64 i) { return __uint_as_float((u32)((const unsigned short *)p)[i] << 16); }
DEVICE float load_f16(const void *p, i64 i)
{
    u32 bits = ((const unsigned short *)p)[i];
    if ((bits & 0x7c00) == 0x7c00) return __uint_as_float((bits & 0x8000) << 16 | 0x7f800000 | (bits & 0x3ff) << 13);
    return widen(bits, 16, 10, 15);
}
DEVICE float load_e4m3(const void *p, i64 i)
{
    u32 bits = ((const unsigned char *)p)[i];
    return (bits & 0x7f) == 0x7f ? __uint_as_float(0x7fc00000) : widen(bits, 8, 3, 7);
}
DEVICE float load_e5m2(const void *p, i64 i)
{
    u32 bits = ((const unsigned char *)p)[i];
    if ((bits & 0x7c) == 0x7c) return __uint_as_float((bits & 0x80) << 24 | 0x7f800000 | (bits & 3) << 21);
    return widen(bits, 8, 2, 15);
}
DEVICE double load_i64(const void *p, i64 i) { return (double)((const i64 *)p)[i]; }
DEVICE double load_i32(const void *p, i64 i) { return ((const int *)p)[i]; }
DEVICE float load_i8(const void *p, i64 i) { return ((const signed char *)p)[i]; }
DEVICE float load_u8(const void *p, i64 i) { return ((const unsigned char *)p)[i]; }
DEVICE float load_bool(const void *p, i64 i) { return ((const unsigned char *)p)[i] != 0; }

// ---- storing: to nearest even, once ------------------------------------------------------------------

// The magnitude's bits in a format of `fraction` bits; `most`: the largest finite value's. Beyond it
// stands `beyond`.
DEVICE u32 narrow(double x, int fraction, int bias, u32 most, u32 beyond)
{
    u64 m = (u64)__double_as_longlong(x) & 0x7fffffffffffffffULL, r;
    if (m < (u64)(1024 - bias) << 52) { // below the normal range: one spacing for all
        double unit = power_of_two(53 - bias - fraction);
        r = (u64)__double_as_longlong(__longlong_as_double((i64)m) + unit) - (u64)__double_as_longlong(unit);
    } else {
        int drop = 52 - fraction;
        r = ((m + ((1ULL << (drop - 1)) - 1) + (m >> drop & 1)) >> drop) - ((u64)(1023 - bias) << fraction);
    }
    return r > most ? beyond : (u32)r;
}
DEVICE u32 sign_of(double x) { return (u32)((u64)__double_as_longlong(x) >> 63); }
DEVICE void store_f64(void *p, i64 i, double x) { ((double *)p)[i] = x; }
DEVICE void store_f32(void *p, i64 i, double x) { ((float *)p)[i] = (float)x; }
DEVICE void store_bf16(void *p, i64 i, double x)
{
    u32 r = isnan(x) ? 0x7fc0 : narrow(x, 7, 127, 0x7f7f, 0x7f80);
    ((unsigned short *)p)[i] = (unsigned short)(sign_of(x) << 15 | r);
}
DEVICE void store_f16(void *p, i64 i, double x)
{
    u32 r = isnan(x) ? 0x7e00 : narrow(x, 10, 15, 0x7bff, 0x7c00);
    ((unsigned short *)p)[i] = (unsigned short)(sign_of(x) << 15 | r);
}
DEVICE void store_e4m3(void *p, i64 i, double x)
{
    u32 r = isnan(x) ? 0x7f : narrow(x, 3, 7, 0x7e, 0x7e);
    ((unsigned char *)p)[i] = (unsigned char)(sign_of(x) << 7 | r);
}
DEVICE void store_e5m2(void *p, i64 i, double x)
{
    u32 r = isnan(x) ? 0x7e : narrow(x, 2, 15, 0x7b, 0x7b);
    ((unsigned char *)p)[i] = (unsigned char)(sign_of(x) << 7 | r);
}
DEVICE double whole(double x, double least, double most)
{
    if (isnan(x)) return 0;
    x = rint(x);
    return x < least ? least : x > most ? most : x;
}
DEVICE void store_i64(void *p, i64 i, double x)
{
    x = whole(x, -9223372036854775808.0, 9223372036854775808.0);
    ((i64 *)p)[i] = x >= 9223372036854775808.0 ? 9223372036854774784LL : (i64)x;
}
DEVICE void store_i32(void *p, i64 i, double x) { ((int *)p)[i] = (int)whole(x, -2147483648.0, 2147483647.0); }
DEVICE void store_i8(void *p, i64 i, double x) { ((signed char *)p)[i] = (signed char)whole(x, -128, 127); }
DEVICE void store_u8(void *p, i64 i, double x) { ((unsigned char *)p)[i] = (unsigned char)whole(x, 0, 255); }
DEVICE void store_bool(void *p, i64 i, double x) { ((unsigned char *)p)[i] = x != 0; }

#define ROUND(type, room)                                       \
    DEVICE double round_##type(double x)                        \
    {                                                           \
        room at;                                                \
        store_##type(&at, 0, x);                                \
        return load_##type(&at, 0);                             \
    }
ROUND(f64, double) ROUND(f32, float) ROUND(bf16, unsigned short) ROUND(f16, unsigned short)
ROUND(e4m3, unsigned char) ROUND(e5m2, unsigned char) ROUND(i64, i64) ROUND(i32, int)
ROUND(i8, signed char) ROUND(u8, unsigned char) ROUND(bool, unsigned char)

// ---- bounds --------------------------------------------------------------------------------------------

// The distance between neighbours near x in a format with normal exponents from `least` to `most`.
DEVICE double ulp(double x, int fraction, int least, int most)
{
    int e = (int)((u64)__double_as_longlong(fabs(x)) >> 52) - 1023;
    return ldexp(1.0, (e < least ? least : e > most ? most : e) - fraction);
}
// How far f moved from y, when its operand moved up and down.
DEVICE double moved(double up, double down, double y)
{
    up = fabs(up - y);
    down = fabs(down - y);
    if (isnan(up) || isnan(down)) return INF;
    return up > down ? up : down;
}
DEVICE double share_of_bound(double got, double want, double bound)
{
    if (isnan(want)) return isnan(got) ? 0 : INF;
    if (isinf(want) || isinf(got)) return got == want ? 0 : INF;
    double error = fabs(got - want);
    if (isnan(error)) return INF;
    if (error == 0) return 0;
    return bound > 0 ? error / bound : INF;
}
// The keys [first, last) of n that a query standing at key `at` sees; -1: no bound on that side.
DEVICE void keys(i64 at, i64 n, i64 left, i64 right, i64 *first, i64 *last)
{
    *first = left >= 0 && at - left > 0 ? at - left : 0;
    *last = right >= 0 && at + right + 1 < n ? at + right + 1 : n;
    if (*last < *first) *last = *first;
}
