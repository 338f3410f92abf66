/* SPDX-License-Identifier: Apache-2.0 */
/* Execution affinity: parameters of cuCtxCreate_v3 and cuCtxGetExecAffinity. */
#include "front/green/affinity.h"

#include "api/driver_open.h"
#include "front/front.h"

static bool supported(CUdevice device)
{
    struct front_device facts;
    return front_host.device(device, &facts) == CUDA_SUCCESS &&
           (facts.traits & CUDA_DEVICE_AFFINITY) != 0;
}

CUresult CUDAAPI cuDeviceGetExecAffinitySupport(int *pi, CUexecAffinityType type, CUdevice dev)
{
    struct front_device facts;
    CUresult rc = front_ready();
    if (rc == CUDA_SUCCESS) {
        rc = front_host.process_state();
    }
    if (rc == CUDA_SUCCESS && (pi == NULL || type != CU_EXEC_AFFINITY_TYPE_SM_COUNT)) {
        rc = CUDA_ERROR_INVALID_VALUE;
    }
    if (rc == CUDA_SUCCESS) {
        rc = front_host.device(dev, &facts);
    }
    if (rc == CUDA_SUCCESS) {
        *pi = (facts.traits & CUDA_DEVICE_AFFINITY) != 0;
    }
    return rc;
}

CUresult front_affinity_read(const CUexecAffinityParam *params, int count, CUdevice device,
                             unsigned *sms)
{
    CUresult rc = front_ready();
    *sms = 0;
    if (rc != CUDA_SUCCESS || count == 0) {
        return rc;
    }
    if (params == NULL || count < 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    for (int i = 0; i < count; i++) { /* the last parameter of a type counts */
        if (params[i].type != CU_EXEC_AFFINITY_TYPE_SM_COUNT) {
            return CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY;
        }
        *sms = params[i].param.smCount.val;
    }
    int total = 0;
    rc = front_host.device_attribute(device, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, &total);
    if (rc == CUDA_SUCCESS && !supported(device)) {
        rc = CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY;
    }
    return rc == CUDA_SUCCESS && (*sms == 0 || *sms > (unsigned)total) ? CUDA_ERROR_INVALID_VALUE
                                                                       : rc;
}

CUresult front_affinity_tell(CUexecAffinityParam *affinity, CUexecAffinityType type, unsigned sms)
{
    if (affinity == NULL) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (type != CU_EXEC_AFFINITY_TYPE_SM_COUNT) {
        return CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY;
    }
    *affinity = (CUexecAffinityParam){.type = type, .param.smCount.val = sms};
    return CUDA_SUCCESS;
}
