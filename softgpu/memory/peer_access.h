/* SPDX-License-Identifier: Apache-2.0 */
/* Peer access: which contexts may use the memory of others. All functions want the process's lock
 * held. */
#ifndef SOFTGPU_MEMORY_PEER_ACCESS_H
#define SOFTGPU_MEMORY_PEER_ACCESS_H

#include "softgpu/process/context.h"

/* CUDA_ERROR_PEER_ACCESS_UNSUPPORTED: both are of the same device;
 * CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED. */
CUresult sg_peer_enable(struct sg_context *context, struct sg_context *owner);

/* CUDA_ERROR_PEER_ACCESS_NOT_ENABLED. */
CUresult sg_peer_disable(const struct sg_context *context, const struct sg_context *owner);

/* Whether kernels of the context may use memory of the owner: they are the same, or peers. */
bool sg_peer_uses(const struct sg_context *context, const struct sg_context *owner);

/* Adds the rights of peers to those of a new range of the owner. */
void sg_peer_rights(const struct sg_context *owner, uint8_t *rights);

/* Ends the peer access of and to a context that ends. */
void sg_peer_drop(const struct sg_context *context);

#endif
