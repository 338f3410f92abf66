/* Numbers of fewer bits than a float, as matrix instructions and atomics use them. Every value of
 * these formats is a float exactly; on the way back, round to nearest even. */
#ifndef SG_EXEC_NARROW_H
#define SG_EXEC_NARROW_H

#include <stdint.h>
#include <string.h>

static inline float sg_narrow_float(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline uint32_t sg_narrow_bits(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* The exponent is moved by multiplying: that makes subnormals right as well. */
static inline float sg_from_f16(uint32_t half)
{
    uint32_t bits = (half & 0x7fffu) << 13, sign = (half & 0x8000u) << 16;
    uint32_t special = (half & 0x7c00u) == 0x7c00u ? 0x7f800000u : 0;
    float value = sg_narrow_float(bits) * 0x1p112f;
    return sg_narrow_float(sign | special | sg_narrow_bits(value));
}

static inline uint32_t sg_to_f16(float value)
{
    uint32_t bits = sg_narrow_bits(value), sign = bits >> 16 & 0x8000u, u = bits & 0x7fffffffu;
    if (u > 0x7f800000u) {
        return 0x7fffu;
    }
    if (u >= 0x47800000u) { /* 2^16 and above */
        return sign | 0x7c00u;
    }
    if (u < 0x38800000u) { /* below 2^-14: the unit in the last place of 0.5 is 2^-24 */
        return sign | (sg_narrow_bits(sg_narrow_float(u) + 0.5f) - 0x3f000000u);
    }
    u += 0xfffu + (u >> 13 & 1);
    return sign | (u - 0x38000000u) >> 13;
}

static inline float sg_from_bf16(uint32_t brain)
{
    return sg_narrow_float(brain << 16);
}

static inline uint32_t sg_to_bf16(float value)
{
    uint32_t u = sg_narrow_bits(value);
    if ((u & 0x7fffffffu) > 0x7f800000u) {
        return 0x7fffu;
    }
    return (u + 0x7fffu + (u >> 16 & 1)) >> 16;
}

/* The low 13 bits of a .tf32 register are not looked at. */
static inline float sg_from_tf32(uint32_t bits)
{
    return sg_narrow_float(bits & 0xffffe000u);
}

static inline float sg_from_e5m2(uint32_t byte)
{
    return sg_from_f16((byte & 0xff) << 8);
}

/* No infinities; the largest pattern is the only NaN. */
static inline float sg_from_e4m3(uint32_t byte)
{
    uint32_t sign = (byte & 0x80u) << 24;
    uint32_t nan = (byte & 0x7fu) == 0x7fu ? 0x7fc00000u : 0;
    float value = sg_narrow_float((byte & 0x7fu) << 20) * 0x1p120f;
    return sg_narrow_float(sign | nan | sg_narrow_bits(value));
}

#endif
