/* SPDX-License-Identifier: Apache-2.0 */
/* The library's facts about an address that CUDA allocated or registered. */
#ifndef FRONT_MEMORY_POINTER_H
#define FRONT_MEMORY_POINTER_H

#include <stdbool.h>
#include <stdint.h>

#include "api/cuda_names.h"

struct front_pointer {
    bool device;        /* device memory; otherwise pinned host memory */
    bool on_device;     /* kernels may use the address */
    uint64_t to_device; /* device address minus host address; wraps */
    bool managed;       /* managed: host and device use the same address */
    bool sync_memops;   /* as set by cuPointerSetAttribute */
    bool read_only;     /* for the device */
    bool ipc;           /* can be exported by cuIpcGetMemHandle */
    CUcontext context;  /* of the allocation; NULL: none */
    CUdevice ordinal;
    CUmemoryPool pool;     /* of the allocation; NULL: not from a pool */
    uint64_t start, bytes; /* the whole allocation, variable or range */
    uint64_t id;           /* unique among live allocations */
};

#endif
