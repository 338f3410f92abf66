// SPDX-License-Identifier: Apache-2.0
// cuLaunchKernelEx: attributes that work, hints that are taken, and the errors of the others.
#include "check_driver.h"

__global__ void add(int *to, int value)
{
    atomicAdd(to, value);
}

static CUfunction function;
static CUdeviceptr data;
static int launched;

static CUresult launch(CUlaunchAttribute *attributes, unsigned count)
{
    int value = 1;
    void *parameters[] = {&data, &value};
    CUlaunchConfig config = {};
    config.gridDimX = config.gridDimY = config.gridDimZ = 1;
    config.blockDimX = config.blockDimY = config.blockDimZ = 1;
    config.attrs = attributes;
    config.numAttrs = count;
    CUresult result = cuLaunchKernelEx(&config, function, parameters, nullptr);
    launched += result == CUDA_SUCCESS;
    return result;
}

static CUlaunchAttribute of(CUlaunchAttributeID id)
{
    CUlaunchAttribute attribute = {};
    attribute.id = id;
    return attribute;
}

static void hints()
{
    CUlaunchAttribute all[] = {of(CU_LAUNCH_ATTRIBUTE_IGNORE),
                               of(CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW),
                               of(CU_LAUNCH_ATTRIBUTE_PRIORITY),
                               of(CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION),
                               of(CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP),
                               of(CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN),
                               of(CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE),
                               of(CU_LAUNCH_ATTRIBUTE_COOPERATIVE),
                               of(CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION)};
    all[1].value.accessPolicyWindow.hitRatio = 1;
    all[3].value.programmaticStreamSerializationAllowed = 1;
    all[8].value.clusterDim.x = all[8].value.clusterDim.y = all[8].value.clusterDim.z = 1;
    const unsigned count = sizeof all / sizeof all[0];
    for (CUlaunchAttribute &attribute : all)
        CHECK_DRIVER(launch(&attribute, 1));
    CHECK_DRIVER(launch(all, count));
    CHECK_DRIVER(launch(nullptr, 0));
}

// An event that comes with the launch is ready when the kernel is.
static void events()
{
    CUevent event;
    int got = 0;
    CHECK_DRIVER(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    CUlaunchAttribute completion = of((CUlaunchAttributeID)12);
    completion.value.programmaticEvent.event = event;
    CHECK_DRIVER(launch(&completion, 1));
    CHECK_DRIVER(cuEventSynchronize(event));
    CUlaunchAttribute programmatic = of(CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT);
    programmatic.value.programmaticEvent.event = event;
    programmatic.value.programmaticEvent.triggerAtBlockStart = 1;
    CHECK_DRIVER(launch(&programmatic, 1));
    CHECK_DRIVER(cuEventSynchronize(event));
    CHECK_DRIVER(cuMemcpyDtoH(&got, data, sizeof got));
    if (got != launched)
        fail("%d launches counted, %d made", got, launched);
    CHECK_DRIVER(cuEventDestroy(event));
    EXPECT_DRIVER(launch(&completion, 1), CUDA_ERROR_INVALID_HANDLE);
    completion.value.programmaticEvent.event = nullptr;
    EXPECT_DRIVER(launch(&completion, 1), CUDA_ERROR_INVALID_VALUE);
}

static void errors()
{
    CUlaunchAttribute attribute = of(CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION);
    attribute.value.clusterDim.x = 2;
    attribute.value.clusterDim.y = attribute.value.clusterDim.z = 1;
    EXPECT_DRIVER(launch(&attribute, 1), CUDA_ERROR_INVALID_CLUSTER_SIZE);
    attribute = of(CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY); // of streams
    EXPECT_DRIVER(launch(&attribute, 1), CUDA_ERROR_INVALID_VALUE);
    attribute = of((CUlaunchAttributeID)13); // of graphs
    EXPECT_DRIVER(launch(&attribute, 1), CUDA_ERROR_INVALID_VALUE);
    attribute = of(CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW);
    attribute.value.accessPolicyWindow.hitRatio = 2;
    EXPECT_DRIVER(launch(&attribute, 1), CUDA_ERROR_INVALID_VALUE);
    attribute = of((CUlaunchAttributeID)1000);
    EXPECT_DRIVER(launch(&attribute, 1), CUDA_ERROR_NOT_SUPPORTED);
    EXPECT_DRIVER(launch(nullptr, 1), CUDA_ERROR_INVALID_VALUE);
    EXPECT_DRIVER(cuLaunchKernelEx(nullptr, function, nullptr, nullptr), CUDA_ERROR_INVALID_VALUE);
}

int main()
{
    cudaFunction_t runtime_function;
    void *pointer;
    CHECK(cudaMalloc(&pointer, 4));
    CHECK(cudaMemset(pointer, 0, 4));
    CHECK(cudaGetFuncBySymbol(&runtime_function, (const void *)add));
    function = (CUfunction)runtime_function;
    data = (CUdeviceptr)pointer;
    hints();
    events();
    errors();
    int got = 0;
    CHECK_DRIVER(cuMemcpyDtoH(&got, data, sizeof got));
    if (got != launched)
        fail("a launch that was refused ran: %d, not %d", got, launched);
    return passed();
}
