/* SPDX-License-Identifier: Apache-2.0 */
/* Contexts: what belongs to one (streams, events, modules, memory, limits) and ends with it.
 *
 * What a reader would get wrong: a primary context's struct and handle live as long as its device;
 * it is `alive` only while somebody retains it, and a reset empties it under the same handle. */
#ifndef SOFTGPU_PROCESS_CONTEXT_H
#define SOFTGPU_PROCESS_CONTEXT_H

#include <stdbool.h>

#include "api/cuda_names.h"

#include "base/list.h"
#include "base/number_map.h"
#include "softgpu/process/device.h"

struct sg_objects;
struct sg_print;
struct sg_stream;

struct sg_context {
    uint64_t handle;
    uint64_t id;
    struct sg_device *device;
    bool primary;
    bool alive;
    bool dying;          /* being emptied: its work has to finish first */
    unsigned references; /* the handle's, and whoever waits with the lock released */
    unsigned flags;
    unsigned api_version;
    struct sg_stream *legacy; /* the default stream that waits for the others */
    struct ga_list streams;   /* all, the legacy one included */
    struct sg_stream *gather; /* waits for all others (context_events.c); NULL: not yet */
    struct ga_list gates;     /* what new streams wait for */
    struct ga_list greens;    /* struct sg_green */
    struct ga_list events;
    struct ga_list modules;
    struct ga_list ranges;
    struct ga_list arrays;
    struct ga_list sampled, sampled_destroyed; /* textures and surfaces (sampled.h) */
    struct ga_number_map sampled_by_handle;
    struct sg_objects *objects;  /* the same as kernels see them; owned */
    struct sg_print *print;      /* what its kernels print */
    bool printed;                /* a kernel that may print was launched: the FIFO's size stays */
    struct sg_kernel_heap *heap; /* of its kernels; NULL: no module has needed one */
    struct sg_range *heap_range;
    bool heap_used;    /* a kernel that may use it was launched: its size stays */
    unsigned sm_limit; /* multiprocessors that its kernels may use; 0: all */
    size_t stack_bytes, printf_bytes, heap_bytes, l2_granularity, launch_count;
    CUfunc_cache cache_config;
    CUsharedconfig shared_config;
};

/* All with the process's lock held. */

CUresult sg_context_make(struct sg_device *device, unsigned flags, bool primary,
                         struct sg_context **context);
/* Waits for its work, frees everything in it; then the context itself unless it is primary. Once
 * exit() has begun and its work does not end, nothing is freed. */
void sg_context_destroy(struct sg_context *context);
/* Waits while another thread destroys it. */
void sg_context_settle(struct sg_context *context);
void sg_context_hold(struct sg_context *context);
void sg_context_drop(struct sg_context *context);
/* NULL: no such handle. */
struct sg_context *sg_context_find(CUcontext handle);
/* Makes an inactive primary context usable. */
CUresult sg_context_activate(struct sg_context *context);
/* Waits until everything submitted to its streams so far has finished, of green contexts too. */
CUresult sg_context_wait(struct sg_context *context);
/* The same for every context whose work may use this one's memory: itself and its peers. */
CUresult sg_context_wait_users(struct sg_context *context);
/* As sg_context_wait, before something that it may use is freed. False: exit() has begun and the
 * work does not end even when told to stop; free nothing. */
bool sg_context_quiet(struct sg_context *context);

/* ---- kernel_heap.c: what malloc in its kernels works on ---- */

#define SG_HEAP_MIN ((size_t)4096)

CUresult sg_context_heap_make(struct sg_context *context);
/* No kernel that may use it runs. */
void sg_context_heap_drop(struct sg_context *context);
/* CUDA_ERROR_INVALID_VALUE: it is used already. */
CUresult sg_context_heap_resize(struct sg_context *context, size_t bytes);

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
