/* SPDX-License-Identifier: Apache-2.0 */
/* The approximate instructions against the C library's double functions, over all of f32 in small
 * steps: the error is never above what the PTX ISA 9.0 promises (9.7.3, each instruction's notes).
 * Both instruction sets. */
#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <string.h>

#include "softgpu/tests/op_fixture.h"

enum { STRIDE = 4093 };

/* |got - want| in units of the last place of `want` as a float; infinity beyond its range is
 * right */
static double ulps(float got, double want)
{
    float narrow = (float)want;
    if (isinf(narrow) || isinf(got)) {
        return got == narrow || fabs(want) > 0.9999999 * (double)FLT_MAX ? 0 : (double)INFINITY;
    }
    int exponent = fabs(want) < (double)FLT_MIN ? -126 : ilogb(want);
    return fabs((double)got - want) / ldexp(1, exponent - 23);
}

static double relative(float got, double want)
{
    return got == (float)want && (isinf(got) || got == 0) ? 0 : fabs(((double)got - want) / want);
}

/* Each returns the error as a part of what is allowed; 0 where nothing is promised */
static double rcp(float x, float got)
{
    return ulps(got, 1 / (double)x);
}

static double root(float x, float got)
{
    return x < 0 ? 0 : relative(got, sqrt((double)x)) / 0x1p-23;
}

static double rsqrt(float x, float got)
{
    return x < 0 ? 0 : relative(got, 1 / sqrt((double)x)) / pow(2, -22.9);
}

static double ex2(float x, float got)
{
    return ulps(got, exp2((double)x)) / 2;
}

static double lg2(float x, float got)
{
    double want = log2((double)x), a = fabs((double)x);
    return x < 0              ? 0
           : a > 0.5 && a < 2 ? fabs((double)got - want) / 0x1p-22
                              : relative(got, want) / 0x1p-22;
}

static double turn(float x, double error)
{
    double pi = 3.14159265358979, a = fabs((double)x);
    return a <= 2 * pi ? error / pow(2, -20.5) : a <= 100 * pi ? error / pow(2, -14.7) : 0;
}

static double sine(float x, float got)
{
    return turn(x, fabs((double)got - sin((double)x)));
}

static double cosine(float x, float got)
{
    return turn(x, fabs((double)got - cos((double)x)));
}

static double tangent(float x, float got)
{
    return relative(got, tanh((double)x)) / 0x1p-11;
}

static const struct {
    const char *name;
    double (*error)(float x, float got);
    float minus_infinity, minus_zero, zero, infinity; /* what the ISA's tables say */
} functions[] = {
    {"rcp_approx_f32", rcp, -0.0f, -INFINITY, INFINITY, 0},
    {"sqrt_approx_f32", root, NAN, -0.0f, 0, INFINITY},
    {"rsqrt_approx_f32", rsqrt, NAN, -INFINITY, INFINITY, 0},
    {"ex2_approx_f32", ex2, 0, 1, 1, INFINITY},
    {"lg2_approx_f32", lg2, NAN, -INFINITY, -INFINITY, INFINITY},
    {"sin_approx_f32", sine, NAN, -0.0f, 0, NAN},
    {"cos_approx_f32", cosine, NAN, 1, 1, NAN},
    {"tanh_approx_f32", tangent, -1, -0.0f, 0, 1},
};

static void check_table(const struct sg_op *op, size_t k)
{
    const float in[32] = {-INFINITY, -0.0f, 0, INFINITY, NAN, -NAN};
    const float want[6] = {functions[k].minus_infinity,
                           functions[k].minus_zero,
                           functions[k].zero,
                           functions[k].infinity,
                           NAN,
                           NAN};
    float out[32];
    op_run(op, in, in, NULL, out);
    for (int i = 0; i < 6; i++) {
        uint32_t got, bits;
        memcpy(&got, &out[i], 4);
        memcpy(&bits, &want[i], 4);
        bits = isnan(want[i]) ? 0x7fffffff : bits;
        cr_assert_eq(got, bits, "%s(%a) = %a", op->name, (double)in[i], (double)out[i]);
    }
}

static void check_range(const char *isa, const struct sg_op *op, size_t k)
{
    double worst = 0;
    for (uint64_t first = 0; first < UINT64_C(1) << 32; first += 32 * STRIDE) {
        float in[32], out[32];
        for (uint32_t i = 0; i < 32; i++) {
            uint32_t bits = (uint32_t)(first + i * STRIDE);
            bits =
                (bits & 0x7fffffff) == 0 || (bits & 0x7f800000) == 0x7f800000 ? 0x3f800001 : bits;
            memcpy(&in[i], &bits, 4);
        }
        op_run(op, in, in, NULL, out);
        for (int i = 0; i < 32; i++) {
            double part = functions[k].error(in[i], out[i]);
            cr_assert(part <= 1, "%s %s(%a) = %a: %.3f of the error that is allowed", isa, op->name,
                      (double)in[i], (double)out[i], part);
            worst = fmax(worst, part);
        }
    }
    cr_assert_gt(worst, 0.001, "%s: nothing was compared", op->name);
}

Test(accuracy, one_operand, .timeout = 240)
{
    for (size_t k = 0; k < sizeof functions / sizeof functions[0]; k++) {
        const struct sg_op *base = op_of(sg_isa_base(), functions[k].name);
        check_table(base, k);
        check_range("base", base, k);
        if (sg_isa_v3_runs_here()) {
            const struct sg_op *v3 = op_of(sg_isa_v3(), functions[k].name);
            check_table(v3, k);
            check_range("v3", v3, k);
        }
    }
}

/* Quotients within 2 ulp; of a divisor above 2^126 nothing but that infinities behave */
Test(accuracy, division)
{
    static const char *const names[] = {"div_approx_f32", "div_full_f32"};
    uint32_t state = 12345;
    for (int k = 0; k < 2; k++) {
        const struct sg_op *op = op_of(sg_isa_base(), names[k]);
        for (int round = 0; round < 20000; round++) {
            float a[32], b[32], out[32];
            for (int i = 0; i < 32; i++) {
                uint32_t bits[2];
                for (int j = 0; j < 2; j++) {
                    state = state * 1664525 + 1013904223;
                    bits[j] = state ^ state >> 13;
                }
                memcpy(&a[i], &bits[0], 4);
                memcpy(&b[i], &bits[1], 4);
            }
            op_run(op, a, b, NULL, out);
            for (int i = 0; i < 32; i++) {
                double size = fabs((double)b[i]);
                if (isfinite(a[i]) && size >= 0x1p-126 && size <= 0x1p126) {
                    double error = ulps(out[i], (double)a[i] / (double)b[i]);
                    cr_assert(error <= 2, "%s(%a, %a) = %a", names[k], (double)a[i], (double)b[i],
                              (double)out[i]);
                }
            }
        }
    }
}

/* rcp and rsqrt.approx.ftz.f64 see the upper words only, and make only them */
Test(accuracy, upper_words)
{
    static const struct {
        const char *name;
        uint64_t in, want;
    } cases[] = {
        {"rcp_approx_ftz_f64", 0x4000000012345678, 0x3fe0000000000000},
        {"rcp_approx_ftz_f64", 0x4008000000000000, 0x3fd5555500000000},
        {"rcp_approx_ftz_f64", 0x0000000000000001, 0x7ff0000000000000},
        {"rcp_approx_ftz_f64", 0x800fffffffffffff, 0xfff0000000000000},
        {"rcp_approx_ftz_f64", 0x7ff8000000000001, 0x7fffffff00000000},
        {"rcp_approx_ftz_f64", 0x7fe0000000000000, 0x0000000000000000},
        {"rsqrt_approx_ftz_f64", 0x4010000000000007, 0x3fe0000000000000},
        {"rsqrt_approx_ftz_f64", 0xbff0000000000000, 0x7fffffff00000000},
        {"rsqrt_approx_ftz_f64", 0x8000000000000001, 0xfff0000000000000},
        {"rsqrt_approx_ftz_f64", 0x4000000000000000, 0x3fe6a09e00000000},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint64_t in[32], out[32];
        for (int lane = 0; lane < 32; lane++) {
            in[lane] = cases[i].in;
        }
        op_run_of(op_of(sg_isa_here(), cases[i].name), 8, in, NULL, NULL, out);
        cr_assert_eq(out[9], cases[i].want, "%s(%llx) = %llx", cases[i].name,
                     (unsigned long long)cases[i].in, (unsigned long long)out[9]);
    }
}
