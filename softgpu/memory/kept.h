/* SPDX-License-Identifier: Apache-2.0 */
/* Places of memory that stay taken when the memory is freed, so that memory can be made there again
 * (api/driver_places.h). All functions want the process's lock held. */
#ifndef SOFTGPU_MEMORY_KEPT_H
#define SOFTGPU_MEMORY_KEPT_H

#include <stdbool.h>
#include <stdint.h>

#include "api/cuda_names.h"

struct sg_device;
struct sg_range;

/* Keeps the place of device memory, or of a managed variable, that begins there.
 * CUDA_ERROR_INVALID_VALUE: neither does. */
CUresult sg_kept_begin(uint64_t address);
/* Ends it: what is free there now is given back. */
void sg_kept_end(uint64_t address);

/* Takes over a range that has been freed, if its place is kept. False: the caller gives the memory
 * back. */
bool sg_kept_store(struct sg_range *range);
/* The freed range that begins there, as sg_kept_store got it; NULL: none. */
struct sg_range *sg_kept_take(uint64_t address);
/* The memory of the freed ranges in [base, base + bytes) is another device's now. */
void sg_kept_move(uint64_t base, uint64_t bytes, struct sg_device *device);
/* Gives back the memory of a range that was taken. */
void sg_kept_return(struct sg_range *range);

#endif
