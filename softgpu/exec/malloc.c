/* SPDX-License-Identifier: Apache-2.0 */
/* malloc and free in kernels. */
#include "softgpu/exec/builtin.h"
#include "softgpu/exec/fault.h"
#include "softgpu/exec/grid.h"
#include "softgpu/exec/kernel_heap.h"

static void malloc_take(struct sg_warp *warp, const struct sg_insn *in, uint32_t mask, bool aligned)
{
    const struct sg_call *call = sg_builtin_call(warp, in);
    struct sg_kernel_heap *heap = warp->block->grid->launch->heap;
    for (uint32_t left = mask; left; left &= left - 1) {
        unsigned lane = (unsigned)__builtin_ctz(left);
        uint64_t bytes = sg_builtin_argument(warp, call, 0, lane);
        uint64_t align = aligned ? sg_builtin_argument(warp, call, 1, lane) : 16;
        bool sound = heap != NULL && align != 0 && (align & (align - 1)) == 0;
        sg_builtin_return(warp, call, lane, sound ? sg_kernel_heap_take(heap, bytes, align) : 0);
    }
}

void sg_builtin_malloc(struct sg_warp *warp, const struct sg_insn *in, uint32_t mask)
{
    malloc_take(warp, in, mask, false);
}

void sg_builtin_aligned_malloc(struct sg_warp *warp, const struct sg_insn *in, uint32_t mask)
{
    malloc_take(warp, in, mask, true);
}

void sg_builtin_free(struct sg_warp *warp, const struct sg_insn *in, uint32_t mask)
{
    const struct sg_call *call = sg_builtin_call(warp, in);
    struct sg_kernel_heap *heap = warp->block->grid->launch->heap;
    for (uint32_t left = mask; left; left &= left - 1) {
        unsigned lane = (unsigned)__builtin_ctz(left);
        uint64_t address = sg_builtin_argument(warp, call, 0, lane);
        enum sg_heap_give answer = address == 0   ? SG_HEAP_GIVEN
                                   : heap != NULL ? sg_kernel_heap_give(heap, address)
                                                  : SG_HEAP_NO_BLOCK;
        if (answer != SG_HEAP_GIVEN) {
            sg_warp_fault(warp, in, lane, SG_FAULT_HEAP, address,
                          answer == SG_HEAP_NOT_TAKEN
                              ? "free of a block that is free already"
                              : "free of an address that malloc has not given");
            return;
        }
    }
}
