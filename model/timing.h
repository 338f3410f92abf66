/* SPDX-License-Identifier: Apache-2.0 */
/* The timing model: how long the described device would take for the work of its engines. Pure
 * functions of the description and of counts; docs/softgpu-timing.md explains them.
 *
 * Note: these are times of work that has the device for itself. timeline.h places it beside other
 * work. */
#ifndef MODEL_TIMING_H
#define MODEL_TIMING_H

#include "api/soft_device.h"
#include "base/gpu_engine.h"

struct model_counts;

/* Resources that kernels share when they run at the same time. */
enum model_resource {
    MODEL_RESOURCE_SLOTS,     /* places of blocks on multiprocessors */
    MODEL_RESOURCE_ISSUE,     /* the busiest unit of the multiprocessors */
    MODEL_RESOURCE_BANDWIDTH, /* of device memory */
    MODEL_RESOURCES
};

struct model_demand {
    uint64_t lead_ns;              /* before it uses any resource */
    uint64_t ns;                   /* the duration after that, if it runs alone */
    double share[MODEL_RESOURCES]; /* of each resource during `ns`; at most 1 */
};

struct model_grid {
    uint64_t blocks;
    uint32_t block_threads;
    uint32_t blocks_sm; /* that fit on a multiprocessor together; at least 1 */
    uint32_t sms;       /* that it may use; 0: all */
    const struct model_counts *counts;
};

struct model_demand model_timing_kernel(const struct soft_device *device,
                                        const struct model_grid *grid);
/* The demand of a kernel whose duration is known. */
struct model_demand model_timing_kernel_of(const struct soft_device *device,
                                           const struct model_grid *grid, uint64_t ns);

struct model_demand model_timing_copy(const struct soft_device *device, enum gpu_engine way,
                                      uint64_t bytes, bool pageable);
/* A fill or copy within device memory: `bytes` are read and written together. */
struct model_demand model_timing_fill(const struct soft_device *device, uint64_t bytes);

#endif
