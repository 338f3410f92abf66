/* SPDX-License-Identifier: Apache-2.0 */
/* The state of the driver in this process, under one lock. Only items run and programs are loaded
 * without the lock. There is no teardown: applications call CUDA from their own destructors.
 *
 * Note: a fault of any kernel condemns the whole process, on purpose (cuda.h says so of errors like
 * 700 and 719); `condemned` never goes back to 0. */
#ifndef SOFTGPU_PROCESS_PROCESS_H
#define SOFTGPU_PROCESS_PROCESS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "api/cuda_names.h"

#include "base/handle_table.h"
#include "base/list.h"
#include "softgpu/process/device.h"

struct sg_process {
    pthread_mutex_t lock;
    _Atomic int ready;     /* cuInit has succeeded */
    _Atomic int condemned; /* CUresult of the first execution fault, 0: none */
    _Atomic int stop;      /* nonzero: running grids give up */
    _Atomic int exiting;   /* exit() has begun */
    struct sg_device *devices;
    unsigned device_count;
    struct ga_handle_table contexts, streams, events, modules, functions, libraries, kernels;
    struct ga_handle_table arrays, mipmaps;
    struct ga_list active;   /* streams with items */
    struct ga_list waits;    /* struct sg_wait */
    _Atomic unsigned passes; /* incremented when a wait may be over */
    uint64_t sequence;       /* of the last submitted item */
    uint64_t next_context_id, next_context_life, next_stream_id;
    struct sg_pool *pool; /* made by the first launch */
};

extern struct sg_process sg_process;

static inline void sg_lock(void)
{
    pthread_mutex_lock(&sg_process.lock);
}

static inline void sg_unlock(void)
{
    pthread_mutex_unlock(&sg_process.lock);
}

/* CUDA_SUCCESS, or the error that every call returns now. */
static inline CUresult sg_process_state(void)
{
    if (!atomic_load_explicit(&sg_process.ready, memory_order_acquire)) {
        return CUDA_ERROR_NOT_INITIALIZED;
    }
    return (CUresult)atomic_load_explicit(&sg_process.condemned, memory_order_relaxed);
}

/* The lowest and the highest compute capability of the devices, 75 for 7.5. After cuInit. */
void sg_process_capabilities(unsigned *least, unsigned *most);

/* Makes the pool of worker threads unless it exists. With the lock held. */
CUresult sg_process_pool(void);

/* Condemns the process: every later call returns `code`. The first code stays. With the lock
 * held. */
void sg_process_condemn(CUresult code);

static inline struct sg_device *sg_device_at(CUdevice ordinal)
{
    return ordinal >= 0 && (unsigned)ordinal < sg_process.device_count
               ? &sg_process.devices[ordinal]
               : NULL;
}

/* NULL: this process has no such device. */
struct sg_device *sg_device_of_uuid(const uint8_t uuid[16]);

#endif
