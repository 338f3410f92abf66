/* SPDX-License-Identifier: Apache-2.0 */
/* Scalar operations used by op.def (integers: int_math.h), written without branches so that the
 * compiler vectorises 32 of them. Semantics: PTX ISA 9.0, chapter 9.7; where it leaves a result
 * open, the known result of NVIDIA hardware. */
#ifndef SOFTGPU_EXEC_OP_MATH_H
#define SOFTGPU_EXEC_OP_MATH_H

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "softgpu/exec/int_math.h"

SG_INLINE uint32_t sg_bits32(float x)
{
    uint32_t u;
    memcpy(&u, &x, sizeof u);
    return u;
}

SG_INLINE float sg_float32(uint32_t u)
{
    float x;
    memcpy(&x, &u, sizeof x);
    return x;
}

SG_INLINE uint64_t sg_bits64(double x)
{
    uint64_t u;
    memcpy(&u, &x, sizeof u);
    return u;
}

SG_INLINE double sg_float64(uint64_t u)
{
    double x;
    memcpy(&x, &u, sizeof x);
    return x;
}

/* f32 results that are NaN are 0x7fffffff, whatever the operands were */
SG_INLINE float sg_cn(float x)
{
    return x != x ? __builtin_nanf("0x3fffff") : x;
}

SG_INLINE float sg_fz(float x)
{
    uint32_t u = sg_bits32(x);
    return sg_float32((u & 0x7f800000u) == 0 ? u & 0x80000000u : u);
}

SG_INLINE float sg_cnz(float x)
{
    return sg_fz(sg_cn(x));
}

/* .sat: to [0, 1]; NaN and -0 to +0 */
SG_INLINE float sg_sat32(float x)
{
    return x > 0.0f ? (x < 1.0f ? x : 1.0f) : 0.0f;
}

SG_INLINE double sg_sat64(double x)
{
    return x > 0.0 ? (x < 1.0 ? x : 1.0) : 0.0;
}

/* min/max: the number if one operand is NaN; -0 is less than +0. */
SG_INLINE float sg_min32(float a, float b)
{
    float equal = sg_float32(sg_bits32(a) | sg_bits32(b));
    float m = a < b ? a : a == b ? equal : b;
    m = a != a ? b : m;
    m = b != b ? a : m;
    return sg_cn(m);
}

SG_INLINE float sg_max32(float a, float b)
{
    float equal = sg_float32(sg_bits32(a) & sg_bits32(b));
    float m = a > b ? a : a == b ? equal : b;
    m = a != a ? b : m;
    m = b != b ? a : m;
    return sg_cn(m);
}

/* .xorsign.abs: m is the result for the magnitudes; it gets the sign of a product; NaN stays
 * canonical. */
SG_INLINE float sg_xorsign32(float m, float a, float b)
{
    uint32_t sign = (sg_bits32(a) ^ sg_bits32(b)) & 0x80000000u;
    return m != m ? m : sg_float32(sg_bits32(m) | sign);
}

SG_INLINE double sg_min64(double a, double b)
{
    double equal = sg_float64(sg_bits64(a) | sg_bits64(b));
    double m = a < b ? a : a == b ? equal : b;
    m = a != a ? b : m;
    return b != b ? a : m;
}

SG_INLINE double sg_max64(double a, double b)
{
    double equal = sg_float64(sg_bits64(a) & sg_bits64(b));
    double m = a > b ? a : a == b ? equal : b;
    m = a != a ? b : m;
    return b != b ? a : m;
}

/* 2^x, within 2^-22.5 relative (measured by the test of this header) */
SG_INLINE float sg_ex2(float x)
{
    float y = x < -160.0f ? -160.0f : x;
    y = y > 140.0f ? 140.0f : y;
    float shifted = y + 12582912.0f; /* 1.5 * 2^23: rounds to an integer */
    float n = shifted - 12582912.0f;
    float f = y - n;
    float p = 1.5252734e-5f;
    p = p * f + 1.5403530e-4f;
    p = p * f + 1.3333558e-3f;
    p = p * f + 9.6181291e-3f;
    p = p * f + 5.5504109e-2f;
    p = p * f + 2.4022651e-1f;
    p = p * f + 6.9314718e-1f;
    p = p * f + 1.0f;
    int32_t whole = (int32_t)(sg_bits32(shifted) - 0x4b400000u);
    int32_t half = whole >> 1; /* two steps: the result may be subnormal */
    float r = p * sg_float32((uint32_t)(half + 127) << 23) *
              sg_float32((uint32_t)(whole - half + 127) << 23);
    return x != x ? sg_cn(x) : r;
}

/* tanh: within 2^-20 relative. Near zero the series; otherwise 1 - 2 / (e^2x + 1) */
SG_INLINE float sg_tanh(float x)
{
    float z = x * x;
    float p = -8.8632355e-3f;
    p = p * z + 2.1869488e-2f;
    p = p * z - 5.3968254e-2f;
    p = p * z + 1.3333333e-1f;
    p = p * z - 3.3333333e-1f;
    float near = x + x * (z * p);
    float far = 1.0f - 2.0f / (sg_ex2(__builtin_fabsf(x) * 2.8853900f) + 1.0f);
    float r = __builtin_fabsf(x) < 0.5f ? near : far;
    r = sg_float32((sg_bits32(r) & 0x7fffffffu) | (sg_bits32(x) & 0x80000000u)); /* -0 too */
    return x != x ? sg_cn(x) : r;
}

/* log2 x: 2^-22 relative, absolute near 1 */
SG_INLINE float sg_lg2(float x)
{
    float scaled = x < FLT_MIN ? x * 16777216.0f : x;
    float bias = x < FLT_MIN ? -24.0f : 0.0f;
    uint32_t u = sg_bits32(scaled);
    int32_t e = (int32_t)(u - 0x3f3504f3u) >> 23;
    float m = sg_float32(u - ((uint32_t)e << 23));
    float g = m - 1.0f;
    float s = g / (2.0f + g);
    float z = s * s;
    float p = 0.32059889f;   /* 2/9 / ln 2 */
    p = p * z + 0.41219858f; /* 2/7 / ln 2 */
    p = p * z + 0.57707802f;
    p = p * z + 0.96179669f;
    /* 2/ln 2 in two parts: s * 2.8853901 would lose a bit */
    float r = s * 2.8853900f + (s * z * p + s * 8.1779e-8f);
    r = r + ((float)e + bias);
    r = x == __builtin_inff() ? x : r;
    r = x == 0.0f ? -__builtin_inff() : r;
    return x < 0.0f || x != x ? sg_cn(__builtin_nanf("")) : r;
}

/* sin(x + turn * pi/2): reduced and evaluated in double, so exact to about an ulp up to 2^30 */
SG_INLINE float sg_sin_turned(float x, double turn)
{
    double k = rint((double)x * 0.63661977236758134308);
    double r = (double)x - k * 1.57079632673412561417;
    r = r - k * 6.07710050650619224932e-11;
    r = r > 1.0 ? 1.0 : r;
    r = r < -1.0 ? -1.0 : r;
    double q = k + turn;
    q = q - 4.0 * floor(q * 0.25);
    double z = r * r;
    double s = -2.5052108385441718775e-8 * z + 2.7557319223985890653e-6;
    s = s * z - 1.9841269841269841270e-4;
    s = s * z + 8.3333333333333333333e-3;
    s = s * z - 1.6666666666666666667e-1;
    s = r + r * z * s;
    double c = -2.7557319223985890653e-7 * z + 2.4801587301587301587e-5;
    c = c * z - 1.3888888888888888889e-3;
    c = c * z + 4.1666666666666666667e-2;
    c = c * z - 0.5;
    c = 1.0 + z * c;
    double v = q == 1.0 || q == 3.0 ? c : s;
    v = q >= 2.0 ? -v : v;
    float r32 = x == 0.0f && turn == 0.0 ? x : (float)v; /* sin -0 is -0 */
    return x - x != 0.0f ? sg_cn(__builtin_nanf("")) : r32;
}

/* Saturating float to integer: the range check comes first, so the conversion is defined. NaN gives
 * 0, but the most negative number (unsigned: 2^63) if a 64-bit type takes part (ISA, "cvt"). */
SG_INLINE int32_t sg_s32_f32(float x)
{
    return x >= 2147483648.0f    ? INT32_MAX
           : x >= -2147483648.0f ? (int32_t)x
           : x != x              ? 0
                                 : INT32_MIN;
}

SG_INLINE uint32_t sg_u32_f32(float x)
{
    return x >= 4294967296.0f ? UINT32_MAX : x > 0.0f ? (uint32_t)(int64_t)x : 0;
}

SG_INLINE int64_t sg_s64_f32(float x)
{
    return x >= 9223372036854775808.0f    ? INT64_MAX
           : x >= -9223372036854775808.0f ? (int64_t)x
                                          : INT64_MIN;
}

SG_INLINE uint64_t sg_u64_f32(float x)
{
    return x >= 18446744073709551616.0f ? UINT64_MAX
           : x > 0.0f                   ? (uint64_t)x
           : x != x                     ? UINT64_C(1) << 63
                                        : 0;
}

SG_INLINE int32_t sg_s32_f64(double x)
{
    return x >= 2147483648.0 ? INT32_MAX : x > -2147483649.0 ? (int32_t)x : INT32_MIN;
}

SG_INLINE uint32_t sg_u32_f64(double x)
{
    return x >= 4294967296.0 ? UINT32_MAX
           : x > 0.0         ? (uint32_t)(int64_t)x
           : x != x          ? UINT32_C(1) << 31
                             : 0;
}

SG_INLINE int64_t sg_s64_f64(double x)
{
    return x >= 9223372036854775808.0    ? INT64_MAX
           : x >= -9223372036854775808.0 ? (int64_t)x
                                         : INT64_MIN;
}

SG_INLINE uint64_t sg_u64_f64(double x)
{
    return x >= 18446744073709551616.0 ? UINT64_MAX
           : x > 0.0                   ? (uint64_t)x
           : x != x                    ? UINT64_C(1) << 63
                                       : 0;
}

SG_INLINE int32_t sg_nan_s32(double x, int32_t r)
{
    return x != x ? INT32_MIN : r;
}

/* rcp/rsqrt.approx.ftz.f64: subnormal numbers become zero; only the upper 32 bits of a result. */
SG_INLINE double sg_fz64(double x)
{
    uint64_t u = sg_bits64(x);
    return sg_float64((u & UINT64_C(0x7ff0000000000000)) == 0 ? u & UINT64_C(1) << 63 : u);
}

SG_INLINE double sg_hi64(double x)
{
    uint64_t u = sg_bits64(x) & UINT64_C(0xffffffff00000000);
    return x != x ? sg_float64(UINT64_C(0x7fffffff00000000)) : sg_fz64(sg_float64(u));
}

#endif
