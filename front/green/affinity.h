/* SPDX-License-Identifier: Apache-2.0 */
/* Execution affinity: contexts whose kernels run on some of a device's multiprocessors only. */
#ifndef FRONT_GREEN_AFFINITY_H
#define FRONT_GREEN_AFFINITY_H

#include "api/cuda_names.h"

/* The number of multiprocessors that the parameters of cuCtxCreate_v3 ask for; 0: none.
 * CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY. */
CUresult front_affinity_read(const CUexecAffinityParam *params, int count, CUdevice device,
                             unsigned *sms);
/* cuCtxGetExecAffinity of a context with that number. */
CUresult front_affinity_tell(CUexecAffinityParam *affinity, CUexecAffinityType type, unsigned sms);

#endif
