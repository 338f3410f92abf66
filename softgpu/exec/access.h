/* SPDX-License-Identifier: Apache-2.0 */
/* Host addresses of the lanes of a load or store. The common shapes (each lane of a half-warp next
 * to its neighbour, or all at one address) are found first and cost one check each; any other
 * shape is a pointer per lane. Included by memory.c and atomic.c, which are compiled per
 * instruction set. */
#ifndef SOFTGPU_EXEC_ACCESS_H
#define SOFTGPU_EXEC_ACCESS_H

#include "softgpu/engine/permission_map.h"
#include "softgpu/exec/alu.h"
#include "softgpu/exec/fault.h"
#include "softgpu/exec/generic.h"
#include "softgpu/exec/warp.h"

enum access_shape {
    ACCESS_FAULT,   /* it has been reported */
    ACCESS_HALVES,  /* all 32 lanes; half h at base[h], lanes `stride[h]` (or 0) bytes apart */
    ACCESS_SCATTER, /* host[lane] for the lanes of the mask */
    ACCESS_SPLIT,   /* a vector in local memory: one element at a time */
};

struct access {
    uint8_t *base[2];
    uint32_t stride[2];
    uint8_t *host[SG_LANES];
};

/* The extent of an access: `bytes` from address + offset, which must be aligned to `align`. */
struct extent {
    int64_t offset;
    uint32_t bytes, align;
    unsigned need; /* SG_MAP_* */
};

static inline unsigned first_lane(uint32_t mask)
{
    return (unsigned)__builtin_ctz(mask);
}

static enum access_shape access_fault(struct sg_warp *warp, const struct sg_insn *in, unsigned lane,
                                      uint64_t address, const struct extent *x)
{
    const struct sg_access_fault what = {x->need & SG_MAP_WRITE ? "write" : "read", x->bytes,
                                         x->align};
    sg_warp_fault_access(warp, in, lane, address, &what);
    return ACCESS_FAULT;
}

/* The stride of the 16 addresses: 0 for one address, `bytes` for neighbours, otherwise UINT32_MAX.
 * Memory-bound kernels spend most time here, hence it is written out for AVX2. */
#if defined(__AVX2__)
static inline uint32_t half_stride64(const uint64_t *a, uint32_t bytes)
{
    const __m256i *v = (const __m256i *)(const void *)a;
    const __m256i first = _mm256_set1_epi64x((int64_t)a[0]);
    const __m256i step = _mm256_set1_epi64x((int64_t)bytes * 4);
    __m256i want = _mm256_add_epi64(
        first, _mm256_setr_epi64x(0, bytes, (int64_t)bytes * 2, (int64_t)bytes * 3));
    __m256i next = _mm256_setzero_si256(), same = _mm256_setzero_si256();
    for (int i = 0; i < 4; i++) {
        const __m256i x = _mm256_load_si256(v + i);
        next = _mm256_or_si256(next, _mm256_xor_si256(x, want));
        same = _mm256_or_si256(same, _mm256_xor_si256(x, first));
        want = _mm256_add_epi64(want, step);
    }
    return _mm256_testz_si256(next, next) ? bytes : _mm256_testz_si256(same, same) ? 0 : UINT32_MAX;
}

static inline uint32_t half_stride32(const uint32_t *a, uint32_t bytes)
{
    const __m256i *v = (const __m256i *)(const void *)a;
    const __m256i first = _mm256_set1_epi32((int)a[0]);
    const __m256i lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    const __m256i want =
        _mm256_add_epi32(first, _mm256_mullo_epi32(lanes, _mm256_set1_epi32((int)bytes)));
    const __m256i low = _mm256_load_si256(v), high = _mm256_load_si256(v + 1);
    const __m256i after = _mm256_add_epi32(want, _mm256_set1_epi32((int)bytes * 8));
    const __m256i next =
        _mm256_or_si256(_mm256_xor_si256(low, want), _mm256_xor_si256(high, after));
    const __m256i same =
        _mm256_or_si256(_mm256_xor_si256(low, first), _mm256_xor_si256(high, first));
    return _mm256_testz_si256(next, next) ? bytes : _mm256_testz_si256(same, same) ? 0 : UINT32_MAX;
}
#else
static inline uint32_t half_stride64(const uint64_t *a, uint32_t bytes)
{
    uint64_t same = 0, next = 0;
    for (uint32_t i = 0; i < 16; i++) {
        same |= a[i] ^ a[0];
        next |= (a[i] - a[0]) ^ (uint64_t)(i * bytes);
    }
    return next == 0 ? bytes : same == 0 ? 0 : UINT32_MAX;
}

static inline uint32_t half_stride32(const uint32_t *a, uint32_t bytes)
{
    uint32_t same = 0, next = 0;
    for (uint32_t i = 0; i < 16; i++) {
        same |= a[i] ^ a[0];
        next |= (a[i] - a[0]) ^ (i * bytes);
    }
    return next == 0 ? bytes : same == 0 ? 0 : UINT32_MAX;
}
#endif

/* Resolves both halves of a full warp, if each has a common shape and may be accessed. */
static inline bool resolve_halves64(const struct sg_warp *warp, const uint64_t *a,
                                    const struct extent *x, struct access *out)
{
    const uint32_t first = half_stride64(a, x->bytes), second = half_stride64(a + 16, x->bytes);
    const uint64_t low = a[0] + (uint64_t)x->offset, high = a[16] + (uint64_t)x->offset;
    if (first == UINT32_MAX || second == UINT32_MAX || ((low | high) & (x->align - 1))) {
        return false;
    }
    out->base[0] = (uint8_t *)(uintptr_t)low;
    out->base[1] = (uint8_t *)(uintptr_t)high;
    out->stride[0] = first;
    out->stride[1] = second;
    if (high == low + 16 * (uint64_t)first) { /* one range, or one address */
        return sg_map_allows(warp->map, low, 16 * (first + second) + x->bytes - second, x->need);
    }
    return sg_map_allows(warp->map, low, first * 15 + x->bytes, x->need) &&
           sg_map_allows(warp->map, high, second * 15 + x->bytes, x->need);
}

/* Global addresses, in the row `a`. */
static __attribute__((unused)) enum access_shape
resolve_global(struct sg_warp *warp, const struct sg_insn *in, const uint64_t *a, uint32_t mask,
               const struct extent *x, struct access *out)
{
    if (mask == UINT32_MAX && resolve_halves64(warp, a, x, out)) {
        return ACCESS_HALVES;
    }
    int64_t low = INT64_MAX, high = INT64_MIN;
    uint64_t bits = 0;
    uint64_t fill = a[first_lane(mask)];
    for (int i = 0; i < SG_LANES; i++) {
        int64_t at = (int64_t)((SG_LANE_ON ? a[i] : fill) + (uint64_t)x->offset);
        out->host[i] = (uint8_t *)(uintptr_t)at;
        bits |= (uint64_t)at;
        low = at < low ? at : low;
        high = at > high ? at : high;
    }
    if ((bits & (x->align - 1)) == 0 && (uint64_t)high - (uint64_t)low < (1u << 20) &&
        sg_map_allows(warp->map, (uint64_t)low, (uint64_t)(high - low) + x->bytes, x->need)) {
        return ACCESS_SCATTER;
    }
    for (unsigned i = 0; i < SG_LANES; i++) {
        uint64_t at = (uint64_t)(uintptr_t)out->host[i];
        if (SG_LANE_ON &&
            ((at & (x->align - 1)) || !sg_map_allows(warp->map, at, x->bytes, x->need))) {
            return access_fault(warp, in, i, at, x);
        }
    }
    return ACCESS_SCATTER;
}

/* Offsets in the block's shared memory, in a 32-bit row. */
static __attribute__((unused)) enum access_shape
resolve_shared(struct sg_warp *warp, const struct sg_insn *in, const uint32_t *a, uint32_t mask,
               const struct extent *x, struct access *out)
{
    if (mask == UINT32_MAX) {
        bool good = true;
        for (int h = 0; h < 2 && good; h++) {
            uint32_t stride = half_stride32(a + 16 * h, x->bytes);
            uint64_t at = (uint64_t)a[16 * h] + (uint64_t)x->offset;
            good = stride != UINT32_MAX && (at & (x->align - 1)) == 0 &&
                   at + stride * 15 + x->bytes <= warp->shared_bytes && (int64_t)at >= 0;
            out->base[h] = warp->shared + at;
            out->stride[h] = stride;
        }
        if (good) {
            return ACCESS_HALVES;
        }
    }
    uint32_t bits = 0, wrong = 0;
    uint32_t limit =
        warp->shared_bytes >= x->bytes ? (uint32_t)warp->shared_bytes - x->bytes + 1 : 0;
    uint32_t offset = (uint32_t)x->offset;
    for (int i = 0; i < SG_LANES; i++) {
        uint32_t at = SG_LANE_ON ? a[i] + offset : 0;
        out->host[i] = warp->shared + at;
        bits |= at;
        wrong |= SG_LANE_ON && at >= limit ? 1 : 0;
    }
    if ((bits & (x->align - 1)) == 0 && !wrong) {
        return ACCESS_SCATTER;
    }
    for (unsigned i = 0; i < SG_LANES; i++) {
        uint32_t at = a[i] + offset;
        if (SG_LANE_ON && (at >= limit || (at & (x->align - 1)))) {
            return access_fault(warp, in, i, SG_WINDOW_SHARED + at, x);
        }
    }
    return ACCESS_FAULT;
}

/* Offsets in local memory; a == NULL: the same offset, x->offset, in every lane. */
static __attribute__((unused)) enum access_shape
resolve_local(struct sg_warp *warp, const struct sg_insn *in, const uint64_t *a, uint32_t mask,
              const struct extent *x, struct access *out)
{
    bool same = true;
    for (int i = 0; a != NULL && i < SG_LANES; i++) {
        same = same && (!SG_LANE_ON || a[i] == a[first_lane(mask)]);
    }
    for (unsigned i = 0; i < SG_LANES; i++) {
        uint64_t at = (a != NULL ? a[i] : 0) + (uint64_t)x->offset;
        if (!SG_LANE_ON) {
            continue;
        }
        if (at > warp->local_bytes || x->bytes > warp->local_bytes - at || (at & (x->align - 1))) {
            return access_fault(warp, in, i, SG_WINDOW_LOCAL + at, x);
        }
        out->host[i] = sg_local_at(warp, i, at);
    }
    if (same && mask == UINT32_MAX && x->bytes == 8) {
        out->base[0] = out->host[0];
        out->base[1] = out->host[16];
        out->stride[0] = out->stride[1] = 8;
        return ACCESS_HALVES;
    }
    return ACCESS_SCATTER;
}

static __attribute__((unused)) enum access_shape
resolve_each(struct sg_warp *warp, const struct sg_insn *in, const uint64_t *a, uint32_t mask,
             const struct extent *x, struct access *out, uint64_t window)
{
    for (unsigned i = 0; i < SG_LANES; i++) {
        uint64_t at = a[i] + (uint64_t)x->offset + window;
        if (!SG_LANE_ON) {
            continue;
        }
        if (x->bytes > 8 && at >= SG_WINDOW_LOCAL && at < SG_WINDOW_PARAM) {
            return ACCESS_SPLIT;
        }
        out->host[i] = at & (x->align - 1) ? NULL : sg_generic_at(warp, i, at, x->bytes, x->need);
        if (out->host[i] == NULL) {
            return access_fault(warp, in, i, at, x);
        }
    }
    return ACCESS_SCATTER;
}

static __attribute__((unused)) enum access_shape
resolve_generic(struct sg_warp *warp, const struct sg_insn *in, const uint64_t *a, uint32_t mask,
                const struct extent *x, struct access *out)
{
    uint64_t windows = 0;
    for (int i = 0; i < SG_LANES; i++) {
        windows |= SG_LANE_ON ? (a[i] + (uint64_t)x->offset) >> SG_ADDRESS_BITS : 0;
    }
    return windows == 0 ? resolve_global(warp, in, a, mask, x, out)
                        : resolve_each(warp, in, a, mask, x, out, 0);
}

#endif
