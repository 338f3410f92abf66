/* SPDX-License-Identifier: Apache-2.0 */
/* Contexts: made, emptied, destroyed. All functions want the process's lock held. */
#ifndef SOFTGPU_LIFETIME_CONTEXT_LIFETIME_H
#define SOFTGPU_LIFETIME_CONTEXT_LIFETIME_H

#include "softgpu/process/context.h"

/* `flags` are those of cuCtxCreate. */
CUresult sg_context_make(struct sg_device *device, unsigned flags, bool primary,
                         struct sg_context **context);

/* Waits for the context's work and frees everything in it; then the context itself unless it is
 * primary. If exit() has begun and the work does not end, nothing is freed. */
void sg_context_destroy(struct sg_context *context);

/* Waits while another thread destroys the context. */
void sg_context_settle(struct sg_context *context);

/* Makes an inactive primary context usable. */
CUresult sg_context_activate(struct sg_context *context);

#endif
