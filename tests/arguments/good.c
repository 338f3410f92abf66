/* SPDX-License-Identifier: Apache-2.0 */
/* Right arguments and objects: memory, handles, files. The structures are in structs.c. */
#include "tests/arguments/good.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/cuda_names.h"
#include "tests/arguments/good_graph.h"
#include "tests/arguments/structs.h"
#include "tests/arguments/table.h"

enum { HOST = 4096, PAGEABLE = 65536, BLOCK = 0x200000 };

static const char ptx[] = ".version 7.5\n"
                          ".target sm_75\n"
                          ".address_size 64\n"
                          ".visible .global .align 4 .u32 variable = 3;\n"
                          ".global .attribute(.managed) .align 4 .u32 shared_variable = 5;\n"
                          ".visible .entry store(.param .u64 address, .param .u32 value)\n"
                          "{\n"
                          "    .reg .b64 %rd<3>;\n"
                          "    .reg .b32 %r<2>;\n"
                          "    ld.param.u64 %rd1, [address];\n"
                          "    ld.param.u32 %r1, [value];\n"
                          "    cvta.to.global.u64 %rd2, %rd1;\n"
                          "    st.global.u32 [%rd2], %r1;\n"
                          "    ret;\n"
                          "}\n";

#define GOOD(name)   uint64_t name;
#define STRUCT(name) uint64_t name;
#define NEW(name)
static struct {
#include "tests/arguments/good.def"
} good;
#undef GOOD
#undef STRUCT

#define GOOD(name)                                                                                 \
    uint64_t good_##name(void)                                                                     \
    {                                                                                              \
        return good.name;                                                                          \
    }
#define STRUCT(name) GOOD(name)
#include "tests/arguments/good.def"
#undef GOOD
#undef STRUCT

#define HANDLE(from) ((uint64_t)(uintptr_t)(from))

static void host_function(void *data)
{
    (void)data;
}

static void callback(CUstream stream, CUresult status, void *data)
{
    (void)stream, (void)status, (void)data;
}

void must(int result, const char *call)
{
    if (result == CUDA_SUCCESS) {
        return;
    }
    const char *name = NULL;
    (void)driver.cuGetErrorName((CUresult)result, &name);
    printf("%s: %s (%d)\n", call, name != NULL ? name : "an unknown error", result);
    exit(1);
}

/* ---- one by one */

uint64_t new_context(void)
{
    CUcontext context, popped;
    MUST(driver.cuCtxCreate_v2(&context, 0, 0));
    MUST(driver.cuCtxPopCurrent_v2(&popped));
    return HANDLE(context);
}

uint64_t new_dead_context(void)
{
    uint64_t context = new_context();
    MUST(driver.cuCtxDestroy_v2((CUcontext)context));
    return context;
}

/* A primary context that nobody has retained: of the last device. */
uint64_t new_inactive_context(void)
{
    CUcontext context;
    MUST(driver.cuDevicePrimaryCtxRetain(&context, (CUdevice)good.last_device));
    do {
    } while (driver.cuDevicePrimaryCtxRelease_v2((CUdevice)good.last_device) == CUDA_SUCCESS);
    return HANDLE(context);
}

/* The last device, whose primary context is one reference richer. */
uint64_t new_retained(void)
{
    CUcontext context;
    MUST(driver.cuDevicePrimaryCtxRetain(&context, (CUdevice)good.last_device));
    return good.last_device;
}

uint64_t new_stream(void)
{
    CUstream stream;
    MUST(driver.cuStreamCreate(&stream, 0));
    return HANDLE(stream);
}

uint64_t new_dead_stream(void)
{
    uint64_t stream = new_stream();
    MUST(driver.cuStreamDestroy_v2((CUstream)stream));
    return stream;
}

uint64_t new_event(void)
{
    CUevent event;
    MUST(driver.cuEventCreate(&event, 0));
    return HANDLE(event);
}

uint64_t new_shared_event(void)
{
    CUevent event;
    MUST(driver.cuEventCreate(&event, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING));
    return HANDLE(event);
}

uint64_t new_dead_event(void)
{
    uint64_t event = new_event();
    MUST(driver.cuEventDestroy_v2((CUevent)event));
    return event;
}

uint64_t new_module(void)
{
    CUmodule module;
    MUST(driver.cuModuleLoadData(&module, ptx));
    return HANDLE(module);
}

uint64_t new_dead_module(void)
{
    uint64_t module = new_module();
    MUST(driver.cuModuleUnload((CUmodule)module));
    return module;
}

uint64_t new_link(void)
{
    CUlinkState link;
    MUST(driver.cuLinkCreate_v2(0, NULL, NULL, &link));
    return HANDLE(link);
}

uint64_t new_dead_link(void)
{
    uint64_t link = new_link();
    MUST(driver.cuLinkDestroy((CUlinkState)link));
    return link;
}

uint64_t new_full_link(void)
{
    uint64_t link = new_link();
    MUST(driver.cuLinkAddData_v2((CUlinkState)link, CU_JIT_INPUT_PTX, (void *)(uintptr_t)ptx,
                                 sizeof ptx, "ptx", 0, NULL, NULL));
    return link;
}

static uint64_t function_of(uint64_t module)
{
    CUfunction function;
    MUST(driver.cuModuleGetFunction(&function, (CUmodule)module, "store"));
    return HANDLE(function);
}

uint64_t new_function(void)
{
    return function_of(new_module());
}

uint64_t new_dead_function(void)
{
    uint64_t module = new_module(), function = function_of(module);
    MUST(driver.cuModuleUnload((CUmodule)module));
    return function;
}

uint64_t new_library(void)
{
    CUlibrary library;
    MUST(driver.cuLibraryLoadData(&library, ptx, NULL, NULL, 0, NULL, NULL, 0));
    return HANDLE(library);
}

uint64_t new_dead_library(void)
{
    uint64_t library = new_library();
    MUST(driver.cuLibraryUnload((CUlibrary)library));
    return library;
}

static uint64_t kernel_of(uint64_t library)
{
    CUkernel kernel;
    MUST(driver.cuLibraryGetKernel(&kernel, (CUlibrary)library, "store"));
    return HANDLE(kernel);
}

uint64_t new_dead_kernel(void)
{
    uint64_t library = new_library(), kernel = kernel_of(library);
    MUST(driver.cuLibraryUnload((CUlibrary)library));
    return kernel;
}

/* ---- memory */

uint64_t new_block(void)
{
    CUdeviceptr block;
    MUST(driver.cuMemAlloc_v2(&block, BLOCK));
    return block;
}

/* For the host alone: no other call has anything to do with it. */
uint64_t new_managed(void)
{
    CUdeviceptr memory;
    MUST(driver.cuMemAllocManaged(&memory, BLOCK, CU_MEM_ATTACH_HOST));
    return memory;
}

uint64_t new_freed(void)
{
    uint64_t block = new_block();
    MUST(driver.cuMemFree_v2(block));
    return block;
}

uint64_t new_pageable(void)
{
    void *memory = aligned_alloc(PAGEABLE, PAGEABLE);
    memset(memory, 0, PAGEABLE);
    return HANDLE(memory);
}

uint64_t new_pinned(void)
{
    void *memory;
    MUST(driver.cuMemAllocHost_v2(&memory, HOST));
    return HANDLE(memory);
}

uint64_t new_registered(void)
{
    void *memory = (void *)new_pageable();
    MUST(driver.cuMemHostRegister_v2(memory, PAGEABLE, 0));
    return HANDLE(memory);
}

uint64_t new_pool(void)
{
    CUmemoryPool pool;
    MUST(driver.cuMemPoolCreate(&pool, (const void *)good.pool_props));
    return HANDLE(pool);
}

uint64_t new_dead_pool(void)
{
    uint64_t pool = new_pool();
    MUST(driver.cuMemPoolDestroy((CUmemoryPool)pool));
    return pool;
}

uint64_t new_pooled(void)
{
    CUdeviceptr address;
    MUST(driver.cuMemAllocAsync(&address, HOST, (CUstream)good.stream));
    return address;
}

/* ---- in another context */

void good_other_wait(void)
{
    CUcontext popped;
    MUST(driver.cuCtxPushCurrent_v2((CUcontext)good.other_context));
    MUST(driver.cuCtxSynchronize());
    MUST(driver.cuCtxPopCurrent_v2(&popped));
}

#define OTHER(name)                                                                                \
    uint64_t new_other_##name(void)                                                                \
    {                                                                                              \
        CUcontext popped;                                                                          \
        MUST(driver.cuCtxPushCurrent_v2((CUcontext)good.other_context));                           \
        uint64_t made = new_##name();                                                              \
        MUST(driver.cuCtxPopCurrent_v2(&popped));                                                  \
        return made;                                                                               \
    }
OTHER(stream)
OTHER(event)
OTHER(module)
OTHER(function)
OTHER(block)
OTHER(array)
OTHER(texture)

/* ---- all */

static char this_path[4096], ptx_path[] = "/tmp/gpuaas-arguments-XXXXXX", pci[32];

static void make_texts(const char *this_file)
{
    static const char wrong_ptx[] = ".version 7.5\n.target sm_75\n.address_size 64\nnonsense;\n";

    snprintf(this_path, sizeof this_path, "%s", this_file);
    good.this_file = HANDLE(this_path);
    int file = mkstemp(ptx_path);
    if (file < 0 || write(file, ptx, sizeof ptx - 1) != (ssize_t)(sizeof ptx - 1)) {
        perror(ptx_path);
        exit(1);
    }
    close(file);
    good.ptx_file = HANDLE(ptx_path);
    MUST(driver.cuDeviceGetPCIBusId(pci, sizeof pci, 0));
    good.pci = HANDLE(pci);
    good.empty = HANDLE("");
    good.unknown = HANDLE("no such name");
    good.symbol = HANDLE("cuMemAlloc");
    good.kernel_name = HANDLE("store");
    good.variable_name = HANDLE("variable");
    good.texref_name = HANDLE("plane");
    good.surfref_name = HANDLE("sheet");
    good.managed_name = HANDLE("shared_variable");
    good.ptx = HANDLE(ptx);
    good.ptx_size = sizeof ptx;
    good.wrong_ptx = HANDLE(wrong_ptx);
}

static void make_memory(void)
{
    static char host[HOST];
    size_t bytes;

    good.block = new_block();
    good.block_odd = good.block + 1;
    good.block_last = good.block + BLOCK - 1;
    good.block_2 = new_block();
    good.host = HANDLE(host);
    good.host_function = HANDLE(host_function);
    good.callback = HANDLE(callback);
    good.pinned = new_pinned();
    good.pinned_inside = good.pinned + 64;
    good.registered = new_registered();
    good.managed = new_managed();
    good.managed_inside = good.managed + 64;
    MUST(driver.cuModuleGetGlobal_v2((CUdeviceptr *)&good.variable, &bytes, (CUmodule)good.module,
                                     "variable"));
}

static void make_objects(void)
{
    CUevent event;
    CUmodule of_library;

    good.stream = new_stream();
    good.event = new_event();
    MUST(driver.cuEventRecord((CUevent)good.event, (CUstream)good.stream));
    MUST(driver.cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    good.event_without_time = HANDLE(event);
    MUST(driver.cuEventRecord(event, (CUstream)good.stream));
    good.module = new_module();
    good.function = function_of(good.module);
    good.library = new_library();
    good.kernel = kernel_of(good.library);
    MUST(driver.cuLibraryGetModule(&of_library, (CUlibrary)good.library));
    good.library_module = HANDLE(of_library);
}

static void make_arrays(void)
{
    const CUDA_RESOURCE_VIEW_DESC view = {
        .format = CU_RES_VIEW_FORMAT_UINT_1X32, .width = 16, .height = 4};
    good.array = new_array();
    good.line = good_line_make();
    good.line_2 = good_line_make();
    good.mipmap = new_mipmap();
    good.texture = good_texture_make(good.array, NULL);
    good.viewed = good_texture_make(good.array, &view);
    good.surface = new_surface();
    good.other_array = new_other_array();
    good.other_texture = new_other_texture();
}

static void make_graphs(void)
{
    struct good_graph made;
    good_graph_make(&made);
    good.graph = made.graph;
    good.child = made.child;
    good.clone = made.clone;
    good.object = made.object;
    good.kernel_node = made.kernel_node;
    good.copy_node = made.copy_node;
    good.fill_node = made.fill_node;
    good.host_node = made.host_node;
    good.record_node = made.record_node;
    good.wait_node = made.wait_node;
    good.values_node = made.values_node;
    good.empty_node = made.empty_node;
    good.child_node = made.child_node;
    good.dot_file = HANDLE("/dev/null");
    good.exec = good_exec_make((CUgraph)good.graph);
}

void good_make(const char *this_file)
{
    int count;
    CUcontext context;

    MUST(driver.cuDeviceGetCount(&count));
    good.device_count = (uint64_t)count;
    good.last_device = (uint64_t)count - 1; /* another than device 0, where there is one */
    MUST(driver.cuCtxCreate_v2(&context, 0, count - 1));
    good.last_device_context = HANDLE(context);
    MUST(driver.cuCtxCreate_v2(&context, 0, 0));
    good.other_context = HANDLE(context);
    MUST(driver.cuCtxCreate_v2(&context, 0, 0));
    good.context = HANDLE(context);
    good.other_stream = new_other_stream();
    good.other_event = new_other_event();
    good.other_module = new_other_module();
    good.other_function = function_of(good.other_module);
    good.module_of_references = new_module_of_references();
    good.other_block = new_other_block();
    make_texts(this_file);
    make_objects();
    make_memory();
    make_arrays();
    make_graphs();
    good.resources = good_resources_make();
    good.green = new_green();
    good.green_event = good_green_event_make();
    good.log_callback = good_log_callback_make();
#define GOOD(name)
#define STRUCT(name) good.name = HANDLE(structs_##name());
#include "tests/arguments/good.def"
    good.pool = new_pool();
    MUST(driver.cuCtxSynchronize());
}

void good_fault(void)
{
    CUdeviceptr nowhere = 64;
    uint32_t value = 1;
    void *parameters[] = {&nowhere, &value};

    MUST(driver.cuLaunchKernel((CUfunction)good.function, 1, 1, 1, 1, 1, 1, 0, NULL, parameters,
                               NULL));
    if (driver.cuCtxSynchronize() != CUDA_ERROR_ILLEGAL_ADDRESS) {
        printf("a kernel that writes to address 64 is no fault\n");
        exit(1);
    }
}

void good_program(void)
{
    CUdeviceptr block = new_block();
    uint32_t value = 77, got[2] = {0};
    void *parameters[] = {&block, &value};

    MUST(driver.cuMemsetD32_v2(block, 5, 2));
    MUST(driver.cuLaunchKernel((CUfunction)good.function, 1, 1, 1, 1, 1, 1, 0,
                               (CUstream)good.stream, parameters, NULL));
    MUST(driver.cuMemcpyDtoHAsync_v2(got, block, sizeof got, (CUstream)good.stream));
    MUST(driver.cuStreamSynchronize((CUstream)good.stream));
    if (got[0] != value || got[1] != 5) {
        printf("afterwards a right program reads %u and %u, not %u and 5\n", got[0], got[1], value);
        exit(1);
    }
}

void good_end(void)
{
    (void)unlink(ptx_path);
}
