/* SPDX-License-Identifier: Apache-2.0 */
/* Fills as items of streams. All functions want the process's lock held. */
#ifndef SOFTGPU_COPY_MEMSET_H
#define SOFTGPU_COPY_MEMSET_H

#include <stdbool.h>

#include "api/cuda_names.h"

#include "softgpu/stream/queue.h"

struct sg_stream;

struct sg_fill_shape {
    uint64_t to, pitch;     /* bytes */
    uint64_t width, height; /* width in elements */
    unsigned element;       /* 1, 2 or 4 bytes */
    uint32_t value;
};

/* As sg_copy_make. */
CUresult sg_fill_make(const struct sg_fill_shape *shape, struct sg_item **item);

/* `async` false waits only when the target is pinned host memory, as CUDA does. */
CUresult sg_fill_submit(struct sg_stream *stream, const struct sg_fill_shape *shape, bool async);

#endif
