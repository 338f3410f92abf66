/* SPDX-License-Identifier: Apache-2.0 */
/* Device memory of other processes of the node (cuIpcGetMemHandle, and pools that are shared). All
 * functions want the process's lock held. */
#ifndef SOFTGPU_MEMORY_IPC_H
#define SOFTGPU_MEMORY_IPC_H

#include "softgpu/memory/ranges.h"

/* The contents of a CUipcMemHandle or a CUipcEventHandle. */
struct sg_ipc_handle {
    uint32_t kind; /* SG_IPC_* */
    int32_t pid;   /* the exporter */
    uint64_t node; /* id */
    uint64_t at;   /* memory: the offset of its record */
    uint64_t key;  /* random */
    /* Descriptors of the exporter: the event's page, or the records and the memory. */
    int32_t fd, memory_fd;
};
#define SG_IPC_MEMORY UINT32_C(0x31676d65)
#define SG_IPC_EVENT  UINT32_C(0x31677665)

/* Whether the range is an allocation by the program in memory of this process. */
static inline bool sg_ipc_capable(const struct sg_range *range)
{
    return !range->variable && !range->pooled &&
           (range->kind == SG_RANGE_LARGE || range->kind == SG_RANGE_SMALL);
}

/* `range` is one that sg_ipc_capable allows. CUDA_ERROR_OUT_OF_MEMORY. */
CUresult sg_ipc_export(struct sg_range *range, struct sg_ipc_handle *handle);

/* CUDA_ERROR_INVALID_HANDLE: no process exports it (any more); CUDA_ERROR_INVALID_CONTEXT: this
 * process does; CUDA_ERROR_PEER_ACCESS_UNSUPPORTED: this process lacks the device. */
CUresult sg_ipc_import(struct sg_context *context, const struct sg_ipc_handle *handle,
                       struct sg_range **range);

/* Imports a chunk of another process's pool of the device. CUDA_ERROR_INVALID_VALUE: no process
 * exports it (any more), or this process does. */
CUresult sg_ipc_import_pooled(struct sg_device *device, const struct sg_ipc_handle *handle,
                              struct sg_range **range);

/* Ends the export of a range that is about to be freed. */
void sg_ipc_withdraw(struct sg_range *range);

#endif
