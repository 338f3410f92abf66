/* Handlers that turn pairs into something else: rows, predicates, and the decision to leave. */
#include <string.h>

#include "softgpu/exec/fast.h"
#include "softgpu/exec/warp.h"

#define EXPAND(name, T)                                                                            \
    void name(struct sg_warp *warp, const struct sg_insn *in, uint32_t mask)                       \
    {                                                                                              \
        const T *pair = sg_row(warp, in->a);                                                       \
        T *row = __builtin_assume_aligned(sg_row(warp, in->d), 64);                                \
        const T stride = (T)in->imm, low = pair[0], high = pair[1];                                \
        (void)mask;                                                                                \
        for (int i = 0; i < SG_HALF; i++) {                                                        \
            row[i] = low + (T)i * stride;                                                          \
            row[i + SG_HALF] = high + (T)i * stride;                                               \
        }                                                                                          \
    }

EXPAND(sg_fast_expand32, uint32_t)
EXPAND(sg_fast_expand64, uint64_t)

/* The run loop looks at the end each time. */
static void leave(struct sg_warp *warp)
{
    warp->fast_end = NULL;
}

void sg_fast_check_s32(struct sg_warp *warp, const struct sg_insn *in, uint32_t mask)
{
    const int32_t *pair = sg_row(warp, in->e);
    int64_t reach = (int64_t)(int32_t)in->f * (SG_HALF - 1);
    int64_t low = pair[0] + reach, high = pair[1] + reach;
    if (low != (int32_t)low || high != (int32_t)high) {
        leave(warp);
        return;
    }
    in->masked(warp, in, mask);
}

void sg_fast_check_u32(struct sg_warp *warp, const struct sg_insn *in, uint32_t mask)
{
    const uint32_t *pair = sg_row(warp, in->e);
    int64_t reach = (int64_t)(int32_t)in->f * (SG_HALF - 1);
    int64_t low = pair[0] + reach, high = pair[1] + reach;
    if ((low | high) >> 32 != 0) {
        leave(warp);
        return;
    }
    in->masked(warp, in, mask);
}

/* Lane by lane */
#define COMPARE_EACH(name, T, U, op)                                                               \
    static                                                                                         \
        __attribute__((noinline)) void each_##name(struct sg_warp *warp, const struct sg_insn *in) \
    {                                                                                              \
        const U *a = sg_row(warp, in->a), *b = sg_row(warp, in->b);                                \
        const U sa = (U)(int32_t)in->e, sb = (U)(int32_t)in->f;                                    \
        uint32_t bits = 0;                                                                         \
        for (int i = 0; i < SG_LANES; i++) {                                                       \
            U x = a[i / SG_HALF] + (U)(i % SG_HALF) * sa;                                          \
            U y = b[i / SG_HALF] + (U)(i % SG_HALF) * sb;                                          \
            bits |= (T)x op(T) y ? 1u << i : 0;                                                    \
        }                                                                                          \
        *(uint32_t *)sg_row(warp, in->d) = bits;                                                   \
    }

/* Where no half wraps around, an order between two evenly spaced rows that holds at both ends of it
 * holds between them; equality does if the strides agree. */
#define COMPARE(name, T, U, W, ordered, op)                                                        \
    COMPARE_EACH(name, T, U, op)                                                                   \
    static void compare_##name(struct sg_warp *warp, const struct sg_insn *in, uint32_t mask)      \
    {                                                                                              \
        const U *a = sg_row(warp, in->a), *b = sg_row(warp, in->b);                                \
        const int32_t sa = (int32_t)in->e, sb = (int32_t)in->f;                                    \
        const W a0 = (T)a[0], a1 = (T)a[1], b0 = (T)b[0], b1 = (T)b[1];                            \
        const bool low = a0 op b0, high = a1 op b1;                                                \
        bool known = sa == sb;                                                                     \
        (void)mask;                                                                                \
        if (ordered) {                                                                             \
            const W ra = (W)sa * (SG_HALF - 1), rb = (W)sb * (SG_HALF - 1);                        \
            const W a2 = a0 + ra, a3 = a1 + ra, b2 = b0 + rb, b3 = b1 + rb;                        \
            known = (low == (a2 op b2)) & (high == (a3 op b3)) & (a2 == (W)(T)a2) &                \
                    (a3 == (W)(T)a3) & (b2 == (W)(T)b2) & (b3 == (W)(T)b3);                        \
        }                                                                                          \
        if (!known) {                                                                              \
            each_##name(warp, in);                                                                 \
            return;                                                                                \
        }                                                                                          \
        *(uint32_t *)sg_row(warp, in->d) = (low ? 0xffffu : 0) | (high ? 0xffff0000u : 0);         \
    }

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

#define ENTRY(name, T, U, W, ordered, op) {"x_" #name, compare_##name},

sg_handler *sg_fast_compare(const char *name)
{
    static const struct {
        const char *name;
        sg_handler *handler;
    } table[] = {COMPARISONS(ENTRY)};
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        if (strcmp(table[i].name, name) == 0) {
            return table[i].handler;
        }
    }
    return NULL;
}
