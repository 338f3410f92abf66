/* SPDX-License-Identifier: Apache-2.0 */
/* Decodes texels from memory to the values that kernels read. */
#include <math.h>
#include <pthread.h>

#include "softgpu/exec/sample.h"

static uint32_t bits_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static float srgb[256];

static void srgb_fill(void)
{
    for (int i = 0; i < 256; i++) {
        double c = i / 255.0;
        srgb[i] = (float)(c <= 0.04045 ? c / 12.92 : pow((c + 0.055) / 1.055, 2.4));
    }
}

static float snorm(int value, float most)
{
    float x = (float)value / most;
    return x < -1 ? -1 : x;
}

/* Channel `c` of all texels as bits. All texels first, so that the arithmetic is vectorised. */
#define TEXEL_DECODE_COUNT(name, T, COUNT, ...)                                                    \
    static void name##_##COUNT(const uint8_t *base, const int64_t *offset, sg_colours out)         \
    {                                                                                              \
        T texels[SG_LANES][COUNT];                                                                 \
        for (int i = 0; i < SG_LANES; i++) {                                                       \
            memcpy(texels[i], base + offset[i], sizeof texels[i]);                                 \
        }                                                                                          \
        for (int c = 0; c < (COUNT); c++) {                                                        \
            SG_LANE_LOOP                                                                           \
            {                                                                                      \
                const T v = texels[i][c];                                                          \
                out[c][i] = (__VA_ARGS__);                                                         \
            }                                                                                      \
        }                                                                                          \
    }
#define TEXEL_DECODE(name, T, ...)                                                                 \
    TEXEL_DECODE_COUNT(name, T, 1, __VA_ARGS__)                                                    \
    TEXEL_DECODE_COUNT(name, T, 2, __VA_ARGS__)                                                    \
    TEXEL_DECODE_COUNT(name, T, 4, __VA_ARGS__)
#define TEXEL_ENTRY(name)                                                                          \
    {                                                                                              \
        name##_1, name##_2, name##_4                                                               \
    }

TEXEL_DECODE(u8, uint8_t, v)
TEXEL_DECODE(s8, int8_t, (uint32_t)(int32_t)v)
TEXEL_DECODE(u16, uint16_t, v)
TEXEL_DECODE(s16, int16_t, (uint32_t)(int32_t)v)
TEXEL_DECODE(raw, uint32_t, v)
TEXEL_DECODE(half, uint16_t, bits_of(sg_half_to_float(v)))
TEXEL_DECODE(unorm8, uint8_t, bits_of((float)v / 255.0f))
TEXEL_DECODE(snorm8, int8_t, bits_of(snorm(v, 127.0f)))
TEXEL_DECODE(unorm16, uint16_t, bits_of((float)v / 65535.0f))
TEXEL_DECODE(snorm16, int16_t, bits_of(snorm(v, 32767.0f)))
TEXEL_DECODE(srgb8, uint8_t, bits_of(c < 3 ? srgb[v] : (float)v / 255.0f))

void SG_ISA_NAME(sg_texels_decode)(enum sg_decoding decoding, uint32_t channels,
                                   const uint8_t *base, const int64_t *offset, sg_colours out)
{
    typedef void decoder(const uint8_t *, const int64_t *, sg_colours);
    static decoder *const decoders[SG_DECODINGS][3] = {
        [SG_DECODE_U8] = TEXEL_ENTRY(u8),           [SG_DECODE_S8] = TEXEL_ENTRY(s8),
        [SG_DECODE_U16] = TEXEL_ENTRY(u16),         [SG_DECODE_S16] = TEXEL_ENTRY(s16),
        [SG_DECODE_32] = TEXEL_ENTRY(raw),          [SG_DECODE_HALF] = TEXEL_ENTRY(half),
        [SG_DECODE_UNORM8] = TEXEL_ENTRY(unorm8),   [SG_DECODE_SNORM8] = TEXEL_ENTRY(snorm8),
        [SG_DECODE_UNORM16] = TEXEL_ENTRY(unorm16), [SG_DECODE_SNORM16] = TEXEL_ENTRY(snorm16),
        [SG_DECODE_SRGB8] = TEXEL_ENTRY(srgb8),
    };
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (decoding == SG_DECODE_SRGB8) {
        pthread_once(&once, srgb_fill);
    }
    decoders[decoding][channels / 2](base, offset, out);
}
