// SPDX-License-Identifier: Apache-2.0
// Helper of tests/e2e/enums.py: reads lines "CALL NUMBER" of a file and asks that call for what the
// number stands for. Answers "CALL NUMBER result bytes", the bytes being the output in hexadecimal,
// which was full of a5 before.
#include "check_driver.h"

static CUdevice device;
static CUmodule module;
static CUfunction function;
static CUkernel kernel;
static CUdeviceptr memory;
static CUmemoryPool pool;
static CUstream stream;
static CUgraph graph;
static CUgraphNode node;

static const char text[] = ".version 7.5\n.target sm_75\n.address_size 64\n"
                           ".visible .entry k()\n{\nret;\n}\n";

static void prepare()
{
    CUlibrary library;
    CHECK_DRIVER(cuInit(0));
    CHECK_DRIVER(cuDeviceGet(&device, 0));
    create_context(device);
    CHECK_DRIVER(cuModuleLoadData(&module, text));
    CHECK_DRIVER(cuModuleGetFunction(&function, module, "k"));
    CHECK_DRIVER(cuLibraryLoadData(&library, text, NULL, NULL, 0, NULL, NULL, 0));
    CHECK_DRIVER(cuLibraryGetKernel(&kernel, library, "k"));
    CHECK_DRIVER(cuMemAllocManaged(&memory, 4 << 20, CU_MEM_ATTACH_GLOBAL));
    CHECK_DRIVER(cuDeviceGetDefaultMemPool(&pool, device));
    CHECK_DRIVER(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CHECK_DRIVER(cuGraphCreate(&graph, 0));
    CUDA_KERNEL_NODE_PARAMS params = {};
    params.func = function;
    params.gridDimX = params.gridDimY = params.gridDimZ = 1;
    params.blockDimX = params.blockDimY = params.blockDimZ = 1;
    CHECK_DRIVER(cuGraphAddKernelNode(&node, graph, NULL, 0, &params));
}

struct Answer {
    unsigned char bytes[128];
    size_t size; // of the output
};

// One line of the table: the call, its output, how it is asked.
#define ASK(call, type, ...)                                                                       \
    if (!strcmp(name, #call)) {                                                                    \
        answer.size = sizeof(type);                                                                \
        type *out = (type *)(void *)answer.bytes;                                                  \
        return call(__VA_ARGS__);                                                                  \
    }

static CUresult ask(const char *name, int number, Answer &answer)
{
    ASK(cuCtxGetLimit, size_t, out, (CUlimit)number)
    ASK(cuDeviceGetAttribute, int, out, (CUdevice_attribute)number, device)
    ASK(cuFuncGetAttribute, int, out, (CUfunction_attribute)number, function)
    ASK(cuKernelGetAttribute, int, out, (CUfunction_attribute)number, kernel, device)
    ASK(cuPointerGetAttribute, uint64_t, out, (CUpointer_attribute)number, memory)
    ASK(cuMemPoolGetAttribute, uint64_t, pool, (CUmemPool_attribute)number, out)
    ASK(cuDeviceGetP2PAttribute, int, out, (CUdevice_P2PAttribute)number, device, device + 1)
    ASK(cuDeviceGetGraphMemAttribute, uint64_t, device, (CUgraphMem_attribute)number, out)
    ASK(cuDeviceGetExecAffinitySupport, int, out, (CUexecAffinityType)number, device)
    ASK(cuCtxGetExecAffinity, CUexecAffinityParam, out, (CUexecAffinityType)number)
    ASK(cuMemRangeGetAttribute, int, out, sizeof(int), (CUmem_range_attribute)number, memory,
        4 << 20)
    ASK(cuStreamGetAttribute, CUstreamAttrValue, stream, (CUstreamAttrID)number, out)
    ASK(cuGraphKernelNodeGetAttribute, CUkernelNodeAttrValue, node, (CUkernelNodeAttrID)number, out)
    if (!strcmp(name, "cuMemGetAllocationGranularity")) {
        CUmemAllocationProp prop = {};
        prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
        prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
        prop.location.id = device;
        answer.size = sizeof(size_t);
        return cuMemGetAllocationGranularity((size_t *)(void *)answer.bytes, &prop,
                                             (CUmemAllocationGranularity_flags)number);
    }
    fail("no call %s", name);
}

int main(int argc, char **argv)
{
    char name[64];
    int number;
    FILE *questions = argc == 2 ? fopen(argv[1], "r") : NULL;
    if (!questions)
        fail("usage: %s FILE", argv[0]);
    prepare();
    while (fscanf(questions, "%63s %d", name, &number) == 2) {
        Answer answer;
        memset(answer.bytes, 0xa5, sizeof answer.bytes);
        const CUresult result = ask(name, number, answer);
        printf("%s %d %d ", name, number, (int)result);
        for (size_t i = 0; i < answer.size; i++)
            printf("%02x", answer.bytes[i]);
        printf("\n");
    }
    return passed();
}
