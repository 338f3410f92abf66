/* SPDX-License-Identifier: Apache-2.0 */
/* Macros that make handlers, and a table of them, of the lines of one .def file. Included by
 * alu_*.c, which are compiled once per instruction set named by SG_ISA.
 *
 * Rows are the same or do not overlap, so there is no dependence between lanes (ivdep). A masked
 * handler computes all lanes and blends: every operation is defined for all values, since lanes
 * outside the mask may hold anything. */
#ifndef SOFTGPU_EXEC_ALU_H
#define SOFTGPU_EXEC_ALU_H

#include "softgpu/exec/fast.h"
#include "softgpu/exec/half.h"
#include "softgpu/exec/op_math.h"

#if defined(__SSE2__)
#include <immintrin.h>
#endif

#define SG_JOIN_(a, b)    a##b
#define SG_JOIN(a, b)     SG_JOIN_(a, b)
#define SG_ISA_NAME(name) SG_JOIN(name##_, SG_ISA)

/* Row element and value type of each operand type. */
typedef uint32_t row_u16, row_s16, row_u32, row_p, row_f16, row_bf16, row_f16x2, row_bf16x2;
typedef int32_t row_s32;
typedef float row_f32;
typedef uint64_t row_u64;
typedef int64_t row_s64;
typedef double row_f64;
typedef uint16_t val_u16, val_f16, val_bf16;
typedef int16_t val_s16;
typedef uint32_t val_u32, val_p, val_f16x2, val_bf16x2;
typedef int32_t val_s32;
typedef float val_f32;
typedef uint64_t val_u64;
typedef int64_t val_s64;
typedef double val_f64;

#define ALU_GET(T, row, i)  ALU_GET_##T(row, i)
#define ALU_GET_u16(row, i) (val_u16)(row)[i]
#define ALU_GET_s16(row, i) (val_s16)(val_u16)(row)[i]
#define ALU_GET_f16         ALU_GET_u16
#define ALU_GET_bf16        ALU_GET_u16
#define ALU_GET_u32(row, i) (row)[i]
#define ALU_GET_f16x2       ALU_GET_u32
#define ALU_GET_bf16x2      ALU_GET_u32
#define ALU_GET_s32(row, i) (row)[i]
#define ALU_GET_f32(row, i) (row)[i]
#define ALU_GET_u64(row, i) (row)[i]
#define ALU_GET_s64(row, i) (row)[i]
#define ALU_GET_f64(row, i) (row)[i]
#define ALU_GET_p(row, i)   ((row)[0] >> (i)&1)

#define ALU_ROW(T, name, field)                                                                    \
    T *name = (T *)__builtin_assume_aligned((char *)warp + in->field, sizeof(T) > 4 ? 64 : 4)
#define ALU_ROW_OF(T, name, field) ALU_ROW(row_##T, name, field)

#define SG_LANE_LOOP _Pragma("GCC ivdep") for (int i = 0; i < SG_LANES; i++)
#define SG_LANE_ON   (mask >> i & 1)

/* Predicate results: one word per lane, of which the sign bits are taken. */
static inline uint32_t sg_pack_mask(const uint32_t *words)
{
#if defined(__AVX2__)
    uint32_t mask = 0;
    for (int i = 0; i < 4; i++) {
        __m256i v = _mm256_load_si256((const __m256i *)(const void *)(words + 8 * i));
        mask |= (uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(v)) << (8 * i);
    }
    return mask;
#elif defined(__SSE2__)
    uint32_t mask = 0;
    for (int i = 0; i < 8; i++) {
        __m128i v = _mm_load_si128((const __m128i *)(const void *)(words + 4 * i));
        mask |= (uint32_t)_mm_movemask_ps(_mm_castsi128_ps(v)) << (4 * i);
    }
    return mask;
#else
    uint32_t mask = 0;
    for (int i = 0; i < SG_LANES; i++) {
        mask |= (words[i] >> 31) << i;
    }
    return mask;
#endif
}

/* Arithmetic in another rounding mode. The barriers keep it between the two settings: it reads and
 * writes memory, and neither may cross them. */
enum { SG_ROUND_rm = 0x2000, SG_ROUND_rp = 0x4000, SG_ROUND_rz = 0x6000 };
#define ALU_ROUND_BEGIN(mode)                                                                      \
    unsigned saved_ = _mm_getcsr();                                                                \
    _mm_setcsr((saved_ & ~0x6000u) | SG_ROUND_##mode);                                             \
    __asm__ volatile("" ::: "memory")
#define ALU_ROUND_END                                                                              \
    __asm__ volatile("" ::: "memory");                                                             \
    _mm_setcsr(saved_)

#define ALU_LANES1(A)                                                                              \
    const val_##A a = ALU_GET(A, ra, i);                                                           \
    (void)a
#define ALU_LANES2(A, B)                                                                           \
    ALU_LANES1(A);                                                                                 \
    const val_##B b = ALU_GET(B, rb, i);                                                           \
    (void)b
#define ALU_LANES3(A, B, C)                                                                        \
    ALU_LANES2(A, B);                                                                              \
    const val_##C c = ALU_GET(C, rc, i);                                                           \
    (void)c
#define ALU_LANES4(A, B, C, E)                                                                     \
    ALU_LANES3(A, B, C);                                                                           \
    const val_##E e = ALU_GET(E, re, i);                                                           \
    (void)e
#define ALU_ROWS1(A) ALU_ROW_OF(A, ra, a)
#define ALU_ROWS2(A, B)                                                                            \
    ALU_ROWS1(A);                                                                                  \
    ALU_ROW_OF(B, rb, b)
#define ALU_ROWS3(A, B, C)                                                                         \
    ALU_ROWS2(A, B);                                                                               \
    ALU_ROW_OF(C, rc, c)
#define ALU_ROWS4(A, B, C, E)                                                                      \
    ALU_ROWS3(A, B, C);                                                                            \
    ALU_ROW_OF(E, re, e)

#define ALU_HANDLER(prefix, name)                                                                  \
    static void prefix##_##name(struct sg_warp *warp, const struct sg_insn *in, uint32_t mask)
#define ALU_VALUE(D, ...) (row_##D)(val_##D)(__VA_ARGS__)
#define ALU_CHAINED(name)                                                                          \
    ALU_HANDLER(chain, name)                                                                       \
    {                                                                                              \
        full_##name(warp, in, mask);                                                               \
        SG_FAST_GO(warp, in + 1);                                                                  \
    }

#define ALU_MAKE_OP(name, D, BEGIN, END, ROWS, LANES, ...)                                         \
    ALU_HANDLER(full, name)                                                                        \
    {                                                                                              \
        const int64_t imm = in->imm;                                                               \
        (void)imm, (void)mask;                                                                     \
        ALU_ROW_OF(D, rd, d);                                                                      \
        ROWS;                                                                                      \
        BEGIN;                                                                                     \
        SG_LANE_LOOP                                                                               \
        {                                                                                          \
            LANES;                                                                                 \
            rd[i] = ALU_VALUE(D, __VA_ARGS__);                                                     \
        }                                                                                          \
        END;                                                                                       \
    }                                                                                              \
    ALU_CHAINED(name)                                                                              \
    ALU_HANDLER(masked, name)                                                                      \
    {                                                                                              \
        const int64_t imm = in->imm;                                                               \
        (void)imm;                                                                                 \
        ALU_ROW_OF(D, rd, d);                                                                      \
        ROWS;                                                                                      \
        BEGIN;                                                                                     \
        SG_LANE_LOOP                                                                               \
        {                                                                                          \
            LANES;                                                                                 \
            rd[i] = SG_LANE_ON ? ALU_VALUE(D, __VA_ARGS__) : rd[i];                                \
        }                                                                                          \
        END;                                                                                       \
    }                                                                                              \
    ALU_HANDLER(pair, name)                                                                        \
    {                                                                                              \
        const int64_t imm = in->imm;                                                               \
        (void)imm, (void)mask;                                                                     \
        ALU_ROW_OF(D, rd, d);                                                                      \
        ROWS;                                                                                      \
        BEGIN;                                                                                     \
        _Pragma("GCC ivdep") for (int i = 0; i < 2; i++)                                           \
        {                                                                                          \
            LANES;                                                                                 \
            rd[i] = ALU_VALUE(D, __VA_ARGS__);                                                     \
        }                                                                                          \
        END;                                                                                       \
        SG_FAST_GO(warp, in + 1);                                                                  \
    }

#define ALU_MAKE_CMP(name, ROWS, LANES, ...)                                                       \
    ALU_HANDLER(full, name)                                                                        \
    {                                                                                              \
        _Alignas(32) uint32_t words[SG_LANES];                                                     \
        ALU_ROW_OF(p, rd, d);                                                                      \
        ROWS;                                                                                      \
        (void)mask;                                                                                \
        SG_LANE_LOOP                                                                               \
        {                                                                                          \
            LANES;                                                                                 \
            words[i] = (__VA_ARGS__) ? UINT32_MAX : 0;                                             \
        }                                                                                          \
        *rd = sg_pack_mask(words);                                                                 \
    }                                                                                              \
    ALU_CHAINED(name)                                                                              \
    ALU_HANDLER(masked, name)                                                                      \
    {                                                                                              \
        ALU_ROW_OF(p, rd, d);                                                                      \
        uint32_t old = *rd;                                                                        \
        full_##name(warp, in, mask);                                                               \
        *rd = (*rd & mask) | (old & ~mask);                                                        \
    }

#define ALU_MAKE_BITS(name, ROWS, A, B, C, ...)                                                    \
    ALU_HANDLER(full, name)                                                                        \
    {                                                                                              \
        ALU_ROW_OF(p, rd, d);                                                                      \
        ROWS;                                                                                      \
        const uint32_t a = A, b = B, c = C;                                                        \
        (void)a, (void)b, (void)c, (void)mask;                                                     \
        *rd = __VA_ARGS__;                                                                         \
    }                                                                                              \
    ALU_CHAINED(name)                                                                              \
    ALU_HANDLER(masked, name)                                                                      \
    {                                                                                              \
        ALU_ROW_OF(p, rd, d);                                                                      \
        ROWS;                                                                                      \
        const uint32_t a = A, b = B, c = C;                                                        \
        (void)a, (void)b, (void)c;                                                                 \
        *rd = ((__VA_ARGS__)&mask) | (*rd & ~mask);                                                \
    }

#define ALU_NOTHING ((void)0)
#define OP1(name, D, A, ...)                                                                       \
    ALU_MAKE_OP(name, D, ALU_NOTHING, ALU_NOTHING, ALU_ROWS1(A), ALU_LANES1(A), __VA_ARGS__)
#define OP2(name, D, A, B, ...)                                                                    \
    ALU_MAKE_OP(name, D, ALU_NOTHING, ALU_NOTHING, ALU_ROWS2(A, B), ALU_LANES2(A, B), __VA_ARGS__)
#define OP3(name, D, A, B, C, ...)                                                                 \
    ALU_MAKE_OP(name, D, ALU_NOTHING, ALU_NOTHING, ALU_ROWS3(A, B, C), ALU_LANES3(A, B, C),        \
                __VA_ARGS__)
#define OP4(name, D, A, B, C, E, ...)                                                              \
    ALU_MAKE_OP(name, D, ALU_NOTHING, ALU_NOTHING, ALU_ROWS4(A, B, C, E), ALU_LANES4(A, B, C, E),  \
                __VA_ARGS__)
#define RND1(name, R, D, A, ...)                                                                   \
    ALU_MAKE_OP(name, D, ALU_ROUND_BEGIN(R), ALU_ROUND_END, ALU_ROWS1(A), ALU_LANES1(A),           \
                __VA_ARGS__)
#define RND2(name, R, D, A, B, ...)                                                                \
    ALU_MAKE_OP(name, D, ALU_ROUND_BEGIN(R), ALU_ROUND_END, ALU_ROWS2(A, B), ALU_LANES2(A, B),     \
                __VA_ARGS__)
#define RND3(name, R, D, A, B, C, ...)                                                             \
    ALU_MAKE_OP(name, D, ALU_ROUND_BEGIN(R), ALU_ROUND_END, ALU_ROWS3(A, B, C),                    \
                ALU_LANES3(A, B, C), __VA_ARGS__)
#define CMP1(name, A, ...)    ALU_MAKE_CMP(name, ALU_ROWS1(A), ALU_LANES1(A), __VA_ARGS__)
#define CMP2(name, A, B, ...) ALU_MAKE_CMP(name, ALU_ROWS2(A, B), ALU_LANES2(A, B), __VA_ARGS__)
#define CMP3(name, A, B, C, ...)                                                                   \
    ALU_MAKE_CMP(name, ALU_ROWS3(A, B, C), ALU_LANES3(A, B, C), __VA_ARGS__)
#define BITS1(name, ...) ALU_MAKE_BITS(name, ALU_ROWS1(p), *ra, 0, 0, __VA_ARGS__)
#define BITS2(name, ...) ALU_MAKE_BITS(name, ALU_ROWS2(p, p), *ra, *rb, 0, __VA_ARGS__)
#define BITS3(name, ...) ALU_MAKE_BITS(name, ALU_ROWS3(p, p, p), *ra, *rb, *rc, __VA_ARGS__)
#define ALIAS(name, same)

#endif
