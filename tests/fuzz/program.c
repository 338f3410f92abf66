/* SPDX-License-Identifier: Apache-2.0 */
/* See program.h. Memory of the program comes from malloc, so a sanitizer sees writes beside it.
 * A result that a call has not made is 0 for the next call. */
#include "tests/fuzz/program.h"

#include <cuda.h>
#include <stdbool.h>

#include "tests/fuzz/edge.h"
#include "tests/fuzz/input.h"

#define SMALL 64u
#define LARGE (3u << 20) /* goes over bulk connections */

static unsigned errors;

/* A call that ends with a result that there is. True: it has worked. */
static bool is_good(CUresult result, const char *call)
{
    const char *name = NULL;
    if (cuGetErrorName(result, &name) != CUDA_SUCCESS) {
        fprintf(stderr, "%s: result %d, which cuda.h does not know\n", call, (int)result);
        abort();
    }
    if (result != CUDA_SUCCESS) {
        errors++;
        if (getenv("FUZZ_VERBOSE") != NULL) {
            fprintf(stderr, "%s: %s\n", call, name);
        }
    }
    return result == CUDA_SUCCESS;
}
#define DO(call) is_good((call), #call)

unsigned program_errors(void)
{
    return errors;
}

static const char image[] =
    ".version 7.0\n.target sm_75\n.address_size 64\n"
    ".visible .global .align 4 .u32 value = 7;\n"
    ".visible .entry fill(.param .u64 p, .param .u32 n)\n{\n"
    "    .reg .b32 %r<3>;\n    .reg .b64 %d<4>;\n    .reg .pred %q;\n"
    "    ld.param.u64 %d1, [p];\n    ld.param.u32 %r1, [n];\n    mov.u32 %r2, %tid.x;\n"
    "    setp.ge.u32 %q, %r2, %r1;\n    @%q bra DONE;\n"
    "    mul.wide.u32 %d2, %r2, 4;\n    add.s64 %d3, %d1, %d2;\n"
    "    st.global.u32 [%d3], %r1;\nDONE:\n    ret;\n}\n";

/* State that the parts share. */
static CUcontext context;
static CUdevice device;
static CUmodule module;
static CUfunction fill;
static CUstream stream;
static uint8_t *small, *large;

/* Code that takes more of the parameters than there are, because a server says so, ends the
 * program. */
static void launch(CUdeviceptr to, CUstream where)
{
    static CUdeviceptr *first;
    static uint32_t *count;
    static void **params;
    if (params == NULL) {
        first = edge_make(sizeof *first);
        count = edge_make(sizeof *count);
        params = edge_make(2 * sizeof *params);
        *count = 16;
        params[0] = first;
        params[1] = count;
    }
    *first = to;
    DO(cuLaunchKernel(fill, 1, 1, 1, 32, 1, 1, 0, where, params, NULL));
}

static void part_memory(void)
{
    CUdeviceptr at[8] = {0}, pitched = 0, base = 0;
    size_t pitch = 0, size = 0, free_bytes, total;
    for (unsigned i = 0; i < 8; i++) {
        DO(cuMemAlloc(&at[i], i % 2 != 0 ? LARGE : SMALL));
    }
    DO(cuMemsetD8(at[1], 3, LARGE));
    DO(cuMemsetD32Async(at[0], 3, SMALL / 4, stream));
    DO(cuMemGetInfo(&free_bytes, &total));
    if (DO(cuMemAllocPitch(&pitched, &pitch, 333, 10, 4))) {
        DO(cuMemGetAddressRange(&base, &size, pitched + 5));
        DO(cuMemFree(pitched));
    }
    for (unsigned i = 0; i < 8; i++) {
        DO(cuMemFree(at[i]));
    }
    DO(cuMemAlloc(&at[0], UINT64_C(300) << 20));
    DO(cuMemFree(at[0]));
}

static void part_copies(void)
{
    CUdeviceptr a = 0, b = 0;
    DO(cuMemAlloc(&a, LARGE));
    DO(cuMemAlloc(&b, LARGE));
    DO(cuMemcpyHtoD(a, small, SMALL));
    DO(cuMemcpyHtoD(a, large, LARGE));
    DO(cuMemcpyHtoD(b, large, 300000));
    DO(cuMemcpyDtoH(small, a, SMALL));
    DO(cuMemcpyDtoH(small, a, 1));
    DO(cuMemcpyDtoH(large, a, LARGE));
    DO(cuMemcpyDtoH(large, a, 300001));
    DO(cuMemcpyDtoD(b, a, LARGE));
    DO(cuMemcpy(b, a, 4096));
    DO(cuMemcpyDtoHAsync(large, b, LARGE, stream));
    DO(cuStreamSynchronize(stream));
    CUDA_MEMCPY2D rows = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                          .srcDevice = a,
                          .srcPitch = 512,
                          .dstMemoryType = CU_MEMORYTYPE_HOST,
                          .dstHost = large,
                          .dstPitch = 400,
                          .WidthInBytes = 333,
                          .Height = 1000};
    DO(cuMemcpy2D(&rows));
    CUDA_MEMCPY2D back = {.dstMemoryType = CU_MEMORYTYPE_DEVICE,
                          .dstDevice = a,
                          .dstPitch = 512,
                          .srcMemoryType = CU_MEMORYTYPE_HOST,
                          .srcHost = large,
                          .srcPitch = 400,
                          .WidthInBytes = 333,
                          .Height = 1000};
    DO(cuMemcpy2DAsync(&back, stream));
    DO(cuMemFree(a));
    DO(cuMemFree(b));
}

static void part_pinned(void)
{
    CUdeviceptr a = 0, mapped = 0;
    uint8_t *pinned = NULL, *kept = NULL;
    DO(cuMemAlloc(&a, LARGE));
    if (DO(cuMemHostAlloc((void **)&pinned, LARGE, CU_MEMHOSTALLOC_DEVICEMAP))) {
        memset(pinned, 1, LARGE);
        DO(cuMemcpyHtoDAsync(a, pinned, LARGE, stream));
        DO(cuMemcpyDtoHAsync(pinned, a, LARGE, stream));
        DO(cuMemcpyDtoHAsync(pinned, a, SMALL, NULL));
        DO(cuMemHostGetDevicePointer(&mapped, pinned, 0));
        launch(mapped, stream);
        DO(cuStreamSynchronize(stream));
    }
    kept = aligned_alloc(4096, 1u << 20);
    FUZZ_CHECK(kept != NULL);
    memset(kept, 2, 1u << 20);
    if (DO(cuMemHostRegister(kept, 1u << 20, 0))) {
        DO(cuMemcpyHtoDAsync(a, kept, 1u << 20, stream));
        DO(cuMemcpyDtoHAsync(kept, a, 1u << 20, stream));
        DO(cuCtxSynchronize());
        DO(cuMemHostUnregister(kept));
    }
    free(kept);
    if (pinned != NULL) {
        DO(cuMemFreeHost(pinned));
    }
    DO(cuMemFree(a));
}

static void part_events(void)
{
    CUevent start = NULL, end = NULL;
    CUstream other = NULL;
    CUdeviceptr a = 0;
    float ms = 0;
    DO(cuMemAlloc(&a, SMALL));
    DO(cuEventCreate(&start, 0));
    DO(cuEventCreate(&end, 0));
    DO(cuStreamCreateWithPriority(&other, CU_STREAM_NON_BLOCKING, 0));
    DO(cuEventRecord(start, stream));
    launch(a, stream);
    DO(cuEventRecord(end, stream));
    DO(cuStreamWaitEvent(other, end, 0));
    launch(a, other);
    DO(cuEventSynchronize(end));
    DO(cuEventElapsedTime(&ms, start, end));
    DO(cuStreamSynchronize(other));
    DO(cuEventQuery(end));
    DO(cuEventQuery(start));
    DO(cuStreamQuery(other));
    DO(cuStreamQuery(stream));
    DO(cuStreamWriteValue32(stream, a, 1, 0));
    DO(cuStreamWaitValue32(other, a, 1, 0));
    DO(cuStreamDestroy(other));
    DO(cuEventDestroy(start));
    DO(cuEventDestroy(end));
    DO(cuMemFree(a));
}

static void count_up(void *counter)
{
    __atomic_fetch_add((unsigned *)counter, 1, __ATOMIC_SEQ_CST);
}

static void stream_done(CUstream where, CUresult result, void *counter)
{
    (void)where;
    (void)result;
    count_up(counter);
}

static void part_functions(void)
{
    static unsigned counter;
    CUdeviceptr a = 0;
    DO(cuMemAlloc(&a, SMALL));
    DO(cuLaunchHostFunc(stream, count_up, &counter));
    launch(a, stream);
    DO(cuStreamAddCallback(stream, stream_done, &counter, 0));
    DO(cuLaunchHostFunc(NULL, count_up, &counter));
    DO(cuMemcpyDtoHAsync(small, a, SMALL, stream));
    DO(cuLaunchHostFunc(stream, count_up, &counter));
    DO(cuStreamSynchronize(stream));
    DO(cuCtxSynchronize());
    FUZZ_CHECK(__atomic_load_n(&counter, __ATOMIC_SEQ_CST) <= 4);
    DO(cuMemFree(a));
}

static void part_modules(void)
{
    CUmodule other = NULL;
    CUfunction function = NULL;
    CUdeviceptr global = 0;
    CUlibrary library = NULL;
    CUkernel kernel = NULL;
    size_t bytes = 0;
    int value = 0, blocks = 0;
    char info[256], error[256];
    CUjit_option options[] = {CU_JIT_INFO_LOG_BUFFER, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES,
                              CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {info, (void *)(uintptr_t)sizeof info, error, (void *)(uintptr_t)sizeof error};
    if (DO(cuModuleLoadDataEx(&other, image, 4, options, values))) {
        DO(cuModuleGetFunction(&function, other, "fill"));
        DO(cuModuleGetGlobal(&global, &bytes, other, "value"));
        DO(cuMemcpyDtoH(&value, global, sizeof value));
        DO(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, function));
        DO(cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 1024));
        DO(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, 32, 0));
        unsigned count = 0;
        CUfunction functions[4];
        DO(cuModuleGetFunctionCount(&count, other));
        DO(cuModuleEnumerateFunctions(functions, 1, other));
        DO(cuModuleUnload(other));
    }
    if (DO(cuLibraryLoadData(&library, image, NULL, NULL, 0, NULL, NULL, 0))) {
        DO(cuLibraryGetKernel(&kernel, library, "fill"));
        DO(cuLibraryGetGlobal(&global, &bytes, library, "value"));
        DO(cuLibraryGetModule(&other, library));
        DO(cuKernelGetFunction(&function, kernel));
        size_t offset = 0, size = 0;
        DO(cuFuncGetParamInfo(function, 0, &offset, &size));
        DO(cuLibraryUnload(library));
    }
}

static void part_graphs(void)
{
    CUgraph graph = NULL;
    CUgraphExec exec = NULL;
    CUdeviceptr a = 0, from_graph = 0;
    DO(cuMemAlloc(&a, SMALL));
    if (DO(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED))) {
        launch(a, stream);
        DO(cuMemcpyDtoHAsync(small, a, SMALL, stream));
        DO(cuMemAllocAsync(&from_graph, SMALL, stream));
        launch(from_graph, stream);
        DO(cuMemFreeAsync(from_graph, stream));
        DO(cuStreamEndCapture(stream, &graph));
    }
    if (graph != NULL && DO(cuGraphInstantiate(&exec, graph, 0))) {
        DO(cuGraphUpload(exec, stream));
        DO(cuGraphLaunch(exec, stream));
        DO(cuGraphLaunch(exec, stream));
        DO(cuStreamSynchronize(stream));
        DO(cuGraphExecDestroy(exec));
    }
    if (graph != NULL) {
        DO(cuGraphDestroy(graph));
    }
    DO(cuDeviceGraphMemTrim(device));
    DO(cuMemFree(a));
}

static void part_managed(void)
{
    CUdeviceptr a = 0, b = 0;
    if (DO(cuMemAllocManaged(&a, 2u << 20, CU_MEM_ATTACH_GLOBAL)) &&
        DO(cuMemAllocManaged(&b, 65536, CU_MEM_ATTACH_GLOBAL))) {
        volatile uint8_t *host = (uint8_t *)(uintptr_t)a;
        host[0] = host[5000] = 1;
        launch(a, stream);
        DO(cuStreamSynchronize(stream));
        host[5001] = host[0];
        launch(b, NULL);
        DO(cuMemPrefetchAsync(a, 65536, (CUmemLocation){CU_MEM_LOCATION_TYPE_DEVICE, device}, 0,
                              stream));
        DO(cuStreamAttachMemAsync(stream, b, 0, CU_MEM_ATTACH_SINGLE));
        DO(cuCtxSynchronize());
        DO(cuMemcpyDtoH(small, a, SMALL));
    }
    DO(cuMemFree(a));
    DO(cuMemFree(b));
}

static void part_pools(void)
{
    CUmemoryPool pool = NULL;
    CUdeviceptr a = 0, b = 0;
    CUmemPoolProps props = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                            .location = {CU_MEM_LOCATION_TYPE_DEVICE, device}};
    DO(cuMemAllocAsync(&a, SMALL, stream));
    launch(a, stream);
    DO(cuMemFreeAsync(a, stream));
    if (DO(cuMemPoolCreate(&pool, &props))) {
        cuuint64_t used = 0;
        DO(cuMemAllocFromPoolAsync(&b, LARGE, pool, stream));
        DO(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used));
        DO(cuMemFreeAsync(b, stream));
        DO(cuStreamSynchronize(stream));
        DO(cuMemPoolTrimTo(pool, 0));
        DO(cuMemPoolDestroy(pool));
    }
}

static void part_virtual(void)
{
    CUmemGenericAllocationHandle handle = 0, shared = 0;
    CUdeviceptr at = 0;
    size_t granularity = 0;
    int fd = -1;
    CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                .location = {CU_MEM_LOCATION_TYPE_DEVICE, device},
                                .requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR};
    CUmemAccessDesc access = {.location = prop.location,
                              .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    DO(cuMemGetAllocationGranularity(&granularity, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    size_t size = granularity != 0 ? granularity : 2u << 20;
    DO(cuMemAddressReserve(&at, size, 0, 0, 0));
    if (DO(cuMemCreate(&handle, size, &prop, 0))) {
        if (DO(cuMemMap(at, size, 0, handle, 0))) {
            DO(cuMemSetAccess(at, size, &access, 1));
            DO(cuMemsetD8(at, 1, size));
            DO(cuMemcpyDtoH(small, at, SMALL));
            DO(cuMemUnmap(at, size));
        }
        if (DO(cuMemExportToShareableHandle(&fd, handle, prop.requestedHandleTypes, 0))) {
            DO(cuMemImportFromShareableHandle(&shared, (void *)(uintptr_t)fd,
                                              prop.requestedHandleTypes));
            DO(cuMemRelease(shared));
        }
        DO(cuMemRelease(handle));
    }
    DO(cuMemAddressFree(at, size));
}

static void part_ipc(void)
{
    CUipcMemHandle memory = {{0}};
    CUipcEventHandle event_handle = {{0}};
    CUdeviceptr a = 0, again = 0;
    CUevent event = NULL, other = NULL;
    DO(cuMemAlloc(&a, 2u << 20));
    if (DO(cuIpcGetMemHandle(&memory, a))) {
        (void)cuIpcOpenMemHandle(&again, memory, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
        if (again != 0) {
            (void)cuIpcCloseMemHandle(again);
        }
    }
    DO(cuEventCreate(&event, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING));
    if (DO(cuIpcGetEventHandle(&event_handle, event))) {
        (void)cuIpcOpenEventHandle(&other, event_handle);
    }
    DO(cuEventDestroy(event));
    DO(cuMemFree(a));
}

static void part_arrays(void)
{
    CUarray array = NULL;
    CUtexObject texture = 0;
    CUDA_ARRAY_DESCRIPTOR shape = {
        .Width = 64, .Height = 16, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 1};
    if (!DO(cuArrayCreate(&array, &shape))) {
        return;
    }
    CUDA_MEMCPY2D in = {.srcMemoryType = CU_MEMORYTYPE_HOST,
                        .srcHost = large,
                        .srcPitch = 256,
                        .dstMemoryType = CU_MEMORYTYPE_ARRAY,
                        .dstArray = array,
                        .WidthInBytes = 256,
                        .Height = 16};
    CUDA_MEMCPY2D out = {.dstMemoryType = CU_MEMORYTYPE_HOST,
                         .dstHost = large,
                         .dstPitch = 300,
                         .srcMemoryType = CU_MEMORYTYPE_ARRAY,
                         .srcArray = array,
                         .WidthInBytes = 256,
                         .Height = 16};
    CUDA_RESOURCE_DESC what = {.resType = CU_RESOURCE_TYPE_ARRAY, .res.array.hArray = array};
    CUDA_TEXTURE_DESC how = {0};
    DO(cuMemcpy2D(&in));
    DO(cuMemcpy2D(&out));
    if (DO(cuTexObjectCreate(&texture, &what, &how, NULL))) {
        DO(cuTexObjectDestroy(texture));
    }
    DO(cuArrayDestroy(array));
}

static void part_devices(void)
{
    CUcontext other = NULL;
    CUdevice second = 1;
    CUdeviceptr there = 0, here = 0;
    int can = 0;
    DO(cuMemAlloc(&here, LARGE));
    if (DO(cuDeviceGet(&second, 1)) && DO(cuCtxCreate(&other, NULL, 0, second))) {
        DO(cuMemAlloc(&there, LARGE));
        DO(cuMemcpyPeer(there, other, here, context, LARGE));
        DO(cuMemcpyPeerAsync(here, context, there, other, SMALL, NULL));
        DO(cuDeviceCanAccessPeer(&can, device, second));
        if (can != 0) {
            DO(cuCtxEnablePeerAccess(context, 0));
        }
        DO(cuCtxSynchronize());
        DO(cuCtxDestroy(other));
    }
    DO(cuCtxSetCurrent(context));
    DO(cuMemFree(here));
}

static void part_facts(void)
{
    char name[100];
    CUuuid uuid;
    int value, count = 0;
    size_t bytes;
    CUdeviceptr a = 0;
    DO(cuDeviceGetCount(&count));
    for (CUdevice at = 0; at < count && at < 4; at++) {
        DO(cuDeviceGetName(name, sizeof name, at));
        DO(cuDeviceTotalMem(&bytes, at));
        DO(cuDeviceGetUuid(&uuid, at));
        for (int i = 1; i < 120; i++) {
            DO(cuDeviceGetAttribute(&value, (CUdevice_attribute)i, at));
        }
    }
    DO(cuMemAlloc(&a, SMALL));
    CUmemorytype type = 0;
    DO(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, a));
    CUcontext of = NULL;
    DO(cuPointerGetAttribute(&of, CU_POINTER_ATTRIBUTE_CONTEXT, a));
    DO(cuCtxGetLimit(&bytes, CU_LIMIT_STACK_SIZE));
    DO(cuCtxSetLimit(CU_LIMIT_PRINTF_FIFO_SIZE, 1 << 20));
    DO(cuMemFree(a));
}

static void part_reset(void)
{
    DO(cuDevicePrimaryCtxReset(device));
    CUdeviceptr a = 0;
    DO(cuDevicePrimaryCtxRetain(&context, device));
    DO(cuCtxSetCurrent(context));
    DO(cuMemAlloc(&a, SMALL));
    DO(cuMemFree(a));
}

typedef void part(void);
static part *const parts_all[] = {
    part_memory,  part_copies,  part_pinned, part_events,  part_functions, part_modules,
    part_graphs,  part_managed, part_pools,  part_virtual, part_ipc,       part_arrays,
    part_devices, part_facts,   part_reset, /* last: what they share is gone */
};

void program_run(uint32_t parts)
{
    small = calloc(1, SMALL);
    large = calloc(1, LARGE);
    FUZZ_CHECK(small != NULL && large != NULL);
    if (DO(cuInit(0)) && DO(cuDeviceGet(&device, 0)) &&
        DO(cuDevicePrimaryCtxRetain(&context, device))) {
        DO(cuCtxSetCurrent(context));
        DO(cuStreamCreate(&stream, 0));
        DO(cuModuleLoadData(&module, image));
        DO(cuModuleGetFunction(&fill, module, "fill"));
        for (unsigned i = 0; i < sizeof parts_all / sizeof *parts_all; i++) {
            if ((parts >> i & 1) != 0) {
                parts_all[i]();
            }
        }
    }
    free(small);
    free(large);
}
