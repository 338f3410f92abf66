/* SPDX-License-Identifier: Apache-2.0 */
/* Loads and stores whose address is a pair (fast.h). Any access but plain memory of one half-warp
 * after the other goes to the handler for rows, which also reports faults. Compiled per instruction
 * set and, like memory.c, without TSan. */
#include <string.h>

#include "softgpu/engine/permission_map.h"
#include "softgpu/exec/fast.h"
#include "softgpu/exec/vector.h"

#define FAST_AHEAD 8 /* turns of a loop, for look_ahead */

/* Writes the addresses out and runs the handler for rows. False: a fault. */
static __attribute__((noinline)) bool as_rows(struct sg_warp *warp, const struct sg_insn *in,
                                              bool wide)
{
    struct sg_insn plain = *in;
    plain.full = in->masked;
    plain.a = offsetof(struct sg_warp, scratch);
    plain.f = 0;
    if (wide) {
        sg_fast_write64(warp, plain.a, in->a, (uint64_t)(int32_t)in->f);
    } else {
        sg_fast_write32(warp, plain.a, in->a, in->f);
    }
    plain.full(warp, &plain, UINT32_MAX);
    return !warp->faulted;
}

static __attribute__((noinline)) void rows_GLOBAL(struct sg_warp *warp, const struct sg_insn *in,
                                                  uint32_t mask)
{
    (void)mask;
    if (!as_rows(warp, in, true)) {
        return;
    }
    SG_FAST_GO(warp, in + 1);
}

static __attribute__((noinline)) void rows_SHARED(struct sg_warp *warp, const struct sg_insn *in,
                                                  uint32_t mask)
{
    (void)mask;
    if (!as_rows(warp, in, false)) {
        return;
    }
    SG_FAST_GO(warp, in + 1);
}

#define REACH(name)                                                                                \
    static inline __attribute__((always_inline)) bool name(                                        \
        const struct sg_warp *warp, const struct sg_insn *in, int64_t stride, uint32_t bytes,      \
        unsigned need, uint8_t *base[2])

/* The addresses of the halves; checks that the lower one is aligned and that the stride is not
 * negative. */
#define PAIR(T)                                                                                    \
    (struct sg_fast_pair)                                                                          \
    {                                                                                              \
        ((const T *)(const void *)((const char *)warp + in->a))[0],                                \
            ((const T *)(const void *)((const char *)warp + in->a))[1]                             \
    }
#define PLACES(pair, origin)                                                                       \
    const struct sg_fast_pair at = pair;                                                           \
    const uint64_t low = at.low + (uint64_t)in->imm, high = at.high + (uint64_t)in->imm;           \
    const uint64_t span = (uint64_t)stride * (SG_HALF - 1) + bytes;                                \
    const bool even = ((low | (uint64_t)stride) & (bytes - 1)) == 0 && stride >= 0;                \
    base[0] = (uint8_t *)(uintptr_t)((origin) + low);                                              \
    base[1] = (uint8_t *)(uintptr_t)((origin) + high)

/* Most accesses: one address or one range, in one chunk of the map. */
static inline __attribute__((always_inline)) bool
near_pair(const struct sg_warp *warp, const struct sg_insn *in, struct sg_fast_pair pair,
          int64_t stride, uint32_t bytes, unsigned need, uint8_t *base[2])
{
    PLACES(pair, 0);
    const uint64_t apart = high - low;
    return even && (apart == 0 || apart == span) && /* so the upper half is aligned, too */
           low % SG_MAP_CHUNK + span + apart <= SG_MAP_CHUNK &&
           (sg_map_rights(warp->map, low) & need) == need;
}

REACH(near_global)
{
    return near_pair(warp, in, PAIR(uint64_t), stride, bytes, need, base);
}

REACH(far_global)
{
    PLACES(PAIR(uint64_t), 0);
    return even && (high & (bytes - 1)) == 0 && sg_map_allows(warp->map, low, span, need) &&
           sg_map_allows(warp->map, high, span, need);
}

/* Negative offsets are large numbers here. */
REACH(reach_shared)
{
    PLACES(PAIR(uint32_t), (uintptr_t)warp->shared);
    const uint64_t last = low < high ? high : low, bytes_here = warp->shared_bytes;
    (void)need;
    return even && (high & (bytes - 1)) == 0 && span <= bytes_here && last <= bytes_here - span;
}

/* Vectors of 8 and 16 bytes per lane, each a single access. If all lanes of a half have one
 * address, it is read once. */
static __attribute__((noinline)) void vectors(struct sg_warp *warp, const struct sg_insn *in,
                                              uint32_t element, uint8_t *low, uint8_t *high,
                                              bool store)
{
    uint8_t *const base[2] = {low, high};
    const uint32_t rows[4] = {in->d, in->b, in->c, in->e}, stride = in->f;
    const uint32_t count = in->mode;
    if (stride != 0 || store || element != 4) {
        const struct access access = {.base = {base[0], base[1]}, .stride = {stride, stride}};
        vector_access(warp, rows, count, element, &access, ACCESS_HALVES, UINT32_MAX, store);
        return;
    }
    for (int h = 0; h < 2; h++) {
        _Alignas(16) uint32_t values[4];
        _mm_store_si128((__m128i *)(void *)values, vector_get(base[h], count * element));
        for (uint32_t k = 0; k < count; k++) {
            uint32_t *to = (uint32_t *)(void *)((char *)warp + rows[k]) + SG_HALF * h;
            for (int i = 0; rows[k] && i < SG_HALF; i++) {
                to[i] = values[k];
            }
        }
    }
}

#define IS_VECTOR(T, R) (in->mode > 1 && sizeof(T) == sizeof(R) && (bytes == 8 || bytes == 16))

/* Prefetches. Warps run one after the other for as long as they can, so a warp that walks through
 * an array skips its neighbours' parts, which the processor cannot predict. `low` is the present
 * address of the instruction. */
static inline void look_ahead(struct sg_warp *warp, const struct sg_insn *in, const uint8_t *low)
{
    uint64_t *seen = &warp->seen[(uintptr_t)in / sizeof *in % SG_SEEN];
    const uint64_t now = (uint64_t)(uintptr_t)low, next = now + FAST_AHEAD * (now - *seen);
    *seen = now;
    __builtin_prefetch((const void *)(uintptr_t)next);
    __builtin_prefetch((const void *)(uintptr_t)(next + 64));
}

#define ROW_AT(R, name, field) R *name = (R *)__builtin_assume_aligned((char *)warp + in->field, 64)
#define MOVE(kind, name)                                                                           \
    static inline __attribute__((always_inline)) void kind##_##name(                               \
        struct sg_warp *warp, const struct sg_insn *in, uint8_t *const base[2])

#define FAST_HALF(TO, to, FROM, from)                                                              \
    {                                                                                              \
        TO *to_ = (TO *)(void *)(to);                                                              \
        const FROM *from_ = (const FROM *)(const void *)(from);                                    \
        _Pragma("GCC ivdep") for (int i = 0; i < SG_HALF; i++)                                     \
        {                                                                                          \
            to_[i] = (TO)from_[i];                                                                 \
        }                                                                                          \
    }

/* Moves for one address per half, for neighbours, and for any other shape. In stores to one address
 * the highest lane's value stays, as in memory.c. */
#define MOVES(name, T, R)                                                                          \
    MOVE(load_same, name)                                                                          \
    {                                                                                              \
        ROW_AT(R, rd, d);                                                                          \
        const R low = (R) * (const T *)(const void *)base[0];                                      \
        const R high = (R) * (const T *)(const void *)base[1];                                     \
        for (int i = 0; i < SG_HALF; i++) {                                                        \
            rd[i] = low;                                                                           \
        }                                                                                          \
        for (int i = SG_HALF; i < SG_LANES; i++) {                                                 \
            rd[i] = high;                                                                          \
        }                                                                                          \
    }                                                                                              \
    MOVE(load_next, name)                                                                          \
    {                                                                                              \
        ROW_AT(R, rd, d);                                                                          \
        FAST_HALF(R, rd, T, base[0])                                                               \
        FAST_HALF(R, rd + SG_HALF, T, base[1])                                                     \
    }                                                                                              \
    MOVE(load_any, name)                                                                           \
    {                                                                                              \
        const uint32_t rows[4] = {in->d, in->b, in->c, in->e}, bytes = sizeof(T) * in->mode;       \
        if (IS_VECTOR(T, R)) {                                                                     \
            vectors(warp, in, sizeof(T), base[0], base[1], false);                                 \
            return;                                                                                \
        }                                                                                          \
        for (uint32_t k = 0; k < in->mode; k++) {                                                  \
            R *to = (R *)(void *)((char *)warp + rows[k]);                                         \
            for (int i = 0; rows[k] && i < SG_LANES; i++) {                                        \
                const uint8_t *from = base[i / SG_HALF] + (int64_t)in->f * (i % SG_HALF);          \
                to[i] = (R)((const T *)(const void *)from)[k];                                     \
            }                                                                                      \
        }                                                                                          \
    }                                                                                              \
    MOVE(store_next, name)                                                                         \
    {                                                                                              \
        ROW_AT(const R, rd, d);                                                                    \
        FAST_HALF(T, base[0], R, rd)                                                               \
        FAST_HALF(T, base[1], R, rd + SG_HALF)                                                     \
    }                                                                                              \
    MOVE(store_any, name)                                                                          \
    {                                                                                              \
        const uint32_t rows[4] = {in->d, in->b, in->c, in->e}, bytes = sizeof(T) * in->mode;       \
        if (IS_VECTOR(T, R)) {                                                                     \
            vectors(warp, in, sizeof(T), base[0], base[1], true);                                  \
            return;                                                                                \
        }                                                                                          \
        for (int i = 0; i < SG_LANES; i++) {                                                       \
            T *to = (T *)(void *)(base[i / SG_HALF] + (int64_t)in->f * (i % SG_HALF));             \
            for (uint32_t k = 0; k < in->mode; k++) {                                              \
                to[k] = (T)((const R *)(void *)((char *)warp + rows[k]))[i];                       \
            }                                                                                      \
        }                                                                                          \
    }

/* Makes a handler of the chain: `prefix`_`kind`. `otherwise` handles accesses without the shape
 * that `reach` checks. */
#define ACCESS(prefix, kind, name, reach, stride, bytes, need, ahead, otherwise)                   \
    __attribute__((noinline)) ALU_HANDLER(prefix##_##kind, name)                                   \
    {                                                                                              \
        uint8_t *base[2];                                                                          \
        (void)mask;                                                                                \
        if (!reach(warp, in, stride, bytes, need, base)) {                                         \
            SG_FAST_TO(otherwise, warp, in);                                                       \
            return;                                                                                \
        }                                                                                          \
        ahead;                                                                                     \
        kind##_##name(warp, in, base);                                                             \
        SG_FAST_GO(warp, in + 1);                                                                  \
    }

#define LOOK_AHEAD look_ahead(warp, in, base[0])
#define GLOBAL(kind, name, stride, bytes, need, ahead)                                             \
    ACCESS(far, kind, name, far_global, stride, bytes, need, ahead, rows_GLOBAL)                   \
    ACCESS(GLOBAL, kind, name, near_global, stride, bytes, need, ahead, far_##kind##_##name)
#define SHARED(kind, name, stride, bytes, need, ahead)                                             \
    ACCESS(SHARED, kind, name, reach_shared, stride, bytes, need, , rows_SHARED)
#define SHAPES(SPACE, name, T)                                                                     \
    SPACE(load_same, name, 0, sizeof(T), SG_MAP_READ, )                                            \
    SPACE(load_next, name, sizeof(T), sizeof(T), SG_MAP_READ, LOOK_AHEAD)                          \
    SPACE(load_any, name, (int32_t)in->f, (uint32_t)sizeof(T) * in->mode, SG_MAP_READ, )           \
    SPACE(store_next, name, sizeof(T), sizeof(T), SG_MAP_WRITE, )                                  \
    SPACE(store_any, name, (int32_t)in->f, (uint32_t)sizeof(T) * in->mode, SG_MAP_WRITE, )

/* Fused with the computation of the address, whose pair stays in registers; see sg_fast_mem_ops.
 * The last argument is the code; it executes `count` instructions from the access on. */
#define FUSED_ADDED(name, T, need, otherwise, count, ...)                                          \
    ALU_HANDLER(added, name)                                                                       \
    {                                                                                              \
        uint8_t *base[2];                                                                          \
        const struct sg_fast_pair sum = sg_fast_sum(warp, in, PAIR(uint64_t));                     \
        (void)mask;                                                                                \
        in++;                                                                                      \
        if (!near_pair(warp, in, sum, sizeof(T), sizeof(T), need, base)) {                         \
            SG_FAST_TO(otherwise, warp, in);                                                       \
            return;                                                                                \
        }                                                                                          \
        __VA_ARGS__;                                                                               \
        SG_FAST_GO(warp, in + (count));                                                            \
    }
#define FUSED_INDEXED(prefix, sign, name, T, need, otherwise, count, ...)                          \
    ALU_HANDLER(prefix, name)                                                                      \
    {                                                                                              \
        uint8_t *base[2];                                                                          \
        struct sg_fast_pair pair;                                                                  \
        (void)mask;                                                                                \
        if (!sg_fast_product_##sign(warp, in, &pair)) {                                            \
            sg_fast_leave(warp, in);                                                               \
            return;                                                                                \
        }                                                                                          \
        pair = sg_fast_sum(warp, in + 2, pair);                                                    \
        in += 3;                                                                                   \
        if (!near_pair(warp, in, pair, sizeof(T), sizeof(T), need, base)) {                        \
            SG_FAST_TO(otherwise, warp, in);                                                       \
            return;                                                                                \
        }                                                                                          \
        __VA_ARGS__;                                                                               \
        SG_FAST_GO(warp, in + (count));                                                            \
    }
#define FUSED_ALL(name, T, need, otherwise, count, ...)                                            \
    FUSED_ADDED(name, T, need, otherwise, count, __VA_ARGS__)                                      \
    FUSED_INDEXED(indexed, s32, name, T, need, otherwise, count, __VA_ARGS__)                      \
    FUSED_INDEXED(unsigned, u32, name, T, need, otherwise, count, __VA_ARGS__)
#define FUSED(kind, name, T, need, ahead)                                                          \
    FUSED_ALL(kind##_##name, T, need, far_##kind##_##name, 1, ahead; kind##_##name(warp, in, base))

/* Fused with the next operation: `x` is the loaded value, `next` that operation. */
#define USES(FAST_DO)                                                                              \
    FAST_DO(add_u32, uint32_t, x + b)                                                              \
    FAST_DO(add_f32, float, sg_cn(x + b))                                                          \
    FAST_DO(fma_f32, float, sg_cn(__builtin_fmaf(x, b, c)))

#define USE_HALF(R, half, lane, ...)                                                               \
    {                                                                                              \
        const R *from = (const R *)(const void *)base[half], first = *from;                        \
        const R *rb_ = rb + SG_HALF * (half), *rc_ = rc + SG_HALF * (half);                        \
        R *rd_ = rd + SG_HALF * (half);                                                            \
        (void)first;                                                                               \
        _Pragma("GCC ivdep") for (int i = 0; i < SG_HALF; i++)                                     \
        {                                                                                          \
            const R x = lane, b = rb_[i], c = rc_[i];                                              \
            (void)c;                                                                               \
            rd_[i] = __VA_ARGS__;                                                                  \
        }                                                                                          \
    }
#define USE(kind, name, R, lane, ...)                                                              \
    MOVE(kind, name)                                                                               \
    {                                                                                              \
        ROW_AT(R, rd, d);                                                                          \
        ROW_AT(const R, rb, b);                                                                    \
        ROW_AT(const R, rc, c);                                                                    \
        USE_HALF(R, 0, lane, __VA_ARGS__)                                                          \
        USE_HALF(R, 1, lane, __VA_ARGS__)                                                          \
    }
#define USED(kind, source, name, reach, stride, ahead, otherwise)                                  \
    ALU_HANDLER(source, name)                                                                      \
    {                                                                                              \
        uint8_t *base[2];                                                                          \
        (void)mask;                                                                                \
        if (!reach(warp, in, stride, sizeof(uint32_t), SG_MAP_READ, base)) {                       \
            SG_FAST_TO(otherwise, warp, in);                                                       \
            return;                                                                                \
        }                                                                                          \
        ahead;                                                                                     \
        kind##_##name(warp, in + 1, base);                                                         \
        SG_FAST_GO(warp, in + 2);                                                                  \
    }

#define FAST_TYPES(FAST_DO)                                                                        \
    FAST_DO(u8, uint8_t, uint32_t)                                                                 \
    FAST_DO(s8, int8_t, int32_t)                                                                   \
    FAST_DO(u16, uint16_t, uint32_t)                                                               \
    FAST_DO(s16, int16_t, int32_t)                                                                 \
    FAST_DO(b32, uint32_t, uint32_t)                                                               \
    FAST_DO(u8w, uint8_t, uint64_t)                                                                \
    FAST_DO(s8w, int8_t, int64_t)                                                                  \
    FAST_DO(u16w, uint16_t, uint64_t)                                                              \
    FAST_DO(s16w, int16_t, int64_t)                                                                \
    FAST_DO(u32w, uint32_t, uint64_t)                                                              \
    FAST_DO(s32w, int32_t, int64_t)                                                                \
    FAST_DO(b64, uint64_t, uint64_t)

#define FAST_DO(name, T, R)                                                                        \
    MOVES(name, T, R)                                                                              \
    SHAPES(GLOBAL, name, T)                                                                        \
    SHAPES(SHARED, name, T)
FAST_TYPES(FAST_DO)
#undef FAST_DO
/* the types of most arrays */
#define FUSED_TYPES(FAST_DO)                                                                       \
    FAST_DO(u8, uint8_t)                                                                           \
    FAST_DO(b32, uint32_t)                                                                         \
    FAST_DO(b64, uint64_t)
#define FAST_DO(name, T)                                                                           \
    FUSED(load_next, name, T, SG_MAP_READ, LOOK_AHEAD)                                             \
    FUSED(store_next, name, T, SG_MAP_WRITE, LOOK_AHEAD)
FUSED_TYPES(FAST_DO)
#undef FAST_DO
#define FAST_DO(name, R, ...)                                                                      \
    USE(use_next, name, R, from[i], __VA_ARGS__)                                                   \
    USE(use_same, name, R, first, __VA_ARGS__)                                                     \
    FUSED_ALL(use_next_##name, uint32_t, SG_MAP_READ, far_load_next_b32, 2, LOOK_AHEAD;            \
              use_next_##name(warp, in + 1, base))                                                 \
    USED(use_next, plain, name, near_global, sizeof(uint32_t), LOOK_AHEAD, far_load_next_b32)      \
    USED(use_next, shared_next, name, reach_shared, sizeof(uint32_t), , rows_SHARED)               \
    USED(use_same, shared_same, name, reach_shared, 0, , rows_SHARED)
USES(FAST_DO)
#undef FAST_DO

#define LOAD(SPACE, name)                                                                          \
    [SG_FAST_##SPACE][SG_MEM_##name] = {                                                           \
        [SG_FAST_ANY] = SPACE##_load_any_##name,                                                   \
        [SG_FAST_SAME] = SPACE##_load_same_##name,                                                 \
        [SG_FAST_NEXT] = SPACE##_load_next_##name,                                                 \
    },
#define STORE(SPACE, name)                                                                         \
    [SG_FAST_##SPACE][SG_MEM_##name] = {                                                           \
        [SG_FAST_ANY] = SPACE##_store_any_##name,                                                  \
        [SG_FAST_SAME] = SPACE##_store_any_##name,                                                 \
        [SG_FAST_NEXT] = SPACE##_store_next_##name,                                                \
    },

static const struct sg_fast_mem_ops ops = {
#define FAST_DO(name, T, R) LOAD(GLOBAL, name) LOAD(SHARED, name)
    .load = {FAST_TYPES(FAST_DO)},
#undef FAST_DO
#define FAST_DO(name, T, R) STORE(GLOBAL, name) STORE(SHARED, name)
    .store = {FAST_TYPES(FAST_DO)},
#undef FAST_DO
#define FRONTS(kind)                                                                               \
    {                                                                                              \
        [SG_FAST_ADDED] = {FUSED_TYPES(ADDED_##kind)},                                             \
        [SG_FAST_INDEXED] = {FUSED_TYPES(INDEXED_##kind)},                                         \
        [SG_FAST_INDEXED_UNSIGNED] = {FUSED_TYPES(UNSIGNED_##kind)},                               \
    }
#define ADDED_load(name, T)     [SG_MEM_##name] = added_load_next_##name,
#define INDEXED_load(name, T)   [SG_MEM_##name] = indexed_load_next_##name,
#define UNSIGNED_load(name, T)  [SG_MEM_##name] = unsigned_load_next_##name,
#define ADDED_store(name, T)    [SG_MEM_##name] = added_store_next_##name,
#define INDEXED_store(name, T)  [SG_MEM_##name] = indexed_store_next_##name,
#define UNSIGNED_store(name, T) [SG_MEM_##name] = unsigned_store_next_##name,
    .fused_load = FRONTS(load),
    .fused_store = FRONTS(store),
#define FAST_DO(name, R, ...) added_use_next_##name,
    .used_load[SG_FAST_ADDED] = {USES(FAST_DO)},
#undef FAST_DO
#define FAST_DO(name, R, ...) indexed_use_next_##name,
    .used_load[SG_FAST_INDEXED] = {USES(FAST_DO)},
#undef FAST_DO
#define FAST_DO(name, R, ...) unsigned_use_next_##name,
    .used_load[SG_FAST_INDEXED_UNSIGNED] = {USES(FAST_DO)},
#undef FAST_DO
#define FAST_DO(name, R, ...) plain_##name,
    .used_load[SG_FAST_PLAIN] = {USES(FAST_DO)},
#undef FAST_DO
#define FAST_DO(name, R, ...) shared_next_##name,
    .used_load[SG_FAST_SHARED_NEXT] = {USES(FAST_DO)},
#undef FAST_DO
#define FAST_DO(name, R, ...) shared_same_##name,
    .used_load[SG_FAST_SHARED_SAME] = {USES(FAST_DO)},
#undef FAST_DO
};

const struct sg_fast_mem_ops *SG_ISA_NAME(sg_fast_mem_ops)(void);
const struct sg_fast_mem_ops *SG_ISA_NAME(sg_fast_mem_ops)(void)
{
    return &ops;
}
