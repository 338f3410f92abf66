/* SPDX-License-Identifier: Apache-2.0 */
/* Generic addresses of several words. */
#include "softgpu/exec/reach.h"

#include "softgpu/engine/permission_map.h"
#include "softgpu/exec/fault.h"
#include "softgpu/exec/generic.h"

static uint8_t *reach_find(const struct sg_warp *warp, unsigned lane, uint64_t address,
                           uint64_t bytes, unsigned need)
{
    if (address >= SG_WINDOW_LOCAL && address < SG_WINDOW_PARAM) {
        return bytes <= 8 - (address & 7)
                   ? sg_generic_at(warp, lane, address, (unsigned)bytes, need)
                   : NULL;
    }
    return bytes <= UINT32_MAX ? sg_generic_at(warp, lane, address, (unsigned)bytes, need) : NULL;
}

uint8_t *sg_reach(struct sg_warp *warp, const struct sg_insn *in, unsigned lane, uint64_t address,
                  uint64_t bytes, unsigned align, unsigned need)
{
    const struct sg_access_fault what = {need & SG_MAP_WRITE ? "write" : "read", bytes, align};
    uint8_t *at = address & (align - 1) ? NULL : reach_find(warp, lane, address, bytes, need);
    if (at == NULL) {
        sg_warp_fault_access(warp, in, lane, address, &what);
    }
    return at;
}
