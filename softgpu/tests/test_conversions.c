/* SPDX-License-Identifier: Apache-2.0 */
/* Conversions of f16, bf16, tf32 and the 8-bit types, and comparisons of halves, as PTX: what the
 * decoder makes of each form. The reference: half_reference.h. */
#include <criterion/criterion.h>
#include <fenv.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "softgpu/tests/engine_fixture.h"
#include "softgpu/tests/half_reference.h"

static struct engine engine;
enum { N = 2048 };
static uint64_t *in, *out;

static void open_conversions(void)
{
    formats_fill();
    engine_open(&engine, 1);
    in = engine_memory(&engine, N * 16);
    out = engine_memory(&engine, N * 8);
}

static void shut(void)
{
    engine_close(&engine);
}

TestSuite(conversions, .init = open_conversions, .fini = shut);

/* `body` computes %out of %x and %y, 64-bit patterns */
static void run(const char *body)
{
    char text[4096];
    int length = snprintf(
        text, sizeof text,
        ".version 8.1\n.target sm_90\n.address_size 64\n"
        ".visible .entry k(.param .u64 in, .param .u64 out)\n{\n"
        ".reg .b64 %%x, %%y, %%out, %%in, %%to, %%at, %%l<4>; .reg .b32 %%r<8>; .reg .b16 %%h<8>;\n"
        ".reg .f32 %%f<4>; .reg .f64 %%d<4>; .reg .pred %%p<4>;\n"
        "ld.param.u64 %%in, [in]; ld.param.u64 %%to, [out];\n"
        "mov.u32 %%r0, %%ctaid.x; mov.u32 %%r1, %%tid.x; mad.lo.u32 %%r0, %%r0, 128, %%r1;\n"
        "mul.wide.u32 %%at, %%r0, 16; add.u64 %%in, %%in, %%at;\n"
        "mul.wide.u32 %%at, %%r0, 8; add.u64 %%to, %%to, %%at;\n"
        "ld.global.v2.u64 {%%x, %%y}, [%%in];\n"
        "cvt.u32.u64 %%r0, %%x; cvt.u32.u64 %%r1, %%y; cvt.u16.u64 %%h0, %%x;\n"
        "cvt.u16.u64 %%h1, %%y; mov.b32 %%f0, %%r0; mov.b32 %%f1, %%r1; mov.b64 %%d0, %%x;\n"
        "mov.u64 %%out, 0;\n%s\nst.global.u64 [%%to], %%out; ret;\n}\n",
        body);
    cr_assert_lt((size_t)length, sizeof text);
    engine_load_units(&engine, &(struct sg_unit){text, (size_t)length, NULL}, 1);
    ENGINE_LAUNCH(&engine, "k", N / 128, 128, 0, PTR(in), PTR(out));
    cr_assert_eq(engine.fault.code, SG_FAULT_NONE, "%s: %s", body, engine.fault.text);
}

static void same(const char *body, int i, uint64_t want)
{
    cr_assert_eq(out[i], want, "%s of %llx, %llx: %llx, not %llx", body,
                 (unsigned long long)in[2 * i], (unsigned long long)in[2 * i + 1],
                 (unsigned long long)out[i], (unsigned long long)want);
}

static const struct {
    const char *name;
    int mode;
} roundings[4] = {
    {"rn", FE_TONEAREST}, {"rz", FE_TOWARDZERO}, {"rm", FE_DOWNWARD}, {"rp", FE_UPWARD}};
static struct format *const halves[2] = {&f16, &bf16};

static double double_of(uint64_t bits)
{
    double x;
    memcpy(&x, &bits, 8);
    return x;
}

static float float_of(uint64_t bits)
{
    float x;
    memcpy(&x, &bits, 4);
    return x;
}

/* Doubles beside a half or a middle of two, off by less than f32 can say */
static void double_inputs(const struct format *format)
{
    uint64_t seed = 5;
    for (int i = 0; i < N; i++) {
        uint32_t code = (uint32_t)engine_random(&seed) % format->infinity;
        double v = format->values[code], middle = (v + format->values[code + 1]) / 2;
        double x = i % 2 ? v : middle;
        x = i % 3 == 0 ? x : nextafter(x, i % 3 == 1 ? (double)INFINITY : 0);
        static const double specials[] = {1e300, 1e-300, INFINITY, NAN, 0, 65520, 65519.999999999};
        in[2 * i] = engine_f64((i & 4 ? -1 : 1) * (i < 14 ? specials[i / 2] : x));
    }
}

Test(conversions, from_f64_rounds_once)
{
    for (int h = 0; h < 2; h++) {
        double_inputs(halves[h]);
        for (int r = 0; r < 4; r++) {
            char body[128];
            snprintf(body, sizeof body, "cvt.%s.%s.f64 %%h0, %%d0; cvt.u64.u16 %%out, %%h0;",
                     roundings[r].name, halves[h]->name);
            run(body);
            for (int i = 0; i < N; i++) {
                same(body, i, rounded(halves[h], (exact)double_of(in[2 * i]), roundings[r].mode));
            }
        }
    }
}

static const struct {
    const char *type, *reg;
    int bits;
    bool is_signed;
} integers[] = {{"u8", "%h0", 8, false},  {"s8", "%h0", 8, true},    {"u16", "%h0", 16, false},
                {"s16", "%h0", 16, true}, {"u32", "%r0", 32, false}, {"s32", "%r0", 32, true},
                {"u64", "%x", 64, false}, {"s64", "%x", 64, true}};

static exact integer_of(size_t k, uint64_t bits)
{
    int unused = 64 - integers[k].bits;
    return integers[k].is_signed ? (exact)((int64_t)(bits << unused) >> unused)
                                 : (exact)(bits << unused >> unused);
}

Test(conversions, from_integers_rounds_once, .timeout = 60)
{
    uint64_t seed = 6;
    for (int i = 0; i < N; i++) {
        uint64_t r = engine_random(&seed);
        uint64_t tie = ((r | 1) << 55 | UINT64_C(1) << 63) >> (r >> 58); /* 9 bits, then zeros */
        in[2 * i] = i % 4 == 0 ? r >> (r & 63) : i % 4 == 1 ? tie : i % 4 == 2 ? tie + 1 : tie - 1;
        in[2 * i] = i & 4 ? 0 - in[2 * i] : in[2 * i];
    }
    in[0] = 0;
    in[2] = UINT64_MAX;
    in[4] = UINT64_C(1) << 63;
    for (size_t k = 0; k < sizeof integers / sizeof integers[0]; k++) {
        for (int which = 0; which < 8; which++) {
            const struct format *format = halves[which / 4];
            char body[128];
            snprintf(body, sizeof body, "cvt.%s.%s.%s %%h2, %s; cvt.u64.u16 %%out, %%h2;",
                     roundings[which % 4].name, format->name, integers[k].type, integers[k].reg);
            run(body);
            for (int i = 0; i < N; i++) {
                exact value = integer_of(k, in[2 * i]);
                same(body, i, rounded(format, value, roundings[which % 4].mode));
            }
        }
    }
}

/* Limits, and NaN: 0, but the most negative if the type has 64 bits */
static uint64_t clamped(size_t k, double x)
{
    int bits = integers[k].bits;
    uint64_t ones = UINT64_MAX >> (64 - bits), top = UINT64_C(1) << (bits - 1);
    double low = integers[k].is_signed ? -ldexp(1, bits - 1) : 0,
           high = ldexp(1, integers[k].is_signed ? bits - 1 : bits);
    if (isnan(x)) {
        return bits == 64 ? UINT64_C(1) << 63 : 0;
    }
    if (x >= high) {
        return integers[k].is_signed ? top - 1 : ones;
    }
    return x <= low ? (integers[k].is_signed ? top : 0)
                    : (x > 0 ? (uint64_t)x : (uint64_t)(int64_t)x) & ones;
}

Test(conversions, to_integers, .timeout = 60)
{
    static double (*const whole[4])(double) = {rint, trunc, floor, ceil};
    static const char *const names[4] = {"rni", "rzi", "rmi", "rpi"};
    for (int i = 0; i < N; i++) {
        in[2 * i] = (uint64_t)i * 32 + (uint64_t)i / 64;
    }
    for (size_t k = 0; k < sizeof integers / sizeof integers[0]; k++) {
        for (int which = 0; which < 8; which++) {
            const struct format *format = halves[which / 4];
            char body[256],
                *end = body + snprintf(body, sizeof body, "cvt.%s.%s.%s ", names[which % 4],
                                       integers[k].type, format->name);
            /* the destination may be wider than the type: its value is extended */
            snprintf(end, 128, "%%out, %%h0;%s",
                     integers[k].bits == 64 ? ""
                                            : " mov.b64 {%r2, %r3}, %out; mov.b64 %out, {%r2, 0};");
            run(body);
            for (int i = 0; i < N; i++) {
                double v = value_of(format, (uint32_t)in[2 * i] & 0xffff);
                uint64_t want = clamped(k, whole[which % 4](v)), bits = (uint64_t)integers[k].bits;
                if (integers[k].is_signed && bits < 32) {
                    want = (uint32_t)((int32_t)((uint32_t)want << (32 - bits)) >> (32 - bits));
                }
                same(body, i, want);
            }
        }
    }
}

static uint32_t relu_of(const struct format *format, exact x, int mode, bool finite)
{
    uint32_t code = x <= 0 ? 0 : rounded(format, x, mode);
    return finite && (code & 0x7fff) == format->infinity ? code - 1 : code;
}

static void float_inputs(void)
{
    static const uint32_t specials[] = {0,          0x80000000, 0x7f800000, 0xff800000, 0x7fc00000,
                                        0x3f800000, 0xbf800000, 0x7f7fffff, 0xff7fffff, 1,
                                        0x477ff000, 0x477fefff, 0x43e80000, 0x43e80001, 0x47700000};
    uint64_t seed = 8;
    for (int i = 0; i < 2 * N; i++) {
        uint64_t r = engine_random(&seed);
        float f = (float)(int32_t)r * 0x1p-22f;
        in[i] = i < 300 ? specials[(i * 7 + i / 15) % 15] : i % 4 ? engine_f32(f) : (uint32_t)r;
    }
}

Test(conversions, from_f32_clamped)
{
    float_inputs();
    for (int which = 0; which < 4; which++) {
        const struct format *format = halves[which / 2];
        int mode = roundings[which % 2].mode;
        char body[128];
        snprintf(body, sizeof body, "cvt.%s.relu.%s.f32 %%h0, %%f0; cvt.u64.u16 %%out, %%h0;",
                 roundings[which % 2].name, format->name);
        run(body);
        for (int i = 0; i < N; i++) {
            same(body, i, relu_of(format, (exact)float_of(in[2 * i]), mode, false));
        }
        snprintf(body, sizeof body, "cvt.%s.%sx2.f32 %%r0, %%f0, %%f1; cvt.u64.u32 %%out, %%r0;",
                 roundings[which % 2].name, format->name);
        run(body);
        for (int i = 0; i < N; i++) {
            same(body, i,
                 rounded(format, (exact)float_of(in[2 * i]), mode) << 16 |
                     rounded(format, (exact)float_of(in[2 * i + 1]), mode));
        }
        snprintf(body, sizeof body,
                 "cvt.%s.relu.satfinite.%sx2.f32 %%r0, %%f0, %%f1; cvt.u64.u32 %%out, %%r0;",
                 roundings[which % 2].name, format->name);
        run(body);
        for (int i = 0; i < N; i++) {
            same(body, i,
                 relu_of(format, (exact)float_of(in[2 * i]), mode, true) << 16 |
                     relu_of(format, (exact)float_of(in[2 * i + 1]), mode, true));
        }
    }
    run("cvt.rn.sat.f16.f32 %h0, %f0; cvt.u64.u16 %out, %h0;");
    for (int i = 0; i < N; i++) {
        float x = float_of(in[2 * i]);
        same("sat", i, rounded(&f16, (exact)(x > 0 ? fminf(x, 1) : 0), FE_TONEAREST));
    }
    run("cvt.rna.satfinite.tf32.f32 %r0, %f0; cvt.u64.u32 %out, %r0;");
    for (int i = 0; i < N; i++) {
        uint32_t bits = (uint32_t)in[2 * i], mag = bits & 0x7fffffff;
        uint32_t up = (mag + 0x1000) & 0x7fffe000, most = 0x7f7fe000;
        same("tf32", i,
             mag > 0x7f800000 ? 0x7fffffff : (bits & 0x80000000) | (up > most ? most : up));
    }
}

Test(conversions, eight_bits)
{
    float_inputs();
    static struct format *const formats[2] = {&e4m3, &e5m2};
    for (int which = 0; which < 4; which++) {
        const struct format *format = formats[which / 2];
        bool relu = which & 1;
        char body[160];
        snprintf(body, sizeof body,
                 "cvt.rn.satfinite%s.%sx2.f32 %%h0, %%f0, %%f1; cvt.u64.u16 %%out, %%h0;",
                 relu ? ".relu" : "", format->name);
        run(body);
        for (int i = 0; i < N; i++) {
            float x = float_of(in[2 * i]), y = float_of(in[2 * i + 1]);
            same(body, i,
                 saturated(format, (exact)(relu && x <= 0 ? 0 : x)) << 8 |
                     saturated(format, (exact)(relu && y <= 0 ? 0 : y)));
        }
        snprintf(body, sizeof body,
                 "cvt.rn.satfinite%s.%sx2.f16x2 %%h0, %%r0; cvt.u64.u16 %%out, %%h0;",
                 relu ? ".relu" : "", format->name);
        run(body);
        for (int i = 0; i < N; i++) {
            double x = value_of(&f16, (uint32_t)in[2 * i] >> 16),
                   y = value_of(&f16, (uint32_t)in[2 * i] & 0xffff);
            same(body, i,
                 saturated(format, (exact)(relu && x <= 0 ? 0 : x)) << 8 |
                     saturated(format, (exact)(relu && y <= 0 ? 0 : y)));
        }
        snprintf(body, sizeof body, "cvt.rn%s.f16x2.%sx2 %%r0, %%h0; cvt.u64.u32 %%out, %%r0;",
                 relu ? ".relu" : "", format->name);
        run(body);
        for (int i = 0; i < N; i++) {
            double x = value_of(format, (uint32_t)in[2 * i] >> 8 & 255),
                   y = value_of(format, (uint32_t)in[2 * i] & 255);
            same(body, i,
                 rounded(&f16, (exact)(relu && x <= 0 ? 0 : x), FE_TONEAREST) << 16 |
                     rounded(&f16, (exact)(relu && y <= 0 ? 0 : y), FE_TONEAREST));
        }
    }
}

static void half_inputs(void)
{
    static const uint16_t few[] = {0,      0x8000, 1,      0x8001, 0x3c00, 0x3c01, 0xbc00, 0x7bff,
                                   0x7c00, 0xfc00, 0x7e00, 0xfe01, 0x0400, 0x3f80, 0x7f80, 0x7fc0};
    uint64_t seed = 4;
    for (int i = 0; i < 2 * N; i++) {
        uint64_t r = engine_random(&seed);
        in[i] = (uint32_t)few[r & 15] << 16 | (r & 32 ? few[r >> 6 & 15] : (uint16_t)(r >> 8));
    }
}

Test(conversions, between_floats)
{
    half_inputs();
    run("cvt.rn.bf16.f16 %h2, %h0; cvt.u64.u16 %out, %h2;");
    for (int i = 0; i < N; i++) {
        same("bf16.f16", i,
             rounded(&bf16, (exact)value_of(&f16, (uint32_t)in[2 * i] & 0xffff), FE_TONEAREST));
    }
    run("cvt.rz.f16.bf16 %h2, %h0; cvt.u64.u16 %out, %h2;");
    for (int i = 0; i < N; i++) {
        same("f16.bf16", i,
             rounded(&f16, (exact)value_of(&bf16, (uint32_t)in[2 * i] & 0xffff), FE_TOWARDZERO));
    }
    run("cvt.f64.f16 %d1, %h0; mov.b64 %out, %d1;");
    for (int i = 0; i < N; i++) {
        double want = value_of(&f16, (uint32_t)in[2 * i] & 0xffff), got = double_of(out[i]);
        cr_assert(isnan(want) ? isnan(got) : got == want);
    }
    run("cvt.rmi.f16.f16 %h2, %h0; cvt.u64.u16 %out, %h2;");
    for (int i = 0; i < N; i++) {
        same("rmi", i,
             rounded(&f16, (exact)floor(value_of(&f16, (uint32_t)in[2 * i] & 0xffff)),
                     FE_TONEAREST));
    }
}

/* ---- comparisons ---- */

static const struct {
    const char *name;
    int less, equal, greater, unordered;
} relations[] = {{"eq", 0, 1, 0, 0},  {"ne", 1, 0, 1, 0},  {"lt", 1, 0, 0, 0},  {"le", 1, 1, 0, 0},
                 {"gt", 0, 0, 1, 0},  {"ge", 0, 1, 1, 0},  {"equ", 0, 1, 0, 1}, {"neu", 1, 0, 1, 1},
                 {"ltu", 1, 0, 0, 1}, {"leu", 1, 1, 0, 1}, {"gtu", 0, 0, 1, 1}, {"geu", 0, 1, 1, 1},
                 {"num", 1, 1, 1, 0}, {"nan", 0, 0, 0, 1}};

static bool holds(size_t k, double a, double b)
{
    return a < b    ? relations[k].less
           : a > b  ? relations[k].greater
           : a == b ? relations[k].equal
                    : relations[k].unordered;
}

static void compare_with(const struct format *format, size_t k)
{
    char body[512];
    const char *name = relations[k].name, *type = format->name;
    uint32_t one = format == &f16 ? 0x3c00 : 0x3f80;
    snprintf(body, sizeof body,
             "setp.%s.%s %%p0|%%p1, %%h0, %%h1; selp.u64 %%out, 1, 0, %%p0; @%%p1 or.b64 %%out, "
             "%%out, 2; setp.ne.u64 %%p3, %%x, %%y; setp.%s.and.%sx2 %%p0|%%p1, %%r0, %%r1, %%p3; "
             "@%%p0 or.b64 %%out, %%out, 4; @%%p1 or.b64 %%out, %%out, 8; "
             "set.%s.%sx2.%sx2 %%r2, %%r0, %%r1; cvt.u64.u32 %%l0, %%r2; shl.b64 %%l0, %%l0, 32; "
             "or.b64 %%out, %%out, %%l0;",
             name, type, name, type, name, type, type);
    run(body);
    for (int i = 0; i < N; i++) {
        uint32_t x = (uint32_t)in[2 * i], y = (uint32_t)in[2 * i + 1];
        bool low = holds(k, value_of(format, x & 0xffff), value_of(format, y & 0xffff)),
             high = holds(k, value_of(format, x >> 16), value_of(format, y >> 16));
        uint64_t want = low ? 1 : 2, pair = (low ? one : 0) | (high ? one << 16 : 0);
        want |= (low && x != y ? 4 : 0) | (high && x != y ? 8 : 0) | pair << 32;
        same(body, i, want);
    }
    snprintf(body, sizeof body,
             "set.%s.u32.%sx2 %%r2, %%r0, %%r1; set.%s.%s.%s %%h2, %%h0, %%h1; cvt.u32.u16 %%r3, "
             "%%h2; mov.b64 %%out, {%%r2, %%r3};",
             name, type, name, type, type);
    run(body);
    for (int i = 0; i < N; i++) {
        uint32_t x = (uint32_t)in[2 * i], y = (uint32_t)in[2 * i + 1];
        bool low = holds(k, value_of(format, x & 0xffff), value_of(format, y & 0xffff)),
             high = holds(k, value_of(format, x >> 16), value_of(format, y >> 16));
        same(body, i,
             (low ? 0xffffu : 0) | (high ? 0xffff0000u : 0) | (uint64_t)(low ? one : 0) << 32);
    }
}

Test(conversions, comparisons_of_halves)
{
    half_inputs();
    for (size_t k = 0; k < sizeof relations / sizeof relations[0]; k++) {
        compare_with(&f16, k);
        compare_with(&bf16, k);
    }
}

/* ---- what is put together ---- */

Test(conversions, lop3_with_a_predicate)
{
    half_inputs();
    run("setp.lt.u32 %p0, %r0, %r1; lop3.and.b32 %r2|%p1, %r0, %r1, 255, 0xc0, !%p0; "
        "selp.u32 %r3, 1, 0, %p1; lop3.or.b32 _|%p2, %r0, %r1, %r0, 0x3c, %p0; "
        "@%p2 or.b32 %r3, %r3, 2; @%p1 lop3.or.b32 %r4|%p1, %r0, %r1, %r1, 0x3c, %p0; "
        "@%p1 or.b32 %r3, %r3, 4; mov.b64 %out, {%r2, %r3};");
    for (int i = 0; i < N; i++) {
        uint32_t a = (uint32_t)in[2 * i], b = (uint32_t)in[2 * i + 1], both = a & b;
        bool less = a < b, first = both != 0 && !less, other = a != b || less;
        uint32_t flags = (first ? 1u : 0) | (other ? 2u : 0) | (first && other ? 4u : 0);
        same("lop3", i, both | (uint64_t)flags << 32);
    }
}

Test(conversions, flushed_and_clamped_arithmetic)
{
    half_inputs();
    run("add.ftz.sat.f16 %h2, %h0, %h1; fma.rn.ftz.relu.f16 %h3, %h0, %h1, %h0; "
        "mov.b32 %r2, {%h2, %h3}; fma.rn.relu.bf16x2 %r3, %r0, %r1, %r1; mov.b64 %out, {%r2, "
        "%r3};");
    for (int i = 0; i < N; i++) {
        uint32_t x = (uint32_t)in[2 * i], y = (uint32_t)in[2 * i + 1], halves_of[2];
        double a = value_of(&f16, x & 0xffff), b = value_of(&f16, y & 0xffff);
        a = fabs(a) < 0x1p-14 ? copysign(0, a) : a;
        b = fabs(b) < 0x1p-14 ? copysign(0, b) : b;
        double sum = a + b; /* exact but for far apart ones, and these are not between 0 and 1 */
        sum = fabs(sum) < 0x1p-14 || !(sum > 0) ? 0 : fmin(sum, 1);
        exact product = fused(a, b, a);
        uint32_t first = rounded(&f16, (exact)sum, FE_TONEAREST),
                 second = product <= 0 ? 0 : rounded(&f16, product, FE_TONEAREST);
        second = (second & 0x7c00) == 0 ? 0 : second;
        for (int k = 0; k < 2; k++) {
            double p = value_of(&bf16, x >> 16 * k & 0xffff),
                   q = value_of(&bf16, y >> 16 * k & 0xffff);
            exact r = fused(p, q, q);
            halves_of[k] = r <= 0 ? 0 : rounded(&bf16, r, FE_TONEAREST);
        }
        same("ftz", i, first | second << 16 | (uint64_t)(halves_of[0] | halves_of[1] << 16) << 32);
    }
}
