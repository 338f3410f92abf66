/* SPDX-License-Identifier: Apache-2.0 */
#include "server/control/placement.h"

uint32_t placement_pick(const struct node_view *node, uint32_t virtual_device)
{
    return virtual_device < node->gpu_count ? virtual_device : PLACEMENT_NONE;
}
