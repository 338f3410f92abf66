/* SPDX-License-Identifier: Apache-2.0 */
/* nvcc's maths library, run by the engine, against the C library: documented functions within their
 * ulp, approximations within the bounds of the PTX ISA. */
#include <criterion/criterion.h>
#include <fenv.h>
#include <float.h>
#include <math.h>
#include <string.h>

#include "softgpu/tests/engine_fixture.h"

static struct engine engine;

static void open_maths(void)
{
    engine_open(&engine, 2);
    engine_load_file(&engine, "maths");
}

static void shut(void)
{
    engine_close(&engine);
}

TestSuite(maths, .init = open_maths, .fini = shut);

static void no_fault(void)
{
    cr_assert_eq(engine.fault.code, SG_FAULT_NONE, "%s: %s at PTX line %u",
                 sg_fault_name(engine.fault.code), engine.fault.text, engine.fault.line);
}

/* |got - want| in units of the last place of `want` as a float */
static double ulps32(float got, double want)
{
    if (isnan(want) || isnan(got)) {
        return isnan(want) && isnan(got) ? 0 : INFINITY;
    }
    float narrow = (float)want;
    if (isinf(narrow) || isinf(got)) {
        return got == narrow || fabs(want) > 0.999 * (double)FLT_MAX ? 0 : INFINITY;
    }
    double ulp = fmax(ldexp(1.0, ilogbf(fmaxf(fabsf(narrow), FLT_MIN)) - 23), 0x1p-149);
    return fabs((double)got - want) / ulp;
}

static double ulps64(double got, long double want)
{
    if (isnan((double)want) || isnan(got)) {
        return isnan((double)want) && isnan(got) ? 0 : INFINITY;
    }
    double narrow = (double)want;
    if (isinf(narrow) || isinf(got)) {
        return got == narrow ? 0 : INFINITY;
    }
    double ulp = fmax(ldexp(1.0, ilogb(fmax(fabs(narrow), DBL_MIN)) - 52), 0x1p-1074);
    return (double)(fabsl((long double)got - want) / (long double)ulp);
}

static const float special_floats[] = {0.0f,   -0.0f,     1.0f,    -1.0f,    0.5f,
                                       1e-40f, 1e30f,     3.4e38f, INFINITY, -INFINITY,
                                       NAN,    105615.0f, 1e7f,    88.0f,    -87.5f};

static float float_input(int i, uint64_t *seed)
{
    size_t specials = sizeof special_floats / sizeof special_floats[0];
    if ((size_t)i < specials) {
        return special_floats[i];
    }
    double u = (double)(engine_random(seed) >> 11) * 0x1p-53;
    double scale = i % 4 == 0 ? 1e9 : i % 4 == 1 ? 100 : i % 4 == 2 ? 3 : 0.01;
    return (float)((u - 0.5) * 2 * scale);
}

Test(maths, float_functions)
{
    enum { N = 4000 };
    float *in = engine_memory(&engine, N * 4), *out = engine_memory(&engine, N * 64);
    uint64_t seed = 11;
    for (int i = 0; i < N; i++) {
        in[i] = float_input(i, &seed);
    }
    ENGINE_LAUNCH(&engine, "float_functions", (N + 127) / 128, 128, 0, PTR(in), PTR(out), N);
    no_fault();
    /* the bounds of the CUDA programming guide for these functions, in ulp, and a little */
    static const double bounds[16] = {2.01, 2.01, 2.01, 1.01, 4.01, 4.01, 0.501, 0.501,
                                      3.01, 2.01, 1.01, 2.01, 0,    0,    0.001, 1.01};
    double worst[16] = {0};
    for (int i = 0; i < N; i++) {
        double x = (double)in[i], a = fabs(x);
        const double want[16] = {sin(x),  cos(x),  exp(x),   log(a),      pow(a, (double)1.7f),
                                 tan(x),  sqrt(a), 1 / x,    atan2(x, 2), tanh(x),
                                 cbrt(x), erf(x),  floor(x), rint(x),     fmod(x, 3),
                                 log1p(a)};
        for (int k = 0; k < 16; k++) {
            double error = ulps32(out[16 * i + k], want[k]);
            worst[k] = fmax(worst[k], error);
            cr_assert_leq(error, bounds[k], "function %d of %a: %a, not %a", k, x,
                          (double)out[16 * i + k], want[k]);
        }
    }
    cr_assert_gt(worst[0], 0.4, "the comparison compares nothing");
}

Test(maths, double_functions)
{
    enum { N = 4000 };
    double *in = engine_memory(&engine, N * 8), *out = engine_memory(&engine, N * 128);
    uint64_t seed = 12;
    for (int i = 0; i < N; i++) {
        in[i] = (double)float_input(i, &seed) * (i > 100 ? 1.0 + 1e-9 * i : 1.0);
    }
    in[20] = 1e300;
    in[21] = 1e22;
    ENGINE_LAUNCH(&engine, "double_functions", (N + 127) / 128, 128, 0, PTR(in), PTR(out), N);
    no_fault();
    static const double bounds[16] = {2.01, 2.01, 1.51, 1.51, 2.51, 2.51, 0.501, 0.501,
                                      2.51, 2.01, 1.51, 2.51, 0,    0,    0.001, 40};
    for (int i = 0; i < N; i++) {
        long double x = (long double)in[i], a = fabsl(x);
        const long double want[16] = {sinl(x),      cosl(x),  expl(x),     logl(a),
                                      powl(a, 1.7), tanl(x),  sqrtl(a),    1 / x,
                                      atan2l(x, 2), tanhl(x), cbrtl(x),    erfl(x),
                                      floorl(x),    rintl(x), fmodl(x, 3), lgammal(a)};
        for (int k = 0; k < 15; k++) { /* lgamma: only that it is near */
            double error = ulps64(out[16 * i + k], want[k]);
            cr_assert_leq(error, bounds[k], "function %d of %a: %a, not %La", k, in[i],
                          out[16 * i + k], want[k]);
        }
        double near = fabs(out[16 * i + 15] - (double)want[15]);
        cr_assert(!(near > 1e-13 * (1 + fabs((double)want[15]))), "lgamma(%a)", in[i]);
    }
}

Test(maths, approximations_are_as_good_as_documented)
{
    enum { N = 20000 };
    float *in = engine_memory(&engine, N * 4), *out = engine_memory(&engine, N * 32);
    uint64_t seed = 13;
    for (int i = 0; i < N; i++) {
        in[i] = i % 2 ? float_input(15 + 2 + 4 * (i % 9), &seed) * 2 : float_input(16, &seed);
    }
    ENGINE_LAUNCH(&engine, "intrinsics", (N + 127) / 128, 128, 0, PTR(in), PTR(out), N);
    no_fault();
    for (int i = 0; i < N; i++) {
        double x = (double)in[i], a = fabs(x);
        float *o = out + 8 * i;
        if (a <= 2 * 3.14159) {
            cr_assert_leq(fabs((double)o[0] - sin(x)), 0x1p-20, "sin %a", x);
            cr_assert_leq(fabs((double)o[1] - cos(x)), 0x1p-20, "cos %a", x);
        }
        cr_assert_leq(fabs((double)o[0] - sin(x)), 0x1p-14, "sin %a", x);
        if (a < 80) {
            cr_assert_leq(fabs((double)o[2] / exp(x) - 1), 0x1p-22 * (2 + a * 1.173), "exp %a", x);
        }
        cr_assert_leq(fabs((double)o[3] - log(a)),
                      a > 0.5 && a < 2 ? 3.4e-7 : fabs(log(a)) * 0x1p-21, "log %a: %a", x,
                      (double)o[3]);
        cr_assert_leq(fabs((double)o[4] * x - 1), 2 * 0x1p-23, "div %a", x);
        cr_assert_leq(fabs((double)o[5] * sqrt(a) - 1), 1.28e-7, "rsqrt %a", x);
        cr_assert_eq((double)o[6], x > 0 ? fmin(x, 1) : 0);
    }
}

/* The correctly rounded result, by the processor under that mode, not vectorised */
#define ROUNDED(mode, expression)                                                                  \
    ({                                                                                             \
        fesetround(mode);                                                                          \
        volatile float x = a[i], y = b[i];                                                         \
        (void)y;                                                                                   \
        volatile float r_ = (expression);                                                          \
        fesetround(FE_TONEAREST);                                                                  \
        r_;                                                                                        \
    })

static void same_float(float got, float want, int which, float a, float b)
{
    uint32_t g, w;
    memcpy(&g, &got, 4);
    memcpy(&w, &want, 4);
    if (isnan(want)) {
        w = 0x7fffffff;
    }
    cr_assert_eq(g, w, "case %d of %a, %a: %a, not %a", which, (double)a, (double)b, (double)got,
                 (double)want);
}

Test(maths, roundings)
{
    enum { N = 3000 };
    float *a = engine_memory(&engine, N * 4), *b = engine_memory(&engine, N * 4);
    float *out = engine_memory(&engine, N * 64);
    uint64_t seed = 14;
    for (int i = 0; i < N; i++) {
        a[i] = float_input(i % 15 + (i > 225 ? i : 0), &seed);
        b[i] = float_input(i / 15 % 15 + (i > 225 ? i : 0), &seed);
    }
    ENGINE_LAUNCH(&engine, "roundings", (N + 127) / 128, 128, 0, PTR(a), PTR(b), PTR(out), N);
    no_fault();
    for (int i = 0; i < N; i++) {
        float *o = out + 16 * i;
        const float want[16] = {ROUNDED(FE_TONEAREST, x + y),
                                ROUNDED(FE_TOWARDZERO, x + y),
                                ROUNDED(FE_UPWARD, x + y),
                                ROUNDED(FE_DOWNWARD, x + y),
                                ROUNDED(FE_TOWARDZERO, x * y),
                                ROUNDED(FE_UPWARD, x * y),
                                ROUNDED(FE_DOWNWARD, x * y),
                                ROUNDED(FE_TOWARDZERO, x / y),
                                ROUNDED(FE_UPWARD, x / y),
                                ROUNDED(FE_DOWNWARD, x / y),
                                ROUNDED(FE_TOWARDZERO, fmaf(x, y, x)),
                                ROUNDED(FE_UPWARD, fmaf(x, y, x)),
                                ROUNDED(FE_DOWNWARD, fmaf(x, y, x)),
                                ROUNDED(FE_UPWARD, sqrtf(fabsf(x))),
                                ROUNDED(FE_DOWNWARD, 1 / x),
                                ROUNDED(FE_TOWARDZERO, sqrtf(fabsf(x)))};
        for (int k = 0; k < 16; k++) {
            same_float(o[k], want[k], k, a[i], b[i]);
        }
    }
}

Test(maths, nbody)
{
    enum { N = 200 };
    double *at = engine_memory(&engine, N * 32), *force = engine_memory(&engine, N * 24);
    uint64_t seed = 15;
    for (int i = 0; i < N * 4; i++) {
        at[i] = (double)(engine_random(&seed) >> 11) * 0x1p-53;
    }
    ENGINE_LAUNCH(&engine, "nbody", (N + 63) / 64, 64, 0, PTR(at), PTR(force), N);
    no_fault();
    for (int i = 0; i < N; i++) {
        double f[3] = {0}, size = 0;
        for (int j = 0; j < N; j++) {
            double d[3], d2 = 1e-9;
            for (int k = 0; k < 3; k++) {
                d[k] = at[4 * j + k] - at[4 * i + k];
                d2 += d[k] * d[k];
            }
            double inv = 1 / sqrt(d2), s = at[4 * j + 3] * inv * inv * inv;
            for (int k = 0; k < 3; k++) {
                f[k] += s * d[k];
                size += fabs(s * d[k]);
            }
        }
        for (int k = 0; k < 3; k++) {
            cr_assert_leq(fabs(force[3 * i + k] - f[k]), 1e-12 * size);
        }
    }
}

static double normal(double d)
{
    return 0.5 * erfc(-d / sqrt(2));
}

Test(maths, black_scholes)
{
    enum { N = 3000 };
    float *arrays[5];
    for (int k = 0; k < 5; k++) {
        arrays[k] = engine_memory(&engine, N * 4);
    }
    uint64_t seed = 16;
    static const float low[3] = {5, 1, 0.25f}, high[3] = {30, 100, 10};
    for (int i = 0; i < 3 * N; i++) {
        double u = (double)(engine_random(&seed) >> 11) * 0x1p-53;
        arrays[2 + i % 3][i / 3] = (float)((1 - u) * (double)low[i % 3] + u * (double)high[i % 3]);
    }
    ENGINE_LAUNCH(&engine, "black_scholes", (N + 127) / 128, 128, 0, PTR(arrays[0]), PTR(arrays[1]),
                  PTR(arrays[2]), PTR(arrays[3]), PTR(arrays[4]), engine_f32(0.02f),
                  engine_f32(0.30f), N);
    no_fault();
    for (int i = 0; i < N; i++) {
        double s = (double)arrays[2][i], x = (double)arrays[3][i], t = (double)arrays[4][i];
        double d1 = (log(s / x) + (0.02 + 0.5 * 0.09) * t) / (0.30 * sqrt(t)),
               d2 = d1 - 0.30 * sqrt(t);
        double call = s * normal(d1) - x * exp(-0.02 * t) * normal(d2);
        cr_assert_leq(fabs((double)arrays[0][i] - call), 2e-5 * (s + x), "option %d", i);
        cr_assert_leq(fabs((double)arrays[1][i] - (call - s + x * exp(-0.02 * t))), 2e-5 * (s + x));
    }
}
