/* SPDX-License-Identifier: Apache-2.0 */
/* Textures and conditions made again with the handles that they had, and what contexts tell. */
#include <pthread.h>

#include "softgpu/tests/places_fixture.h"

TestSuite(object_places, .init = setup, .timeout = 60);

/* ---- textures and surfaces */

static const char sampler[] =
    HEAD ".visible .entry fetch(.param .u64 to, .param .u64 texture)\n"
         "{\n    .reg .b64 %d<3>;\n    .reg .b32 %r<6>;\n"
         "    ld.param.u64 %d1, [to];\n    ld.param.u64 %d2, [texture];\n    mov.u32 %r5, 1;\n"
         "    tex.1d.v4.u32.s32 {%r1, %r2, %r3, %r4}, [%d2, {%r5}];\n"
         "    st.global.u32 [%d1], %r1;\n    ret;\n}\n";

static CUresult texture_make(CUdeviceptr memory, CUtexObject *made)
{
    CUDA_RESOURCE_DESC resource = {.resType = CU_RESOURCE_TYPE_LINEAR,
                                   .res.linear = {.devPtr = memory,
                                                  .format = CU_AD_FORMAT_UNSIGNED_INT32,
                                                  .numChannels = 1,
                                                  .sizeInBytes = 8}};
    CUDA_TEXTURE_DESC description = {.flags = CU_TRSF_READ_AS_INTEGER};
    return driver.cuTexObjectCreate(made, &resource, &description, NULL);
}

static CUdeviceptr texels(unsigned second)
{
    CUdeviceptr memory;
    const unsigned values[2] = {0, second};
    OK(driver.cuMemAlloc_v2(&memory, sizeof values));
    OK(driver.cuMemcpyHtoD_v2(memory, values, sizeof values));
    return memory;
}

static CUtexObject texture(unsigned second)
{
    CUtexObject made;
    OK(texture_make(texels(second), &made));
    return made;
}

static unsigned fetch(CUmodule module, CUtexObject handle)
{
    CUdeviceptr to;
    unsigned answer = 0;
    OK(driver.cuMemAlloc_v2(&to, sizeof answer));
    launch(module, "fetch", (void *[]){&to, &handle});
    OK(driver.cuMemcpyDtoH_v2(&answer, to, sizeof answer));
    return answer;
}

Test(object_places, a_texture_comes_back_with_its_handle)
{
    CUmodule module = load(sampler);
    CUtexObject first = texture(11), second = texture(22), other, again, refused = 7;
    OK(driver.cuTexObjectDestroy(first));
    OK(driver.cuTexObjectDestroy(second));
    other = texture(33); /* has the slot of one of them */
    CUdeviceptr memory = texels(44);
    OK(places->object_place(first));
    OK(texture_make(memory, &again));
    cr_assert_eq(again, first);
    OK(places->object_place(second));
    OK(texture_make(texels(55), &again));
    cr_assert_eq(again, second);
    cr_assert_eq(fetch(module, first), 44);
    cr_assert_eq(fetch(module, second), 55);
    cr_assert_eq(fetch(module, other), 33);
    OK(places->object_place(first));
    GIVES(texture_make(memory, &refused), CUDA_ERROR_ALREADY_ACQUIRED);
    cr_assert_eq(refused, 7);
    again = texture(66); /* the wish is gone */
    cr_assert(again != first && again != second && again != other);
    cr_assert_eq(fetch(module, again), 66);
    OK(driver.cuTexObjectDestroy(first));
    cr_assert_eq(fetch(module, second), 55);
    cr_assert_eq(fetch(module, other), 33);
}

Test(object_places, handles_after_a_placed_one_are_new)
{
    CUtexObject first = texture(1), made;
    uint64_t far = first + (UINT64_C(1000) << 20);
    CUdeviceptr memory = texels(5);
    OK(places->object_place(far));
    OK(texture_make(memory, &made));
    cr_assert_eq(made, far);
    OK(driver.cuTexObjectDestroy(made));
    for (unsigned i = 0; i < 10; i++) {
        cr_assert_gt(texture(2), far);
    }
    const uint64_t wrong[] = {1, UINT64_MAX};
    for (unsigned i = 0; i < 2; i++) {
        OK(places->object_place(wrong[i]));
        GIVES(texture_make(memory, &made), CUDA_ERROR_INVALID_VALUE);
    }
    OK(texture_make(memory, &made));
}

/* ---- conditions */

#if CUDA_VERSION >= 12040
static CUgraph condition(CUgraphConditionalHandle *handle, CUresult code)
{
    CUgraph graph;
    OK(driver.cuGraphCreate(&graph, 0));
    GIVES(driver.cuGraphConditionalHandleCreate(handle, graph, context, 1,
                                                CU_GRAPH_COND_ASSIGN_DEFAULT),
          code);
    return graph;
}

Test(object_places, a_condition_comes_back_with_its_handle)
{
    CUgraphConditionalHandle first, again = 0, between;
    CUdeviceptr intruder;
    CUgraph graph = condition(&first, CUDA_SUCCESS);
    OK(places->address_keep(first));
    OK(driver.cuGraphDestroy(graph));
    (void)condition(&between, CUDA_SUCCESS);
    cr_assert_neq(between, first);
    OK(places->condition_place(first));
    graph = condition(&again, CUDA_SUCCESS);
    cr_assert_eq(again, first);
    OK(places->condition_place(first));
    (void)condition(&again, CUDA_ERROR_ALREADY_ACQUIRED);
    (void)condition(&again, CUDA_SUCCESS);
    cr_assert_neq(again, first);
    OK(driver.cuGraphDestroy(graph));
    do { /* until something else is there */
        OK(driver.cuMemAlloc_v2(&intruder, 4));
    } while (intruder != first);
    OK(places->condition_place(first));
    (void)condition(&again, CUDA_ERROR_ALREADY_ACQUIRED);
    OK(places->condition_place(first + 4));
    (void)condition(&again, CUDA_ERROR_INVALID_VALUE);
}
#endif

/* ---- memory */

Test(object_places, memory_comes_back_at_its_address)
{
    const size_t sizes[] = {4, 100000, 5000000};
    for (unsigned i = 0; i < 3; i++) {
        CUdeviceptr first, between, again = 0;
        OK(driver.cuMemAlloc_v2(&first, sizes[i]));
        OK(places->address_keep(first));
        OK(driver.cuMemFree_v2(first));
        OK(driver.cuMemAlloc_v2(&between, sizes[i]));
        cr_assert_neq(between, first);
        OK(places->memory_place(first));
        OK(driver.cuMemAlloc_v2(&again, sizes[i]));
        cr_assert_eq(again, first);
        OK(places->memory_place(first));
        GIVES(driver.cuMemAlloc_v2(&again, sizes[i]), CUDA_ERROR_ALREADY_ACQUIRED);
        OK(driver.cuMemAlloc_v2(&again, sizes[i]));
        OK(driver.cuMemsetD8_v2(first, 1, sizes[i]));
        OK(driver.cuMemFree_v2(first));
        OK(places->memory_place(again + 16));
        GIVES(driver.cuMemAlloc_v2(&again, sizes[i]), CUDA_ERROR_INVALID_VALUE);
    }
}

/* ---- contexts */

static const char busy[] =
    HEAD ".extern .func (.param .b64 r) malloc(.param .b64 n);\n"
         ".extern .func free(.param .b64 p);\n"
         ".extern .func (.param .b32 result) vprintf(.param .b64 format, .param .b64 arguments);\n"
         ".global .align 1 .b8 text[4] = {104, 105, 10, 0};\n"
         ".visible .entry take(.param .u64 to, .param .u64 bytes)\n"
         "{\n    .reg .b64 %d<4>;\n    ld.param.u64 %d1, [to];\n    ld.param.u64 %d2, [bytes];\n"
         "    { .param .b64 n; .param .b64 r; st.param.b64 [n], %d2;\n"
         "    call (r), malloc, (n);\n    ld.param.b64 %d3, [r]; }\n"
         "    st.global.u64 [%d1], %d3;\n    ret;\n}\n"
         ".visible .entry give(.param .u64 from)\n"
         "{\n    .reg .b64 %d<4>;\n    ld.param.u64 %d1, [from];\n    ld.global.u64 %d3, [%d1];\n"
         "    { .param .b64 p; st.param.b64 [p], %d3;\n    call free, (p); }\n    ret;\n}\n"
         ".visible .entry say()\n"
         "{\n    .reg .b64 %d<4>;\n    .reg .b32 %r<2>;\n    mov.u64 %d1, text;\n"
         "    cvta.global.u64 %d2, %d1;\n"
         "    { .param .b64 f; .param .b64 a; .param .b32 r; st.param.b64 [f], %d2;\n"
         "    st.param.b64 [a], 0;\n    call (r), vprintf, (f, a); }\n    ret;\n}\n";

static struct cuda_context_state state_of(CUcontext which)
{
    struct cuda_context_state state;
    OK(places->context_state(which, &state));
    return state;
}

Test(object_places, a_context_tells_what_cannot_be_made_again)
{
    CUmodule module = load(busy);
    CUdeviceptr to, other;
    OK(driver.cuMemAlloc_v2(&to, 8));
    OK(driver.cuMemAlloc_v2(&other, 8));
    struct cuda_context_state state = state_of(context);
    cr_assert(state.heap_used == 0 && state.heap_blocks == 0 && state.heap_bytes == 0 &&
              state.output_pending == 0 && state.pending == 0);
    launch(module, "take", (void *[]){&to, &(uint64_t){100}});
    launch(module, "take", (void *[]){&other, &(uint64_t){10000}});
    state = state_of(context);
    cr_assert(state.heap_used != 0 && state.heap_blocks == 2 && state.heap_bytes >= 10100);
    launch(module, "give", (void *[]){&to});
    launch(module, "give", (void *[]){&other});
    state = state_of(context);
    cr_assert(state.heap_used != 0 && state.heap_blocks == 0 && state.heap_bytes == 0);
    GIVES(places->context_state(module, &state), CUDA_ERROR_INVALID_CONTEXT);
    GIVES(places->context_state(context, NULL), CUDA_ERROR_INVALID_VALUE);
}

/* The heap of one context in another one. */
Test(object_places, a_kernel_heap_comes_back)
{
    CUmodule module = load(busy);
    CUdeviceptr to[3], fresh;
    uint64_t pointers[3], other;
    const uint64_t sizes[3] = {100, 10000, 2000};
    struct cuda_kernel_heap heap = {0};
    for (unsigned i = 0; i < 3; i++) {
        OK(driver.cuMemAlloc_v2(&to[i], 8));
        launch(module, "take", (void *[]){&to[i], (void *)&sizes[i]});
        OK(driver.cuMemcpyDtoH_v2(&pointers[i], to[i], 8));
    }
    OK(driver.cuMemsetD8_v2(pointers[1], 77, sizes[1]));
    OK(places->heap_read(context, &heap));
    cr_assert(heap.base != 0 && heap.bytes != 0 && heap.record_bytes != 0 && heap.used != 0);
    heap.records = malloc(heap.record_bytes);
    heap.record_bytes--;
    GIVES(places->heap_read(context, &heap), CUDA_ERROR_INVALID_VALUE);
    heap.record_bytes++;
    OK(places->heap_read(context, &heap));
    uint8_t *contents = malloc(heap.bytes);
    OK(driver.cuMemcpyDtoH_v2(contents, heap.base, heap.bytes));
    struct cuda_context_state before = state_of(context);
    OK(places->address_keep(heap.base));
    GIVES(places->heap_place(context, &heap), CUDA_ERROR_ALREADY_ACQUIRED);
    OK(driver.cuCtxDestroy_v2(context));
    OK(driver.cuCtxCreate_v2(&context, 0, 0));
    struct cuda_kernel_heap none = {0};
    OK(places->heap_read(context, &none));
    cr_assert(none.base == 0 && none.record_bytes == 0 && none.used == 0);
    OK(places->heap_place(context, &heap));
    OK(driver.cuMemcpyHtoD_v2(heap.base, contents, heap.bytes));
    struct cuda_context_state after = state_of(context);
    cr_assert_eq(before.heap_blocks, 3);
    cr_assert(after.heap_blocks == 3 && after.heap_bytes == before.heap_bytes &&
              after.heap_used == before.heap_used);
    module = load(busy);
    OK(driver.cuMemAlloc_v2(&fresh, 8));
    for (unsigned i = 0; i < 3; i++) { /* new blocks lie elsewhere */
        launch(module, "take", (void *[]){&fresh, (void *)&sizes[i]});
        OK(driver.cuMemcpyDtoH_v2(&other, fresh, 8));
        for (unsigned j = 0; j < 3; j++) {
            cr_assert(other + sizes[i] <= pointers[j] || pointers[j] + sizes[j] <= other);
        }
    }
    uint8_t byte = 0;
    OK(driver.cuMemcpyDtoH_v2(&byte, pointers[1] + sizes[1] - 1, 1));
    cr_assert_eq(byte, 77);
    for (unsigned i = 0; i < 3; i++) {
        OK(driver.cuMemcpyHtoD_v2(fresh, &pointers[i], 8));
        launch(module, "give", (void *[]){&fresh});
    }
    cr_assert_eq(state_of(context).heap_blocks, 3);
    free(contents);
    free(heap.records);
}

Test(object_places, damaged_records_of_a_heap_are_refused)
{
    CUmodule module = load(busy);
    CUdeviceptr to;
    struct cuda_kernel_heap heap = {0};
    OK(driver.cuMemAlloc_v2(&to, 8));
    for (uint64_t bytes = 16; bytes < 100000; bytes *= 3) {
        launch(module, "take", (void *[]){&to, &bytes});
    }
    OK(places->heap_read(context, &heap));
    heap.records = malloc(heap.record_bytes);
    OK(places->heap_read(context, &heap));
    OK(places->address_keep(heap.base));
    OK(driver.cuCtxDestroy_v2(context));
    OK(driver.cuCtxCreate_v2(&context, 0, 0));
    const struct cuda_kernel_heap good = heap;
    heap.bytes += 4096;
    GIVES(places->heap_place(context, &heap), CUDA_ERROR_INVALID_VALUE);
    heap = good;
    heap.record_bytes--;
    GIVES(places->heap_place(context, &heap), CUDA_ERROR_INVALID_VALUE);
    heap = good;
    heap.records = NULL;
    GIVES(places->heap_place(context, &heap), CUDA_ERROR_INVALID_VALUE);
    heap = good;
    /* Some damage does none. Then blocks can be taken and given, whatever the records say. */
    unsigned refused = 0;
    srand(1);
    for (unsigned round = 0; round < 300; round++) {
        uint8_t *records = good.records;
        size_t at = (size_t)rand() % 1024;
        uint8_t bit = (uint8_t)(1u << (rand() % 8));
        records[at] ^= bit;
        OK(driver.cuMemAlloc_v2(&to, 8));
        CUresult rc = (CUresult)places->heap_place(context, &heap);
        if (rc == CUDA_SUCCESS) {
            OK(places->address_keep(heap.base));
            module = load(busy);
            for (uint64_t bytes = 16; bytes < 100000; bytes *= 3) {
                launch(module, "take", (void *[]){&to, &bytes});
                launch(module, "give", (void *[]){&to});
            }
        }
        cr_assert(rc == CUDA_SUCCESS || rc == CUDA_ERROR_INVALID_VALUE);
        refused += rc != CUDA_SUCCESS;
        records[at] ^= bit;
        OK(driver.cuCtxDestroy_v2(context));
        OK(driver.cuCtxCreate_v2(&context, 0, 0));
    }
    cr_assert(refused > 20, "%u", refused);
    free(good.records);
}

static void wait_here(void *barrier)
{
    pthread_barrier_wait(barrier);
    pthread_barrier_wait(barrier);
}

Test(object_places, a_context_tells_what_is_pending)
{
    CUmodule module = load(busy);
    CUfunction say;
    CUstream stream;
    pthread_barrier_t barrier;
    pthread_barrier_init(&barrier, NULL, 2);
    OK(driver.cuModuleGetFunction(&say, module, "say"));
    OK(driver.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(driver.cuLaunchKernel(say, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL));
    OK(driver.cuLaunchHostFunc(stream, wait_here, &barrier));
    OK(driver.cuMemsetD8Async(texels(1), 0, 1, stream));
    pthread_barrier_wait(&barrier);
    struct cuda_context_state state = state_of(context);
    cr_assert_eq(state.pending, 2);
    pthread_barrier_wait(&barrier);
    OK(driver.cuStreamSynchronize(stream));
    cr_assert_eq(state_of(context).pending, 0);
    cr_assert_eq(state_of(context).output_pending, 0);
    OK(driver.cuLaunchKernel(say, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL));
    while (state_of(context).pending != 0) { /* nothing here writes it */
    }
    cr_assert_neq(state_of(context).output_pending, 0);
    OK(driver.cuCtxSynchronize());
    cr_assert_eq(state_of(context).output_pending, 0);
}
