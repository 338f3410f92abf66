/* Scalar meanings used by op.def, written without branches so that the compiler makes vector code
 * of 32 of them. Semantics: PTX ISA 9.0, chapter 9.7; where it leaves a result open, what NVIDIA
 * hardware is known to give. */
#ifndef SG_EXEC_OP_MATH_H
#define SG_EXEC_OP_MATH_H

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#define SG_INLINE static inline __attribute__((always_inline, unused))

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

/* min/max: the number if one operand is NaN; -0 is less than +0 */
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
    return x - x != 0.0f ? sg_cn(__builtin_nanf("")) : (float)v;
}

/* Saturating float to integer: the range check comes first, the conversion is then defined. NaN is
 * 0, but the most negative (unsigned: 2^63) if a 64-bit type takes part (ISA, "cvt"). */
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

/* rcp/rsqrt.approx.ftz.f64 */
SG_INLINE double sg_fz64(double x)
{
    uint64_t u = sg_bits64(x);
    return sg_float64((u & UINT64_C(0x7ff0000000000000)) == 0 ? u & UINT64_C(1) << 63 : u);
}

/* ---- integers ---- */

SG_INLINE uint32_t sg_mulhi_u32(uint32_t a, uint32_t b)
{
    return (uint32_t)((uint64_t)a * b >> 32);
}

SG_INLINE int32_t sg_mulhi_s32(int32_t a, int32_t b)
{
    return (int32_t)((int64_t)a * b >> 32);
}

SG_INLINE uint64_t sg_mulhi_u64(uint64_t a, uint64_t b)
{
    return (uint64_t)((unsigned __int128)a * b >> 64);
}

SG_INLINE int64_t sg_mulhi_s64(int64_t a, int64_t b)
{
    return (int64_t)((__int128)a * b >> 64);
}

/* Division by zero is not defined; hardware answers all ones, and the dividend as remainder */
SG_INLINE int32_t sg_div_s32(int32_t a, int32_t b)
{
    return b == 0 ? -1 : b == -1 ? (int32_t)(0u - (uint32_t)a) : a / b;
}

SG_INLINE int32_t sg_rem_s32(int32_t a, int32_t b)
{
    return b == 0 ? a : b == -1 ? 0 : a % b;
}

SG_INLINE int64_t sg_div_s64(int64_t a, int64_t b)
{
    return b == 0 ? -1 : b == -1 ? (int64_t)(0u - (uint64_t)a) : a / b;
}

SG_INLINE int64_t sg_rem_s64(int64_t a, int64_t b)
{
    return b == 0 ? a : b == -1 ? 0 : a % b;
}

SG_INLINE uint32_t sg_clamp_u32(int64_t x)
{
    return x < 0 ? 0 : x > UINT32_MAX ? UINT32_MAX : (uint32_t)x;
}

SG_INLINE int32_t sg_clamp_s32(int64_t x)
{
    return x < INT32_MIN ? INT32_MIN : x > INT32_MAX ? INT32_MAX : (int32_t)x;
}

/* Position of the highest bit that differs from the sign; 0xffffffff: none */
SG_INLINE uint32_t sg_bfind32(uint32_t x)
{
    return x ? 31u - (uint32_t)__builtin_clz(x) : UINT32_MAX;
}

SG_INLINE uint32_t sg_bfind64(uint64_t x)
{
    return x ? 63u - (uint32_t)__builtin_clzll(x) : UINT32_MAX;
}

SG_INLINE uint32_t sg_brev32(uint32_t x)
{
    x = (x >> 1 & 0x55555555u) | (x & 0x55555555u) << 1;
    x = (x >> 2 & 0x33333333u) | (x & 0x33333333u) << 2;
    x = (x >> 4 & 0x0f0f0f0fu) | (x & 0x0f0f0f0fu) << 4;
    return __builtin_bswap32(x);
}

SG_INLINE uint64_t sg_brev64(uint64_t x)
{
    return (uint64_t)sg_brev32((uint32_t)x) << 32 | sg_brev32((uint32_t)(x >> 32));
}

SG_INLINE uint32_t sg_popc32(uint32_t x)
{
    x = x - (x >> 1 & 0x55555555u);
    x = (x & 0x33333333u) + (x >> 2 & 0x33333333u);
    return ((x + (x >> 4)) & 0x0f0f0f0fu) * 0x01010101u >> 24;
}

SG_INLINE uint32_t sg_popc64(uint64_t x)
{
    return sg_popc32((uint32_t)x) + sg_popc32((uint32_t)(x >> 32));
}

/* Bits [pos, pos+len) of a; what lies beyond the sign is zero, or copies of the field's highest
 * bit (ISA, "bfe") */
SG_INLINE uint64_t sg_bfe(uint64_t a, uint32_t pos, uint32_t len, unsigned bits, int is_signed)
{
    uint32_t p = pos & 255, l = len & 255;
    uint64_t whole = bits == 64 ? a : (uint64_t)(uint32_t)a;
    if (l == 0) {
        return 0;
    }
    uint32_t top = p + l - 1 < bits - 1 ? p + l - 1 : bits - 1;
    uint64_t sign = is_signed && (whole >> top & 1) ? ~UINT64_C(0) : 0;
    uint64_t field = p < 64 ? whole >> p : 0;
    uint32_t have = p < bits ? (l < bits - p ? l : bits - p) : 0;
    uint64_t mask = have >= 64 ? ~UINT64_C(0) : (UINT64_C(1) << have) - 1;
    return (field & mask) | (sign & ~mask);
}

SG_INLINE uint64_t sg_bfi(uint64_t a, uint64_t b, uint32_t pos, uint32_t len, unsigned bits)
{
    uint32_t p = pos & 255, l = len & 255;
    if (p >= bits || l == 0) {
        return b;
    }
    uint32_t have = l < bits - p ? l : bits - p;
    uint64_t mask = (have >= 64 ? ~UINT64_C(0) : (UINT64_C(1) << have) - 1) << p;
    return (b & ~mask) | (a << p & mask);
}

SG_INLINE uint32_t sg_bmsk(uint32_t a, uint32_t b, int clamp)
{
    uint32_t pos = clamp ? a : a & 31, width = clamp ? (b > 32 ? 32 : b) : b & 31;
    if (pos >= 32) {
        return 0;
    }
    return (uint32_t)(((UINT64_C(1) << width) - 1) << pos);
}

SG_INLINE uint32_t sg_prmt(uint32_t a, uint32_t b, uint32_t selector)
{
    uint64_t bytes = (uint64_t)b << 32 | a;
    uint32_t r = 0;
    for (int i = 0; i < 4; i++) {
        uint32_t s = selector >> (4 * i) & 15;
        uint32_t byte = (uint32_t)(bytes >> (8 * (s & 7))) & 255;
        byte = s & 8 ? (byte & 128 ? 255 : 0) : byte;
        r |= byte << (8 * i);
    }
    return r;
}

/* The modes of prmt as selectors of the default mode (ISA, "prmt"): four rows of four nibbles */
SG_INLINE uint32_t sg_prmt_mode(uint32_t a, uint32_t b, uint32_t c, uint64_t rows)
{
    return sg_prmt(a, b, (uint32_t)(rows >> (16 * (c & 3))) & 0xffff);
}

SG_INLINE uint32_t sg_lop3(uint32_t a, uint32_t b, uint32_t c, int64_t lut)
{
    uint32_t r = 0;
    r |= (lut & 1 ? ~0u : 0u) & ~a & ~b & ~c;
    r |= (lut & 2 ? ~0u : 0u) & ~a & ~b & c;
    r |= (lut & 4 ? ~0u : 0u) & ~a & b & ~c;
    r |= (lut & 8 ? ~0u : 0u) & ~a & b & c;
    r |= (lut & 16 ? ~0u : 0u) & a & ~b & ~c;
    r |= (lut & 32 ? ~0u : 0u) & a & ~b & c;
    r |= (lut & 64 ? ~0u : 0u) & a & b & ~c;
    r |= (lut & 128 ? ~0u : 0u) & a & b & c;
    return r;
}

/* shf: c is the amount */
SG_INLINE uint32_t sg_shf(uint32_t lo, uint32_t hi, uint32_t c, int left, int clamp)
{
    uint64_t both = (uint64_t)hi << 32 | lo;
    uint32_t n = clamp ? (c > 32 ? 32 : c) : c & 31;
    return left ? (uint32_t)(both << n >> 32) : (uint32_t)(both >> n);
}

SG_INLINE int32_t sg_byte(uint32_t x, int i, int is_signed)
{
    uint32_t byte = x >> (8 * i) & 255;
    return is_signed ? (int32_t)(int8_t)(uint8_t)byte : (int32_t)byte;
}

SG_INLINE uint32_t sg_dp4a(uint32_t a, uint32_t b, uint32_t c, int a_signed, int b_signed)
{
    for (int i = 0; i < 4; i++) {
        c += (uint32_t)(sg_byte(a, i, a_signed) * sg_byte(b, i, b_signed));
    }
    return c;
}

SG_INLINE int32_t sg_s24(int32_t x)
{
    return (int32_t)((uint32_t)x << 8) >> 8;
}

#endif
