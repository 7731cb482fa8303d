/* What the plain kernels need of CUDA, for a C++ compiler of this machine: bits of reals, and an
 * index for each thread, which a loop gives. Included by the file that test_kernel writes. */
#include <math.h>
#include <string.h>

using std::isfinite;
using std::isinf;
using std::isnan;
#define __device__
#define __global__
#define __forceinline__ inline
static struct {
    unsigned x;
} blockIdx, threadIdx, blockDim = {64};

static long long __double_as_longlong(double x)
{
    long long bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}
static double __longlong_as_double(long long bits)
{
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}
static float __uint_as_float(unsigned bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}
#define EACH_THREAD(n, call)                                               \
    for (long long t = 0; t < (n + blockDim.x - 1) / blockDim.x * 64; t++) \
    blockIdx.x = (unsigned)(t / 64), threadIdx.x = (unsigned)(t % 64), call
