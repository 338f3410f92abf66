/* SPDX-License-Identifier: Apache-2.0 */
/* Copies between two devices in a legacy stream: CUDA begins them when both devices have ended all
 * earlier work, and both devices begin later work only after the copy.
 *
 * Note: streams outside the legacy stream's order (made with CU_STREAM_NON_BLOCKING) are exempt, on
 * both devices. */
#include "softgpu/copy/copy_order.h"

#include <stdlib.h>

#include "softgpu/process/process.h"
#include "softgpu/stream/events.h"
#include "softgpu/stream/queue.h"

static bool copy_order_concerns(const struct sg_context *context, const struct sg_stream *stream,
                                const struct sg_device *const devices[2])
{
    return context != stream->context && context->alive && !context->dying &&
           (context->device == devices[0] || context->device == devices[1]);
}

/* Holds the legacy streams of the context and of its green contexts. */
static CUresult hold_all(struct sg_context *context, struct sg_copy_order *both)
{
    ga_list_each (at, following, &context->streams) {
        struct sg_stream *stream = ga_container(at, struct sg_stream, in_context);
        if (stream != sg_stream_legacy(stream) || stream->destroyed) {
            continue;
        }
        struct sg_stream **more =
            realloc(both->streams, (both->count + 1) * sizeof(struct sg_stream *));
        if (more == NULL) {
            return CUDA_ERROR_OUT_OF_MEMORY;
        }
        both->streams = more;
        both->streams[both->count++] = stream;
        sg_stream_hold(stream);
    }
    return CUDA_SUCCESS;
}

static CUresult follow(struct sg_stream *stream, struct sg_stream *other)
{
    struct sg_mark *mark = sg_stream_mark(other);
    if (mark == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    CUresult rc = sg_stream_follow(stream, mark);
    sg_mark_drop(mark);
    return rc;
}

CUresult sg_copy_order_before(struct sg_copy_order *both, struct sg_stream *stream,
                              const struct sg_device *const devices[2])
{
    *both = (struct sg_copy_order){0};
    if (devices[0] == NULL || devices[1] == NULL || devices[0] == devices[1] ||
        stream != sg_stream_legacy(stream)) {
        return CUDA_SUCCESS;
    }
    CUresult rc = CUDA_SUCCESS;
    uint32_t index = 0;
    uint64_t handle;
    struct sg_context *context;
    while (rc == CUDA_SUCCESS &&
           (context = ga_handle_table_next(&sg_process.contexts, &index, &handle)) != NULL) {
        rc = copy_order_concerns(context, stream, devices) ? hold_all(context, both) : CUDA_SUCCESS;
    }
    for (size_t i = 0; rc == CUDA_SUCCESS && i < both->count; i++) {
        rc = follow(stream, both->streams[i]);
    }
    sg_stream_hold(stream);
    both->stream = stream;
    return rc;
}

CUresult sg_copy_order_after(struct sg_copy_order *both, CUresult rc)
{
    for (size_t i = 0; i < both->count; i++) {
        struct sg_stream *other = both->streams[i];
        if (rc == CUDA_SUCCESS && !other->destroyed && !both->stream->destroyed) {
            rc = follow(other, both->stream);
        }
        sg_stream_drop(other);
    }
    free(both->streams);
    if (both->stream != NULL) {
        sg_stream_drop(both->stream);
    }
    return rc;
}
