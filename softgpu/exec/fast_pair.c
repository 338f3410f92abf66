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

/* Where both ends of a half are comparable without wrapping around, an order between two evenly
 * spaced rows that holds at both ends holds between them; equality does if the strides agree. */
#define COMPARE(name, T, U, W, ordered, op)                                                        \
    static void compare_##name(struct sg_warp *warp, const struct sg_insn *in, uint32_t mask)      \
    {                                                                                              \
        const U *a = sg_row(warp, in->a), *b = sg_row(warp, in->b);                                \
        const int32_t sa = (int32_t)in->e, sb = (int32_t)in->f;                                    \
        uint32_t bits[2];                                                                          \
        (void)mask;                                                                                \
        if ((sa | sb) == 0) {                                                                      \
            *(uint32_t *)sg_row(warp, in->d) =                                                     \
                ((T)a[0] op(T) b[0] ? 0xffffu : 0) | ((T)a[1] op(T) b[1] ? 0xffff0000u : 0);       \
            return;                                                                                \
        }                                                                                          \
        for (int h = 0; h < 2; h++) {                                                              \
            W end_a = (W)(T)a[h] + (W)sa * (SG_HALF - 1);                                          \
            W end_b = (W)(T)b[h] + (W)sb * (SG_HALF - 1);                                          \
            bool first = (T)a[h] op(T) b[h], last = end_a op end_b;                                \
            bool fits = end_a == (W)(T)end_a && end_b == (W)(T)end_b;                              \
            bits[h] = first ? 0xffff : 0;                                                          \
            if ((ordered) ? !fits || first != last : sa != sb) {                                   \
                bits[h] = 0;                                                                       \
                for (int i = 0; i < SG_HALF; i++) {                                                \
                    U x = a[h] + (U)i * (U)(T)sa, y = b[h] + (U)i * (U)(T)sb;                      \
                    bits[h] |= (T)x op(T) y ? 1u << i : 0;                                         \
                }                                                                                  \
            }                                                                                      \
        }                                                                                          \
        *(uint32_t *)sg_row(warp, in->d) = bits[0] | bits[1] << SG_HALF;                           \
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
