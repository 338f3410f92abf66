/* SPDX-License-Identifier: Apache-2.0 */
/* The process-local half of a CUDA driver, the same in the client library and in softgpu: which
 * function cuGetProcAddress answers, the private tables of the CUDA runtime, the current context of
 * each thread and what the runtime keeps in a context, error names.
 *
 * front/ itself implements the CUDA functions that api/cuda says `front` of. It learns about
 * devices and contexts through struct front_host, which the library defines.
 *
 * Order of locks: front/ calls the host without holding a lock of its own (cuLinkComplete loads a
 * module with that of the links, which nothing else wants); the host may call
 * front_* with its own locks held, except front_context_gone and front_context_reset, which call
 * destructors of the program. */
#ifndef FRONT_FRONT_H
#define FRONT_FRONT_H

#include <stdbool.h>
#include <stdint.h>

#include "api/cuda_names.h"
#include "front/capture/capture.h"
#include "front/core/origin.h"
#include "front/core/output.h"
#include "front/core/unsupported.h"
#include "front/graph/graph.h"
#include "front/graph/graph_alloc.h"
#include "front/green/affinity.h"
#include "front/green/green.h"
#include "front/launch/jit.h"
#include "front/launch/launch_options.h"
#include "front/launch/occupancy.h"
#include "front/memory/advice.h"
#include "front/memory/copy_box.h"
#include "front/memory/pointer.h"
#include "front/memory/stream_attributes.h"
#include "front/mempool/mempool.h"
#include "front/texture/array.h"
#include "front/texture/texture.h"

/* A device. Uuid and PCI place are also what the CUDA runtime hashes of it, so they must equal what
 * the attributes PCI_DOMAIN_ID, PCI_BUS_ID and PCI_DEVICE_ID answer. */
struct front_device {
    const char *name; /* lives as long as the process */
    size_t memory_bytes;
    uint8_t uuid[16];
    int32_t pci_domain;
    int32_t pci_bus;
    int32_t pci_device;
    unsigned traits; /* CUDA_DEVICE_*, of api/driver_open.h */
};

/* A result that a peer says, as this library's cuda.h has it: one that is younger, or wrong, is
 * unknown (999). */
CUresult front_result_of(int32_t number);

/* One thing that a stream does with a value in memory: writes it or waits for it. */
struct front_value {
    CUdeviceptr address;
    uint64_t value;
    unsigned bytes; /* 4 or 8 */
    bool write;
    CUstreamWaitValue_flags wait; /* GEQ, EQ, AND or NOR; without other bits */
};

#define FRONT_VALUES_MAX 255u /* of a batch; cuda.h: less than 256 */
/* What a batch of cuStreamBatchMemOp does, at most FRONT_VALUES_MAX steps. */
CUresult front_values_read(unsigned count, const CUstreamBatchMemOpParams *ops, unsigned flags,
                           struct front_value *steps, unsigned *made);

/* A function of the program that a stream calls: cuLaunchHostFunc gives `function`,
 * cuStreamAddCallback `callback`; the other one is NULL. */
struct front_host_call {
    CUhostFn function;
    CUstreamCallback callback;
    CUstream stream; /* as it was given to cuStreamAddCallback */
    void *data;
};

/* A stream, as its handle says; CU_STREAM_PER_THREAD is the calling thread's. */
struct front_stream_facts {
    CUcontext context; /* of a stream of a green context: that one's */
    bool blocking;     /* it waits for the legacy stream, which waits for it */
};

/* CU_CTX_SYNC_MEMOPS, which the oldest cuda.h that we build with lacks. */
#define FRONT_CTX_SYNC_MEMOPS 0x80u

/* Every member is set. All may be called from any thread; all but `init` only after init answered
 * CUDA_SUCCESS. Outputs are set only on success; contexts are never NULL. */
struct front_host {
    /* NULL unless the library forwards calls to servers: then no server may use it as its
     * driver. */
    const struct cuda_driver_servers *servers;

    /* cuInit. Called again as long as it fails; never by two threads at once. */
    CUresult (*init)(void);
    /* What stands against every call, a sticky error; else CUDA_SUCCESS. */
    CUresult (*process_state)(void);
    CUresult (*device_count)(int *count);
    /* CUDA_ERROR_INVALID_DEVICE: there is no such device. */
    CUresult (*device)(CUdevice ordinal, struct front_device *device);
    /* The device exists; the number is within cuda.h's. */
    CUresult (*device_attribute)(CUdevice ordinal, CUdevice_attribute attribute, int *value);

    /* cuDeviceGetP2PAttribute of two different devices, which exist. */
    int (*peer_attribute)(CUdevice device, CUdevice peer, CUdevice_P2PAttribute attribute);
    /* The handle of the device's primary context, which need not be active and does not become so:
     * the runtime makes it current before it retains it. */
    CUresult (*primary_context)(CUdevice device, CUcontext *context);
    /* CUDA_SUCCESS for a live context or a primary one, active or not; CUDA_ERROR_INVALID_CONTEXT
     * otherwise, also for one that has been destroyed. */
    CUresult (*context_check)(CUcontext context);
    CUresult (*context_device)(CUcontext context, CUdevice *device);
    CUresult (*context_id)(CUcontext context, unsigned long long *id);
    CUresult (*context_api_version)(CUcontext context, unsigned int *version);

    /* cuStreamGetId, but of a stream of that context. Handles 0, 1 and 2 (CU_STREAM_PER_THREAD:
     * that of the calling thread) included; never 0, and different for different streams. */
    CUresult (*stream_id)(CUcontext context, CUstream stream, unsigned long long *id);
    /* CUDA_ERROR_INVALID_HANDLE: there is none. */
    CUresult (*stream)(CUstream handle, struct front_stream_facts *stream);
    CUresult (*event_context)(CUevent event, CUcontext *context);
    /* Makes what a green context has, and retains the primary context of its device; and ends it
     * when its work is done, which then is `lost` or no longer found. */
    CUresult (*green_make)(struct front_green *green);
    CUresult (*green_end)(const struct front_green *green);
    /* Does them in this order in the stream, or none of them if one is wrong. */
    CUresult (*stream_values)(CUstream stream, const struct front_value *values, unsigned count);
    /* Calls it when the work before in the stream is done; what comes later waits for it. */
    CUresult (*host_call)(CUstream stream, const struct front_host_call *call);
    const struct front_mempool_host *mempool;
    /* False: nothing that CUDA knows is at the address. */
    bool (*pointer)(uint64_t address, struct front_pointer *pointer);
    /* The program wants its managed memory, or a part of it, near a device (else the host) when the
     * work before in the stream is done. */
    CUresult (*managed_move)(CUstream stream, uint64_t start, uint64_t bytes, bool device);
    /* From now on (CU_MEM_ATTACH_*) only that stream, the host or all use this managed memory. */
    CUresult (*managed_attach)(CUstream stream, uint64_t start, unsigned flags);
    /* The shape of an array, or of a mipmapped one. CUDA_ERROR_INVALID_HANDLE: there is none. */
    CUresult (*array)(uint64_t handle, bool mipmapped, struct front_array *array);
    /* Sets or takes SYNC_MEMOPS of the memory that holds the address, which `pointer` knows. */
    CUresult (*sync_memops)(uint64_t address, bool on);
    /* Whether a call without Async that has written there, or read, must be over when it returns:
     * the program may look at the memory at once, or has asked for it. */
    bool (*settles)(uint64_t address, bool written);

    /* What a texture or surface object of the current context was made of.
     * CUDA_ERROR_INVALID_VALUE: there is none. */
    CUresult (*sampled)(uint64_t handle, bool surface, struct front_sampled *sampled);
    /* As cuModuleGetFunctionCount and cuModuleEnumerateFunctions. */
    CUresult (*module_function_count)(unsigned int *count, CUmodule module);
    CUresult (*module_functions)(CUfunction *functions, unsigned int capacity, CUmodule module);
    /* Could this image be loaded as a module in the current context? Answers, and writes logs, as
     * cuModuleLoadDataEx; nothing of it stays. */
    CUresult (*module_try)(const void *image, unsigned option_count, CUjit_option *options,
                           void **values);
};

/* Defined by the library that front/ is part of. */
extern const struct front_host front_host;

/* What a call without Async has put into `stream`, with that result, wrote to `to` and read from
 * `from` (0: nowhere): waits for it if it must be over when the call returns (sync_memops.c). */
CUresult front_settle(CUresult rc, CUstream stream, CUdeviceptr to, CUdeviceptr from);

/* cuInit has succeeded, and this is not the child of a fork. */
bool front_initialised(void);
/* CUDA_SUCCESS if front_initialised, else CUDA_ERROR_NOT_INITIALIZED; and
 * CUDA_ERROR_NOT_PERMITTED while the calling thread runs a host function. */
CUresult front_ready(void);

/* Calls the program's function. After an error (`status`) only callbacks are called, as in CUDA. */
void front_host_call_run(const struct front_host_call *call, CUresult status);

/* The calling thread's current context, or NULL. It may have been destroyed meanwhile: who uses it
 * checks. Costs a thread-local read. */
CUcontext front_context_current(void);
/* front_ready, and the current context, which is not NULL; else CUDA_ERROR_INVALID_CONTEXT. */
CUresult front_context_need(CUcontext *context);
/* Makes `context` the calling thread's current one without checking it (cuCtxCreate pushes). */
CUresult front_context_push(CUcontext context);
/* A context has been reset: what the runtime keeps in it is given back (its destructors run). */
void front_context_reset(CUcontext context);
/* A context has been destroyed: as above, and it is popped if it is the calling thread's current
 * one. On the stacks of other threads it stays, as in CUDA. */
void front_context_gone(CUcontext context);

#endif
