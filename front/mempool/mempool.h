/* SPDX-License-Identifier: Apache-2.0 */
/* Memory pools, from which streams take memory in their order: cuMemAllocAsync and its kin. The
 * whole bookkeeping is here: a pool holds chunks of memory that the library maps for it, cut into
 * blocks. Nothing travels and nothing is mapped while a pool holds memory that fits.
 *
 * What a reader would get wrong: a block that a stream has freed is memory of that stream's at
 * once, and any other stream's only when the stream's work up to the free is known to be done. That
 * point is a mark, which the library makes. A chunk goes back when all of it is free and all its
 * marks are passed.
 *
 * Everything here is under the library's lock (`enter`). */
#ifndef FRONT_MEMPOOL_MEMPOOL_H
#define FRONT_MEMPOOL_MEMPOOL_H

#include <stdbool.h>
#include <stdint.h>

#include "api/cuda_names.h"

/* A stream as the library has found it; lent while it is entered. */
struct front_stream {
    uint64_t id; /* as cuStreamGetId; never 0 */
    CUdevice device;
    void *context, *stream; /* the library's */
};

#define FRONT_MEMPOOL_SHARED 40u

/* What the library does for pools. All but the first two with its lock held, which none lets go. */
struct front_mempool_host {
    /* Locks. What stands against every call is answered instead. */
    CUresult (*enter)(void);
    /* The same, and finds the stream as a call does. */
    CUresult (*enter_stream)(CUstream handle, struct front_stream *stream);
    void (*leave)(void);
    /* Memory of the device, accessible for itself. `bytes`: whole pieces of FRONT_MEMPOOL_PIECE. */
    CUresult (*map)(CUdevice device, uint64_t bytes, uint64_t *address);
    void (*unmap)(CUdevice device, uint64_t address, uint64_t bytes);
    /* What `by` may do with memory that was mapped. */
    CUresult (*access)(CUdevice device, uint64_t address, uint64_t bytes, CUdevice by,
                       CUmemAccess_flags flags);
    /* Everything submitted to the stream so far. NULL: no memory. */
    void *(*mark)(const struct front_stream *stream);
    bool (*passed)(const void *mark);
    /* The same, and finds out what is not known yet, without waiting for work. NULL: as `passed`.
     */
    bool (*ask)(const void *mark);
    /* Lets what the stream is given from now on wait for the mark. */
    CUresult (*wait)(const struct front_stream *stream, void *mark);
    void (*drop)(void *mark);
    /* What another process needs to have memory that was mapped; and mapping that there, with
     * `unmap` as its end. CUDA_ERROR_INVALID_VALUE: it is not there (any more). */
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
    uint64_t id; /* no other allocation of a pool ever had it */
};
/* The live allocation that contains the address. */
bool front_mempool_find(uint64_t address, struct front_mempool_found *found);
/* Frees an allocation that nothing uses any more: the caller has waited. False: there is none. */
bool front_mempool_free(uint64_t address);
/* Memory of the device is used up: what its pools hold and do not use goes, in all of them. True:
 * they have memory that was freed in the order of work which has not ended; more goes after that.
 */
bool front_mempool_release(CUdevice device);
/* A device was reset: its pools are as at first. All work on it has ended. */
void front_mempool_reset(CUdevice device);

/* After the program has waited for work: pools give back what they need not keep. Without the lock;
 * costs a look at a number unless there is something to do. */
void front_mempool_synchronized(void);

#endif
