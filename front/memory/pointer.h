/* SPDX-License-Identifier: Apache-2.0 */
/* What the library knows of an address that CUDA gave out or was told of. */
#ifndef FRONT_MEMORY_POINTER_H
#define FRONT_MEMORY_POINTER_H

#include <stdbool.h>
#include <stdint.h>

#include "api/cuda_names.h"

struct front_pointer {
    bool device;        /* device memory; else host memory that is pinned */
    bool on_device;     /* kernels may use the address */
    uint64_t to_device; /* what is to be added to an address for the device's; it wraps */
    bool managed;       /* host and device use it at one address */
    bool sync_memops;   /* as cuPointerSetAttribute has set it */
    bool read_only;     /* for the device */
    bool ipc;           /* cuIpcGetMemHandle exports it */
    CUcontext context;  /* where it was made; NULL: none */
    CUdevice ordinal;
    CUmemoryPool pool;     /* from which it was allocated; NULL: from none */
    uint64_t start, bytes; /* the whole allocation, variable or range */
    uint64_t id;           /* nothing else that lives now has it */
};

#endif
