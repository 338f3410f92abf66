/* SPDX-License-Identifier: Apache-2.0 */
/* Green contexts: the multiprocessors of their kernels, and streams with an order of their own. All
 * functions want the process's lock held. */
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
    struct sg_context *context; /* the primary context; held by the streams */
    CUcontext handle;
    unsigned references; /* of the green context, and of its streams */
    bool dead;           /* destroyed, or its context was emptied */
    struct sg_stream *legacy;
    struct sg_stream *gather; /* like `gather` and `stream_barriers` of sg_context */
    struct ga_list stream_barriers;
    unsigned sm_count; /* its kernels see only these: %smid counts from 0 */
};

CUresult sg_green_make(struct sg_context *context, const struct front_green *front,
                       struct sg_green **green);
/* Waits for its work; its streams cannot be used afterwards. */
void sg_green_end(struct sg_green *green);
/* Ends the green contexts of a context that is being emptied. */
void sg_green_lose(struct sg_context *context);
void sg_green_hold(struct sg_green *green);
void sg_green_drop(struct sg_green *green);
/* The green context that is current to the calling thread, if it belongs to `context`; otherwise
 * NULL. */
struct sg_green *sg_green_current(const struct sg_context *context);
/* The green context that the handle names; NULL: it names another context. */
struct sg_green *sg_green_of(CUcontext handle);
/* Waits for all work of its streams. */
CUresult sg_green_wait(struct sg_green *green);

/* The context or green context of the stream, as programs know it. */
CUcontext sg_stream_context(const struct sg_stream *stream);
/* Multiprocessors for kernels in the stream. */
unsigned sg_stream_sms(const struct sg_stream *stream);

#endif
