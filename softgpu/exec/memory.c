/* SPDX-License-Identifier: Apache-2.0 */
/* Loads and stores. A vector access has `in->mode` elements whose rows are d, b, c, e; row 0 means
 * that the element is unused. Data races between kernels are their own, so this file is compiled
 * without TSan. */
#include <string.h>

#include "softgpu/engine/permission_map.h"
#include "softgpu/exec/vector.h"

static inline const uint32_t *element_rows(const struct sg_insn *in, uint32_t rows[4])
{
    rows[0] = in->d;
    rows[1] = in->b;
    rows[2] = in->c;
    rows[3] = in->e;
    return rows;
}

static inline __attribute__((always_inline)) enum access_shape
resolve(enum sg_mem_space space, struct sg_warp *warp, const struct sg_insn *in,
        const uint64_t *address, uint32_t mask, const struct extent *x, struct access *out)
{
    switch (space) {
    case SG_MEM_GLOBAL:
        return resolve_global(warp, in, address, mask, x, out);
    case SG_MEM_SHARED:
        return resolve_shared(warp, in, (const uint32_t *)address, mask, x, out);
    case SG_MEM_LOCAL:
        return resolve_local(warp, in, address, mask, x, out);
    case SG_MEM_GENERIC:
        return resolve_generic(warp, in, address, mask, x, out);
    case SG_MEM_PARAM:
        return resolve_each(warp, in, address, mask, x, out, SG_WINDOW_PARAM);
    default:
        return resolve_local(warp, in, NULL, mask, x, out);
    }
}

#define LOAD_BODY(T, R)                                                                            \
    R *rd = (R *)__builtin_assume_aligned((char *)warp + rows[k], 64);                             \
    if (shape == ACCESS_HALVES) {                                                                  \
        for (int h = 0; h < 2; h++) {                                                              \
            const T *from = (const T *)(const void *)(access.base[h] + at);                        \
            R *to = rd + 16 * h;                                                                   \
            if (access.stride[h] == 0) {                                                           \
                const R value = (R)from[0];                                                        \
                for (uint32_t i = 0; i < 16; i++) {                                                \
                    to[i] = value;                                                                 \
                }                                                                                  \
            } else if (step == 1) {                                                                \
                _Pragma("GCC ivdep") for (uint32_t i = 0; i < 16; i++)                             \
                {                                                                                  \
                    to[i] = (R)from[i];                                                            \
                }                                                                                  \
            } else {                                                                               \
                for (uint32_t i = 0; i < 16; i++) {                                                \
                    to[i] = (R)from[i * step];                                                     \
                }                                                                                  \
            }                                                                                      \
        }                                                                                          \
    } else if (mask == UINT32_MAX) {                                                               \
        for (int i = 0; i < SG_LANES; i++) {                                                       \
            rd[i] = (R) * (const T *)(const void *)(access.host[i] + at);                          \
        }                                                                                          \
    } else {                                                                                       \
        for (uint32_t left = mask; left; left &= left - 1) {                                       \
            unsigned i = first_lane(left);                                                         \
            rd[i] = (R) * (const T *)(const void *)(access.host[i] + at);                          \
        }                                                                                          \
    }

/* Several lanes with one address: the highest lane's value stays; PTX allows any. */
#define STORE_BODY(T, R)                                                                           \
    const R *rb = (const R *)__builtin_assume_aligned((char *)warp + rows[k], 64);                 \
    if (shape == ACCESS_HALVES) {                                                                  \
        for (int h = 0; h < 2; h++) {                                                              \
            T *to = (T *)(void *)(access.base[h] + at);                                            \
            const R *from = rb + 16 * h;                                                           \
            if (access.stride[h] == 0) {                                                           \
                to[0] = (T)from[15];                                                               \
            } else if (step == 1) {                                                                \
                _Pragma("GCC ivdep") for (uint32_t i = 0; i < 16; i++)                             \
                {                                                                                  \
                    to[i] = (T)from[i];                                                            \
                }                                                                                  \
            } else {                                                                               \
                for (uint32_t i = 0; i < 16; i++) {                                                \
                    to[i * step] = (T)from[i];                                                     \
                }                                                                                  \
            }                                                                                      \
        }                                                                                          \
    } else {                                                                                       \
        for (uint32_t left = mask; left; left &= left - 1) {                                       \
            unsigned i = first_lane(left);                                                         \
            *(T *)(void *)(access.host[i] + at) = (T)rb[i];                                        \
        }                                                                                          \
    }

/* The address row may also be the row of an element: a split access reads it first. */
#define MAKE_ACCESS(name, SPACE, T, R, NEED, BODY)                                                 \
    static void name(struct sg_warp *warp, const struct sg_insn *in, uint32_t mask)                \
    {                                                                                              \
        const uint32_t count = in->mode;                                                           \
        const int64_t frame = SPACE == SG_MEM_FRAME ? (int64_t)warp->sp : 0;                       \
        const uint64_t *address = (const uint64_t *)(const void *)((char *)warp + in->a);          \
        struct extent x = {in->imm + frame, (uint32_t)sizeof(T) * count,                           \
                           (uint32_t)sizeof(T) * count, NEED};                                     \
        struct access access;                                                                      \
        uint32_t rows[4];                                                                          \
        element_rows(in, rows);                                                                    \
        bool split = (SPACE == SG_MEM_LOCAL || SPACE == SG_MEM_FRAME) && x.bytes > 8;              \
        enum access_shape shape = ACCESS_SPLIT;                                                    \
        if (!split) {                                                                              \
            shape = resolve(SPACE, warp, in, address, mask, &x, &access);                          \
        }                                                                                          \
        if (shape == ACCESS_SPLIT) {                                                               \
            uint64_t copy[SG_LANES];                                                               \
            memcpy(copy, address, sizeof copy);                                                    \
            x.bytes = sizeof(T);                                                                   \
            for (uint32_t k = 0; k < count; k++, x.offset += (int64_t)sizeof(T)) {                 \
                const uint32_t at = 0, step = 1;                                                   \
                shape = resolve(SPACE, warp, in, copy, mask, &x, &access);                         \
                if (shape == ACCESS_FAULT) {                                                       \
                    return;                                                                        \
                }                                                                                  \
                x.align = sizeof(T);                                                               \
                if (rows[k]) {                                                                     \
                    BODY(T, R)                                                                     \
                }                                                                                  \
            }                                                                                      \
        } else if (shape == ACCESS_FAULT) {                                                        \
            return;                                                                                \
        } else if (count > 1 && sizeof(T) == sizeof(R) && (x.bytes == 8 || x.bytes == 16)) {       \
            vector_access(warp, rows, count, sizeof(T), &access, shape, mask,                      \
                          (NEED) == SG_MAP_WRITE);                                                 \
        } else {                                                                                   \
            const uint32_t step = count;                                                           \
            for (uint32_t k = 0; k < count; k++) {                                                 \
                const uint32_t at = k * (uint32_t)sizeof(T);                                       \
                if (rows[k]) {                                                                     \
                    BODY(T, R)                                                                     \
                }                                                                                  \
            }                                                                                      \
        }                                                                                          \
    }

/* Memory type, type in memory, type in the row. */
#define MEMORY_TYPES(SPACE)                                                                        \
    MEMORY_BOTH(SPACE, u8, uint8_t, uint32_t)                                                      \
    MEMORY_BOTH(SPACE, s8, int8_t, int32_t)                                                        \
    MEMORY_BOTH(SPACE, u16, uint16_t, uint32_t)                                                    \
    MEMORY_BOTH(SPACE, s16, int16_t, int32_t)                                                      \
    MEMORY_BOTH(SPACE, b32, uint32_t, uint32_t)                                                    \
    MEMORY_BOTH(SPACE, u8w, uint8_t, uint64_t)                                                     \
    MEMORY_BOTH(SPACE, s8w, int8_t, int64_t)                                                       \
    MEMORY_BOTH(SPACE, u16w, uint16_t, uint64_t)                                                   \
    MEMORY_BOTH(SPACE, s16w, int16_t, int64_t)                                                     \
    MEMORY_BOTH(SPACE, u32w, uint32_t, uint64_t)                                                   \
    MEMORY_BOTH(SPACE, s32w, int32_t, int64_t)                                                     \
    MEMORY_BOTH(SPACE, b64, uint64_t, uint64_t)

#define MEMORY_SPACES                                                                              \
    MEMORY_TYPES(GLOBAL)                                                                           \
    MEMORY_TYPES(SHARED)                                                                           \
    MEMORY_TYPES(LOCAL) MEMORY_TYPES(GENERIC) MEMORY_TYPES(PARAM) MEMORY_TYPES(FRAME)

#define MEMORY_BOTH(SPACE, name, T, R)                                                             \
    MAKE_ACCESS(load_##SPACE##_##name, SG_MEM_##SPACE, T, R, SG_MAP_READ, LOAD_BODY)               \
    MAKE_ACCESS(store_##SPACE##_##name, SG_MEM_##SPACE, T, R, SG_MAP_WRITE, STORE_BODY)
MEMORY_SPACES
#undef MEMORY_BOTH

static const struct sg_mem_ops ops = {
#define MEMORY_BOTH(SPACE, name, T, R) [SG_MEM_##SPACE][SG_MEM_##name] = load_##SPACE##_##name,
    .load = {MEMORY_SPACES},
#undef MEMORY_BOTH
#define MEMORY_BOTH(SPACE, name, T, R) [SG_MEM_##SPACE][SG_MEM_##name] = store_##SPACE##_##name,
    .store = {MEMORY_SPACES},
};

const struct sg_mem_ops *SG_ISA_NAME(sg_mem_ops)(void);
const struct sg_mem_ops *SG_ISA_NAME(sg_mem_ops)(void)
{
    return &ops;
}
