// SPDX-License-Identifier: Apache-2.0
// Contexts that have some of the multiprocessors only (execution affinity), and contexts that are
// counted, as before CUDA 4. semantics S111
#include <set>
#include <vector>

#include "check_driver.h"

__global__ void where(unsigned *seen)
{
    unsigned sm;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
    if (threadIdx.x == 0)
        seen[blockIdx.x] = sm;
}

static size_t multiprocessors_used()
{
    const unsigned blocks = 1024;
    std::vector<unsigned> seen(blocks);
    unsigned *on_device;
    CHECK(cudaMalloc(&on_device, blocks * sizeof(unsigned)));
    where<<<blocks, 32>>>(on_device);
    CHECK(cudaMemcpy(seen.data(), on_device, blocks * sizeof(unsigned), cudaMemcpyDeviceToHost));
    CHECK(cudaFree(on_device));
    return std::set<unsigned>(seen.begin(), seen.end()).size();
}

static CUresult create(CUcontext *context, unsigned sms, CUexecAffinityType type)
{
    CUexecAffinityParam param = {};
    param.type = type;
    param.param.smCount.val = sms;
    CUctxCreateParams params = {};
    params.execAffinityParams = &param;
    params.numExecAffinityParams = 1;
    return cuCtxCreate(context, &params, 0, 0);
}

static void check_affinity(unsigned all)
{
    CUcontext whole = create_context(0), context;
    CUexecAffinityParam told = {};
    CHECK_DRIVER(cuCtxGetExecAffinity(&told, CU_EXEC_AFFINITY_TYPE_SM_COUNT));
    if (told.param.smCount.val != all || multiprocessors_used() != all)
        fail("a context without affinity has %u of %u", told.param.smCount.val, all);
    for (unsigned sms = 1; sms <= all && sms <= 4; sms++) {
        CHECK_DRIVER(create(&context, sms, CU_EXEC_AFFINITY_TYPE_SM_COUNT));
        CHECK_DRIVER(cuCtxGetExecAffinity(&told, CU_EXEC_AFFINITY_TYPE_SM_COUNT));
        size_t used = multiprocessors_used();
        printf("%u asked for, %u given, %zu used\n", sms, told.param.smCount.val, used);
        if (told.param.smCount.val < sms || used != told.param.smCount.val)
            fail("that does not go together");
        CHECK_DRIVER(cuCtxDestroy(context));
    }
    EXPECT_DRIVER(create(&context, 0, CU_EXEC_AFFINITY_TYPE_SM_COUNT), CUDA_ERROR_INVALID_VALUE);
    EXPECT_DRIVER(create(&context, all + 1, CU_EXEC_AFFINITY_TYPE_SM_COUNT),
                  CUDA_ERROR_INVALID_VALUE);
    EXPECT_DRIVER(create(&context, 1, CU_EXEC_AFFINITY_TYPE_MAX),
                  CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY);
    CHECK_DRIVER(cuCtxSetCurrent(whole));
    if (multiprocessors_used() != all)
        fail("the context without affinity has fewer now");
    CHECK_DRIVER(cuCtxDestroy(whole));
}

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
static void check_counts()
{
    CUcontext context = create_context(0), attached = nullptr, other;
    CHECK_DRIVER(cuCtxAttach(&attached, 0));
    if (attached != context)
        fail("cuCtxAttach gives another context");
    EXPECT_DRIVER(cuCtxAttach(&attached, 1), CUDA_ERROR_INVALID_VALUE);
    CHECK_DRIVER(cuCtxDetach(context));
    CHECK_DRIVER(cuCtxSynchronize()); // still there
    other = create_context(0);
    EXPECT_DRIVER(cuCtxDetach(context), CUDA_ERROR_INVALID_CONTEXT); // not current
    CHECK_DRIVER(cuCtxDetach(other));
    CHECK_DRIVER(cuCtxDetach(context)); // the last one
    EXPECT_DRIVER(cuCtxSetCurrent(context), CUDA_ERROR_INVALID_CONTEXT);
    EXPECT_DRIVER(cuCtxAttach(&attached, 0), CUDA_ERROR_INVALID_CONTEXT);
}

int main()
{
    int all = 0, supported = 0;
    CHECK_DRIVER(cuInit(0));
    CHECK_DRIVER(cuDeviceGetAttribute(&all, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0));
    CHECK_DRIVER(cuDeviceGetExecAffinitySupport(&supported, CU_EXEC_AFFINITY_TYPE_SM_COUNT, 0));
    if (!supported)
        fail("the device has no execution affinity");
    check_affinity((unsigned)all);
    check_counts();
    return passed();
}
