/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the parameters of timed kernels. */
#include "softgpu/module/timed.h"

#include <string.h>

#include "model/timed.h"
#include "softgpu/process/report.h"

bool sg_timed_is(const struct sg_device *device, const struct sg_kernel *kernel)
{
    return !device->config.execute && strcmp(kernel->name, MODEL_TIMED_NAME) == 0;
}

static bool has_its_parameters(const struct sg_kernel *kernel)
{
    static const uint32_t offsets[MODEL_TIMED_PARAMS] = {0, 8, 12, 16}, sizes[] = {8, 4, 4, 4};
    bool same = kernel->param_count == MODEL_TIMED_PARAMS;
    for (uint32_t i = 0; same && i < MODEL_TIMED_PARAMS; i++) {
        same = kernel->params[i].offset == offsets[i] && kernel->params[i].size == sizes[i];
    }
    return same;
}

static struct model_timed timed_read(const void *params)
{
    struct model_timed timed = {0};
    memcpy(&timed, params, MODEL_TIMED_BYTES);
    return timed;
}

CUresult sg_timed_check(const struct sg_kernel *kernel, const void *params)
{
    const char *wrong = "its parameters are an unsigned long long and three floats";
    if (has_its_parameters(kernel)) {
        struct model_timed timed = timed_read(params);
        wrong = model_timed_wrong(&timed);
    }
    if (wrong != NULL) {
        sg_tell(MODEL_TIMED_NAME ": %s (docs/softgpu-timing.md)", wrong);
        return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
}

struct model_demand sg_timed_demand(const void *params)
{
    struct model_timed timed = timed_read(params);
    return model_timed_demand(&timed);
}
