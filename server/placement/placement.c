/* SPDX-License-Identifier: Apache-2.0 */
#include "server/placement/placement.h"

bool placement_allows(const struct node_view *node, uint32_t gpu)
{
    return !gpu_set_has(node->isolation == ISOLATION_EXCLUSIVE ? node->others : node->kept, gpu);
}

uint32_t placement_pick(const struct node_view *node, uint32_t virtual_device)
{
    if (virtual_device >= node->gpu_count) {
        return PLACEMENT_NONE;
    }
    return placement_allows(node, virtual_device) ? virtual_device : PLACEMENT_TAKEN;
}
