/* SPDX-License-Identifier: Apache-2.0 */
/* Managed memory, for front/. */
#ifndef SOFTGPU_CALLS_MANAGED_H
#define SOFTGPU_CALLS_MANAGED_H

#include <stdbool.h>
#include <stdint.h>

#include "api/cuda_names.h"

/* front_host.managed_move and front_host.managed_attach. */
CUresult sg_call_managed_move(CUstream handle, uint64_t start, uint64_t bytes, bool device);
CUresult sg_call_managed_attach(CUstream handle, uint64_t start, unsigned flags);

#endif
