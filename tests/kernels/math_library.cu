// SPDX-License-Identifier: Apache-2.0
// More of the maths library, float and double, against the host's long double functions. The bounds
// are those of the CUDA C++ Programming Guide, in units in the last place, plus one for the host's
// rounding.
#include <vector>

#include "check.h"

enum { count = 2048 };


// name, bounds, low and high end of the arguments, what the device calls, what the host calls
#define FUNCTIONS(X)                                                                               \
    X(asin, 2, 2, -1, 1, asin(x), asinl(x))                                                        \
    X(acos, 2, 2, -1, 1, acos(x), acosl(x))                                                        \
    X(atan, 2, 2, -50, 50, atan(x), atanl(x))                                                      \
    X(sinh, 3, 2, -20, 20, sinh(x), sinhl(x))                                                      \
    X(cosh, 2, 1, -20, 20, cosh(x), coshl(x))                                                      \
    X(tanh, 2, 1, -5, 5, tanh(x), tanhl(x))                                                        \
    X(asinh, 3, 3, -1e4, 1e4, asinh(x), asinhl(x))                                                 \
    X(acosh, 4, 3, 1, 1e4, acosh(x), acoshl(x))                                                    \
    X(atanh, 3, 2, -0.999, 0.999, atanh(x), atanhl(x))                                             \
    X(exp2, 2, 1, -30, 30, exp2(x), exp2l(x))                                                      \
    X(exp10, 2, 1, -9, 9, exp10(x), exp10l(x))                                                     \
    X(expm1, 1, 1, -3, 3, expm1(x), expm1l(x))                                                     \
    X(log2, 1, 1, 1e-6, 1e6, log2(x), log2l(x))                                                    \
    X(log10, 2, 1, 1e-6, 1e6, log10(x), log10l(x))                                                 \
    X(log1p, 1, 1, -0.9, 100, log1p(x), log1pl(x))                                                 \
    X(rsqrt, 2, 1, 1e-6, 1e6, rsqrt(x), 1 / sqrtl(x))                                              \
    X(rcbrt, 1, 1, 1e-6, 1e6, rcbrt(x), 1 / cbrtl(x))                                              \
    X(hypot, 3, 2, -1e3, 1e3, hypot(x, Real(3)), hypotl(x, 3))                                     \
    X(erfc, 4, 5, -3, 8, erfc(x), erfcl(x))                                                        \
    X(tgamma, 5, 10, 0.1, 15, tgamma(x), tgammal(x))                                               \
    X(lgamma, 6, 4, 3, 1e4, lgamma(x), lgammal(x))                                                 \
    X(fmod, 0, 0, -1e6, 1e6, fmod(x, Real(0.7)), fmodl(x, Real(0.7)))                              \
    X(remainder, 0, 0, -1e6, 1e6, remainder(x, Real(0.7)), remainderl(x, Real(0.7)))               \
    X(floor, 0, 0, -1e6, 1e6, floor(x), floorl(x))                                                 \
    X(round, 0, 0, -1e6, 1e6, round(x), roundl(x))                                                 \
    X(rint, 0, 0, -1e6, 1e6, rint(x), rintl(x))                                                    \
    X(logb, 0, 0, 1e-6, 1e6, logb(x), logbl(x))                                                    \
    X(ldexp, 0, 0, -1, 1, ldexp(x, -3), ldexpl(x, -3))                                             \
    X(fdim, 0, 0, -3, 3, fdim(x, Real(0.25)), (long double)(x > Real(0.25) ? x - Real(0.25) : 0))  \
    X(copysign, 0, 0, -3, 3, copysign(Real(2), x), copysignl(2, x))                                \
    X(sinpi, 1, 2, -0.25, 0.25, sinpi(x), sinl(3.14159265358979323846264338327950288L * x))        \
    X(cospi, 1, 2, -0.25, 0.25, cospi(x), cosl(3.14159265358979323846264338327950288L * x))        \
    X(normcdf, 5, 5, -5, 5, normcdf(x), erfcl(-x / sqrtl(2)) / 2)

#define DEVICE(name, fb, db, low, high, device, host)                                              \
    template <typename Real> static __global__ void run_##name(const Real *in, Real *out)          \
    {                                                                                              \
        int i = blockIdx.x * blockDim.x + threadIdx.x;                                             \
        Real x = in[i];                                                                            \
        out[i] = device;                                                                           \
    }                                                                                              \
    template <typename Real> static long double right_##name(Real x)                               \
    {                                                                                              \
        return host;                                                                               \
    }
FUNCTIONS(DEVICE)

static float after(float value) { return nextafterf(fabsf(value), INFINITY); }
static double after(double value) { return nextafter(fabs(value), INFINITY); }

template <typename Real, typename Run, typename Right>
static void compare(const char *type, const char *name, double bound, double low, double high,
                    Run kernel, Right right)
{
    std::vector<Real> in(count), out(count);
    Random random(17);
    for (int i = 0; i < count; i++)
        in[i] = (Real)(low + (high - low) * random.unit());
    Real *device_in, *device_out;
    CHECK(cudaMalloc(&device_in, count * sizeof(Real)));
    CHECK(cudaMalloc(&device_out, count * sizeof(Real)));
    CHECK(cudaMemcpy(device_in, in.data(), count * sizeof(Real), cudaMemcpyHostToDevice));
    kernel<<<count / 128, 128>>>(device_in, device_out);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(out.data(), device_out, count * sizeof(Real), cudaMemcpyDeviceToHost));
    long double worst = 0;
    for (int i = 0; i < count; i++) {
        long double exact = right(in[i]);
        Real rounded = (Real)exact;
        long double unit = (long double)after(rounded) - (Real)fabs(rounded);
        long double error = fabsl(out[i] - exact) / unit;
        if (!(error <= (bound == 0 ? 0.5 : bound + 1)))
            fail("%s of %.17g in %s is %.17g, %.17Lg is right (%.1Lf units)", name, (double)in[i],
                 type, (double)out[i], exact, error);
        worst = error > worst ? error : worst;
    }
    printf("%-6s %-9s off by at most %.2Lf units in the last place\n", type, name, worst);
    CHECK(cudaFree(device_in));
    CHECK(cudaFree(device_out));
}

int main()
{
#define COMPARE(name, fb, db, low, high, device, host)                                             \
    compare<float>("float", #name, fb, low, high, run_##name<float>, right_##name<float>);         \
    compare<double>("double", #name, db, low, high, run_##name<double>, right_##name<double>);
    FUNCTIONS(COMPARE)
    return passed();
}
