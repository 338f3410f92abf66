/* SPDX-License-Identifier: Apache-2.0 */
/* Scalar operations of the video instructions (PTX ISA 9.0, 9.7.18): scalar ones on a part of each
 * operand, SIMD ones on 2 or 4 parts at a time. `how` encodes the modifiers of the opcode. */
#ifndef SOFTGPU_EXEC_VIDEO_H
#define SOFTGPU_EXEC_VIDEO_H

#include "softgpu/exec/int_math.h"

enum sg_video_op {
    SG_VADD,
    SG_VSUB,
    SG_VABSDIFF,
    SG_VMIN,
    SG_VMAX,
    SG_VAVRG,
    SG_VSET,
    SG_VSHL,
    SG_VSHR
};
enum sg_video_second { SG_VIDEO_ALONE, SG_VIDEO_ADD, SG_VIDEO_MIN, SG_VIDEO_MAX, SG_VIDEO_MERGE };
enum { SG_LESS = 1, SG_EQUAL = 2, SG_GREATER = 4 }; /* relations that vset accepts */

/* `how`, from bit 0: signs of a, b, d; .sat; .wrap; .po; vset's relations; the second operation;
 * then for scalars a SG_VIDEO_PART each of a, b, d; for SIMD the parts of a and b (a nibble a
 * lane) and the mask (4 bits). vmad: see there. */
enum {
    SG_VIDEO_A_SIGNED = 1,
    SG_VIDEO_B_SIGNED = 2,
    SG_VIDEO_D_SIGNED = 4,
    SG_VIDEO_SAT = 8,
    SG_VIDEO_WRAP = 16,
    SG_VIDEO_PO = 32, /* vmad: plus one; its scale is in the place of vset's relations */
    SG_VIDEO_RELATIONS = 6,
    SG_VIDEO_SECOND = 9,
    SG_VIDEO_A = 13,
    SG_VIDEO_B = 29,
    SG_VIDEO_D = 45
};
#define SG_VIDEO_BITS(how, at, count) ((uint32_t)((how) >> (at)) & ((1u << (count)) - 1u))

/* A part: its first byte (bits 0 and 1), its size in bytes (from bit 2; 0: 4). */
#define SG_VIDEO_PART(first, bytes) ((uint32_t)(first) | (uint32_t)((bytes)&3) << 2)

SG_INLINE int64_t sg_video_part(uint32_t x, uint32_t part, int is_signed)
{
    uint32_t bytes = part >> 2, bits = bytes == 0 ? 32 : 8 * bytes;
    uint32_t value = x >> (8 * (part & 3)) & (uint32_t)(UINT64_C(0xffffffff) >> (32 - bits));
    return is_signed ? (int64_t)(int32_t)(value << (32 - bits)) >> (32 - bits) : (int64_t)value;
}

SG_INLINE int64_t sg_video_limit(int64_t x, uint32_t bits, int is_signed)
{
    int64_t high = (INT64_C(1) << (is_signed ? bits - 1 : bits)) - 1,
            low = is_signed ? -high - 1 : 0;
    return x < low ? low : x > high ? high : x;
}

SG_INLINE int64_t sg_video_do(enum sg_video_op op, int64_t a, int64_t b, int64_t how)
{
    uint32_t relation = a < b ? SG_LESS : a > b ? SG_GREATER : SG_EQUAL;
    uint32_t shift = how & SG_VIDEO_WRAP ? (uint32_t)b & 31 : (uint64_t)b > 32 ? 32 : (uint32_t)b;
    switch (op) {
    case SG_VADD:
        return a + b;
    case SG_VSUB:
        return a - b;
    case SG_VABSDIFF:
        return a > b ? a - b : b - a;
    case SG_VMIN:
        return a < b ? a : b;
    case SG_VMAX:
        return a > b ? a : b;
    case SG_VAVRG: /* rounds away from zero */
        return (a + b + (a + b >= 0)) >> 1;
    case SG_VSET:
        return (SG_VIDEO_BITS(how, SG_VIDEO_RELATIONS, 3) & relation) != 0;
    case SG_VSHL: /* up to 65 bits: the highest bits of the magnitude are lost */
        return shift == 32 && a > INT32_MAX ? INT64_C(0x7fffffff00000000)
                                            : (int64_t)((uint64_t)a << shift);
    default:
        return a >> shift;
    }
}

SG_INLINE uint32_t sg_video(enum sg_video_op op, uint32_t a, uint32_t b, uint32_t c, int64_t how)
{
    int is_signed = (how & SG_VIDEO_D_SIGNED) != 0;
    int64_t x = sg_video_part(a, SG_VIDEO_BITS(how, SG_VIDEO_A, 5), how & SG_VIDEO_A_SIGNED);
    int64_t y = sg_video_part(b, SG_VIDEO_BITS(how, SG_VIDEO_B, 5), how & SG_VIDEO_B_SIGNED);
    uint32_t part = SG_VIDEO_BITS(how, SG_VIDEO_D, 5), bytes = part >> 2 ? part >> 2 : 4;
    int64_t t = sg_video_do(op, x, y, how);
    if (how & SG_VIDEO_SAT) {
        t = sg_video_limit(t, 8 * bytes, is_signed);
    }
    int64_t third = is_signed ? (int64_t)(int32_t)c : (int64_t)c;
    uint32_t mask = (uint32_t)(UINT64_C(0xffffffff) >> (32 - 8 * bytes)) << (8 * (part & 3));
    switch (SG_VIDEO_BITS(how, SG_VIDEO_SECOND, 3)) {
    case SG_VIDEO_ADD:
        return (uint32_t)t + c;
    case SG_VIDEO_MIN:
        return (uint32_t)(t < third ? t : third);
    case SG_VIDEO_MAX:
        return (uint32_t)(t > third ? t : third);
    case SG_VIDEO_MERGE:
        return ((uint32_t)t << (8 * (part & 3)) & mask) | (c & ~mask);
    default:
        return (uint32_t)t;
    }
}

SG_INLINE uint32_t sg_video_simd(enum sg_video_op op, int lanes, uint32_t a, uint32_t b, uint32_t c,
                                 int64_t how)
{
    uint32_t bits = 32 / (uint32_t)lanes, merged = 0, sum = c;
    uint64_t both = (uint64_t)b << 32 | a;
    uint32_t ones = (1u << bits) - 1;
    for (int i = 0; i < lanes; i++) {
        uint32_t x = (uint32_t)(both >> bits * SG_VIDEO_BITS(how, SG_VIDEO_A + 4 * i, 4)) & ones;
        uint32_t y = (uint32_t)(both >> bits * SG_VIDEO_BITS(how, SG_VIDEO_B + 4 * i, 4)) & ones;
        int32_t sx = (int32_t)(x << (32 - bits)) >> (32 - bits);
        int32_t sy = (int32_t)(y << (32 - bits)) >> (32 - bits);
        int64_t t = sg_video_do(op, how & SG_VIDEO_A_SIGNED ? sx : (int64_t)x,
                                how & SG_VIDEO_B_SIGNED ? sy : (int64_t)y, how);
        if (how & SG_VIDEO_SAT) {
            t = sg_video_limit(t, bits, (how & SG_VIDEO_D_SIGNED) != 0);
        }
        int taken = (how >> (SG_VIDEO_D + i) & 1) != 0;
        uint32_t lane = taken ? (uint32_t)t & ones : c >> (bits * (uint32_t)i) & ones;
        merged |= lane << (bits * (uint32_t)i);
        sum += taken ? (uint32_t)t : 0;
    }
    return SG_VIDEO_BITS(how, SG_VIDEO_SECOND, 3) == SG_VIDEO_ADD ? sum : merged;
}

/* vmad: a * b + c; `how` bits 6 and 7: negate the product, negate c; from bit 9: the scale */
SG_INLINE uint32_t sg_vmad(uint32_t a, uint32_t b, uint32_t c, int64_t how)
{
    int64_t x = sg_video_part(a, SG_VIDEO_BITS(how, SG_VIDEO_A, 5), how & SG_VIDEO_A_SIGNED);
    int64_t y = sg_video_part(b, SG_VIDEO_BITS(how, SG_VIDEO_B, 5), how & SG_VIDEO_B_SIGNED);
    uint32_t negate = SG_VIDEO_BITS(how, SG_VIDEO_RELATIONS, 2);
    int is_signed = (how & (SG_VIDEO_A_SIGNED | SG_VIDEO_B_SIGNED)) || negate;
    __int128 product = (__int128)x * y, third = is_signed ? (__int128)(int32_t)c : (__int128)c;
    product = negate & 1 ? -product : product;
    third = negate & 2 ? -third : third;
    __int128 sum = product + third + ((how & SG_VIDEO_PO) != 0);
    int64_t result = (int64_t)(sum >> SG_VIDEO_BITS(how, SG_VIDEO_SECOND, 4));
    return (uint32_t)(how & SG_VIDEO_SAT ? sg_video_limit(result, 32, is_signed) : result);
}

#endif
