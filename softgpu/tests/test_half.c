/* SPDX-License-Identifier: Apache-2.0 */
/* Operations on narrow floating-point types against half_reference.h. Both instruction sets; every
 * value of 16 bits where one operand is all there is. */
#include <criterion/criterion.h>
#include <fenv.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "softgpu/tests/engine_fixture.h"
#include "softgpu/tests/half_reference.h"
#include "softgpu/tests/op_fixture.h"

TestSuite(half, .init = formats_fill);

/* ---- running an operation on many lanes ---- */

static uint32_t bits_of(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, 4);
    return bits;
}

static float float_of(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, 4);
    return x;
}

/* Each instruction set that runs here */
#define EACH_ISA(isa)                                                                              \
    for (const struct sg_isa *isa = sg_isa_base(); isa;                                            \
         isa = isa == sg_isa_base() && sg_isa_v3_runs_here() ? sg_isa_v3() : NULL)

/* ---- conversions to and from f32 ---- */

static void widening(const struct sg_isa *isa, const char *name, const struct format *format)
{
    const struct sg_op *op = op_of(isa, name);
    for (uint32_t first = 0; first < 2 * format->sign; first += 32) {
        uint32_t a[32], out[32];
        for (uint32_t i = 0; i < 32; i++) {
            a[i] = (first + i) | 0xabcd0000; /* the upper half is ignored */
        }
        op_run(op, a, a, a, out);
        for (uint32_t i = 0; i < 32; i++) {
            double want = value_of(format, first + i);
            if (isnan(want)) {
                cr_assert(isnan(float_of(out[i])));
            } else {
                cr_assert_eq(out[i], bits_of((float)want), "%s %s(%x)", isa->name, name, first + i);
            }
        }
    }
}

Test(half, to_f32)
{
    EACH_ISA(isa)
    {
        widening(isa, "cvt_f32_f16", &f16);
        widening(isa, "cvt_f32_bf16", &bf16);
    }
}

/* Every value, and every middle of two, with their neighbours: the difficult inputs of a
 * conversion. */
static void narrowing(const struct sg_isa *isa, const char *name, const struct format *format,
                      int round)
{
    const struct sg_op *op = op_of(isa, name);
    uint64_t seed = 3;
    for (uint32_t code = 0; code < format->infinity; code++) {
        uint32_t a[32], out[32];
        float v = (float)format->values[code],
              m = (float)((format->values[code] + format->values[code + 1]) / 2);
        const float near[8] = {v,
                               m,
                               nextafterf(v, INFINITY),
                               nextafterf(v, -INFINITY),
                               nextafterf(m, INFINITY),
                               nextafterf(m, -INFINITY),
                               nextafterf(nextafterf(m, INFINITY), INFINITY),
                               v * 1.0001f};
        for (uint32_t i = 0; i < 32; i++) {
            a[i] = i < 8    ? bits_of(near[i])
                   : i < 16 ? bits_of(-near[i - 8])
                            : (uint32_t)engine_random(&seed);
        }
        static const uint32_t specials[] = {0x7f800000, 0xff800000, 0x7f800001, 0xffc00000,
                                            0x7f7fffff, 0xff7fffff, 1,          0x80000001};
        a[16 + code % 8] = specials[code % 8];
        op_run(op, a, a, a, out);
        for (uint32_t i = 0; i < 32; i++) {
            uint32_t want = rounded(format, (exact)float_of(a[i]), round);
            cr_assert_eq(out[i], want, "%s %s(%x) = %x, not %x", isa->name, name, a[i], out[i],
                         want);
        }
    }
}

Test(half, from_f32, .timeout = 120)
{
    EACH_ISA(isa)
    {
        narrowing(isa, "cvt_rn_f16_f32", &f16, FE_TONEAREST);
        narrowing(isa, "cvt_rz_f16_f32", &f16, FE_TOWARDZERO);
        narrowing(isa, "cvt_rm_f16_f32", &f16, FE_DOWNWARD);
        narrowing(isa, "cvt_rp_f16_f32", &f16, FE_UPWARD);
        narrowing(isa, "cvt_rn_bf16_f32", &bf16, FE_TONEAREST);
        narrowing(isa, "cvt_rz_bf16_f32", &bf16, FE_TOWARDZERO);
        narrowing(isa, "cvt_rm_bf16_f32", &bf16, FE_DOWNWARD);
        narrowing(isa, "cvt_rp_bf16_f32", &bf16, FE_UPWARD);
    }
}

static float tf32_of(float x, int round)
{
    if (isnan(x) || isinf(x)) {
        return isnan(x) ? float_of(0x7fffffff) : x;
    }
    double ulp = ldexp(1, (fabsf(x) < FLT_MIN ? -126 : ilogbf(x)) - 10), n = (double)x / ulp;
    double whole = round == -1              ? copysign(floor(fabs(n) + 0.5), n)
                   : round == FE_TOWARDZERO ? trunc(n)
                                            : nearbyint(n);
    return (float)(whole * ulp);
}

Test(half, tf32)
{
    static const struct {
        const char *name;
        int round;
    } cases[] = {{"cvt_rn_tf32_f32", FE_TONEAREST},
                 {"cvt_rz_tf32_f32", FE_TOWARDZERO},
                 {"cvt_rna_tf32_f32", -1}};
    uint64_t seed = 9;
    EACH_ISA(isa)
    {
        for (size_t k = 0; k < 3; k++) {
            const struct sg_op *op = op_of(isa, cases[k].name);
            for (int round = 0; round < 4000; round++) {
                uint32_t a[32], out[32];
                for (int i = 0; i < 32; i++) {
                    uint32_t r = (uint32_t)engine_random(&seed), tie = (r & 0xffffe000u) | 0x1000;
                    a[i] = i % 4 == 0 ? r : i % 4 == 1 ? tie : i % 4 == 2 ? tie + 1 : tie - 1;
                }
                a[0] = 0x7f800000u >> round % 16;
                op_run(op, a, a, a, out);
                for (int i = 0; i < 32; i++) {
                    uint32_t want = bits_of(tf32_of(float_of(a[i]), cases[k].round));
                    cr_assert_eq(out[i], want, "%s %s(%x) = %x, not %x", isa->name, cases[k].name,
                                 a[i], out[i], want);
                }
            }
        }
    }
}

static void eight_bits(const struct sg_isa *isa, const char *type, const struct format *format)
{
    char name[32];
    snprintf(name, sizeof name, "x_%sx2_f32", type);
    const struct sg_op *narrow = op_of(isa, name);
    snprintf(name, sizeof name, "x_%sx2_f16x2", type);
    const struct sg_op *from_f16 = op_of(isa, name);
    snprintf(name, sizeof name, "x_f16x2_%sx2", type);
    const struct sg_op *widen = op_of(isa, name);
    for (uint32_t first = 0; first < 0x10000; first += 32) {
        uint32_t a[32], b[32], out[32];
        for (uint32_t i = 0; i < 32; i++) {
            uint32_t half = first + i;
            a[i] = half << 16 | (half * 40503u >> 3 & 0xffff);
            b[i] = bits_of((float)value_of(&f16, half) + (i % 3 == 1 ? 0x1p-12f : 0));
        }
        op_run(from_f16, a, a, a, out);
        for (uint32_t i = 0; i < 32; i++) {
            uint32_t want = saturated(format, (exact)value_of(&f16, a[i] >> 16)) << 8 |
                            saturated(format, (exact)value_of(&f16, a[i] & 0xffff));
            cr_assert_eq(out[i], want, "%s %sx2 of halves %x: %x, not %x", isa->name, type, a[i],
                         out[i], want);
        }
        op_run(narrow, b, a, a, out);
        for (uint32_t i = 0; i < 32; i++) {
            uint32_t want = saturated(format, (exact)float_of(b[i])) << 8 |
                            saturated(format, (exact)float_of(a[i]));
            cr_assert_eq(out[i], want, "%s %sx2(%x, %x) = %x, not %x", isa->name, type, b[i], a[i],
                         out[i], want);
        }
        for (uint32_t i = 0; i < 32; i++) {
            a[i] = first + i;
        }
        op_run(widen, a, a, a, out);
        for (uint32_t i = 0; i < 32; i++) {
            uint32_t want = rounded(&f16, (exact)value_of(format, a[i] >> 8), FE_TONEAREST) << 16 |
                            rounded(&f16, (exact)value_of(format, a[i] & 255), FE_TONEAREST);
            cr_assert_eq(out[i], want, "%s halves of %s %x: %x, not %x", isa->name, type, a[i],
                         out[i], want);
        }
    }
}

Test(half, eight_bit_types, .timeout = 120)
{
    EACH_ISA(isa)
    {
        eight_bits(isa, "e4m3", &e4m3);
        eight_bits(isa, "e5m2", &e5m2);
    }
}

/* ---- arithmetic ---- */

static const uint32_t edges16[] = {0,      0x8000, 1,      0x8001, 2,      0x03ff, 0x0400, 0x8400,
                                   0x0401, 0x3c00, 0xbc00, 0x3c01, 0x3bff, 0x7bff, 0xfbff, 0x7c00,
                                   0xfc00, 0x7c01, 0xfe00, 0x7fff, 0x3555, 0x6400, 0x5640, 0x1400},
                      edges_bf[] = {0,      0x8000, 1,      0x8001, 2,      0x007f, 0x0080, 0x8080,
                                    0x0081, 0x3f80, 0xbf80, 0x3f81, 0x3f7f, 0x7f7f, 0xff7f, 0x7f80,
                                    0xff80, 0x7f81, 0xffc0, 0x7fff, 0x3eab, 0x4300, 0x1f81, 0x2001};
enum { EDGES = 24, TRIPLES = EDGES * EDGES * EDGES };

/* Edges with each other, then anything, then numbers whose sizes are near each other */
static void triple(const struct format *format, int index, uint64_t *seed, uint32_t *x)
{
    const uint32_t *edges = format == &f16 ? edges16 : edges_bf;
    if (index < TRIPLES) {
        x[0] = edges[index % EDGES];
        x[1] = edges[index / EDGES % EDGES];
        x[2] = edges[index / EDGES / EDGES];
        return;
    }
    uint64_t r = engine_random(seed);
    for (int k = 0; k < 3; k++) {
        x[k] = (uint32_t)(r >> (16 * k)) & 0xffff;
    }
    if (index % 2 == 0) { /* c just where the product is: cancellation, ties */
        double product = value_of(format, x[0]) * value_of(format, x[1]);
        uint32_t at = rounded(format, (exact)-product, FE_TONEAREST);
        x[2] = (at + (uint32_t)(r >> 48) % 5) & 0xffff;
    }
}

typedef uint32_t reference(const struct format *format, const uint32_t *x);

static uint32_t ref_add(const struct format *f, const uint32_t *x)
{
    return rounded(f, fused(value_of(f, x[0]), 1, value_of(f, x[1])), FE_TONEAREST);
}

static uint32_t ref_sub(const struct format *f, const uint32_t *x)
{
    return rounded(f, fused(value_of(f, x[0]), 1, -value_of(f, x[1])), FE_TONEAREST);
}

static uint32_t ref_mul(const struct format *f, const uint32_t *x)
{
    return rounded(f, (exact)value_of(f, x[0]) * (exact)value_of(f, x[1]), FE_TONEAREST);
}

static uint32_t ref_fma(const struct format *f, const uint32_t *x)
{
    return rounded(f, fused(value_of(f, x[0]), value_of(f, x[1]), value_of(f, x[2])), FE_TONEAREST);
}

static uint32_t ref_neg(const struct format *f, const uint32_t *x)
{
    return rounded(f, (exact)-value_of(f, x[0]), FE_TONEAREST);
}

static uint32_t ref_abs(const struct format *f, const uint32_t *x)
{
    return rounded(f, (exact)fabs(value_of(f, x[0])), FE_TONEAREST);
}

/* ISA, "min": NaN only if both are, or with .NaN; -0 below +0; .xorsign.abs */
static uint32_t smaller(const struct format *f, const uint32_t *x, bool max, bool nan, bool abs)
{
    bool sign = ((x[0] ^ x[1]) & f->sign) != 0; /* that of a NaN counts too */
    double a = value_of(f, x[0]), b = value_of(f, x[1]);
    double p = abs ? fabs(a) : a, q = abs ? fabs(b) : b, r;
    if (isnan(p) || isnan(q)) {
        r = nan || (isnan(p) && isnan(q)) ? (double)NAN : isnan(p) ? q : p;
    } else if (p == q) {
        r = max ? (signbit(p) ? q : p) : (signbit(p) ? p : q);
    } else {
        r = (p < q) != max ? p : q;
    }
    return rounded(f, (exact)(abs && sign && !isnan(r) ? -r : r), FE_TONEAREST);
}

#define REF_MIN(name, max, nan, abs)                                                               \
    static uint32_t name(const struct format *f, const uint32_t *x)                                \
    {                                                                                              \
        return smaller(f, x, max, nan, abs);                                                       \
    }
REF_MIN(ref_min, false, false, false)
REF_MIN(ref_min_nan, false, true, false)
REF_MIN(ref_min_xor, false, false, true)
REF_MIN(ref_min_nan_xor, false, true, true)
REF_MIN(ref_max, true, false, false)
REF_MIN(ref_max_nan, true, true, false)
REF_MIN(ref_max_xor, true, false, true)
REF_MIN(ref_max_nan_xor, true, true, true)

static uint32_t ref_sat(const struct format *f, const uint32_t *x)
{
    double v = value_of(f, x[0]);
    return rounded(f, (exact)(v > 0 ? fmin(v, 1) : 0), FE_TONEAREST);
}

static uint32_t ref_relu(const struct format *f, const uint32_t *x)
{
    double v = value_of(f, x[0]);
    return rounded(f, (exact)(v > 0 || isnan(v) ? v : 0), FE_TONEAREST);
}

static uint32_t ref_ftz(const struct format *f, const uint32_t *x)
{
    double v = value_of(f, x[0]);
    return fabs(v) < ldexp(1, f->least) ? x[0] & f->sign : x[0];
}

static const struct {
    const char *name;
    reference *run;
    bool f16_only;
    int operands;
} arithmetic[] = {
    {"add", ref_add, false, 2},
    {"sub", ref_sub, false, 2},
    {"mul", ref_mul, false, 2},
    {"fma", ref_fma, false, 3},
    {"neg", ref_neg, false, 1},
    {"abs", ref_abs, false, 1},
    {"min", ref_min, false, 2},
    {"min_NaN", ref_min_nan, false, 2},
    {"min_xorsign_abs", ref_min_xor, false, 2},
    {"min_NaN_xorsign_abs", ref_min_nan_xor, false, 2},
    {"max", ref_max, false, 2},
    {"max_NaN", ref_max_nan, false, 2},
    {"max_xorsign_abs", ref_max_xor, false, 2},
    {"max_NaN_xorsign_abs", ref_max_nan_xor, false, 2},
    {"x_sat", ref_sat, true, 1},
    {"x_relu", ref_relu, false, 1},
    {"x_ftz", ref_ftz, true, 1},
};

static void compute(const struct sg_isa *isa, size_t which, const struct format *format, int count)
{
    char one[48], two[48];
    snprintf(one, sizeof one, "%s_%s", arithmetic[which].name, format->name);
    snprintf(two, sizeof two, "%s_%sx2", arithmetic[which].name, format->name);
    const struct sg_op *single = op_of(isa, one), *pair = op_of(isa, two);
    uint64_t seed = 77;
    for (int first = 0; first < count; first += 32) {
        uint32_t x[3][32], y[3][32], out[32], both[32];
        for (int i = 0; i < 32; i++) {
            uint32_t operands[3];
            triple(format, first + i, &seed, operands);
            for (int k = 0; k < 3; k++) {
                x[k][i] = operands[k];
            }
        }
        for (int i = 0; i < 32; i++) {
            for (int k = 0; k < 3; k++) { /* upper half: those of another lane */
                y[k][i] = x[k][i] | x[k][(i + 7) % 32] << 16;
                x[k][i] |= 0x12340000;
            }
        }
        op_run(single, x[0], x[1], x[2], out);
        op_run(pair, y[0], y[1], y[2], both);
        for (int i = 0; i < 32; i++) {
            const uint32_t operands[3] = {x[0][i] & 0xffff, x[1][i] & 0xffff, x[2][i] & 0xffff};
            uint32_t want = arithmetic[which].run(format, operands);
            cr_assert_eq(out[i], want, "%s %s(%x, %x, %x) = %x, not %x", isa->name, one,
                         operands[0], operands[1], operands[2], out[i], want);
            cr_assert_eq(both[i], out[i] | out[(i + 7) % 32] << 16, "%s %s lane %d", isa->name, two,
                         i);
        }
    }
}

Test(half, arithmetic_rounds_once, .timeout = 240)
{
    volatile exact one = 1, three = 3, third = one / three;
    fesetround(FE_UPWARD);
    volatile exact larger = one / three;
    fesetround(FE_TONEAREST);
    cr_assert(larger > third, "__float128 does not know rounding modes here");
    EACH_ISA(isa)
    {
        for (size_t k = 0; k < sizeof arithmetic / sizeof arithmetic[0]; k++) {
            int count = arithmetic[k].operands == 3   ? TRIPLES + 60000
                        : arithmetic[k].operands == 2 ? TRIPLES + 30000
                                                      : TRIPLES + 50000;
            compute(isa, k, &f16, count);
            if (!arithmetic[k].f16_only) {
                compute(isa, k, &bf16, count);
            }
        }
    }
}

/* ---- approximations ---- */

static void approximation(const char *name, const struct format *format, double (*right)(double),
                          double relative, double absolute, bool flushed)
{
    const struct sg_op *op = sg_op_find(name);
    double worst = 0;
    for (uint32_t first = 0; first < 0x10000; first += 32) {
        uint32_t a[32], out[32];
        for (uint32_t i = 0; i < 32; i++) {
            a[i] = first + i;
        }
        op_run(op, a, a, a, out);
        for (uint32_t i = 0; i < 32; i++) {
            double x = value_of(format, a[i]), got = value_of(format, out[i]);
            if (flushed && fabs(x) < ldexp(1, format->least)) {
                x = 0;
            }
            double want = right(x), most = format->values[format->infinity - 1];
            if (isnan(x)) {
                cr_assert_eq(out[i], 0x7fff, "%s(%x)", name, a[i]);
            } else if (fabs(want) > most) {
                cr_assert(got >= most, "%s(%a)", name, x);
            } else if (!(flushed && fabs(want) < ldexp(1, format->least) && got == 0)) {
                double error = fabs(got - want), ulp = ldexp(1, format->least - format->fraction);
                cr_assert_leq(error, fmax(fmax(relative * fabs(want), absolute), ulp / 2),
                              "%s(%a) = %a, not %a", name, x, got, want);
                worst = fmax(worst, error);
            }
        }
    }
    cr_assert_gt(worst, 0, "%s: nothing was compared", name);
}

/* The bounds: PTX ISA 9.0, "Half Precision Floating Point Instructions" */
Test(half, approximations_are_as_good_as_documented)
{
    approximation("ex2_approx_f16", &f16, exp2, pow(2, -9.9), 0, false);
    approximation("ex2_approx_ftz_bf16", &bf16, exp2, 0x1p-7, 0, true);
    approximation("tanh_approx_f16", &f16, tanh, 0, pow(2, -10.987), false);
    approximation("tanh_approx_bf16", &bf16, tanh, 0, 0x1p-8, false);
}
