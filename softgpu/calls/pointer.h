/* SPDX-License-Identifier: Apache-2.0 */
/* Properties of addresses, for front/. */
#ifndef SOFTGPU_CALLS_POINTER_H
#define SOFTGPU_CALLS_POINTER_H

#include <stdbool.h>
#include <stdint.h>

#include "api/cuda_names.h"

#include "front/front.h"

/* The properties of the address; takes the lock itself. */
bool sg_call_pointer(uint64_t address, struct front_pointer *pointer);
CUresult sg_call_sync_memops(uint64_t address, bool on);
bool sg_call_settles(uint64_t address, bool written);

#endif
