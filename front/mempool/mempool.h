/* SPDX-License-Identifier: Apache-2.0 */
/* Memory pools: stream-ordered allocation (cuMemAllocAsync and related calls). All bookkeeping is
 * here: a pool has chunks of memory that the library maps for it, cut into blocks. As long as the
 * pool has fitting memory, an allocation sends nothing and maps nothing.
 *
 * Note: a block that a stream has freed can be used by that stream at once. Other streams can use
 * it only when the stream's work before the free is known to be done; the library makes a mark of
 * that point. A chunk is released when all of it is free and all its marks have been passed.
 *
 * Everything here is under the library's lock (`enter`). */
#ifndef FRONT_MEMPOOL_MEMPOOL_H
#define FRONT_MEMPOOL_MEMPOOL_H

#include <stdbool.h>
#include <stdint.h>

#include "api/cuda_names.h"

/* A stream, as found by the library; valid until leave. */
struct front_stream {
    uint64_t id; /* as cuStreamGetId; never 0 */
    CUdevice device;
    void *context, *stream; /* for the library */
};

#define FRONT_MEMPOOL_SHARED 40u

/* Functions of the library for pools. All but the first two are called with its lock held, and
 * none releases it. */
struct front_mempool_host {
    /* Takes the lock, or returns the sticky error. */
    CUresult (*enter)(void);
    /* As `enter`, and looks up the stream as a call does. */
    CUresult (*enter_stream)(CUstream handle, struct front_stream *stream);
    void (*leave)(void);
    /* Maps memory of the device that the device can access. `bytes`: a multiple of
     * FRONT_MEMPOOL_PIECE. May call front_mempool_release. */
    CUresult (*map)(CUdevice device, uint64_t bytes, uint64_t *address);
    void (*unmap)(CUdevice device, uint64_t address, uint64_t bytes);
    /* Sets the access of device `by` to mapped memory. */
    CUresult (*access)(CUdevice device, uint64_t address, uint64_t bytes, CUdevice by,
                       CUmemAccess_flags flags);
    /* A mark behind all work submitted to the stream so far. NULL: no memory. */
    void *(*mark)(const struct front_stream *stream);
    bool (*passed)(const void *mark);
    /* As `passed`, but asks the device, without waiting for work. NULL: not available. */
    bool (*ask)(const void *mark);
    /* Makes later work of the stream wait for the mark. */
    CUresult (*wait)(const struct front_stream *stream, void *mark);
    void (*drop)(void *mark);
    /* share: describes mapped memory for another process, which maps it by the second function
     * and unmaps it by `unmap`. CUDA_ERROR_INVALID_VALUE: the memory does not exist (any more). */
    CUresult (*share)(CUdevice device, uint64_t address, uint64_t bytes,
                      uint8_t shared[FRONT_MEMPOOL_SHARED]);
    CUresult (*open)(CUdevice device, const uint8_t shared[FRONT_MEMPOOL_SHARED], uint64_t *address,
                     uint64_t *bytes);
};

#define FRONT_MEMPOOL_UNIT  512u
#define FRONT_MEMPOOL_PIECE (UINT64_C(2) << 20)

struct front_mempool_found {
    uint64_t start, bytes; /* of the allocation */
    CUdevice device;
    CUmemoryPool pool;
    uint64_t id; /* unique among all allocations of pools */
};
/* The live allocation that contains the address. */
bool front_mempool_find(uint64_t address, struct front_mempool_found *found);
/* Frees an allocation whose users are done: the caller has waited. False: there is none. */
bool front_mempool_free(uint64_t address);
/* To be called when memory of the device is used up: releases unused memory of all its pools.
 * True: pools have memory that was freed behind unfinished work, so a later call may release
 * more. */
bool front_mempool_release(CUdevice device);
/* To be called when a device was reset: its pools return to their initial state. All work on it
 * has ended. */
void front_mempool_reset(CUdevice device);

/* To be called after the program has waited for work, also if there was none: pools release memory
 * above their threshold. Must be called without the lock. Costs one read if there is nothing to do.
 */
void front_mempool_synchronized(void);

#endif
