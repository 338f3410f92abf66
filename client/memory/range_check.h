/* SPDX-License-Identifier: Apache-2.0 */
/* Device bytes that a call touches. */
#ifndef CLIENT_MEMORY_RANGE_CHECK_H
#define CLIENT_MEMORY_RANGE_CHECK_H

#include <stdint.h>

#include "api/cuda_names.h"

struct client_call;

/* Checks them, and the alignment of the first; makes mirrors equal that lie there. */
CUresult client_range_check(struct client_call *call, CUdeviceptr start, unsigned align,
                            uint64_t bytes);

#endif
