/* SPDX-License-Identifier: Apache-2.0 */
/* Attributes of a device, and what differs between compute capabilities. */
#ifndef SOFTGPU_PROCESS_ATTRIBUTES_H
#define SOFTGPU_PROCESS_ATTRIBUTES_H

#include "api/cuda_names.h"

#include "softgpu/process/device.h"

/* An attribute from the table. CUDA_ERROR_INVALID_VALUE: CUDA has no attribute of that number. */
CUresult sg_device_attribute(const struct sg_device *device, CUdevice_attribute attribute,
                             int *value);

/* Differences between compute capabilities (CUDA C++ Programming Guide, "Compute Capabilities"). */
struct sg_capability {
    unsigned number;                        /* 75 for 7.5 */
    unsigned shared_sm, shared_block_optin; /* bytes */
    unsigned shared_reserved; /* bytes of each block that are reserved for the system */
    unsigned threads_sm, blocks_sm;
};

const struct sg_capability *sg_device_capability(const struct sg_device *device);

#endif
