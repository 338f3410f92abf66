/* SPDX-License-Identifier: Apache-2.0 */
/* Resources of a multiprocessor that a kernel needs; the calculator is in front/. */
#include "softgpu/module/occupancy.h"

#include "front/front.h"
#include "softgpu/process/attributes.h"

#define OCCUPANCY_REGISTER_UNIT 256u /* registers of a warp are allocated in this unit */
#define OCCUPANCY_SHARED_UNIT   16u  /* bytes: ptxas counts static shared memory in this unit */
#define OCCUPANCY_WARP_UNIT     4u   /* the register check rounds the warps of a block up to this */

static unsigned occupancy_smaller(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

unsigned sg_occupancy_threads_max(const struct sg_kernel *kernel)
{
    unsigned registers = kernel->registers != 0 ? kernel->registers : 1;
    unsigned per_warp = (registers * SG_WARP_LANES + OCCUPANCY_REGISTER_UNIT - 1) /
                        OCCUPANCY_REGISTER_UNIT * OCCUPANCY_REGISTER_UNIT;
    unsigned warps = SG_REGISTERS_SM / per_warp / OCCUPANCY_WARP_UNIT * OCCUPANCY_WARP_UNIT;
    return occupancy_smaller(occupancy_smaller(kernel->max_threads, SG_BLOCK_THREADS_MAX),
                             warps * SG_WARP_LANES);
}

unsigned sg_shared_static(const struct sg_kernel *kernel)
{
    return (kernel->shared_bytes + OCCUPANCY_SHARED_UNIT - 1) / OCCUPANCY_SHARED_UNIT *
           OCCUPANCY_SHARED_UNIT;
}

unsigned sg_dynamic_shared_default(const struct sg_kernel *kernel)
{
    unsigned fixed = sg_shared_static(kernel);
    return fixed < SG_SHARED_BLOCK_DEFAULT ? SG_SHARED_BLOCK_DEFAULT - fixed : 0;
}

unsigned sg_dynamic_shared_max(const struct sg_kernel *kernel,
                               const struct sg_kernel_settings *settings)
{
    int set = settings->dynamic_shared_max;
    return set >= 0 ? (unsigned)set : sg_dynamic_shared_default(kernel);
}

static int occupancy_fact(const void *of, CUdevice_attribute which)
{
    int value = 0;
    (void)sg_device_attribute(of, which, &value);
    return value;
}

uint64_t sg_occupancy_blocks(const struct sg_device *device, const struct sg_kernel *kernel,
                             unsigned dynamic_max, int carveout, unsigned block_threads,
                             uint64_t dynamic_shared)
{
    struct front_kernel facts = {.threads_max = sg_occupancy_threads_max(kernel),
                                 .registers = kernel->registers,
                                 .shared = sg_shared_static(kernel),
                                 .dynamic_max = dynamic_max,
                                 .carveout = carveout};
    struct front_sm sm;
    front_sm_read(&sm, occupancy_fact, device);
    return front_occupancy_blocks(&sm, &facts, block_threads, dynamic_shared);
}

uint64_t sg_occupancy_resident(const struct sg_function *function, unsigned sms,
                               unsigned block_threads, uint64_t dynamic_shared)
{
    const struct sg_device *device = function->module->context->device;
    unsigned dynamic_max = sg_dynamic_shared_max(function->kernel, function->settings);
    return sms * sg_occupancy_blocks(device, function->kernel, dynamic_max,
                                     function->settings->carveout, block_threads, dynamic_shared);
}
