/* SPDX-License-Identifier: Apache-2.0 */
/* Values in memory that streams write and wait for. All functions want the process's lock held. */
#ifndef SOFTGPU_STREAM_VALUES_H
#define SOFTGPU_STREAM_VALUES_H

#include <stdbool.h>
#include <stdint.h>

#include "api/cuda_names.h"

#include "softgpu/stream/streams.h"

struct sg_value {
    uint64_t address, value;
    unsigned bytes; /* 4 or 8 */
    bool write;     /* otherwise it is waited for */
    CUstreamWaitValue_flags wait;
};

/* CUDA_ERROR_INVALID_VALUE: not aligned, or memory that the device may not use. */
CUresult sg_value_check(const struct sg_value *value);

/* Starts the thread that polls values, once, before the first wait. */
CUresult sg_values_start(void);

/* Writes the value, or checks whether it has come; false: not yet, a step tries again. `since_ns`
 * is 0 before the first try. A failed check condemns the process and returns true. */
bool sg_value_try(const struct sg_value *value, uint64_t *since_ns);

/* Asks for polling: sg_schedule is called soon, because nothing reports what is waited for.
 * `*since_ns` is 0 at first. */
void sg_look_again(uint64_t *since_ns);

/* After sg_value_check. */
CUresult sg_submit_value(struct sg_stream *stream, const struct sg_value *value);

#endif
