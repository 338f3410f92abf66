/* SPDX-License-Identifier: Apache-2.0 */
/* Handlers that turn pairs into rows or predicates, and those that leave the fast version. */
#include <string.h>

#include "softgpu/exec/fast_pair.h"
#include "softgpu/exec/warp.h"

#define EXPAND(bits, T)                                                                            \
    void sg_fast_write##bits(struct sg_warp *warp, uint32_t d, uint32_t a, T stride)               \
    {                                                                                              \
        const T *pair = sg_row(warp, a);                                                           \
        T *row = __builtin_assume_aligned(sg_row(warp, d), 64);                                    \
        const T low = pair[0], high = pair[1];                                                     \
        for (int i = 0; i < SG_HALF; i++) {                                                        \
            row[i] = low + (T)i * stride;                                                          \
            row[i + SG_HALF] = high + (T)i * stride;                                               \
        }                                                                                          \
    }                                                                                              \
    void sg_fast_expand##bits(struct sg_warp *warp, const struct sg_insn *in, uint32_t mask)       \
    {                                                                                              \
        (void)mask;                                                                                \
        sg_fast_write##bits(warp, in->d, in->a, (T)in->imm);                                       \
        SG_FAST_GO(warp, in + 1);                                                                  \
    }

EXPAND(32, uint32_t)
EXPAND(64, uint64_t)

/* T: the type of the numbers. */
#define PAIR_CHECK(name, T)                                                                        \
    void sg_fast_check_##name(struct sg_warp *warp, const struct sg_insn *in, uint32_t mask)       \
    {                                                                                              \
        const T *pair = sg_row(warp, in->a);                                                       \
        const int64_t reach = (int64_t)(int32_t)in->b * (SG_HALF - 1);                             \
        const int64_t low = pair[0] + reach, high = pair[1] + reach;                               \
        (void)mask;                                                                                \
        if (low != (T)low || high != (T)high) {                                                    \
            sg_fast_leave(warp, in);                                                               \
            return;                                                                                \
        }                                                                                          \
        SG_FAST_GO(warp, in + 1);                                                                  \
    }

PAIR_CHECK(s32, int32_t)
PAIR_CHECK(u32, uint32_t)

#define INDEX(name)                                                                                \
    void sg_fast_index_##name(struct sg_warp *warp, const struct sg_insn *in, uint32_t mask)       \
    {                                                                                              \
        struct sg_fast_pair product;                                                               \
        (void)mask;                                                                                \
        if (!sg_fast_product_##name(warp, in, &product)) {                                         \
            sg_fast_leave(warp, in);                                                               \
            return;                                                                                \
        }                                                                                          \
        sg_fast_sum(warp, in + 2, product);                                                        \
        SG_FAST_GO(warp, in + 3);                                                                  \
    }

INDEX(s32)
INDEX(u32)

static inline uint32_t halves(uint32_t low, uint32_t high)
{
    return (0 - low) >> SG_HALF | (0 - high) << SG_HALF;
}

/* Lane by lane */
#define COMPARE_EACH(name, T, U, op)                                                               \
    static __attribute__((noinline)) void each_##name(struct sg_warp *warp,                        \
                                                      const struct sg_insn *in, uint32_t mask)     \
    {                                                                                              \
        const U *a = sg_row(warp, in->a), *b = sg_row(warp, in->b);                                \
        const U sa = (U)(int32_t)in->e, sb = (U)(int32_t)in->f;                                    \
        mask = 0;                                                                                  \
        for (int i = 0; i < SG_LANES; i++) {                                                       \
            U x = a[i / SG_HALF] + (U)(i % SG_HALF) * sa;                                          \
            U y = b[i / SG_HALF] + (U)(i % SG_HALF) * sb;                                          \
            mask |= (T)x op(T) y ? 1u << i : 0;                                                    \
        }                                                                                          \
        *(uint32_t *)sg_row(warp, in->d) = mask;                                                   \
        SG_FAST_GO(warp, in + 1);                                                                  \
    }

/* Whether the branch after the comparison, which guards it, is taken. */
#define PAIR_BRANCH(low, high)                                                                     \
    if ((low) != (high)) {                                                                         \
        sg_fast_leave(warp, in + 1);                                                               \
        return;                                                                                    \
    }                                                                                              \
    if ((low) == (in[1].c == 0)) {                                                                 \
        SG_FAST_JUMP(warp, in + 1);                                                                \
        return;                                                                                    \
    }                                                                                              \
    SG_FAST_GO(warp, in + 2)
#define GO_ON(low, high) SG_FAST_GO(warp, in + 1)

/* The first operand of the comparison: the pair itself, or the sum of the previous instruction. */
#define AS_IS(U)                                                                                   \
    const U *a = sg_row(warp, in->a);                                                              \
    const U first = a[0], second = a[1]
#define PAIR_STEP(U)                                                                               \
    const U *from = sg_row(warp, in->a), *by = sg_row(warp, in->b);                                \
    U *sum = sg_row(warp, in->d);                                                                  \
    const U first = from[0] + by[0], second = from[1] + by[1];                                     \
    sum[0] = first;                                                                                \
    sum[1] = second;                                                                               \
    in++

/* If no half wraps around, an order between two evenly spaced rows that holds at both ends holds
 * between them; equality does if the strides agree. a_moves, b_moves: which rows have a stride. */
#define COMPARE_EVEN(prefix, name, T, U, W, ordered, op, a_moves, b_moves, FIRST, THEN)            \
    static void prefix##_##name(struct sg_warp *warp, const struct sg_insn *in, uint32_t mask)     \
    {                                                                                              \
        (void)mask;                                                                                \
        FIRST(U);                                                                                  \
        const U *b = sg_row(warp, in->b);                                                          \
        const int32_t sa = (a_moves) ? (int32_t)in->e : 0, sb = (b_moves) ? (int32_t)in->f : 0;    \
        const W a0 = (T)first, a1 = (T)second, b0 = (T)b[0], b1 = (T)b[1];                         \
        const bool low = a0 op b0, high = a1 op b1;                                                \
        bool known = sa == sb;                                                                     \
        if (ordered) {                                                                             \
            const W ra = (W)sa * (SG_HALF - 1), rb = (W)sb * (SG_HALF - 1);                        \
            const W a2 = a0 + ra, a3 = a1 + ra, b2 = b0 + rb, b3 = b1 + rb;                        \
            const bool whole =                                                                     \
                a2 == (W)(T)a2 && a3 == (W)(T)a3 && b2 == (W)(T)b2 && b3 == (W)(T)b3;              \
            const bool low_end = a2 op b2, high_end = a3 op b3;                                    \
            if (whole &&                                                                           \
                (low & low_end & high & high_end)) { /* the case in most turns of a loop */        \
                *(uint32_t *)sg_row(warp, in->d) = UINT32_MAX;                                     \
                THEN(true, true);                                                                  \
                return;                                                                            \
            }                                                                                      \
            known = whole && low == low_end && high == high_end;                                   \
        }                                                                                          \
        if (!known) {                                                                              \
            SG_FAST_TO(each_##name, warp, in);                                                     \
            return;                                                                                \
        }                                                                                          \
        *(uint32_t *)sg_row(warp, in->d) = halves(low, high);                                      \
        THEN(low, high);                                                                           \
    }

#define COMPARE_SAME(prefix, name, T, U, op, FIRST, THEN)                                          \
    static void prefix##_##name(struct sg_warp *warp, const struct sg_insn *in, uint32_t mask)     \
    {                                                                                              \
        (void)mask;                                                                                \
        FIRST(U);                                                                                  \
        const T *b = sg_row(warp, in->b);                                                          \
        const bool low = (T)first op b[0], high = (T)second op b[1];                               \
        *(uint32_t *)sg_row(warp, in->d) = halves(low, high);                                      \
        THEN(low, high);                                                                           \
    }

#define COMPARE(name, T, U, W, ordered, op)                                                        \
    COMPARE_EACH(name, T, U, op)                                                                   \
    COMPARE_EVEN(even, name, T, U, W, ordered, op, true, true, AS_IS, GO_ON)                       \
    COMPARE_EVEN(first, name, T, U, W, ordered, op, true, false, AS_IS, GO_ON)                     \
    COMPARE_EVEN(second, name, T, U, W, ordered, op, false, true, AS_IS, GO_ON)                    \
    COMPARE_SAME(same, name, T, U, op, AS_IS, GO_ON)                                               \
    COMPARE_EVEN(even_branch, name, T, U, W, ordered, op, true, true, AS_IS, PAIR_BRANCH)          \
    COMPARE_EVEN(first_branch, name, T, U, W, ordered, op, true, false, AS_IS, PAIR_BRANCH)        \
    COMPARE_EVEN(second_branch, name, T, U, W, ordered, op, false, true, AS_IS, PAIR_BRANCH)       \
    COMPARE_SAME(same_branch, name, T, U, op, AS_IS, PAIR_BRANCH)                                  \
    COMPARE_EVEN(first_step, name, T, U, W, ordered, op, true, false, PAIR_STEP, PAIR_BRANCH)      \
    COMPARE_SAME(same_step, name, T, U, op, PAIR_STEP, PAIR_BRANCH)

#define COMPARISONS(DO)                                                                            \
    DO(lt_u32, uint32_t, uint32_t, int64_t, true, <)                                               \
    DO(le_u32, uint32_t, uint32_t, int64_t, true, <=)                                              \
    DO(lt_s32, int32_t, uint32_t, int64_t, true, <)                                                \
    DO(le_s32, int32_t, uint32_t, int64_t, true, <=)                                               \
    DO(eq_b32, uint32_t, uint32_t, int64_t, false, ==)                                             \
    DO(ne_b32, uint32_t, uint32_t, int64_t, false, !=)                                             \
    DO(lt_u64, uint64_t, uint64_t, __int128, true, <)                                              \
    DO(le_u64, uint64_t, uint64_t, __int128, true, <=)                                             \
    DO(lt_s64, int64_t, uint64_t, __int128, true, <)                                               \
    DO(le_s64, int64_t, uint64_t, __int128, true, <=)                                              \
    DO(eq_b64, uint64_t, uint64_t, __int128, false, ==)                                            \
    DO(ne_b64, uint64_t, uint64_t, __int128, false, !=)

COMPARISONS(COMPARE)

#define PAIR_ENTRY(name, T, U, W, ordered, op)                                                     \
    {"x_" #name,                                                                                   \
     {{same_##name, second_##name}, {first_##name, even_##name}},                                  \
     {{same_branch_##name, second_branch_##name}, {first_branch_##name, even_branch_##name}},      \
     {same_step_##name, first_step_##name},                                                        \
     sizeof(T) == 8},

/* Indexed by whether the first and the second row have a stride. */
static const struct {
    const char *name;
    sg_handler *compare[2][2], *branch[2][2], *step[2];
    bool wide;
} table[] = {COMPARISONS(PAIR_ENTRY)};

sg_handler *sg_fast_compare(const char *name, int32_t stride_a, int32_t stride_b)
{
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        if (strcmp(table[i].name, name) == 0) {
            return table[i].compare[stride_a != 0][stride_b != 0];
        }
    }
    return NULL;
}

sg_handler *sg_fast_compare_and_branch(sg_handler *compare)
{
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        for (int kind = 0; kind < 4; kind++) {
            if (table[i].compare[kind / 2][kind % 2] == compare) {
                return table[i].branch[kind / 2][kind % 2];
            }
        }
    }
    return NULL;
}

sg_handler *sg_fast_step_and_branch(sg_handler *compare, bool wide)
{
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        for (int moves = 0; moves < 2; moves++) {
            if (table[i].compare[moves][0] == compare && table[i].wide == wide) {
                return table[i].step[moves];
            }
        }
    }
    return NULL;
}
