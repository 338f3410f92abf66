/* SPDX-License-Identifier: Apache-2.0 */
/* Clocks, fences, frame addresses, window tests. */
#include "softgpu/exec/misc.h"

#include <stdatomic.h>
#include <time.h>

#include "softgpu/exec/grid.h"
#include "softgpu/exec/warp.h"

static void fill64(struct sg_warp *warp, const struct sg_insn *in, uint32_t mask, uint64_t value)
{
    uint64_t *row = sg_row(warp, in->d);
    for (int i = 0; i < SG_LANES; i++) {
        row[i] = mask >> i & 1 ? value : row[i];
    }
}

static void fill32(struct sg_warp *warp, const struct sg_insn *in, uint32_t mask, uint32_t value)
{
    uint32_t *row = sg_row(warp, in->d);
    for (int i = 0; i < SG_LANES; i++) {
        row[i] = mask >> i & 1 ? value : row[i];
    }
}

void sg_misc_frame64(struct sg_warp *warp, const struct sg_insn *in, uint32_t mask)
{
    fill64(warp, in, mask, warp->sp + (uint64_t)in->imm);
}

void sg_misc_frame32(struct sg_warp *warp, const struct sg_insn *in, uint32_t mask)
{
    fill32(warp, in, mask, (uint32_t)(warp->sp + (uint64_t)in->imm));
}

static uint64_t nanoseconds(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* The clock of the multiprocessors. */
static uint64_t ticks(const struct sg_warp *warp)
{
    uint64_t mhz = warp->block->grid->launch->clock_mhz;
    uint64_t ns = nanoseconds(CLOCK_MONOTONIC);
    return mhz != 0 ? ns / 1000 * mhz + ns % 1000 * mhz / 1000 : ns;
}

void sg_misc_clock32(struct sg_warp *warp, const struct sg_insn *in, uint32_t mask)
{
    fill32(warp, in, mask, (uint32_t)ticks(warp));
}

void sg_misc_clock32_hi(struct sg_warp *warp, const struct sg_insn *in, uint32_t mask)
{
    fill32(warp, in, mask, (uint32_t)(ticks(warp) >> 32));
}

void sg_misc_clock64(struct sg_warp *warp, const struct sg_insn *in, uint32_t mask)
{
    fill64(warp, in, mask, ticks(warp));
}

void sg_misc_globaltimer(struct sg_warp *warp, const struct sg_insn *in, uint32_t mask)
{
    fill64(warp, in, mask, nanoseconds(CLOCK_REALTIME));
}

void sg_misc_globaltimer_lo(struct sg_warp *warp, const struct sg_insn *in, uint32_t mask)
{
    fill32(warp, in, mask, (uint32_t)nanoseconds(CLOCK_REALTIME));
}

void sg_misc_globaltimer_hi(struct sg_warp *warp, const struct sg_insn *in, uint32_t mask)
{
    fill32(warp, in, mask, (uint32_t)(nanoseconds(CLOCK_REALTIME) >> 32));
}

void sg_misc_fence(struct sg_warp *warp, const struct sg_insn *in, uint32_t mask)
{
    (void)warp, (void)in, (void)mask;
    __asm__ volatile("mfence" ::: "memory"); /* TSan does not know atomic_thread_fence */
}

void sg_misc_nothing(struct sg_warp *warp, const struct sg_insn *in, uint32_t mask)
{
    (void)warp, (void)in, (void)mask;
}

void sg_misc_activemask(struct sg_warp *warp, const struct sg_insn *in, uint32_t mask)
{
    fill32(warp, in, mask, mask);
}

void sg_misc_isspacep(struct sg_warp *warp, const struct sg_insn *in, uint32_t mask)
{
    const uint64_t *a = sg_row(warp, in->a);
    uint32_t *d = sg_row(warp, in->d);
    static const uint64_t bounds[][2] = {
        [SG_IN_GLOBAL] = {0, SG_WINDOW_SHARED},
        [SG_IN_SHARED] = {SG_WINDOW_SHARED, SG_WINDOW_LOCAL},
        [SG_IN_LOCAL] = {SG_WINDOW_LOCAL, SG_WINDOW_PARAM},
        [SG_IN_PARAM] = {SG_WINDOW_PARAM, SG_WINDOW_END},
        [SG_IN_CONST] = {0, 0}, /* constants lie in global memory here */
    };
    uint32_t bits = 0;
    for (int i = 0; i < SG_LANES; i++) {
        bits |= a[i] >= bounds[in->imm][0] && a[i] < bounds[in->imm][1] ? 1u << i : 0;
    }
    *d = (*d & ~mask) | (bits & mask);
}
