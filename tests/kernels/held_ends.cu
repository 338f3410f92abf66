// SPDX-License-Identifier: Apache-2.0
// Each call that ends something, or gives memory back, while host functions hold streams: whether
// or not it waits for them, the program's other calls are carried out. One function holds a stream
// before the call, and another one when the first is let go, which is newer than the call.
// An argument names the one call to make. semantics S6, S180
#include <thread>
#include <unistd.h>

#include "check_driver.h"
#include "late.h"

#define FREE_BYTES (4u << 20)
#define SOON_US    30000

static const char image[] = ".version 7.0\n.target sm_52\n.address_size 64\n"
                            ".visible .entry nothing()\n{\n    ret;\n}\n";

static CUcontext context;
static CUstream first, second, beside;
static CUdeviceptr word;

// ---- what is ended

union Thing {
    CUarray array;
    CUmipmappedArray mipmap;
    CUmodule module;
    CUdeviceptr address;
    void *host;
    CUstream stream;
    CUevent event;
    CUgraphExec graph;
    CUtexObject texture;
    CUcontext context;
    CUmemoryPool pool;
    CUlibrary library;
#if CUDA_VERSION >= 13000
    CUgreenCtx green;
#endif
};

static CUDA_ARRAY3D_DESCRIPTOR shape()
{
    CUDA_ARRAY3D_DESCRIPTOR made = {};
    made.Width = made.Height = 64;
    made.Format = CU_AD_FORMAT_FLOAT;
    made.NumChannels = 1;
    return made;
}

static void make_array(Thing *thing)
{
    const CUDA_ARRAY3D_DESCRIPTOR of = shape();
    CHECK_DRIVER(cuArray3DCreate(&thing->array, &of));
}

static CUresult end_array(Thing *thing)
{
    return cuArrayDestroy(thing->array);
}

static void make_mipmap(Thing *thing)
{
    const CUDA_ARRAY3D_DESCRIPTOR of = shape();
    CHECK_DRIVER(cuMipmappedArrayCreate(&thing->mipmap, &of, 3));
}

static CUresult end_mipmap(Thing *thing)
{
    return cuMipmappedArrayDestroy(thing->mipmap);
}

static void make_module(Thing *thing)
{
    CHECK_DRIVER(cuModuleLoadData(&thing->module, image));
}

static CUresult end_module(Thing *thing)
{
    return cuModuleUnload(thing->module);
}

static void make_library(Thing *thing)
{
    CUkernel kernel;
    CUfunction function;
    CHECK_DRIVER(
        cuLibraryLoadData(&thing->library, image, nullptr, nullptr, 0, nullptr, nullptr, 0));
    CHECK_DRIVER(cuLibraryGetKernel(&kernel, thing->library, "nothing"));
    CHECK_DRIVER(cuKernelGetFunction(&function, kernel));
}

static CUresult end_library(Thing *thing)
{
    return cuLibraryUnload(thing->library);
}

static void make_memory(Thing *thing)
{
    CHECK_DRIVER(cuMemAlloc(&thing->address, FREE_BYTES));
}

static CUresult end_memory(Thing *thing)
{
    return cuMemFree(thing->address);
}

static void make_managed(Thing *thing)
{
    CHECK_DRIVER(cuMemAllocManaged(&thing->address, 1 << 16, CU_MEM_ATTACH_GLOBAL));
}

static void make_pooled(Thing *thing)
{
    CHECK_DRIVER(cuMemAllocAsync(&thing->address, FREE_BYTES, beside));
    CHECK_DRIVER(cuStreamSynchronize(beside));
}

static CUresult end_pooled(Thing *thing)
{
    return cuMemFreeAsync(thing->address, beside);
}

static void make_pool(Thing *thing)
{
    CUmemPoolProps of = {};
    CUdeviceptr at;
    of.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    of.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    CHECK_DRIVER(cuMemPoolCreate(&thing->pool, &of));
    CHECK_DRIVER(cuMemAllocFromPoolAsync(&at, FREE_BYTES, thing->pool, beside));
    CHECK_DRIVER(cuMemFreeAsync(at, beside));
}

static CUresult end_pool(Thing *thing)
{
    return cuMemPoolDestroy(thing->pool);
}

static CUresult trim_pool(Thing *thing)
{
    return cuMemPoolTrimTo(thing->pool, 0);
}

static void make_pinned(Thing *thing)
{
    CHECK_DRIVER(cuMemHostAlloc(&thing->host, FREE_BYTES, 0));
    CHECK_DRIVER(cuMemcpyHtoD(word + 256, thing->host, 1 << 16));
}

static CUresult end_pinned(Thing *thing)
{
    return cuMemFreeHost(thing->host);
}

static void make_mapped(Thing *thing)
{
    CUdeviceptr at;
    CHECK_DRIVER(cuMemHostAlloc(&thing->host, 1 << 16, CU_MEMHOSTALLOC_DEVICEMAP));
    CHECK_DRIVER(cuMemHostGetDevicePointer(&at, thing->host, 0));
}

static void make_registered(Thing *thing)
{
    if (posix_memalign(&thing->host, 4096, FREE_BYTES) != 0)
        fail("no memory");
    CHECK_DRIVER(cuMemHostRegister(thing->host, FREE_BYTES, 0));
    CHECK_DRIVER(cuMemcpyHtoD(word + 256, thing->host, 1 << 16));
}

static CUresult end_registered(Thing *thing)
{
    return cuMemHostUnregister(thing->host);
}

static void make_mapping(Thing *thing)
{
    CUmemAllocationProp of = {};
    CUmemGenericAllocationHandle physical;
    of.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    of.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    CHECK_DRIVER(cuMemCreate(&physical, FREE_BYTES, &of, 0));
    CHECK_DRIVER(cuMemAddressReserve(&thing->address, FREE_BYTES, 0, 0, 0));
    CHECK_DRIVER(cuMemMap(thing->address, FREE_BYTES, 0, physical, 0));
    CHECK_DRIVER(cuMemRelease(physical));
}

static CUresult end_mapping(Thing *thing)
{
    CUresult rc = cuMemUnmap(thing->address, FREE_BYTES);
    return rc == CUDA_SUCCESS ? cuMemAddressFree(thing->address, FREE_BYTES) : rc;
}

static void make_stream(Thing *thing)
{
    CHECK_DRIVER(cuStreamCreate(&thing->stream, CU_STREAM_NON_BLOCKING));
    hold_stream(thing->stream);
    sem_post(&late_gate); // for the one that is held first; this one's comes with the others
}

static CUresult end_stream(Thing *thing)
{
    return cuStreamDestroy(thing->stream);
}

static void make_event(Thing *thing)
{
    CHECK_DRIVER(cuEventCreate(&thing->event, 0));
    CHECK_DRIVER(cuEventRecord(thing->event, first));
}

static CUresult end_event(Thing *thing)
{
    return cuEventDestroy(thing->event);
}

static void make_graph(Thing *thing)
{
    CUgraph graph;
    CUgraphNode node;
    CUDA_MEMSET_NODE_PARAMS fill = {};
    fill.dst = word + 256;
    fill.elementSize = 4;
    fill.width = fill.height = 1;
    CHECK_DRIVER(cuGraphCreate(&graph, 0));
    CHECK_DRIVER(cuGraphAddMemsetNode(&node, graph, nullptr, 0, &fill, context));
    CHECK_DRIVER(cuGraphInstantiate(&thing->graph, graph, 0));
    CHECK_DRIVER(cuGraphDestroy(graph));
    CHECK_DRIVER(cuGraphLaunch(thing->graph, first));
}

static CUresult end_graph(Thing *thing)
{
    return cuGraphExecDestroy(thing->graph);
}

static void make_texture(Thing *thing)
{
    CUDA_RESOURCE_DESC of = {};
    CUDA_TEXTURE_DESC how = {};
    of.resType = CU_RESOURCE_TYPE_LINEAR;
    of.res.linear.devPtr = word;
    of.res.linear.format = CU_AD_FORMAT_FLOAT;
    of.res.linear.numChannels = 1;
    of.res.linear.sizeInBytes = 64;
    CHECK_DRIVER(cuTexObjectCreate(&thing->texture, &of, &how, nullptr));
}

static CUresult end_texture(Thing *thing)
{
    return cuTexObjectDestroy(thing->texture);
}

static CUresult trim_graphs(Thing *)
{
    return cuDeviceGraphMemTrim(0);
}

static void make_nothing(Thing *)
{
}

static CUresult set_limit(Thing *)
{
    return cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 2048);
}

static CUresult load_module(Thing *thing)
{
    return cuModuleLoadData(&thing->module, image);
}

// ---- contexts: the work that is held is theirs

static void hold_in_current(CUstream *stream)
{
    CHECK_DRIVER(cuStreamCreate(stream, CU_STREAM_NON_BLOCKING));
    hold_stream(*stream);
    CHECK_DRIVER(cuCtxSetCurrent(context));
}

static void make_context(Thing *thing)
{
    CUstream stream;
    thing->context = create_context(0); // current
    hold_in_current(&stream);
}

static CUresult end_context(Thing *thing)
{
    return cuCtxDestroy(thing->context);
}

static void make_primary(Thing *thing)
{
    CUstream stream;
    CHECK_DRIVER(cuDevicePrimaryCtxRetain(&thing->context, 1));
    CHECK_DRIVER(cuCtxSetCurrent(thing->context));
    hold_in_current(&stream);
}

static CUresult end_primary(Thing *)
{
    return cuDevicePrimaryCtxRelease(1);
}

static CUresult reset_primary(Thing *)
{
    return cuDevicePrimaryCtxReset(1);
}

#if CUDA_VERSION >= 13000
static void make_green(Thing *thing)
{
    CUdevResource all, part;
    CUdevResourceDesc desc;
    CUstream stream;
    unsigned count = 1;
    CHECK_DRIVER(cuDeviceGetDevResource(0, &all, CU_DEV_RESOURCE_TYPE_SM));
    CHECK_DRIVER(cuDevSmResourceSplitByCount(&part, &count, &all, nullptr, 0, 1));
    CHECK_DRIVER(cuDevResourceGenerateDesc(&desc, &part, 1));
    CHECK_DRIVER(cuGreenCtxCreate(&thing->green, desc, 0, CU_GREEN_CTX_DEFAULT_STREAM));
    CHECK_DRIVER(cuGreenCtxStreamCreate(&stream, thing->green, CU_STREAM_NON_BLOCKING, 0));
    hold_stream(stream);
}

static CUresult end_green(Thing *thing)
{
    return cuGreenCtxDestroy(thing->green);
}
#endif

static void make_peer(Thing *thing)
{
    CHECK_DRIVER(cuDevicePrimaryCtxRetain(&thing->context, 1));
    CHECK_DRIVER(cuCtxEnablePeerAccess(thing->context, 0));
}

static CUresult end_peer(Thing *thing)
{
    CUresult rc = cuCtxDisablePeerAccess(thing->context);
    return rc == CUDA_SUCCESS ? cuDevicePrimaryCtxRelease(1) : rc;
}

// ---- all of them

struct Case {
    const char *name;
    void (*make)(Thing *thing);
    CUresult (*end)(Thing *thing);
    bool context; // its own work is held
};

static const Case cases[] = {
    {"array", make_array, end_array, false},
    {"mipmap", make_mipmap, end_mipmap, false},
    {"module", make_module, end_module, false},
    {"library", make_library, end_library, false},
    {"memory", make_memory, end_memory, false},
    {"managed", make_managed, end_memory, false},
    {"pooled", make_pooled, end_pooled, false},
    {"pooled_free", make_pooled, end_memory, false},
    {"pool", make_pool, end_pool, false},
    {"pool_trim", make_pool, trim_pool, false},
    {"pinned", make_pinned, end_pinned, false},
    {"mapped", make_mapped, end_pinned, false},
    {"registered", make_registered, end_registered, false},
    {"mapping", make_mapping, end_mapping, false},
    {"stream", make_stream, end_stream, false},
    {"event", make_event, end_event, false},
    {"graph", make_graph, end_graph, false},
    {"texture", make_texture, end_texture, false},
    {"graph_memory", make_nothing, trim_graphs, false},
    {"limit", make_nothing, set_limit, false},
    {"load", make_nothing, load_module, false},
    {"peer", make_peer, end_peer, false},
#if CUDA_VERSION >= 13000
    {"green", make_green, end_green, true},
#endif
    {"context", make_context, end_context, true},
    {"primary", make_primary, end_primary, true},
    {"primary_reset", make_primary, reset_primary, true},
};

// The server answers, and not before everything in front of it has been carried out.
static void round_trip()
{
    static unsigned turn;
    unsigned got = 0;
    CHECK_DRIVER(cuMemsetD32Async(word, ++turn, 1, beside));
    CHECK_DRIVER(cuMemcpyDtoHAsync(&got, word, sizeof got, beside));
    CHECK_DRIVER(cuStreamSynchronize(beside));
    if (got != turn)
        fail("the word is %u, %u is due", got, turn);
}

static void run(const Case &of)
{
    Thing thing;
    printf("%s\n", of.name);
    fflush(stdout);
    if (!of.context)
        hold_stream(first);
    of.make(&thing);
    CUresult rc = CUDA_ERROR_UNKNOWN;
    std::thread ender([&] {
        CHECK_DRIVER(cuCtxSetCurrent(context));
        rc = of.end(&thing);
    });
    usleep(SOON_US); // it has been called, and most often the server is at it
    if (!of.context)
        hold_stream(second);
    round_trip();
    sem_post(&late_gate);
    if (!of.context) { // what waits for the first work only finds more
        CHECK_DRIVER(cuStreamSynchronize(first));
        usleep(SOON_US);
        round_trip();
        sem_post(&late_gate);
    }
    ender.join();
    if (rc != CUDA_SUCCESS)
        fail("%s: %s", of.name, driver_error_name(rc));
    CHECK_DRIVER(cuStreamSynchronize(second));
    round_trip();
}

int main(int count, char **arguments)
{
    alarm(120);
    setenv("GPUAAS_CLIENT_CACHE", "0", 1); // freed memory is not kept, but given back
    sem_init(&late_gate, 0, 0);
    CHECK(cudaSetDevice(0));
    CHECK(cudaFree(nullptr));
    CHECK_DRIVER(cuCtxGetCurrent(&context));
    CHECK_DRIVER(cuMemAlloc(&word, 1 << 20));
    for (CUstream *stream : {&first, &second, &beside})
        CHECK_DRIVER(cuStreamCreate(stream, CU_STREAM_NON_BLOCKING));
    round_trip();
    for (const Case &of : cases)
        if (count < 2 || strcmp(arguments[1], of.name) == 0)
            run(of);
    CHECK_DRIVER(cuCtxSynchronize());
    return passed();
}
