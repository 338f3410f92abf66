/* SPDX-License-Identifier: Apache-2.0 */
/* cudaGraphSetConditional. The handle is the address of the variable
 * (softgpu/graph/graph_condition.c); it is checked like any address that a kernel writes to. */
#include <string.h>

#include "softgpu/engine/permission_map.h"
#include "softgpu/exec/builtin.h"
#include "softgpu/exec/fault.h"
#include "softgpu/exec/generic.h"

void sg_builtin_set_conditional(struct sg_warp *warp, const struct sg_insn *in, uint32_t mask)
{
    const struct sg_call *call = sg_builtin_call(warp, in);
    for (uint32_t left = mask; left; left &= left - 1) {
        unsigned lane = (unsigned)__builtin_ctz(left);
        uint64_t handle = sg_builtin_argument(warp, call, 0, lane);
        uint32_t value = (uint32_t)sg_builtin_argument(warp, call, 1, lane);
        uint8_t *to = handle % sizeof value != 0
                          ? NULL
                          : sg_generic_at(warp, lane, handle, sizeof value, SG_MAP_WRITE);
        if (to == NULL) {
            sg_warp_fault(warp, in, lane, SG_FAULT_ILLEGAL_ADDRESS, handle,
                          "cudaGraphSetConditional of what is no conditional handle");
            return;
        }
        memcpy(to, &value, sizeof value);
    }
}
