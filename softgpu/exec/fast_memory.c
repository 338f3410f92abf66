/* Loads and stores whose address is a pair (fast.h). What is not plain memory of one half-warp
 * after the other goes to the handler for rows, which also says what is wrong. Compiled per
 * instruction set, and like memory.c without TSan. */
#include <string.h>

#include "softgpu/exec/fast.h"
#include "softgpu/exec/vector.h"

#define AHEAD 8 /* turns of a loop, for look_ahead */

/* The addresses written out, and the other handler */
static __attribute__((noinline)) void as_rows(struct sg_warp *warp, const struct sg_insn *in,
                                              bool wide)
{
    struct sg_insn plain = *in;
    plain.full = in->masked;
    plain.a = offsetof(struct sg_warp, scratch);
    plain.f = 0;
    const struct sg_insn expand = {.d = plain.a, .a = in->a, .imm = (int32_t)in->f};
    (wide ? sg_fast_expand64 : sg_fast_expand32)(warp, &expand, UINT32_MAX);
    plain.full(warp, &plain, UINT32_MAX);
}

/* Both halves of what is accessed in global memory: `bytes` from each of 16 places, which do not
 * lie downwards. */
static inline bool reach_global(const struct sg_warp *warp, const struct sg_insn *in,
                                int64_t stride, uint32_t bytes, unsigned need, uint8_t *base[2])
{
    const uint64_t *pair = (const uint64_t *)(const void *)((const char *)warp + in->a);
    const uint64_t low = pair[0] + (uint64_t)in->imm, high = pair[1] + (uint64_t)in->imm;
    base[0] = (uint8_t *)(uintptr_t)low;
    base[1] = (uint8_t *)(uintptr_t)high;
    if ((low | high | (uint64_t)stride) & (bytes - 1)) {
        return false;
    }
    const uint64_t span = (uint64_t)stride * (SG_HALF - 1) + bytes;
    if (high == low + span) { /* one range */
        return sg_map_allows(warp->map, low, 2 * span, need);
    }
    return sg_map_allows(warp->map, low, span, need) &&
           (high == low || sg_map_allows(warp->map, high, span, need));
}

static inline bool reach_shared(const struct sg_warp *warp, const struct sg_insn *in,
                                int64_t stride, uint32_t bytes, uint8_t *base[2])
{
    const uint32_t *pair = (const uint32_t *)(const void *)((const char *)warp + in->a);
    const int64_t low = (int64_t)pair[0] + in->imm, high = (int64_t)pair[1] + in->imm;
    const int64_t reach = stride * (SG_HALF - 1) + bytes;
    const int64_t first = low < high ? low : high, last = low < high ? high : low;
    base[0] = warp->shared + low;
    base[1] = warp->shared + high;
    return ((low | high | stride) & (bytes - 1)) == 0 && first >= 0 &&
           last + reach <= (int64_t)warp->shared_bytes;
}

/* Vectors of 8 and 16 bytes of each lane, which are one access. The same for all lanes of a half:
 * it is read once. */
static __attribute__((noinline)) void vectors(struct sg_warp *warp, const struct sg_insn *in,
                                              uint32_t element, uint8_t *const base[2], bool store)
{
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

/* Warps run one after the other for as long as they can, so one that walks through an array strides
 * over what its neighbours read: nothing that the processor foresees. `low` is where the
 * instruction reads this time. */
static inline void look_ahead(struct sg_warp *warp, const struct sg_insn *in, const uint8_t *low)
{
    uint64_t *seen = &warp->seen[(uintptr_t)in / sizeof *in % SG_SEEN];
    const uint64_t now = (uint64_t)(uintptr_t)low, next = now + AHEAD * (now - *seen);
    *seen = now;
    __builtin_prefetch((const void *)(uintptr_t)next);
    __builtin_prefetch((const void *)(uintptr_t)(next + 64));
}

#define AHEAD_GLOBAL       look_ahead(warp, in, base[0])
#define AHEAD_SHARED       (void)0
#define REACH_GLOBAL(need) reach_global(warp, in, stride, bytes, need, base)
#define REACH_SHARED(need) reach_shared(warp, in, stride, bytes, base)

#define HEAD(T, R, field)                                                                          \
    R *rd = (R *)__builtin_assume_aligned((char *)warp + in->field, 64);                           \
    uint8_t *base[2];                                                                              \
    (void)mask

/* One element for all lanes of a half; side by side; anything else */
#define LOADS(SPACE, name, T, R, wide)                                                             \
    HANDLER(load_same_##SPACE, name)                                                               \
    {                                                                                              \
        const int64_t stride = 0;                                                                  \
        const uint32_t bytes = sizeof(T);                                                          \
        HEAD(T, R, d);                                                                             \
        if (!REACH_##SPACE(SG_MAP_READ)) {                                                         \
            as_rows(warp, in, wide);                                                               \
            return;                                                                                \
        }                                                                                          \
        const R low = (R) * (const T *)(const void *)base[0];                                      \
        const R high = (R) * (const T *)(const void *)base[1];                                     \
        for (int i = 0; i < SG_HALF; i++) {                                                        \
            rd[i] = low;                                                                           \
        }                                                                                          \
        for (int i = SG_HALF; i < SG_LANES; i++) {                                                 \
            rd[i] = high;                                                                          \
        }                                                                                          \
    }                                                                                              \
    HANDLER(load_next_##SPACE, name)                                                               \
    {                                                                                              \
        const int64_t stride = sizeof(T);                                                          \
        const uint32_t bytes = sizeof(T);                                                          \
        HEAD(T, R, d);                                                                             \
        if (!REACH_##SPACE(SG_MAP_READ)) {                                                         \
            as_rows(warp, in, wide);                                                               \
            return;                                                                                \
        }                                                                                          \
        AHEAD_##SPACE;                                                                             \
        const T *low = (const T *)(const void *)base[0];                                           \
        const T *high = (const T *)(const void *)base[1];                                          \
        _Pragma("GCC ivdep") for (int i = 0; i < SG_HALF; i++)                                     \
        {                                                                                          \
            rd[i] = (R)low[i];                                                                     \
        }                                                                                          \
        _Pragma("GCC ivdep") for (int i = 0; i < SG_HALF; i++)                                     \
        {                                                                                          \
            rd[SG_HALF + i] = (R)high[i];                                                          \
        }                                                                                          \
    }                                                                                              \
    HANDLER(load_any_##SPACE, name)                                                                \
    {                                                                                              \
        const int64_t stride = (int32_t)in->f;                                                     \
        const uint32_t bytes = (uint32_t)sizeof(T) * in->mode;                                     \
        const uint32_t rows[4] = {in->d, in->b, in->c, in->e};                                     \
        HEAD(T, R, d);                                                                             \
        (void)rd;                                                                                  \
        if (stride < 0 || !REACH_##SPACE(SG_MAP_READ)) {                                           \
            as_rows(warp, in, wide);                                                               \
            return;                                                                                \
        }                                                                                          \
        if (IS_VECTOR(T, R)) {                                                                     \
            vectors(warp, in, sizeof(T), base, false);                                             \
            return;                                                                                \
        }                                                                                          \
        for (uint32_t k = 0; k < in->mode; k++) {                                                  \
            R *to = (R *)(void *)((char *)warp + rows[k]);                                         \
            for (int i = 0; rows[k] && i < SG_LANES; i++) {                                        \
                const uint8_t *from = base[i / SG_HALF] + stride * (i % SG_HALF);                  \
                to[i] = (R)((const T *)(const void *)from)[k];                                     \
            }                                                                                      \
        }                                                                                          \
    }

/* One place for several lanes: the highest lane's value stays, as in memory.c */
#define STORES(SPACE, name, T, R, wide)                                                            \
    HANDLER(store_next_##SPACE, name)                                                              \
    {                                                                                              \
        const int64_t stride = sizeof(T);                                                          \
        const uint32_t bytes = sizeof(T);                                                          \
        HEAD(T, R, d);                                                                             \
        if (!REACH_##SPACE(SG_MAP_WRITE)) {                                                        \
            as_rows(warp, in, wide);                                                               \
            return;                                                                                \
        }                                                                                          \
        T *low = (T *)(void *)base[0], *high = (T *)(void *)base[1];                               \
        _Pragma("GCC ivdep") for (int i = 0; i < SG_HALF; i++)                                     \
        {                                                                                          \
            low[i] = (T)rd[i];                                                                     \
        }                                                                                          \
        _Pragma("GCC ivdep") for (int i = 0; i < SG_HALF; i++)                                     \
        {                                                                                          \
            high[i] = (T)rd[SG_HALF + i];                                                          \
        }                                                                                          \
    }                                                                                              \
    HANDLER(store_any_##SPACE, name)                                                               \
    {                                                                                              \
        const int64_t stride = (int32_t)in->f;                                                     \
        const uint32_t bytes = (uint32_t)sizeof(T) * in->mode;                                     \
        const uint32_t rows[4] = {in->d, in->b, in->c, in->e};                                     \
        HEAD(T, R, d);                                                                             \
        (void)rd;                                                                                  \
        if (stride < 0 || !REACH_##SPACE(SG_MAP_WRITE)) {                                          \
            as_rows(warp, in, wide);                                                               \
            return;                                                                                \
        }                                                                                          \
        if (IS_VECTOR(T, R)) {                                                                     \
            vectors(warp, in, sizeof(T), base, true);                                              \
            return;                                                                                \
        }                                                                                          \
        for (int i = 0; i < SG_LANES; i++) {                                                       \
            T *to = (T *)(void *)(base[i / SG_HALF] + stride * (i % SG_HALF));                     \
            for (uint32_t k = 0; k < in->mode; k++) {                                              \
                to[k] = (T)((const R *)(void *)((char *)warp + rows[k]))[i];                       \
            }                                                                                      \
        }                                                                                          \
    }

#define TYPES(DO)                                                                                  \
    DO(u8, uint8_t, uint32_t)                                                                      \
    DO(s8, int8_t, int32_t)                                                                        \
    DO(u16, uint16_t, uint32_t)                                                                    \
    DO(s16, int16_t, int32_t)                                                                      \
    DO(b32, uint32_t, uint32_t)                                                                    \
    DO(u8w, uint8_t, uint64_t)                                                                     \
    DO(s8w, int8_t, int64_t)                                                                       \
    DO(u16w, uint16_t, uint64_t)                                                                   \
    DO(s16w, int16_t, int64_t)                                                                     \
    DO(u32w, uint32_t, uint64_t)                                                                   \
    DO(s32w, int32_t, int64_t)                                                                     \
    DO(b64, uint64_t, uint64_t)

#define DO(name, T, R)                                                                             \
    LOADS(GLOBAL, name, T, R, true)                                                                \
    LOADS(SHARED, name, T, R, false)                                                               \
    STORES(GLOBAL, name, T, R, true)                                                               \
    STORES(SHARED, name, T, R, false)
TYPES(DO)
#undef DO

#define LOAD(SPACE, name)                                                                          \
    [SG_FAST_##SPACE][SG_MEM_##name] = {                                                           \
        [SG_FAST_ANY] = load_any_##SPACE##_##name,                                                 \
        [SG_FAST_SAME] = load_same_##SPACE##_##name,                                               \
        [SG_FAST_NEXT] = load_next_##SPACE##_##name,                                               \
    },
#define STORE(SPACE, name)                                                                         \
    [SG_FAST_##SPACE][SG_MEM_##name] = {                                                           \
        [SG_FAST_ANY] = store_any_##SPACE##_##name,                                                \
        [SG_FAST_SAME] = store_any_##SPACE##_##name,                                               \
        [SG_FAST_NEXT] = store_next_##SPACE##_##name,                                              \
    },

static const struct sg_fast_mem_ops ops = {
#define DO(name, T, R) LOAD(GLOBAL, name) LOAD(SHARED, name)
    .load = {TYPES(DO)},
#undef DO
#define DO(name, T, R) STORE(GLOBAL, name) STORE(SHARED, name)
    .store = {TYPES(DO)},
};

const struct sg_fast_mem_ops *SG_ISA_NAME(sg_fast_mem_ops)(void);
const struct sg_fast_mem_ops *SG_ISA_NAME(sg_fast_mem_ops)(void)
{
    return &ops;
}
