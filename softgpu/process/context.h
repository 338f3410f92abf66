/* SPDX-License-Identifier: Apache-2.0 */
/* Contexts: their objects (streams, events, modules, memory) and limits.
 *
 * Note: a primary context's struct and handle live as long as its device; it is `alive` only while
 * it is retained, and a reset empties it under the same handle. */
#ifndef SOFTGPU_PROCESS_CONTEXT_H
#define SOFTGPU_PROCESS_CONTEXT_H

#include <stdbool.h>

#include "api/cuda_names.h"

#include "base/list.h"
#include "base/number_map.h"
#include "softgpu/process/device.h"

struct sg_objects;
struct sg_print;
struct sg_range;
struct sg_stream;

struct sg_context {
    uint64_t handle;
    uint64_t id;
    uint64_t life; /* another number each time that any context begins to be alive */
    struct sg_device *device;
    bool primary;
    bool alive;
    bool dying;          /* being destroyed: its work has to finish first */
    unsigned references; /* of the handle, and of threads that wait with the lock released */
    unsigned flags;
    unsigned api_version;
    uint64_t chunks;                /* of the device's memory that it takes by itself */
    struct sg_stream *legacy;       /* the legacy default stream */
    struct ga_list streams;         /* all, the legacy one included */
    struct sg_stream *gather;       /* waits for all others (context_events.c); NULL: not yet */
    struct ga_list stream_barriers; /* marks that new streams wait for */
    struct ga_list greens;          /* struct sg_green */
    struct ga_list events;
    struct ga_list modules;
    struct ga_list ranges;
    struct ga_list arrays;
    struct ga_list sampled, sampled_destroyed; /* textures and surfaces (sampled.h) */
    struct ga_number_map sampled_by_handle;
    struct sg_objects *objects; /* the same objects as kernels see them; owned */
    struct sg_print *print;     /* output of its kernels */
    bool printed; /* a kernel that may print was launched: the size of the FIFO is fixed */
    struct sg_kernel_heap *heap; /* for malloc in its kernels; NULL: no module has needed one */
    struct sg_range *heap_range;
    unsigned heap_modules;            /* that may call malloc or free */
    bool heap_used;                   /* a kernel that may use it was launched: its size is fixed */
    _Atomic uint64_t kernel_limit_ns; /* its kernels may run for so long; 0: for ever */
    unsigned sm_limit;                /* multiprocessors that its kernels may use; 0: all */
    size_t stack_bytes, printf_bytes, heap_bytes, l2_granularity, launch_count;
    CUfunc_cache cache_config;
    CUsharedconfig shared_config;
};
void sg_context_hold(struct sg_context *context);
void sg_context_drop(struct sg_context *context);

/* NULL: no such handle. */
struct sg_context *sg_context_find(CUcontext handle);

static inline unsigned sg_context_sms(const struct sg_context *context)
{
    unsigned all = context->device->config.sms;
    return context->sm_limit != 0 && context->sm_limit < all ? context->sm_limit : all;
}

static inline CUcontext sg_context_handle(const struct sg_context *context)
{
    return (CUcontext)(uintptr_t)context->handle;
}

#endif
