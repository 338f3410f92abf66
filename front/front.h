/* SPDX-License-Identifier: Apache-2.0 */
/* The process-local half of a CUDA driver, shared by the client library and softgpu:
 * cuGetProcAddress, the private tables of the CUDA runtime, the current context of each thread,
 * context-local storage of the runtime, names of errors, graphs, capture and pools.
 *
 * front/ implements the CUDA functions whose stanza in api/cuda says `front`. It learns about
 * devices and contexts through struct front_host, which the library defines.
 *
 * Lock order: front/ calls the host without holding a lock of its own. (cuLinkComplete is the
 * exception: it loads a module with the lock of the links held, which no other code takes.) The
 * host may call front_* with its own locks held, except front_context_gone and
 * front_context_reset, which call destructors of the program. */
#ifndef FRONT_FRONT_H
#define FRONT_FRONT_H

#include <stdbool.h>
#include <stdint.h>

#include "api/cuda_names.h"
#include "front/capture/capture.h"
#include "front/core/errors.h"
#include "front/core/init.h"
#include "front/core/origin.h"
#include "front/core/output.h"
#include "front/core/thread.h"
#include "front/core/unsupported.h"
#include "front/graph/graph.h"
#include "front/graph/graph_add.h"
#include "front/graph/graph_alloc.h"
#include "front/graph/graph_kernel.h"
#include "front/graph/graph_memory.h"
#include "front/graph/graph_params.h"
#include "front/green/affinity.h"
#include "front/green/green.h"
#include "front/launch/jit.h"
#include "front/launch/jit_verbose.h"
#include "front/launch/launch_options.h"
#include "front/launch/occupancy.h"
#include "front/memory/advice.h"
#include "front/memory/copy_box.h"
#include "front/memory/pointer.h"
#include "front/memory/stream_attributes.h"
#include "front/memory/sync_memops.h"
#include "front/memory/values.h"
#include "front/mempool/mempool.h"
#include "front/texture/array.h"
#include "front/texture/array_read.h"
#include "front/texture/texture.h"

/* A device. The CUDA runtime hashes the UUID and the PCI address, so they must equal the
 * attributes PCI_DOMAIN_ID, PCI_BUS_ID and PCI_DEVICE_ID. */
struct front_device {
    const char *name; /* lives as long as the process */
    size_t memory_bytes;
    uint8_t uuid[16];
    int32_t pci_domain;
    int32_t pci_bus;
    int32_t pci_device;
    unsigned traits; /* CUDA_DEVICE_*, of api/driver_open.h */
};

/* The facts of a stream handle. CU_STREAM_PER_THREAD is the calling thread's stream. */
struct front_stream_facts {
    CUcontext context; /* the green context, for a stream of one */
    bool blocking;     /* it and the legacy stream wait for each other */
};

/* CU_CTX_SYNC_MEMOPS; the oldest cuda.h that we build with lacks the name. */
#define FRONT_CTX_SYNC_MEMOPS 0x80u

/* Functions of the library. Every member is set. Any thread may call them; all but `init` only
 * after init has returned CUDA_SUCCESS. They set outputs only on success. Contexts are never
 * NULL. */
struct front_host {
    /* NULL unless the library forwards calls to servers. A server must not use such a library as
     * its driver. */
    const struct cuda_driver_servers *servers;
    /* NULL unless the library can make objects again with the values that they had
     * (api/driver_places.h). */
    const struct cuda_driver_places *places;
    /* How long kernels of a context may run; NULL: it cannot stop them (api/driver_open.h). */
    CUresult (*kernel_limit)(CUcontext context, uint64_t ms);
    /* Events that processes share, by descriptors; NULL: by their handles alone (likewise). */
    CUresult (*event_export)(CUevent event, int *fd);
    CUresult (*event_import)(int fd, CUevent *event);

    /* cuInit. Called again until it succeeds, never by two threads at once. */
    CUresult (*init)(void);
    /* The sticky error, which every call returns, or CUDA_SUCCESS. */
    CUresult (*process_state)(void);
    CUresult (*device_count)(int *count);
    /* CUDA_ERROR_INVALID_DEVICE: there is no such device. */
    CUresult (*device)(CUdevice ordinal, struct front_device *device);
    /* The caller has checked that the device exists and that cuda.h has the attribute. */
    CUresult (*device_attribute)(CUdevice ordinal, CUdevice_attribute attribute, int *value);

    /* cuDeviceGetP2PAttribute of two different devices. The caller has checked that they exist. */
    int (*peer_attribute)(CUdevice device, CUdevice peer, CUdevice_P2PAttribute attribute);
    /* The handle of the device's primary context. The context may be inactive and stays so: the
     * runtime makes it current before it retains it. */
    CUresult (*primary_context)(CUdevice device, CUcontext *context);
    /* CUDA_SUCCESS: a live context, or a primary one, active or not. CUDA_ERROR_INVALID_CONTEXT:
     * anything else, such as a destroyed context. */
    CUresult (*context_check)(CUcontext context);
    CUresult (*context_device)(CUcontext context, CUdevice *device);
    CUresult (*context_id)(CUcontext context, unsigned long long *id);
    CUresult (*context_api_version)(CUcontext context, unsigned int *version);

    /* cuStreamGetId of a stream of that context, including the handles 0, 1 and 2
     * (CU_STREAM_PER_THREAD of the calling thread). Never 0; different streams have different
     * identifiers. */
    CUresult (*stream_id)(CUcontext context, CUstream stream, unsigned long long *id);
    /* CUDA_ERROR_INVALID_HANDLE: there is no such stream. */
    CUresult (*stream)(CUstream handle, struct front_stream_facts *stream);
    CUresult (*event_context)(CUevent event, CUcontext *context);
    /* green_make creates the library's part of a green context and retains the primary context
     * of its device. green_end ends it when its work is done; by then `lost` is set or the green
     * context can no longer be found. */
    CUresult (*green_make)(struct front_green *green);
    CUresult (*green_end)(const struct front_green *green);
    /* Submits the steps to the stream in this order, or none of them if one is wrong. */
    CUresult (*stream_values)(CUstream stream, const struct front_value *values, unsigned count);
    /* Calls the host function when the earlier work of the stream is done. Later work waits for
     * it. */
    CUresult (*host_call)(CUstream stream, const struct front_host_call *call);
    const struct front_mempool_host *mempool;
    /* False: CUDA does not know the address. */
    bool (*pointer)(uint64_t address, struct front_pointer *pointer);
    /* Moves managed memory, or a part of it, near a device (or the host) when the earlier work
     * of the stream is done. This is a hint. */
    CUresult (*managed_move)(CUstream stream, uint64_t start, uint64_t bytes, bool device);
    /* Sets which stream may use this managed memory: only that one, the host, or all
     * (CU_MEM_ATTACH_*). */
    CUresult (*managed_attach)(CUstream stream, uint64_t start, unsigned flags);
    /* The shape of an array or a mipmapped array. CUDA_ERROR_INVALID_HANDLE: there is no such
     * array. */
    CUresult (*array)(uint64_t handle, bool mipmapped, struct front_array *array);
    /* Sets or clears SYNC_MEMOPS of the memory at an address that `pointer` knows. */
    CUresult (*sync_memops)(uint64_t address, bool on);
    /* Whether a synchronous call that wrote or read there must be complete when it returns,
     * because the program may look at the memory at once or has asked for it. */
    bool (*settles)(uint64_t address, bool written);

    /* The description of a texture or surface object of the current context.
     * CUDA_ERROR_INVALID_VALUE: there is none. */
    CUresult (*sampled)(uint64_t handle, bool surface, struct front_sampled *sampled);
    /* As cuModuleGetFunctionCount and cuModuleEnumerateFunctions. */
    CUresult (*module_function_count)(unsigned int *count, CUmodule module);
    CUresult (*module_functions)(CUfunction *functions, unsigned int capacity, CUmodule module);
    /* Tries to load the image as a module in the current context. Returns and logs as
     * cuModuleLoadDataEx does, and keeps nothing. */
    CUresult (*module_try)(const void *image, unsigned option_count, CUjit_option *options,
                           void **values);
};

/* Defined by the library that front/ is part of. */
extern const struct front_host front_host;

#endif
