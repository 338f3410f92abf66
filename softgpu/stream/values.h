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
    bool write;     /* else it is waited for */
    CUstreamWaitValue_flags wait;
};

/* CUDA_ERROR_INVALID_VALUE: not aligned, or no memory that the device may use. */
CUresult sg_value_check(const struct sg_value *value);

/* Values are looked at by a thread: once, before the first that is waited for. */
CUresult sg_values_start(void);

/* Writes it, or looks whether it has come; false: not yet, it is to be tried again by a step.
 * `since_ns` is 0 before the first try. After a failed check the process is condemned, and it is
 * true. */
bool sg_value_try(const struct sg_value *value, uint64_t *since_ns);

/* What a stream or a thread waits for will not tell: sg_schedule is called soon. `*since_ns` is 0
 * at first. */
void sg_look_again(uint64_t *since_ns);

/* After sg_value_check. */
CUresult sg_submit_value(struct sg_stream *stream, const struct sg_value *value);

#endif
