/* SPDX-License-Identifier: Apache-2.0 */
/* Operands of all types for operations of the table: edges, and random numbers. */
#ifndef SG_TESTS_OP_OPERANDS_H
#define SG_TESTS_OP_OPERANDS_H

#include "softgpu/tests/engine_fixture.h"

static const uint64_t edges[] = {0,
                                 1,
                                 2,
                                 31,
                                 32,
                                 33,
                                 63,
                                 64,
                                 65,
                                 255,
                                 256,
                                 0x7f,
                                 0x80,
                                 0x7fff,
                                 0x8000,
                                 0xffff,
                                 0x7fffffff,
                                 0x80000000,
                                 0xffffffff,
                                 0x3f800000,
                                 0xbf800000,
                                 0x7f800000,
                                 0xff800000,
                                 0x7fc00000,
                                 0x7f7fffff,
                                 0x00000001,
                                 0x007fffff,
                                 0x00800000,
                                 0x80000001,
                                 0x4f000000,
                                 0x4effffff,
                                 0xcf000000,
                                 0x4f800000,
                                 0x5f000000,
                                 0xdf000000,
                                 0x3f000000,
                                 0x40200000,
                                 0x40600000,
                                 0xc0200000,
                                 0x7fffffffffffffff,
                                 0x8000000000000000,
                                 0xffffffffffffffff,
                                 0x3ff0000000000000,
                                 0xbff0000000000000,
                                 0x7ff0000000000000,
                                 0xfff0000000000000,
                                 0x7ff8000000000000,
                                 0x0000000000000001,
                                 0x0010000000000000,
                                 0x41e0000000000000,
                                 0xc1e0000000200000,
                                 0x41efffffffe00000,
                                 0x43e0000000000000,
                                 0x43f0000000000000,
                                 0x4004000000000000,
                                 0x3fe0000000000000,
                                 0x36a0000000000000,
                                 0x47efffffefffffff,
                                 0x41dfffffffe00000,
                                 0xc1e0000000000000};

static inline uint64_t operand(uint64_t *seed)
{
    uint64_t r = engine_random(seed), v = engine_random(seed);
    switch (r % 5) {
    case 0:
    case 1:
        return edges[(r >> 8) % (sizeof edges / sizeof edges[0])];
    case 2:
        return v >> (r >> 8) % 64; /* of every length */
    case 3: {                      /* a float and a double near 1 */
        float f = (float)(int32_t)v * 0x1p-24f;
        double d = (double)(int64_t)v * 0x1p-56;
        return r & 256 ? engine_f32(f) : engine_f64(d);
    }
    default:
        return v;
    }
}

#endif
