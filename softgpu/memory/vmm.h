/* SPDX-License-Identifier: Apache-2.0 */
/* Virtual memory management: address space, physical handles and mappings. All functions want the
 * process's lock held. */
#ifndef SOFTGPU_MEMORY_VMM_H
#define SOFTGPU_MEMORY_VMM_H

#include <stdbool.h>
#include <stdint.h>

#include "api/cuda_names.h"

#include "softgpu/process/device.h"

CUresult sg_vmm_reserve(uint64_t wish, uint64_t bytes, uint64_t alignment, uint64_t *address);
CUresult sg_vmm_unreserve(uint64_t address, uint64_t bytes);
CUresult sg_vmm_create(struct sg_device *device, uint64_t bytes, uint64_t *handle);
CUresult sg_vmm_release(uint64_t handle);
CUresult sg_vmm_map(uint64_t address, uint64_t bytes, uint64_t offset, uint64_t handle);

/* `used`: running work may use addresses in it. */
CUresult sg_vmm_unmap(uint64_t address, uint64_t bytes, bool used);
CUresult sg_vmm_access(uint64_t address, uint64_t bytes, unsigned ordinal, unsigned rights);

/* Exports a physical allocation that was made exportable; the caller closes the descriptor.
 * CUDA_ERROR_INVALID_VALUE: it is not exportable. */
void sg_vmm_allow_export(uint64_t handle);
bool sg_vmm_exportable(uint64_t handle);
CUresult sg_vmm_export(uint64_t handle, int *fd);

/* `fd` stays the caller's. CUDA_ERROR_INVALID_VALUE: it is no such descriptor. */
CUresult sg_vmm_import(int fd, uint64_t *handle);

/* Frees exported allocations that no process uses any more. Called before free memory is needed. */
void sg_vmm_sweep(void);
/* Bytes of the device of allocations that only other processes still use. */
uint64_t sg_vmm_lingering(const struct sg_device *device);

/* The handle of the allocation that is mapped there; it has to be released once more. */
CUresult sg_vmm_retain(uint64_t address, uint64_t *handle);

/* The rights of a device in a mapping. */
CUresult sg_vmm_rights(uint64_t address, unsigned ordinal, unsigned *rights);

/* The device of the memory; NULL: no such handle. */
const struct sg_device *sg_vmm_device(uint64_t handle);

#endif
