/* SPDX-License-Identifier: Apache-2.0 */
/* alloca and related instructions: every lane allocates from the upper end of its local memory
 * downwards; the frames of calls grow towards it. */
#include "softgpu/exec/fault.h"
#include "softgpu/exec/misc.h"
#include "softgpu/exec/warp.h"

void sg_stack_save(struct sg_warp *warp, const struct sg_insn *in, uint32_t mask)
{
    uint64_t *d = sg_row(warp, in->d);
    for (int i = 0; i < SG_LANES; i++) {
        d[i] = mask >> i & 1 ? warp->stack_top[i] : d[i];
    }
}

static uint64_t frame_end(const struct sg_warp *warp, const struct sg_insn *in)
{
    return warp->sp + sg_block_call(warp->block, (uint32_t)in->imm)->caller_frame;
}

void sg_stack_restore(struct sg_warp *warp, const struct sg_insn *in, uint32_t mask)
{
    const uint64_t *a = sg_row(warp, in->a);
    for (uint32_t left = mask; left; left &= left - 1) {
        unsigned lane = (unsigned)__builtin_ctz(left);
        if (a[lane] > warp->local_bytes || a[lane] < frame_end(warp, in)) {
            sg_warp_fault(warp, in, lane, SG_FAULT_STACK, a[lane],
                          "stackrestore to what is no place of the stack");
            return;
        }
        warp->stack_top[lane] = a[lane];
    }
}

void sg_stack_alloca(struct sg_warp *warp, const struct sg_insn *in, uint32_t mask)
{
    uint64_t *d = sg_row(warp, in->d);
    const uint64_t *a = sg_row(warp, in->a), align = UINT64_C(1) << in->mode;
    for (uint32_t left = mask; left; left &= left - 1) {
        unsigned lane = (unsigned)__builtin_ctz(left);
        uint64_t top = warp->stack_top[lane], bytes = a[lane];
        uint64_t at = bytes <= top ? (top - bytes) & ~(align - 1) : 0;
        if (bytes > top || at < frame_end(warp, in)) {
            sg_warp_fault(warp, in, lane, SG_FAULT_STACK, 0, "alloca of more than the stack has");
            return;
        }
        warp->stack_top[lane] = d[lane] = at;
    }
}
