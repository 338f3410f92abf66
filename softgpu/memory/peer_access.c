/* SPDX-License-Identifier: Apache-2.0 */
/* Peer access: which contexts let kernels of another device use their memory. A permission map
 * belongs to a device, not to a context: if one context of a device may access memory, its other
 * contexts may, too. */
#include "softgpu/memory/peer_access.h"

#include "softgpu/engine/permission_map.h"
#include "softgpu/memory/ranges.h"

#include <stdlib.h>

#include "softgpu/process/context.h"

struct peer {
    struct ga_list link;
    struct sg_context *context, *owner; /* `context` may use the memory of `owner` */
};

static struct ga_list peers = {&peers, &peers};

static struct peer *peer_find(const struct sg_context *context, const struct sg_context *owner)
{
    ga_list_each (at, following, &peers) {
        struct peer *peer = ga_container(at, struct peer, link);
        if (peer->context == context && peer->owner == owner) {
            return peer;
        }
    }
    return NULL;
}

bool sg_peer_uses(const struct sg_context *context, const struct sg_context *owner)
{
    return context == owner || peer_find(context, owner) != NULL;
}

void sg_peer_rights(const struct sg_context *owner, uint8_t *rights)
{
    ga_list_each (at, following, &peers) {
        const struct peer *peer = ga_container(at, struct peer, link);
        if (peer->owner == owner) {
            rights[peer->context->device->ordinal] = SG_MAP_READ | SG_MAP_WRITE;
        }
    }
}

/* Sets the rights in all memory of the owner. */
static CUresult rights_set(const struct sg_context *owner, unsigned ordinal, unsigned rights)
{
    const struct sg_spans *ranges = &sg_memory.ranges;
    for (size_t i = 0; i < ranges->count; i++) {
        struct sg_range *range = (struct sg_range *)ranges->items[i];
        if (range->context == owner && range->device != NULL &&
            sg_range_set_rights(range, ordinal, rights) != GA_OK) {
            return CUDA_ERROR_OUT_OF_MEMORY;
        }
    }
    return CUDA_SUCCESS;
}

static void peer_access_end(struct peer *peer)
{
    unsigned ordinal = peer->context->device->ordinal;
    bool other = false;
    ga_list_remove(&peer->link);
    ga_list_each (at, following, &peers) {
        const struct peer *left = ga_container(at, struct peer, link);
        other |= left->owner == peer->owner && left->context->device->ordinal == ordinal;
    }
    if (!other) {
        (void)rights_set(peer->owner, ordinal, 0); /* taking rights away needs no memory */
    }
    free(peer);
}

CUresult sg_peer_enable(struct sg_context *context, struct sg_context *owner)
{
    if (context->device == owner->device) {
        return CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
    }
    if (peer_find(context, owner) != NULL) {
        return CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
    }
    struct peer *peer = malloc(sizeof *peer);
    if (peer == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *peer = (struct peer){.context = context, .owner = owner};
    ga_list_append(&peers, &peer->link);
    CUresult rc = rights_set(owner, context->device->ordinal, SG_MAP_READ | SG_MAP_WRITE);
    if (rc != CUDA_SUCCESS) {
        peer_access_end(peer);
    }
    return rc;
}

CUresult sg_peer_disable(const struct sg_context *context, const struct sg_context *owner)
{
    struct peer *peer = peer_find(context, owner);
    if (peer == NULL) {
        return CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
    }
    peer_access_end(peer);
    return CUDA_SUCCESS;
}

void sg_peer_drop(const struct sg_context *context)
{
    ga_list_each (at, following, &peers) {
        struct peer *peer = ga_container(at, struct peer, link);
        if (peer->context == context || peer->owner == context) {
            peer_access_end(peer);
        }
    }
}
