/* SPDX-License-Identifier: Apache-2.0 */
/* Green contexts as objects: which multiprocessors their kernels have, and their own order of
 * streams. All with the process's lock held. */
#ifndef SOFTGPU_STREAM_GREEN_H
#define SOFTGPU_STREAM_GREEN_H

#include <stdbool.h>
#include <stdint.h>

#include "api/cuda_names.h"

#include "base/list.h"
#include "front/front.h"
#include "softgpu/process/context.h"

struct sg_green {
    struct ga_list in_context;
    struct sg_context *context; /* the primary one; its streams hold it */
    CUcontext handle;
    unsigned references; /* its own, and its streams' */
    bool dead;           /* destroyed, or its context was emptied */
    struct sg_stream *legacy;
    struct sg_stream *gather; /* as sg_context.gather and gates */
    struct ga_list gates;
    unsigned sm_count; /* to its kernels they are all there are: %smid counts from 0 */
};

CUresult sg_green_make(struct sg_context *context, const struct front_green *front,
                       struct sg_green **green);
/* Waits for its work; its streams cannot be used from now on. */
void sg_green_end(struct sg_green *green);
/* The context is being emptied: its green contexts have nothing any more. */
void sg_green_lose(struct sg_context *context);
void sg_green_hold(struct sg_green *green);
void sg_green_drop(struct sg_green *green);
/* That of the calling thread's current context, if it is one of `context`; else NULL. */
struct sg_green *sg_green_current(const struct sg_context *context);
/* What the handle of a context means; NULL: no green context. */
struct sg_green *sg_green_of(CUcontext handle);
/* Waits for all that its streams were given. */
CUresult sg_green_wait(struct sg_green *green);

/* The context that the stream is of, as programs know it. */
CUcontext sg_stream_context(const struct sg_stream *stream);
/* How many multiprocessors kernels in the stream have. */
unsigned sg_stream_sms(const struct sg_stream *stream);

#endif
