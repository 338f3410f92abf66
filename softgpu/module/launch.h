/* SPDX-License-Identifier: Apache-2.0 */
/* Kernel launches as items of streams. All functions want the process's lock held. */
#ifndef SOFTGPU_MODULE_LAUNCH_H
#define SOFTGPU_MODULE_LAUNCH_H

#include <stdbool.h>

#include "api/cuda_names.h"

#include "softgpu/module/module.h"
#include "softgpu/stream/queue.h"

struct sg_launch_shape {
    unsigned grid[3], block[3];
    unsigned cluster[3]; /* 0, 0, 0: from the kernel, or none */
    unsigned dynamic_shared;
    unsigned sms;     /* for this launch; 0: all of the device */
    bool cooperative; /* all blocks run at once, and may wait for each other */
    bool prioritised;
    int priority; /* instead of the stream's, when `prioritised` */
};

/* Checks the shape against the kernel and the device and copies the parameters. The item may run
 * any number of times, one after the other. CUDA_ERROR_INVALID_CLUSTER_SIZE;
 * CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE: the device cannot hold all blocks of a cooperative
 * launch. */
CUresult sg_launch_make(struct sg_function *function, const struct sg_launch_shape *shape,
                        void **params, void **extra, struct sg_item **item);

/* As sg_launch_make, and queues it. */
CUresult sg_launch_submit(struct sg_stream *stream, struct sg_function *function,
                          const struct sg_launch_shape *shape, void **params, void **extra);

/* The most blocks of a cluster of the function. */
unsigned sg_cluster_most(const struct sg_function *function);

/* CUDA_ERROR_INVALID_CLUSTER_SIZE. 0, 0, 0: from the kernel, or none. */
CUresult sg_cluster_check(const struct sg_function *function, const unsigned grid[3],
                          const unsigned cluster[3]);

#endif
