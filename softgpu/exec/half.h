/* SPDX-License-Identifier: Apache-2.0 */
/* Scalar operations of the narrow floating-point types: f16, bf16, tf32, e4m3, e5m2. Values are bit
 * patterns in 32-bit words (compilers vectorise that, but not _Float16); the upper half of a word
 * with a 16-bit value is ignored as input and zero as output.
 *
 * Each operation rounds once. A value that f32 cannot represent exactly is first rounded *to odd*
 * (the last bit is set if anything was lost): with two bits more than the result has, another
 * rounding in any direction gives the rounded exact value. Results that are NaN are 0x7fff. */
#ifndef SOFTGPU_EXEC_HALF_H
#define SOFTGPU_EXEC_HALF_H

#include "softgpu/exec/op_math.h"

enum sg_round { SG_RN, SG_RZ, SG_RM, SG_RP, SG_RNA /* ties away from zero */ };

/* ---- to f32: exact ---- */

SG_INLINE float sg_f32_f16(uint32_t h)
{
    uint32_t sign = (h & 0x8000u) << 16, mag = h & 0x7fffu;
    float scaled = sg_float32(mag << 13) * 0x1p112f;
    uint32_t bits = mag > 0x7c00u    ? 0x7fffffffu
                    : mag == 0x7c00u ? sign | 0x7f800000u
                                     : sign | sg_bits32(scaled);
    return sg_float32(bits);
}

SG_INLINE float sg_f32_bf16(uint32_t h)
{
    return sg_float32(h << 16);
}

SG_INLINE float sg_f32_e4m3(uint32_t x)
{
    float scaled = sg_float32((x & 0x7fu) << 20) * 0x1p120f;
    uint32_t bits = (x & 0x7fu) == 0x7fu ? 0x7fffffffu : (x & 0x80u) << 24 | sg_bits32(scaled);
    return sg_float32(bits);
}

SG_INLINE float sg_f32_e5m2(uint32_t x)
{
    return sg_f32_f16((x & 0xffu) << 8);
}

/* The low 13 bits of a .tf32 register are ignored. */
SG_INLINE float sg_f32_tf32(uint32_t bits)
{
    return sg_float32(bits & 0xffffe000u);
}

/* ---- from f32 ---- */

/* A magnitude (f32 bits without sign, no NaN) as a code of a type with `fraction` bits and normal
 * numbers from 2^(least - 127) on, without an upper limit; `away`: directed rounding adds one. */
SG_INLINE uint32_t sg_narrow(uint32_t mag, unsigned fraction, int32_t least, enum sg_round round,
                             uint32_t away)
{
    int32_t e = (int32_t)(mag >> 23);
    uint32_t significand = (mag & 0x7fffffu) | (e != 0 ? 0x800000u : 0u);
    e = e == 0 ? 1 : e;
    int32_t above = e > least ? e - least : 0, below = e < least ? least - e : 0;
    uint32_t drop = 23u - fraction + (uint32_t)below;
    drop = drop > 26u ? 26u : drop;
    uint32_t keep = significand >> drop;
    uint32_t rest = significand - (keep << drop), half = (1u << drop) >> 1;
    uint32_t up = round == SG_RN    ? (uint32_t)(rest + (keep & 1u) > half)
                  : round == SG_RNA ? (uint32_t)(rest >= half)
                  : round == SG_RZ  ? 0u
                                    : (uint32_t)(rest != 0u) & away;
    return keep + up + ((uint32_t)above << fraction);
}

SG_INLINE uint32_t sg_away(uint32_t sign, enum sg_round round)
{
    return round == SG_RP ? (uint32_t)(sign == 0u) : round == SG_RM ? (uint32_t)(sign != 0u) : 0u;
}

/* Overflow: infinity, or the largest number if rounding goes the other way. */
SG_INLINE uint32_t sg_limit(uint32_t code, uint32_t largest, uint32_t mag, uint32_t away,
                            enum sg_round round)
{
    uint32_t nearest = (uint32_t)(round == SG_RN || round == SG_RNA);
    uint32_t over = (nearest | away) != 0u || mag >= 0x7f800000u ? largest + 1u : largest;
    return code > largest ? over : code;
}

SG_INLINE uint32_t sg_f16_round(float x, enum sg_round round)
{
    uint32_t u = sg_bits32(x), sign = u >> 16 & 0x8000u, mag = u & 0x7fffffffu;
    uint32_t away = sg_away(sign, round);
    uint32_t code = sg_limit(sg_narrow(mag, 10, 113, round, away), 0x7bffu, mag, away, round);
    return mag > 0x7f800000u ? 0x7fffu : sign | code;
}

SG_INLINE uint32_t sg_bf16_round(float x, enum sg_round round)
{
    uint32_t u = sg_bits32(x), sign = u >> 16 & 0x8000u, mag = u & 0x7fffffffu;
    uint32_t away = sg_away(sign, round);
    uint32_t add = round == SG_RN ? 0x7fffu + (mag >> 16 & 1u) : away != 0u ? 0xffffu : 0u;
    uint32_t code = mag == 0x7f800000u ? 0x7f80u : (mag + add) >> 16;
    return mag > 0x7f800000u ? 0x7fffu : sign | code;
}

/* Rounds to nearest, in fewer steps, for arithmetic. */
SG_INLINE uint32_t sg_f16(float x)
{
    uint32_t u = sg_bits32(x), sign = u >> 16 & 0x8000u, mag = u & 0x7fffffffu;
    uint32_t normal = (mag + 0xfffu + (mag >> 13 & 1u) - (112u << 23)) >> 13;
    uint32_t small = sg_bits32(sg_float32(mag) + 0.5f) - 0x3f000000u;
    uint32_t code = mag < 0x38800000u ? small : mag >= 0x477ff000u ? 0x7c00u : normal;
    return mag > 0x7f800000u ? 0x7fffu : sign | code;
}

SG_INLINE uint32_t sg_bf16(float x)
{
    return sg_bf16_round(x, SG_RN);
}

/* tf32: f32 without its last 13 bits. */
SG_INLINE float sg_tf32_round(float x, enum sg_round round)
{
    uint32_t u = sg_bits32(x), mag = u & 0x7fffffffu;
    uint32_t add = round == SG_RN ? 0xfffu + (mag >> 13 & 1u) : round == SG_RNA ? 0x1000u : 0u;
    uint32_t code = mag == 0x7f800000u ? mag : (mag + add) & ~0x1fffu;
    return sg_float32(mag > 0x7f800000u ? 0x7fffffffu : (u & 0x80000000u) | code);
}

/* The 8-bit types, to nearest; overflow gives the largest number. */
SG_INLINE uint32_t sg_e4m3(float x)
{
    uint32_t u = sg_bits32(x), sign = u >> 24 & 0x80u, mag = u & 0x7fffffffu;
    uint32_t code = sg_narrow(mag, 3, 121, SG_RN, 0);
    return mag > 0x7f800000u ? 0x7fu : sign | (code > 0x7eu ? 0x7eu : code);
}

SG_INLINE uint32_t sg_e5m2(float x)
{
    uint32_t u = sg_bits32(x), sign = u >> 24 & 0x80u, mag = u & 0x7fffffffu;
    uint32_t code = sg_narrow(mag, 2, 113, SG_RN, 0);
    return mag > 0x7f800000u ? 0x7fu : sign | (code > 0x7bu ? 0x7bu : code);
}

/* .satfinite: infinity becomes the largest number. */
SG_INLINE uint32_t sg_f16_finite(uint32_t h)
{
    return (h & 0x7fffu) == 0x7c00u ? h - 1u : h;
}

SG_INLINE uint32_t sg_bf16_finite(uint32_t h)
{
    return (h & 0x7fffu) == 0x7f80u ? h - 1u : h;
}

SG_INLINE float sg_tf32_finite(float x)
{
    uint32_t u = sg_bits32(x);
    return sg_float32((u & 0x7fffffffu) == 0x7f800000u ? u - 0x2000u : u);
}

/* ---- rounding to odd ---- */

/* x was rounded to nearest; the exact value lies below or above it. */
SG_INLINE float sg_odd32(float x, uint32_t below, uint32_t above)
{
    uint32_t u = sg_bits32(x), negative = u >> 31;
    uint32_t odd = below != negative ? u - 1u : u + 1u;
    return sg_float32((below | above) != 0u && (u & 1u) == 0u ? odd : u);
}

SG_INLINE double sg_odd64(double x, double lost)
{
    uint64_t u = sg_bits64(x), below = lost<0.0, above = lost> 0.0;
    uint64_t odd = below != u >> 63 ? u - 1u : u + 1u;
    return sg_float64((below | above) != 0u && (u & 1u) == 0u ? odd : u);
}

SG_INLINE float sg_f32_odd(double x)
{
    float near = (float)x;
    double lost = x - (double)near;
    return sg_odd32(near, lost<0.0, lost> 0.0);
}

/* An integer as f32; |x| < 2^25 is exact. */
SG_INLINE float sg_f32_odd_u64(uint64_t x)
{
    uint64_t high = x >> 40, rest = x & ((UINT64_C(1) << 40) - 1);
    uint64_t folded = x >> 20 | (uint64_t)((x & 0xfffffu) != 0u); /* 44 bits, the last one sticky */
    double exact = high == 0u ? (double)(int64_t)rest : (double)(int64_t)folded * 0x1p20;
    return sg_f32_odd(exact);
}

SG_INLINE float sg_f32_odd_s64(int64_t x)
{
    uint64_t mag = x < 0 ? 0u - (uint64_t)x : (uint64_t)x;
    float r = sg_f32_odd_u64(mag);
    return x < 0 ? -r : r;
}

/* a * b is exact in f32 for f16, and in f64 for bf16 (whose products exceed the range of f32). */
SG_INLINE float sg_f16_fma_odd(float a, float b, float c)
{
    float p = a * b, s = p + c, t = s - p;
    float lost = (p - (s - t)) + (c - t);
    return sg_odd32(s, lost<0.0f, lost> 0.0f);
}

SG_INLINE float sg_bf16_fma_odd(float a, float b, float c)
{
    double p = (double)a * (double)b, q = (double)c, s = p + q, t = s - p;
    double lost = (p - (s - t)) + (q - t);
    return sg_f32_odd(sg_odd64(s, lost));
}

/* ---- arithmetic ---- */

SG_INLINE uint32_t sg_f16_add(uint32_t a, uint32_t b)
{
    return sg_f16(sg_f32_f16(a) + sg_f32_f16(b));
}

SG_INLINE uint32_t sg_f16_sub(uint32_t a, uint32_t b)
{
    return sg_f16(sg_f32_f16(a) - sg_f32_f16(b));
}

SG_INLINE uint32_t sg_f16_mul(uint32_t a, uint32_t b)
{
    return sg_f16(sg_f32_f16(a) * sg_f32_f16(b));
}

SG_INLINE uint32_t sg_f16_fma(uint32_t a, uint32_t b, uint32_t c)
{
    return sg_f16(sg_f16_fma_odd(sg_f32_f16(a), sg_f32_f16(b), sg_f32_f16(c)));
}

SG_INLINE uint32_t sg_bf16_add(uint32_t a, uint32_t b)
{
    return sg_bf16(sg_f32_bf16(a) + sg_f32_bf16(b));
}

SG_INLINE uint32_t sg_bf16_sub(uint32_t a, uint32_t b)
{
    return sg_bf16(sg_f32_bf16(a) - sg_f32_bf16(b));
}

SG_INLINE uint32_t sg_bf16_mul(uint32_t a, uint32_t b)
{
    return sg_bf16(sg_f32_odd((double)sg_f32_bf16(a) * (double)sg_f32_bf16(b)));
}

SG_INLINE uint32_t sg_bf16_fma(uint32_t a, uint32_t b, uint32_t c)
{
    return sg_bf16(sg_bf16_fma_odd(sg_f32_bf16(a), sg_f32_bf16(b), sg_f32_bf16(c)));
}

/* ---- bits: `infinity` tells the types apart (0x7c00 or 0x7f80) ---- */

SG_INLINE uint32_t sg_half_nan(uint32_t h, uint32_t infinity)
{
    return (h & 0x7fffu) > infinity ? 0x7fffu : h & 0xffffu;
}

SG_INLINE uint32_t sg_half_neg(uint32_t h, uint32_t infinity)
{
    return sg_half_nan(h ^ 0x8000u, infinity);
}

SG_INLINE uint32_t sg_half_abs(uint32_t h, uint32_t infinity)
{
    return sg_half_nan(h & 0x7fffu, infinity);
}

/* Subnormal numbers become zero. */
SG_INLINE uint32_t sg_half_ftz(uint32_t h, uint32_t infinity)
{
    return (h & infinity) == 0u ? h & 0x8000u : h & 0xffffu;
}

/* Clamps to [0, 1]; NaN and -0 become +0. */
SG_INLINE uint32_t sg_half_sat(uint32_t h, uint32_t infinity, uint32_t one)
{
    uint32_t mag = h & 0x7fffu;
    uint32_t low = (h & 0x8000u) != 0u || mag > infinity ? 0u : mag;
    return low > one ? one : low;
}

/* Negative numbers become +0; NaN stays. */
SG_INLINE uint32_t sg_half_relu(uint32_t h, uint32_t infinity)
{
    uint32_t mag = h & 0x7fffu;
    return mag > infinity ? 0x7fffu : (h & 0x8000u) != 0u ? 0u : mag;
}

/* A key in the order of the numbers: -0 before +0. */
SG_INLINE int32_t sg_half_key(uint32_t h)
{
    return (h & 0x8000u) != 0u ? -1 - (int32_t)(h & 0x7fffu) : (int32_t)(h & 0x7fffu);
}

SG_INLINE uint32_t sg_half_min(uint32_t a, uint32_t b, uint32_t infinity)
{
    uint32_t m = sg_half_key(a) < sg_half_key(b) ? a : b;
    m = (a & 0x7fffu) > infinity ? b : (b & 0x7fffu) > infinity ? a : m;
    return sg_half_nan(m, infinity);
}

SG_INLINE uint32_t sg_half_max(uint32_t a, uint32_t b, uint32_t infinity)
{
    uint32_t m = sg_half_key(a) > sg_half_key(b) ? a : b;
    m = (a & 0x7fffu) > infinity ? b : (b & 0x7fffu) > infinity ? a : m;
    return sg_half_nan(m, infinity);
}

SG_INLINE uint32_t sg_half_any_nan(uint32_t a, uint32_t b, uint32_t infinity)
{
    return (uint32_t)((a & 0x7fffu) > infinity) | (uint32_t)((b & 0x7fffu) > infinity);
}

/* .xorsign.abs: the operation on magnitudes, with the sign of a product. */
SG_INLINE uint32_t sg_half_xorsign(uint32_t m, uint32_t a, uint32_t b)
{
    return m == 0x7fffu ? m : (m & 0x7fffu) | ((a ^ b) & 0x8000u);
}

SG_INLINE uint32_t sg_half_min_nan(uint32_t a, uint32_t b, uint32_t infinity)
{
    return sg_half_any_nan(a, b, infinity) != 0u ? 0x7fffu : sg_half_min(a, b, infinity);
}

SG_INLINE uint32_t sg_half_max_nan(uint32_t a, uint32_t b, uint32_t infinity)
{
    return sg_half_any_nan(a, b, infinity) != 0u ? 0x7fffu : sg_half_max(a, b, infinity);
}

SG_INLINE uint32_t sg_half_min_xorsign_abs(uint32_t a, uint32_t b, uint32_t infinity)
{
    return sg_half_xorsign(sg_half_min(a & 0x7fffu, b & 0x7fffu, infinity), a, b);
}

SG_INLINE uint32_t sg_half_max_xorsign_abs(uint32_t a, uint32_t b, uint32_t infinity)
{
    return sg_half_xorsign(sg_half_max(a & 0x7fffu, b & 0x7fffu, infinity), a, b);
}

SG_INLINE uint32_t sg_half_min_nan_xorsign_abs(uint32_t a, uint32_t b, uint32_t infinity)
{
    return sg_half_xorsign(sg_half_min_nan(a & 0x7fffu, b & 0x7fffu, infinity), a, b);
}

SG_INLINE uint32_t sg_half_max_nan_xorsign_abs(uint32_t a, uint32_t b, uint32_t infinity)
{
    return sg_half_xorsign(sg_half_max_nan(a & 0x7fffu, b & 0x7fffu, infinity), a, b);
}

/* ---- approximations: those of f32, rounded ---- */

SG_INLINE uint32_t sg_f16_ex2(uint32_t a)
{
    return sg_f16(sg_ex2(sg_f32_f16(a)));
}

SG_INLINE uint32_t sg_f16_tanh(uint32_t a)
{
    return sg_f16(sg_tanh(sg_f32_f16(a)));
}

SG_INLINE uint32_t sg_bf16_ex2(uint32_t a)
{
    return sg_bf16(sg_fz(sg_ex2(sg_fz(sg_f32_bf16(a)))));
}

SG_INLINE uint32_t sg_bf16_tanh(uint32_t a)
{
    return sg_bf16(sg_tanh(sg_f32_bf16(a)));
}

#endif
