/* SPDX-License-Identifier: Apache-2.0 */
/* What streams do: kernels, copies, fills. All functions want the process's lock held unless they
 * say otherwise. */
#ifndef SOFTGPU_MODULE_WORK_H
#define SOFTGPU_MODULE_WORK_H

#include <stdbool.h>

#include "api/cuda_names.h"

#include "softgpu/module/module.h"
#include "softgpu/stream/queue.h"

/* ---- launch.c ---- */

struct sg_launch_shape {
    unsigned grid[3], block[3];
    unsigned cluster[3]; /* 0, 0, 0: what the kernel says, or none */
    unsigned dynamic_shared;
    unsigned sms;     /* that it has; 0: all of the device's */
    bool cooperative; /* all blocks run at once, and may wait for each other */
    bool prioritised;
    int priority; /* instead of the stream's, when `prioritised` */
};

/* Checks the shape against the kernel and the device, copies the parameters. The item may be run
 * any number of times, one after the other. CUDA_ERROR_INVALID_CLUSTER_SIZE;
 * CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE: cooperative, and the device cannot hold all blocks. */
CUresult sg_launch_make(struct sg_function *function, const struct sg_launch_shape *shape,
                        void **params, void **extra, struct sg_item **item);
/* The same, and queues it. */
CUresult sg_launch_submit(struct sg_stream *stream, struct sg_function *function,
                          const struct sg_launch_shape *shape, void **params, void **extra);

/* Blocks of a cluster of the function, at most. */
unsigned sg_cluster_most(const struct sg_function *function);
/* CUDA_ERROR_INVALID_CLUSTER_SIZE; 0, 0, 0: what the kernel says, or none. */
CUresult sg_cluster_check(const struct sg_function *function, const unsigned grid[3],
                          const unsigned cluster[3]);

/* ---- fault_log.c ---- */

/* Says on stderr what a kernel has done wrong, and where. Without the lock. */
void sg_fault_log(const struct sg_fault *fault, const struct sg_device *device);

/* ---- copy.c ---- */

/* An item that copies, and reads its source when it runs; it may be run any number of times. NULL
 * with CUDA_SUCCESS: there is nothing to copy. */
CUresult sg_copy_make(const struct front_box *box, struct sg_item **item);
/* Checks and queues a copy. FRONT_HOST is pageable or pinned memory; FRONT_DEVICE that of a device,
 * or pinned memory as the device sees it. It waits where CUDA does: `async` false: unless both
 * sides are device memory; `async` true: when pageable memory cannot be staged, and between host
 * and host. */
CUresult sg_copy_submit(struct sg_stream *stream, const struct front_box *box, bool async);

/* ---- copy_order.c: copies between devices in a legacy stream ---- */

/* Who waits for whom because of one copy; empty for any other copy. */
struct sg_both {
    struct sg_stream *stream;   /* held; NULL: empty */
    struct sg_stream **streams; /* held; owned; the others' legacy streams */
    size_t count;
};

/* Before the copy is put into the stream: it waits for both devices. `devices` NULL: host memory.
 * Does not let go of the lock. */
CUresult sg_both_before(struct sg_both *both, struct sg_stream *stream,
                        const struct sg_device *const devices[2]);
/* Behind it, whatever came of both: after CUDA_SUCCESS the devices wait for it. Ends `both`. */
CUresult sg_both_after(struct sg_both *both, CUresult rc);

/* ---- memset.c ---- */

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

/* ---- host_function.c ---- */

/* An item that calls a function of the program. NULL: no memory. */
struct sg_item *sg_host_function_make(const struct front_host_call *call);

/* ---- occupancy.c ---- */

/* Blocks of the kernel that a multiprocessor of the device holds at once. */
uint64_t sg_occupancy_blocks(const struct sg_device *device, const struct sg_kernel *kernel,
                             unsigned dynamic_max, int carveout, unsigned block_threads,
                             uint64_t dynamic_shared);
/* Blocks of this function that so many multiprocessors hold at once. */
uint64_t sg_occupancy_resident(const struct sg_function *function, unsigned sms,
                               unsigned block_threads, uint64_t dynamic_shared);
/* The most threads a block of this kernel can have (registers, .maxntid). */
unsigned sg_occupancy_threads_max(const struct sg_kernel *kernel);
/* Static shared memory as ptxas counts it. */
unsigned sg_shared_static(const struct sg_kernel *kernel);
/* The most dynamic shared memory that may be asked for without the attribute being set. */
unsigned sg_dynamic_shared_default(const struct sg_kernel *kernel);
/* The attribute MAX_DYNAMIC_SHARED_SIZE_BYTES. */
unsigned sg_dynamic_shared_max(const struct sg_kernel *kernel,
                               const struct sg_kernel_settings *settings);

#endif
