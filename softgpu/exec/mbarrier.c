/* SPDX-License-Identifier: Apache-2.0 */
/* mbarrier objects. Only the thread that runs the block, or the cluster, accesses its shared
 * memory, so nothing here is atomic. Plain stores by a kernel may make an object invalid, but only
 * for that kernel. */
#include <string.h>

#include "softgpu/engine/permission_map.h"
#include "softgpu/exec/async.h"
#include "softgpu/exec/fault.h"
#include "softgpu/exec/mbarrier.h"
#include "softgpu/exec/reach.h"
#include "softgpu/exec/sched.h"

/* The fields of the word, from bit 0: phase 1, pending arrivals 20, expected arrivals 20, pending
 * bytes 21. */
struct state {
    uint64_t phase, pending, expected;
    int64_t bytes; /* negative if bytes complete before they are expected */
};

static struct state mbarrier_unpack(uint64_t word)
{
    return (struct state){word & 1, word >> 1 & SG_MBARRIER_COUNT_MAX,
                          word >> 21 & SG_MBARRIER_COUNT_MAX, (int64_t)(word << 2) >> 43};
}

static uint64_t mbarrier_pack(const struct state *s)
{
    return s->phase | (s->pending & SG_MBARRIER_COUNT_MAX) << 1 |
           (s->expected & SG_MBARRIER_COUNT_MAX) << 21 |
           ((uint64_t)s->bytes & ((1u << 21) - 1)) << 41;
}

static void mbarrier_settle(struct state *s)
{
    if (s->pending == 0 && s->bytes == 0) {
        s->phase ^= 1;
        s->pending = s->expected;
    }
}

/* False: more arrivals than expected. */
static bool arrive(struct state *s, uint64_t count, bool drop)
{
    if (count > s->pending || (drop && count > s->expected)) {
        return false;
    }
    s->pending -= count;
    s->expected -= drop ? count : 0;
    mbarrier_settle(s);
    return true;
}

/* False: a count out of range, or more arrivals than expected. */
static bool apply(struct state *s, enum sg_mbarrier_op op, uint32_t b, uint32_t c)
{
    switch (op) {
    case SG_MBARRIER_INIT:
        *s = (struct state){0, b, b, 0};
        return b >= 1 && b <= SG_MBARRIER_COUNT_MAX;
    case SG_MBARRIER_INVAL:
        *s = (struct state){0, 0, 0, 0};
        return true;
    case SG_MBARRIER_ARRIVE_EXPECT:
    case SG_MBARRIER_DROP_EXPECT:
        s->bytes += c;
        return arrive(s, b, op == SG_MBARRIER_DROP_EXPECT);
    case SG_MBARRIER_ARRIVE:
    case SG_MBARRIER_ARRIVE_DROP:
        return arrive(s, b, op == SG_MBARRIER_ARRIVE_DROP);
    case SG_MBARRIER_EXPECT:
        s->bytes += b;
        return true;
    case SG_MBARRIER_COMPLETE:
        s->bytes -= b;
        mbarrier_settle(s);
        return true;
    }
    return false;
}

static uint8_t *mbarrier_word_at(struct sg_warp *warp, const struct sg_insn *in, unsigned lane,
                                 uint64_t address)
{
    if (address < SG_WINDOW_SHARED || address >= SG_WINDOW_LOCAL) {
        sg_warp_fault(warp, in, lane, SG_FAULT_ILLEGAL_ADDRESS, address,
                      "an mbarrier outside of shared memory");
        return NULL;
    }
    return sg_reach(warp, in, lane, address, 8, 8, SG_MAP_READ | SG_MAP_WRITE);
}

/* *before: the old word. False: a fault. */
static bool change(struct sg_warp *warp, const struct sg_insn *in, unsigned lane, uint64_t address,
                   enum sg_mbarrier_op op, uint32_t b, uint32_t c, uint64_t *before)
{
    uint8_t *at = mbarrier_word_at(warp, in, lane, address);
    if (at == NULL) {
        return false;
    }
    memcpy(before, at, 8);
    struct state s = mbarrier_unpack(*before);
    if (!apply(&s, op, b, c)) {
        sg_warp_fault(warp, in, lane, SG_FAULT_TRAP, address,
                      "an mbarrier count out of range, or more arrivals than expected");
        return false;
    }
    uint64_t after = mbarrier_pack(&s);
    memcpy(at, &after, 8);
    return true;
}

bool sg_mbarrier_complete(struct sg_warp *warp, const struct sg_insn *in, unsigned lane,
                          uint64_t address, uint32_t bytes)
{
    uint64_t before;
    return change(warp, in, lane, address, SG_MBARRIER_COMPLETE, bytes, 0, &before);
}

void sg_mbarrier_do(struct sg_warp *warp, const struct sg_insn *in, uint32_t mask)
{
    const uint64_t *a = sg_row(warp, in->a);
    const uint32_t *b = in->b ? sg_row(warp, in->b) : NULL, *c = in->c ? sg_row(warp, in->c) : NULL;
    uint64_t *d = in->d ? sg_row(warp, in->d) : NULL;
    for (uint32_t left = mask; left; left &= left - 1) {
        unsigned lane = (unsigned)__builtin_ctz(left);
        uint64_t before;
        if (!change(warp, in, lane, a[lane], (enum sg_mbarrier_op)in->mode, b != NULL ? b[lane] : 0,
                    c != NULL ? c[lane] : 0, &before)) {
            return;
        }
        if (d != NULL) {
            d[lane] = before;
        }
    }
}

static void test(struct sg_warp *warp, const struct sg_insn *in, uint32_t mask, bool parity)
{
    const uint64_t *a = sg_row(warp, in->a);
    const void *b = sg_row(warp, in->b);
    uint32_t *d = sg_row(warp, in->d), result = 0;
    for (uint32_t left = mask; left; left &= left - 1) {
        unsigned lane = (unsigned)__builtin_ctz(left);
        const uint8_t *at = mbarrier_word_at(warp, in, lane, a[lane]);
        uint64_t word, phase = parity ? ((const uint32_t *)b)[lane] : ((const uint64_t *)b)[lane];
        if (at == NULL) {
            return;
        }
        memcpy(&word, at, 8);
        result |= (word ^ phase) & 1 ? 1u << lane : 0;
    }
    *d = (*d & ~mask) | result;
    if (!result) { /* a waiting loop: the next backward branch lets other warps run */
        warp->spin = SG_SPIN_MAX;
    }
}

void sg_mbarrier_test_state(struct sg_warp *warp, const struct sg_insn *in, uint32_t mask)
{
    test(warp, in, mask, false);
}

void sg_mbarrier_test_parity(struct sg_warp *warp, const struct sg_insn *in, uint32_t mask)
{
    test(warp, in, mask, true);
}

void sg_mbarrier_pending(struct sg_warp *warp, const struct sg_insn *in, uint32_t mask)
{
    const uint64_t *a = sg_row(warp, in->a);
    uint32_t *d = sg_row(warp, in->d);
    for (unsigned lane = 0; lane < SG_LANES; lane++) {
        d[lane] = mask >> lane & 1 ? (uint32_t)mbarrier_unpack(a[lane]).pending : d[lane];
    }
}
