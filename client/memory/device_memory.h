/* SPDX-License-Identifier: Apache-2.0 */
/* Allocating device memory. */
#ifndef CLIENT_MEMORY_DEVICE_MEMORY_H
#define CLIENT_MEMORY_DEVICE_MEMORY_H

#include <stdint.h>

#include "api/cuda_names.h"

struct client_context;

/* cuMemAlloc in that context. */
CUresult client_memory_alloc(struct client_context *context, uint64_t bytes, CUdeviceptr *out);

#endif
