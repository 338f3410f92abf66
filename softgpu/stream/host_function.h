/* SPDX-License-Identifier: Apache-2.0 */
/* Host functions as items of streams. */
#ifndef SOFTGPU_STREAM_HOST_FUNCTION_H
#define SOFTGPU_STREAM_HOST_FUNCTION_H

#include "front/front.h"
#include "softgpu/stream/queue.h"

/* An item that calls a host function. NULL: no memory. */
struct sg_item *sg_host_function_make(const struct front_host_call *call);

#endif
