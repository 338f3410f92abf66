/* SPDX-License-Identifier: Apache-2.0 */
/* Operations of a whole warp: shfl, vote, match, redux (PTX ISA 9.0, 9.7.9 and 9.7.13). `mask` has
 * the participating lanes. A lane's result never depends on other lanes. */
#include "softgpu/exec/misc.h"
#include "softgpu/exec/warp.h"

#include <string.h>

enum shuffle { SHUFFLE_UP, SHUFFLE_DOWN, SHUFFLE_BFLY, SHUFFLE_IDX };

static inline void shuffle(struct sg_warp *warp, const struct sg_insn *in, uint32_t mask,
                           enum shuffle mode)
{
    uint32_t a[SG_LANES], predicate = 0;
    const uint32_t *b = sg_row(warp, in->b), *c = sg_row(warp, in->c);
    uint32_t *d = sg_row(warp, in->d);
    memcpy(a, sg_row(warp, in->a), sizeof a); /* d may be the same row, or that of b or c */
    uint32_t bs[SG_LANES], cs[SG_LANES];
    memcpy(bs, b, sizeof bs);
    memcpy(cs, c, sizeof cs);
    for (uint32_t lane = 0; lane < SG_LANES; lane++) {
        uint32_t by = bs[lane] & 31, clamp = cs[lane] & 31, segment = cs[lane] >> 8 & 31;
        uint32_t low = lane & segment, high = low | (clamp & ~segment);
        int32_t from;
        bool valid;
        switch (mode) {
        case SHUFFLE_UP:
            from = (int32_t)lane - (int32_t)by;
            valid = from >= (int32_t)high;
            break;
        case SHUFFLE_DOWN:
            from = (int32_t)(lane + by);
            valid = from <= (int32_t)high;
            break;
        case SHUFFLE_BFLY:
            from = (int32_t)(lane ^ by);
            valid = from <= (int32_t)high;
            break;
        default:
            from = (int32_t)(low | (by & ~segment));
            valid = from <= (int32_t)high;
            break;
        }
        from = valid ? from : (int32_t)lane;
        if (mask >> lane & 1) {
            /* The value of an absent lane is undefined by PTX. It has to be 0: block reductions
             * whose last step has fewer lanes than its shuffle names add the value. */
            d[lane] = mask >> (from & 31) & 1 ? a[from & 31] : 0;
            predicate |= valid ? 1u << lane : 0;
        }
    }
    if (in->f) {
        uint32_t *p = sg_row(warp, in->f);
        *p = (*p & ~mask) | predicate;
    }
}

/* As above if all lanes are here, in two passes; the first is vector code. */
static inline __attribute__((always_inline)) void
shuffle_all(struct sg_warp *warp, const struct sg_insn *in, enum shuffle mode)
{
    const uint32_t *b = sg_row(warp, in->b), *c = sg_row(warp, in->c);
    uint32_t a[SG_LANES], from[SG_LANES], *d = sg_row(warp, in->d);
    int32_t past[SG_LANES];                   /* negative: the lane keeps its own value */
    memcpy(a, sg_row(warp, in->a), sizeof a); /* d may be the same row, or that of b or c */
    for (int32_t lane = 0; lane < SG_LANES; lane++) {
        const int32_t by = b[lane] & 31, segment = c[lane] >> 8 & 31;
        const int32_t low = lane & segment, high = low | ((int32_t)(c[lane] & 31) & ~segment);
        const int32_t at = mode == SHUFFLE_UP     ? lane - by
                           : mode == SHUFFLE_DOWN ? lane + by
                           : mode == SHUFFLE_BFLY ? lane ^ by
                                                  : low | (by & ~segment);
        past[lane] = mode == SHUFFLE_UP ? at - high : high - at;
        from[lane] = (uint32_t)(past[lane] < 0 ? lane : at) & 31;
    }
    for (int lane = 0; lane < SG_LANES; lane++) {
        d[lane] = a[from[lane]];
    }
    if (in->f) {
        uint32_t predicate = 0;
        for (int lane = 0; lane < SG_LANES; lane++) {
            predicate |= past[lane] < 0 ? 0 : 1u << lane;
        }
        *(uint32_t *)sg_row(warp, in->f) = predicate;
    }
}

static inline __attribute__((always_inline)) void
shuffle_lanes(struct sg_warp *warp, const struct sg_insn *in, uint32_t mask, enum shuffle mode)
{
    if (mask == UINT32_MAX) {
        shuffle_all(warp, in, mode);
    } else {
        shuffle(warp, in, mask, mode);
    }
}

void sg_shfl_up(struct sg_warp *warp, const struct sg_insn *in, uint32_t mask)
{
    shuffle_lanes(warp, in, mask, SHUFFLE_UP);
}

void sg_shfl_down(struct sg_warp *warp, const struct sg_insn *in, uint32_t mask)
{
    shuffle_lanes(warp, in, mask, SHUFFLE_DOWN);
}

void sg_shfl_bfly(struct sg_warp *warp, const struct sg_insn *in, uint32_t mask)
{
    shuffle_lanes(warp, in, mask, SHUFFLE_BFLY);
}

void sg_shfl_idx(struct sg_warp *warp, const struct sg_insn *in, uint32_t mask)
{
    shuffle_lanes(warp, in, mask, SHUFFLE_IDX);
}

/* ---- vote ---- */

static uint32_t votes(struct sg_warp *warp, const struct sg_insn *in, uint32_t mask)
{
    uint32_t row = *(const uint32_t *)sg_row(warp, in->a);
    return (in->imm ? ~row : row) & mask;
}

static void set_predicate(struct sg_warp *warp, uint32_t offset, uint32_t mask, bool value)
{
    uint32_t *row = sg_row(warp, offset);
    *row = value ? *row | mask : *row & ~mask;
}

static void set_all(struct sg_warp *warp, const struct sg_insn *in, uint32_t mask, uint32_t value)
{
    uint32_t *row = sg_row(warp, in->d);
    for (int i = 0; i < SG_LANES; i++) {
        row[i] = mask >> i & 1 ? value : row[i];
    }
}

void sg_vote_all(struct sg_warp *warp, const struct sg_insn *in, uint32_t mask)
{
    set_predicate(warp, in->d, mask, votes(warp, in, mask) == mask);
}

void sg_vote_any(struct sg_warp *warp, const struct sg_insn *in, uint32_t mask)
{
    set_predicate(warp, in->d, mask, votes(warp, in, mask) != 0);
}

void sg_vote_uni(struct sg_warp *warp, const struct sg_insn *in, uint32_t mask)
{
    uint32_t yes = votes(warp, in, mask);
    set_predicate(warp, in->d, mask, yes == mask || yes == 0);
}

void sg_vote_ballot(struct sg_warp *warp, const struct sg_insn *in, uint32_t mask)
{
    set_all(warp, in, mask, votes(warp, in, mask));
}

/* ---- match ---- */

static uint64_t collective_value(const void *row, bool wide, int lane)
{
    return wide ? ((const uint64_t *)row)[lane] : ((const uint32_t *)row)[lane];
}

static void match_any(struct sg_warp *warp, const struct sg_insn *in, uint32_t mask, bool wide)
{
    uint32_t result[SG_LANES] = {0}, *d = sg_row(warp, in->d);
    const void *a = sg_row(warp, in->a);
    for (int i = 0; i < SG_LANES; i++) {
        for (int k = 0; k < SG_LANES; k++) {
            bool same =
                (mask >> k & 1) && collective_value(a, wide, i) == collective_value(a, wide, k);
            result[i] |= same ? 1u << k : 0;
        }
    }
    for (int i = 0; i < SG_LANES; i++) {
        d[i] = mask >> i & 1 ? result[i] : d[i];
    }
}

static void match_all(struct sg_warp *warp, const struct sg_insn *in, uint32_t mask, bool wide)
{
    const void *a = sg_row(warp, in->a);
    uint64_t first = collective_value(a, wide, __builtin_ctz(mask));
    bool same = true;
    for (int i = 0; i < SG_LANES; i++) {
        same = same && (!(mask >> i & 1) || collective_value(a, wide, i) == first);
    }
    set_all(warp, in, mask, same ? mask : 0);
    if (in->f) {
        set_predicate(warp, in->f, mask, same);
    }
}

void sg_match_any32(struct sg_warp *warp, const struct sg_insn *in, uint32_t mask)
{
    match_any(warp, in, mask, false);
}

void sg_match_any64(struct sg_warp *warp, const struct sg_insn *in, uint32_t mask)
{
    match_any(warp, in, mask, true);
}

void sg_match_all32(struct sg_warp *warp, const struct sg_insn *in, uint32_t mask)
{
    match_all(warp, in, mask, false);
}

void sg_match_all64(struct sg_warp *warp, const struct sg_insn *in, uint32_t mask)
{
    match_all(warp, in, mask, true);
}

/* ---- redux ---- */

#define REDUX(name, T, expression)                                                                 \
    void sg_redux_##name(struct sg_warp *warp, const struct sg_insn *in, uint32_t mask)            \
    {                                                                                              \
        const uint32_t *row = sg_row(warp, in->a);                                                 \
        T r = (T)row[__builtin_ctz(mask)];                                                         \
        for (uint32_t left = mask & (mask - 1); left; left &= left - 1) {                          \
            T x = (T)row[__builtin_ctz(left)];                                                     \
            r = expression;                                                                        \
        }                                                                                          \
        set_all(warp, in, mask, (uint32_t)r);                                                      \
    }

REDUX(add, uint32_t, r + x)
REDUX(and, uint32_t, r &x)
REDUX(or, uint32_t, r | x)
REDUX(xor, uint32_t, r ^ x)
REDUX(min_u32, uint32_t, x < r ? x : r)
REDUX(max_u32, uint32_t, x > r ? x : r)
REDUX(min_s32, int32_t, x < r ? x : r)
REDUX(max_s32, int32_t, x > r ? x : r)
