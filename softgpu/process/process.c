/* SPDX-License-Identifier: Apache-2.0 */
/* The state of the process, and condemnation. */
#include "softgpu/process/process.h"

#include <limits.h>
#include <string.h>
#include <sys/sysinfo.h>

#include "base/log.h"

struct sg_process sg_process = {.lock = PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP};

CUresult sg_process_pool(void)
{
    if (sg_process.pool != NULL) {
        return CUDA_SUCCESS;
    }
    int cores = get_nprocs();
    if (sg_pool_create(cores > 1 ? (unsigned)cores - 1 : 0, &sg_process.pool) != GA_OK) {
        ga_error("softgpu: cannot start the threads that run kernels");
        return CUDA_ERROR_OPERATING_SYSTEM;
    }
    return CUDA_SUCCESS;
}

void sg_process_condemn(CUresult code)
{
    int none = 0;
    if (atomic_compare_exchange_strong(&sg_process.condemned, &none, (int)code)) {
        atomic_store(&sg_process.stop, 1);
    }
}

void sg_process_capabilities(unsigned *least, unsigned *most)
{
    *least = UINT_MAX;
    *most = 0;
    for (unsigned i = 0; i < sg_process.device_count; i++) {
        unsigned capability = sg_process.devices[i].config.capability;
        *least = capability < *least ? capability : *least;
        *most = capability > *most ? capability : *most;
    }
}

struct sg_device *sg_device_of_uuid(const uint8_t uuid[16])
{
    for (unsigned i = 0; i < sg_process.device_count; i++) {
        if (memcmp(sg_process.devices[i].config.uuid, uuid, 16) == 0) {
            return &sg_process.devices[i];
        }
    }
    return NULL;
}
