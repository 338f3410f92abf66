/* SPDX-License-Identifier: Apache-2.0 */
/* Copies as items of streams. All functions want the process's lock held. */
#ifndef SOFTGPU_COPY_COPY_H
#define SOFTGPU_COPY_COPY_H

#include <stdbool.h>

#include "api/cuda_names.h"

#include "front/front.h"
#include "softgpu/stream/queue.h"

struct sg_stream;

/* An item that copies and reads its source when it runs; it may run any number of times. NULL with
 * CUDA_SUCCESS: there is nothing to copy. */
CUresult sg_copy_make(const struct front_box *box, struct sg_item **item);

/* Checks and queues a copy. FRONT_HOST means pageable or pinned memory; FRONT_DEVICE means memory
 * of a device, or pinned memory as the device sees it. It waits where CUDA does: `async` false:
 * unless both sides are device memory; `async` true: if pageable memory cannot be staged, and
 * between host and host. */
CUresult sg_copy_submit(struct sg_stream *stream, const struct front_box *box, bool async);

#endif
