/* SPDX-License-Identifier: Apache-2.0 */
/* Copies between two devices in a legacy stream wait for both devices, and both wait for them. All
 * functions want the process's lock held. */
#ifndef SOFTGPU_COPY_COPY_ORDER_H
#define SOFTGPU_COPY_COPY_ORDER_H

#include "softgpu/process/device.h"
#include "softgpu/stream/streams.h"

/* The waits that one copy causes; empty for any other copy. */
struct sg_copy_order {
    struct sg_stream *stream;   /* held; NULL: empty */
    struct sg_stream **streams; /* held; owned; the others' legacy streams */
    size_t count;
};

/* Called before the copy is put into the stream: it waits for both devices. `devices` NULL: host
 * memory. Does not release the lock. */
CUresult sg_copy_order_before(struct sg_copy_order *both, struct sg_stream *stream,
                              const struct sg_device *const devices[2]);

/* Called after that, whatever the result: after CUDA_SUCCESS the devices wait for the copy. Ends
 * `both`. */
CUresult sg_copy_order_after(struct sg_copy_order *both, CUresult rc);

#endif
