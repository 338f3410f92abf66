/* SPDX-License-Identifier: Apache-2.0 */
/* Generic addresses of single lanes: the space, and the host address. */
#include "softgpu/exec/generic.h"

#include "softgpu/engine/permission_map.h"
#include "softgpu/exec/cluster.h"

uint8_t *sg_generic_at(const struct sg_warp *warp, unsigned lane, uint64_t address, unsigned bytes,
                       unsigned need)
{
    if (address < SG_WINDOW_SHARED) {
        return sg_map_allows(warp->map, address, bytes, need) ? (uint8_t *)(uintptr_t)address
                                                              : NULL;
    }
    if (address < SG_WINDOW_LOCAL) {
        uint64_t at = address - SG_WINDOW_SHARED;
        if (at >> SG_CLUSTER_SHIFT) {
            return sg_cluster_shared(warp, at, bytes);
        }
        return at < warp->shared_bytes && bytes <= warp->shared_bytes - at ? warp->shared + at
                                                                           : NULL;
    }
    if (address < SG_WINDOW_PARAM) {
        uint64_t at = address - SG_WINDOW_LOCAL;
        return at < warp->local_bytes && bytes <= warp->local_bytes - at
                   ? sg_local_at(warp, lane, at)
                   : NULL;
    }
    if (address < SG_WINDOW_END && need == SG_MAP_READ) {
        uint64_t at = address - SG_WINDOW_PARAM;
        return at < warp->param_bytes && bytes <= warp->param_bytes - at
                   ? (uint8_t *)(uintptr_t)(warp->params + at)
                   : NULL;
    }
    return NULL;
}
