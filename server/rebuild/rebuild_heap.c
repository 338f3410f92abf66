/* SPDX-License-Identifier: Apache-2.0 */
/* The heaps of malloc in kernels, with the blocks that are taken. A heap is its context's: it may
 * stay, as the driver's primary context may. */
#include "api/driver_places.h"
#include "server/rebuild/rebuild_state.h"

static CUresult heap_keep(struct rebuild *rebuild, const struct server_context *context)
{
    const struct cuda_driver_places *places = rebuild->places;
    struct cuda_kernel_heap heap = {0};
    CU_TRY((CUresult)places->heap_read(context->real, &heap));
    if (!heap.used) { /* nobody knows an address in it */
        heap = (struct cuda_kernel_heap){0};
    }
    void *contents = NULL;
    bool room = saved_put(&rebuild->heaps, &heap, sizeof heap);
    if (!room || heap.base == 0) {
        return room ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
    }
    heap.records = saved_room(&rebuild->heaps, heap.record_bytes);
    if (heap.records == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    CU_TRY((CUresult)places->heap_read(context->real, &heap));
    contents = saved_room(&rebuild->heaps, heap.bytes);
    if (contents == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    CU_TRY(rebuild->app->driver->cuMemcpyDtoH_v2(contents, heap.base, heap.bytes));
    return (CUresult)places->address_keep(heap.base);
}

static CUresult heap_remake(struct rebuild *rebuild, const struct server_context *context)
{
    const struct cuda_driver_places *places = rebuild->places;
    struct cuda_kernel_heap heap, now = {0};
    if (!saved_take(&rebuild->heaps, &heap, sizeof heap)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (heap.base == 0) {
        return CUDA_SUCCESS;
    }
    heap.records = (void *)(uintptr_t)saved_look(&rebuild->heaps, heap.record_bytes);
    const void *contents = saved_look(&rebuild->heaps, heap.bytes);
    if (heap.records == NULL || contents == NULL) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    CU_TRY((CUresult)places->heap_read(context->real, &now));
    if (now.base == heap.base) { /* it has stayed as it was */
        return (CUresult)places->address_release(heap.base);
    }
    CU_TRY((CUresult)places->heap_place(context->real, &heap));
    return rebuild->app->driver->cuMemcpyHtoD_v2(heap.base, contents, heap.bytes);
}

void rebuild_heap_down(struct rebuild *rebuild, struct server_context *context)
{
    (void)rebuild_check(rebuild, heap_keep(rebuild, context), "the heap of kernels");
}

void rebuild_heap_up(struct rebuild *rebuild, struct server_context *context)
{
    (void)rebuild_check(rebuild, heap_remake(rebuild, context), "the heap of kernels");
}
