/* SPDX-License-Identifier: Apache-2.0 */
/* Occupancy: how many blocks of a kernel a multiprocessor holds at once, and the limits of shared
 * memory. */
#ifndef SOFTGPU_MODULE_OCCUPANCY_H
#define SOFTGPU_MODULE_OCCUPANCY_H

#include "softgpu/engine/engine.h"
#include "softgpu/module/module.h"
#include "softgpu/process/device.h"

/* Blocks of the kernel that fit on a multiprocessor of the device at once. */
uint64_t sg_occupancy_blocks(const struct sg_device *device, const struct sg_kernel *kernel,
                             unsigned dynamic_max, int carveout, unsigned block_threads,
                             uint64_t dynamic_shared);

/* Blocks of this function that fit on `sms` multiprocessors at once. */
uint64_t sg_occupancy_resident(const struct sg_function *function, unsigned sms,
                               unsigned block_threads, uint64_t dynamic_shared);

/* The most threads of a block of this kernel (registers, .maxntid). */
unsigned sg_occupancy_threads_max(const struct sg_kernel *kernel);

/* Static shared memory as ptxas counts it. */
unsigned sg_shared_static(const struct sg_kernel *kernel);

/* The most dynamic shared memory of a launch without the attribute. */
unsigned sg_dynamic_shared_default(const struct sg_kernel *kernel);

/* The attribute MAX_DYNAMIC_SHARED_SIZE_BYTES. */
unsigned sg_dynamic_shared_max(const struct sg_kernel *kernel,
                               const struct sg_kernel_settings *settings);

#endif
