/* SPDX-License-Identifier: Apache-2.0 */
/* Modules, kernels and launches of the null device. Modules are PTX text, parsed by softgpu's
 * parser, so kernels have their real parameters. A launch is counted and added to a checksum. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "perf/null/null.h"
#include "softgpu/engine/engine.h"

struct null_report null_counts = {.magic = NULL_REPORT_MAGIC};

CUresult CUDAAPI cuModuleLoadData(CUmodule *module, const void *image)
{
    struct sg_program *program;
    enum sg_load_result result = sg_program_load(image, strlen(image), NULL, &program);
    if (result != SG_LOAD_OK) {
        return result == SG_LOAD_NO_MEMORY ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_INVALID_PTX;
    }
    *module = (CUmodule)(void *)program;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned int numOptions,
                                    CUjit_option *options, void **optionValues)
{
    (void)numOptions, (void)options, (void)optionValues;
    return cuModuleLoadData(module, image);
}

CUresult CUDAAPI cuModuleUnload(CUmodule hmod)
{
    sg_program_destroy((struct sg_program *)(void *)hmod);
    return CUDA_SUCCESS;
}

/* ---- functions: the parser's kernels themselves */

static const struct sg_kernel *kernel_of(CUfunction function)
{
    return (const struct sg_kernel *)(const void *)function;
}

CUresult CUDAAPI cuModuleGetFunction(CUfunction *hfunc, CUmodule hmod, const char *name)
{
    const struct sg_kernel *kernel =
        sg_program_kernel_find((const struct sg_program *)(const void *)hmod, name);
    *hfunc = (CUfunction)(uintptr_t)kernel;
    return kernel != NULL ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

CUresult CUDAAPI cuFuncGetParamInfo(CUfunction func, size_t paramIndex, size_t *paramOffset,
                                    size_t *paramSize)
{
    const struct sg_kernel *kernel = kernel_of(func);
    if (paramIndex >= kernel->param_count) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    *paramOffset = kernel->params[paramIndex].offset;
    *paramSize = kernel->params[paramIndex].size;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuFuncGetAttribute(int *pi, CUfunction_attribute attrib, CUfunction hfunc)
{
    *pi = 0;
    if (attrib == CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK) {
        *pi = (int)kernel_of(hfunc)->max_threads;
    } else if (attrib == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES) {
        *pi = 49152;
    }
    return CUDA_SUCCESS;
}

/* ---- counts */

CUresult CUDAAPI cuEventRecord(CUevent hEvent, CUstream hStream)
{
    (void)hEvent, (void)hStream;
    null_counts.records++;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuEventRecordWithFlags(CUevent hEvent, CUstream hStream, unsigned int flags)
{
    (void)flags;
    return cuEventRecord(hEvent, hStream);
}

/* The kernel null_report, the only one that does something. */
static void report(const void *parameter)
{
    const uint64_t *mallocs = dlsym(RTLD_DEFAULT, "perf_mallocs");
    null_counts.mallocs = mallocs != NULL ? *mallocs : NULL_REPORT_NOT_COUNTED;
    uint64_t to;
    memcpy(&to, parameter, sizeof to);
    memcpy((void *)(uintptr_t)to, &null_counts, sizeof null_counts);
}

CUresult CUDAAPI cuLaunchKernel(CUfunction f, unsigned int gridDimX, unsigned int gridDimY,
                                unsigned int gridDimZ, unsigned int blockDimX,
                                unsigned int blockDimY, unsigned int blockDimZ,
                                unsigned int sharedMemBytes, CUstream hStream, void **kernelParams,
                                void **extra)
{
    const struct sg_kernel *kernel = kernel_of(f);
    (void)hStream, (void)extra;
    if (kernel->param_count == 1 && strcmp(kernel->name, "null_report") == 0) {
        report(kernelParams[0]);
        return CUDA_SUCCESS;
    }
    uint64_t sum = null_counts.launch_sum;
    sum = null_sum_add(sum, ((uint64_t)gridDimX * gridDimY * gridDimZ) << 32 |
                                ((uint64_t)blockDimX * blockDimY * blockDimZ + sharedMemBytes));
    for (uint32_t i = 0; i < kernel->param_count; i++) {
        sum = null_sum_bytes(sum, kernelParams[i], kernel->params[i].size);
    }
    null_counts.launch_sum = sum;
    null_counts.launches++;
    return CUDA_SUCCESS;
}
