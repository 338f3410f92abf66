/* SPDX-License-Identifier: Apache-2.0 */
/* Scalar operations on integers and on pairs of 16-bit values; see op_math.h. */
#ifndef SOFTGPU_EXEC_INT_MATH_H
#define SOFTGPU_EXEC_INT_MATH_H

#include <stdint.h>

#define SG_INLINE static inline __attribute__((always_inline, unused))

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

/* PTX leaves division by zero undefined; hardware gives all ones, and the dividend as remainder. */
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

/* Bits [pos, pos+len) of a; bits beyond the sign are zero, or copies of the field's highest bit
 * (ISA, "bfe"). */
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

/* the 16-bit halves of a, the two lower bytes of b */
SG_INLINE uint32_t sg_dp2a(uint32_t a, uint32_t b, uint32_t c, int a_signed, int b_signed)
{
    for (int i = 0; i < 2; i++) {
        uint32_t half = a >> (16 * i) & 0xffffu;
        int32_t x = a_signed ? (int32_t)(int16_t)(uint16_t)half : (int32_t)half;
        c += (uint32_t)(x * sg_byte(b, i, b_signed));
    }
    return c;
}

SG_INLINE int32_t sg_clamp(int32_t x, int32_t low, int32_t high)
{
    return x < low ? low : x > high ? high : x;
}

/* The lowest b bits of a, extended */
SG_INLINE uint32_t sg_szext(uint32_t a, uint32_t b, int clamp, int is_signed)
{
    uint32_t n = b & 31, mask = clamp && b >= 32 ? 0 : ~0u << n;
    uint32_t sign = is_signed && mask && n && (a >> ((n - 1) & 31) & 1) ? mask : 0;
    return (a & ~mask) | sign;
}

/* The |offset|-th set bit of mask, from bit `base` up or down; all ones: there is none */
SG_INLINE uint32_t sg_fns(uint32_t mask, uint32_t base, int32_t offset)
{
    uint32_t left = offset < 0 ? 0u - (uint32_t)offset : (uint32_t)offset;
    if (offset == 0) {
        return base < 32 && (mask >> base & 1) ? base : UINT32_MAX;
    }
    for (uint32_t pos = base; pos<32; pos = offset> 0 ? pos + 1 : pos - 1) {
        left -= mask >> pos & 1;
        if (left == 0) {
            return pos;
        }
    }
    return UINT32_MAX;
}

SG_INLINE uint32_t sg_min_u16(uint32_t a, uint32_t b)
{
    uint32_t x = a & 0xffffu, y = b & 0xffffu;
    return x < y ? x : y;
}

SG_INLINE uint32_t sg_max_u16(uint32_t a, uint32_t b)
{
    uint32_t x = a & 0xffffu, y = b & 0xffffu;
    return x > y ? x : y;
}

SG_INLINE uint32_t sg_min_s16(uint32_t a, uint32_t b)
{
    return sg_min_u16(a ^ 0x8000u, b ^ 0x8000u) ^ 0x8000u;
}

SG_INLINE uint32_t sg_max_s16(uint32_t a, uint32_t b)
{
    return sg_max_u16(a ^ 0x8000u, b ^ 0x8000u) ^ 0x8000u;
}

SG_INLINE uint32_t sg_relu_s16(uint32_t a)
{
    return a & 0x8000u ? 0 : a;
}

SG_INLINE int32_t sg_s24(int32_t x)
{
    return (int32_t)((uint32_t)x << 8) >> 8;
}

/* ---- pairs of 16-bit values: lower halves with each other, and upper halves ---- */

#define SG_PAIR(lo, hi)     ((uint32_t)(lo) | (uint32_t)(hi) << 16)
#define SG_PAIR1(f, a, ...) SG_PAIR(f((a)&0xffffu, ##__VA_ARGS__), f((a) >> 16, ##__VA_ARGS__))
#define SG_PAIR2(f, a, b, ...)                                                                     \
    SG_PAIR(f((a)&0xffffu, (b)&0xffffu, ##__VA_ARGS__), f((a) >> 16, (b) >> 16, ##__VA_ARGS__))
#define SG_PAIR3(f, a, b, c)                                                                       \
    SG_PAIR(f((a)&0xffffu, (b)&0xffffu, (c)&0xffffu), f((a) >> 16, (b) >> 16, (c) >> 16))

#endif
