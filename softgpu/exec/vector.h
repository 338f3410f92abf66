/* SPDX-License-Identifier: Apache-2.0 */
/* Vectors of 8 and 16 bytes, one access per lane. On hardware they are not torn, and programs rely
 * on it: a look-back scan keeps a value and its flag in one vector, which another block, on another
 * thread here, reads. Aligned 16-byte moves are not torn either on processors with AVX, nor 8-byte
 * ones anywhere. Included by memory.c. */
#ifndef SOFTGPU_EXEC_VECTOR_H
#define SOFTGPU_EXEC_VECTOR_H

#include "softgpu/exec/access.h"

static inline uint8_t *vector_at(const struct access *access, enum access_shape shape, unsigned i)
{
    return shape == ACCESS_HALVES ? access->base[i / 16] + access->stride[i / 16] * (i % 16)
                                  : access->host[i];
}

static inline __m128i vector_get(const uint8_t *at, uint32_t bytes)
{
    return bytes == 16 ? _mm_load_si128((const __m128i *)(const void *)at)
                       : _mm_loadl_epi64((const __m128i *)(const void *)at);
}

static inline void vector_put(uint8_t *at, uint32_t bytes, __m128i value)
{
    if (bytes == 16) {
        _mm_store_si128((__m128i *)(void *)at, value);
    } else {
        _mm_storel_epi64((__m128i *)(void *)at, value);
    }
}

static inline void vector_swap4(__m128i v[4])
{
    const __m128i low01 = _mm_unpacklo_epi32(v[0], v[1]), low23 = _mm_unpacklo_epi32(v[2], v[3]);
    const __m128i high01 = _mm_unpackhi_epi32(v[0], v[1]), high23 = _mm_unpackhi_epi32(v[2], v[3]);
    v[0] = _mm_unpacklo_epi64(low01, low23);
    v[1] = _mm_unpackhi_epi64(low01, low23);
    v[2] = _mm_unpacklo_epi64(high01, high23);
    v[3] = _mm_unpackhi_epi64(high01, high23);
}

/* Four lanes from `i` on with 2 or 4 elements of 4 bytes, or two lanes with elements of 8 bytes. */
static inline void vector_load_group(uint8_t *const rows[4], uint32_t count, uint32_t element,
                                     const struct access *access, enum access_shape shape,
                                     unsigned i)
{
    __m128i v[4];
    for (unsigned k = 0; k < 4; k++) {
        v[k] = vector_get(vector_at(access, shape, i + k), count * element);
    }
    if (element == 4) {
        vector_swap4(v);
        for (unsigned k = 0; k < count; k++) {
            _mm_store_si128((__m128i *)(void *)(rows[k] + 4 * (size_t)i), v[k]);
        }
        return;
    }
    for (unsigned k = 0; k < 4; k += 2) {
        const __m128i low = _mm_unpacklo_epi64(v[k], v[k + 1]);
        const __m128i high = _mm_unpackhi_epi64(v[k], v[k + 1]);
        _mm_store_si128((__m128i *)(void *)(rows[0] + 8 * (size_t)(i + k)), low);
        _mm_store_si128((__m128i *)(void *)(rows[1] + 8 * (size_t)(i + k)), high);
    }
}

static inline void vector_store_group(uint8_t *const rows[4], uint32_t count, uint32_t element,
                                      const struct access *access, enum access_shape shape,
                                      unsigned i)
{
    __m128i v[4] = {0};
    for (unsigned k = 0; k < (element == 4 ? count : 4); k++) {
        const uint8_t *from =
            element == 4 ? rows[k] + 4 * (size_t)i : rows[k & 1] + 8 * (size_t)(i + (k & 2));
        v[k] = _mm_load_si128((const __m128i *)(const void *)from);
    }
    if (element == 4) {
        vector_swap4(v);
    } else {
        const __m128i first = _mm_unpacklo_epi64(v[0], v[1]),
                      third = _mm_unpacklo_epi64(v[2], v[3]);
        v[1] = _mm_unpackhi_epi64(v[0], v[1]);
        v[3] = _mm_unpackhi_epi64(v[2], v[3]);
        v[0] = first;
        v[2] = third;
    }
    for (unsigned k = 0; k < 4; k++) {
        vector_put(vector_at(access, shape, i + k), count * element, v[k]);
    }
}

static inline void vector_lane(uint8_t *const rows[4], uint32_t count, uint32_t element,
                               uint8_t *at, unsigned i, bool store)
{
    _Alignas(16) uint8_t lane[4 * 8]; /* 16 bytes of it are used at most */
    const uint32_t bytes = count * element;
    if (!store) {
        _mm_store_si128((__m128i *)(void *)lane, vector_get(at, bytes));
    }
    for (uint32_t k = 0; k < count; k++) {
        uint8_t *row = rows[k] + (size_t)element * i;
        memcpy(store ? lane + k * element : row, store ? row : lane + k * element, element);
    }
    if (store) {
        vector_put(at, bytes, _mm_load_si128((const __m128i *)(const void *)lane));
    }
}

/* All lanes of the mask; `rows` are offsets from the warp, 0: the element is unused. */
static inline __attribute__((always_inline)) void
vector_access(struct sg_warp *warp, const uint32_t offsets[4], uint32_t count, uint32_t element,
              const struct access *access, enum access_shape shape, uint32_t mask, bool store)
{
    _Alignas(64) uint8_t nobody[SG_LANES * 8];
    uint8_t *rows[4] = {0};
    for (uint32_t k = 0; k < count; k++) {
        rows[k] = offsets[k] ? (uint8_t *)warp + offsets[k] : nobody;
    }
    if (mask == UINT32_MAX && store) {
        for (unsigned i = 0; i < SG_LANES; i += 4) {
            vector_store_group(rows, count, element, access, shape, i);
        }
    } else if (mask == UINT32_MAX) {
        for (unsigned i = 0; i < SG_LANES; i += 4) {
            vector_load_group(rows, count, element, access, shape, i);
        }
    } else {
        for (uint32_t left = mask; left; left &= left - 1) {
            const unsigned i = first_lane(left);
            vector_lane(rows, count, element, vector_at(access, shape, i), i, store);
        }
    }
}

#endif
