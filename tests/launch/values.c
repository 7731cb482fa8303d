/* values: the launcher's conversions, over every half and every pair of field and scalar types.
 *
 * launch.py builds this around src/runtime/run.c itself, for no plan asks for all of them. */
#include <math.h>

enum { FGC_OK, FGC_ERROR_ARGUMENT, FGC_ERROR_VARIANT, FGC_ERROR_VERSION, FGC_ERROR_DEVICE,
       FGC_ERROR_PLAN, FGC_ERROR_MEMORY, FGC_ERROR_CUDNN, FGC_ERROR_CUDA };

#include RUNTIME

static int n_passed, n_failed;

static void check(int ok, const char *what, double x)
{
    if (ok) {
        n_passed++;
    } else if (n_failed++ < 20) {
        printf("FAIL values: %s of %.17g\n", what, x);
    }
}

static unsigned half_bits(float x)
{
    _Float16 h = (_Float16)x;
    uint16_t u;
    memcpy(&u, &h, sizeof u);
    return u;
}

/* Nearest bfloat16, ties to even, by arithmetic: 8 bits of the fraction's 24 stay. */
static float nearest_bf16(float x)
{
    int e;
    double m;
    if (x == 0 || isinf(x)) return x;
    m = frexp((double)x, &e);
    if (e < -125) e = -125; /* subnormal: multiples of 2^-133 */
    return (float)(nearbyint(ldexp((double)x, 8 - e)) * ldexp(1, e - 8));
}

static void halves(void)
{
    for (unsigned u = 0; u < 0x7c00; u++) {
        uint16_t h = (uint16_t)u, next = (uint16_t)(u + 1);
        _Float16 a, b;
        memcpy(&a, &h, sizeof a);
        memcpy(&b, &next, sizeof b);
        float x = (float)a, between = u + 1 < 0x7c00 ? ((float)a + (float)b) / 2 : 65520.0f;
        float near[] = {x, between, nextafterf(between, 0), nextafterf(between, INFINITY)};
        for (int i = 0; i < 4; i++) {
            check(fgc_f16_bits(near[i]) == half_bits(near[i]), "f16", (double)near[i]);
            check(fgc_f16_bits(-near[i]) == half_bits(-near[i]), "f16", (double)-near[i]);
        }
    }
    check(fgc_f16_bits(INFINITY) == 0x7c00 && fgc_f16_bits(-INFINITY) == 0xfc00, "f16", INFINITY);
    check((fgc_f16_bits(NAN) & 0x7fff) > 0x7c00, "f16", NAN);
}

static void brain_floats(void)
{
    for (unsigned u = 0; u < 0x7f80; u++) {
        static const uint32_t behind[] = {0, 1, 0x7fff, 0x8000, 0x8001, 0xffff};
        for (int i = 0; i < 6; i++) {
            uint32_t bits = u << 16 | behind[i], back;
            float x, got, want;
            memcpy(&x, &bits, sizeof x);
            back = (uint32_t)fgc_bf16_bits(x) << 16;
            memcpy(&got, &back, sizeof got);
            want = nearest_bf16(x);
            check(got == want, "bf16", (double)x);
        }
    }
    check((fgc_bf16_bits(NAN) & 0x7fff) > 0x7f80, "bf16", NAN);
}

/* x as the field, read as the scalar. */
static void scalars(double x)
{
    static const enum fgc_type fields[] = {FGC_F64, FGC_F32, FGC_I64, FGC_I32};
    static const enum fgc_type types[] = {FGC_F64, FGC_F32, FGC_F16, FGC_BF16, FGC_I64, FGC_I32};
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < 6; k++) {
            struct fgc_tensor t = {.type = types[k], .field_type = fields[i], .field = 8};
            unsigned char args[16] = {0}, out[8] = {0};
            double d = x, got;
            float f = (float)x;
            int64_t l = (int64_t)x;
            int32_t w = (int32_t)x;
            uint32_t u;
            uint16_t h;
            _Float16 half;
            switch (fields[i]) {
            case FGC_F64: memcpy(args + 8, &d, 8); break;
            case FGC_F32: memcpy(args + 8, &f, 4); break;
            case FGC_I64: memcpy(args + 8, &l, 8); break;
            default: memcpy(args + 8, &w, 4); break;
            }
            fgc_scalar(&t, args, out);
            switch (types[k]) {
            case FGC_F64: memcpy(&got, out, 8); break;
            case FGC_F32: memcpy(&f, out, 4); got = (double)f; break;
            case FGC_F16: memcpy(&half, out, 2); got = (double)half; break;
            case FGC_BF16:
                memcpy(&h, out, 2);
                u = (uint32_t)h << 16;
                memcpy(&f, &u, 4);
                got = (double)f;
                break;
            case FGC_I64: memcpy(&l, out, 8); got = (double)l; break;
            default: memcpy(&w, out, 4); got = (double)w; break;
            }
            check(got == x, "a scalar", x);
        }
}

int main(void)
{
    halves();
    brain_floats();
    for (int x = -128; x <= 128; x++) scalars(x);
    printf("%d passed, %d failed\n", n_passed, n_failed);
    return n_failed != 0;
}
