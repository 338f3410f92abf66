/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays and mipmapped arrays. Their shape is known here; making and destroying one waits for the
 * server, which has the memory. */
#include "client/texture/array.h"

#include "api/calls.h"
#include "api/client_calls.h"
#include "client/call/call.h"
#include "client/context/context.h"
#include "client/context/object.h"
#include "client/memory/device_free.h"
#include "front/front.h"

static struct client_array *array_find(uint64_t handle, bool mipmapped)
{
    return client_object_find(mipmapped ? GA_HANDLE_MIPMAP : GA_HANDLE_ARRAY, handle);
}

CUresult client_array_shape(uint64_t handle, bool mipmapped, struct front_array *front)
{
    const struct client_array *array = array_find(handle, mipmapped);
    struct client_call call;
    if (array == NULL) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    CU_TRY(client_call_enter_in(&call, API_OP_ga_array_create, array->object.context));
    *front = array->front;
    return CUDA_SUCCESS;
}

static void mipmap_release(void *at)
{
    const struct client_array *array = at;
    for (unsigned i = 0; i < FRONT_LEVELS_MAX; i++) {
        client_handle_drop(array->levels[i]);
    }
}

const struct client_object_type client_array_type = {.bytes = sizeof(struct client_array)};
const struct client_object_type client_mipmap_type = {.bytes = sizeof(struct client_array),
                                                      .release = mipmap_release};

/* ---- making */

static CUresult create_once(struct client_call *call, const struct front_array *front,
                            uint64_t handle)
{
    const CUDA_ARRAY3D_DESCRIPTOR *shape = &front->shape;
    CUresult rc;
    if (front->levels != 0) {
        const struct ga_mipmap_create_args args = {.mipmap = handle,
                                                   .width = shape->Width,
                                                   .height = shape->Height,
                                                   .depth = shape->Depth,
                                                   .format = shape->Format,
                                                   .channels = shape->NumChannels,
                                                   .flags = shape->Flags,
                                                   .levels = front->levels};
        call->op = API_OP_ga_mipmap_create;
        rc = client_wait_ga_mipmap_create(call, &args, true);
    } else {
        const struct ga_array_create_args args = {.array = handle,
                                                  .width = shape->Width,
                                                  .height = shape->Height,
                                                  .depth = shape->Depth,
                                                  .format = shape->Format,
                                                  .channels = shape->NumChannels,
                                                  .flags = shape->Flags};
        rc = client_wait_ga_array_create(call, &args, true);
    }
    return rc;
}

static CUresult array_create(struct client_call *call, const struct front_array *front,
                             void **handle)
{
    uint64_t made;
    bool mipmapped = front->levels != 0;
    CU_TRY(client_handle_make(call, mipmapped ? GA_HANDLE_MIPMAP : GA_HANDLE_ARRAY, &made));
    array_find(made, mipmapped)->front = *front;
    CUresult rc = create_once(call, front, made);
    for (unsigned step = 0;
         rc == CUDA_ERROR_OUT_OF_MEMORY && client_memory_reclaim(call->context->session, step);
         step++) {
        rc = create_once(call, front, made);
    }
    if (rc != CUDA_SUCCESS) {
        client_handle_drop(made);
        return rc;
    }
    *handle = (void *)(uintptr_t)made;
    return CUDA_SUCCESS;
}

static CUresult array_enter(struct client_call *call, const void *out, CUdevice *device)
{
    CUresult rc = client_call_enter(call, API_OP_ga_array_create);
    if (rc == CUDA_SUCCESS) {
        *device = call->context->device->ordinal;
    }
    return rc == CUDA_SUCCESS && out == NULL ? CUDA_ERROR_INVALID_VALUE : rc;
}

CUresult CUDAAPI cuArrayCreate_v2(CUarray *pHandle, const CUDA_ARRAY_DESCRIPTOR *pAllocateArray)
{
    struct client_call call;
    struct front_array front;
    CUdevice device;
    CU_TRY(array_enter(&call, pHandle, &device));
    CU_TRY(front_array_read_2d(device, pAllocateArray, &front));
    return array_create(&call, &front, (void **)pHandle);
}

CUresult CUDAAPI cuArray3DCreate_v2(CUarray *pHandle, const CUDA_ARRAY3D_DESCRIPTOR *pAllocateArray)
{
    struct client_call call;
    struct front_array front;
    CUdevice device;
    CU_TRY(array_enter(&call, pHandle, &device));
    CU_TRY(front_array_read(device, pAllocateArray, false, 0, &front));
    return array_create(&call, &front, (void **)pHandle);
}

CUresult CUDAAPI cuMipmappedArrayCreate(CUmipmappedArray *pHandle,
                                        const CUDA_ARRAY3D_DESCRIPTOR *pMipmappedArrayDesc,
                                        unsigned int numMipmapLevels)
{
    struct client_call call;
    struct front_array front;
    CUdevice device;
    CU_TRY(array_enter(&call, pHandle, &device));
    CU_TRY(front_array_read(device, pMipmappedArrayDesc, true, numMipmapLevels, &front));
    return array_create(&call, &front, (void **)pHandle);
}

/* ---- levels */

static uint64_t level_known(const struct client_array *whole, unsigned level)
{
    pthread_mutex_lock(&client_state_lock);
    uint64_t handle = whole->levels[level];
    pthread_mutex_unlock(&client_state_lock);
    return handle;
}

/* Two threads may both make it: that of the quicker one counts. */
static uint64_t level_keep(struct client_array *whole, unsigned level, uint64_t made)
{
    pthread_mutex_lock(&client_state_lock);
    if (whole->levels[level] == 0) {
        whole->levels[level] = made;
    }
    uint64_t kept = whole->levels[level];
    pthread_mutex_unlock(&client_state_lock);
    return kept;
}

static CUresult level_make(struct client_call *call, struct client_array *whole, unsigned level,
                           uint64_t *handle)
{
    struct ga_array_level_args args = {.mipmap = whole->object.handle, .level = level};
    CU_TRY(client_handle_make(call, GA_HANDLE_ARRAY, &args.array));
    struct client_array *array = array_find(args.array, false);
    array->front = front_array_level(&whole->front, level);
    CUresult rc = client_call_begin(call, ga_array_level_args_bound(&args));
    if (rc != CUDA_SUCCESS) {
        client_handle_drop(args.array);
        return rc;
    }
    ga_array_level_args_write(&call->writer, &args);
    rc = client_call_post(call);
    *handle = level_keep(whole, level, args.array);
    return rc;
}

CUresult CUDAAPI cuMipmappedArrayGetLevel(CUarray *pLevelArray, CUmipmappedArray hMipmappedArray,
                                          unsigned int level)
{
    struct client_call call;
    struct client_array *whole = NULL;
    CUresult rc = front_ready();
    if (rc == CUDA_SUCCESS) {
        whole = array_find((uint64_t)(uintptr_t)hMipmappedArray, true);
        rc = whole != NULL
                 ? client_call_enter_in(&call, API_OP_ga_array_level, whole->object.context)
                 : CUDA_ERROR_INVALID_HANDLE;
    }
    if (rc == CUDA_SUCCESS && (pLevelArray == NULL || level >= whole->front.levels)) {
        rc = CUDA_ERROR_INVALID_VALUE;
    }
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    uint64_t handle = level_known(whole, level);
    if (handle == 0) {
        rc = level_make(&call, whole, level, &handle);
    }
    if (rc == CUDA_SUCCESS) {
        *pLevelArray = (CUarray)(uintptr_t)handle;
    }
    return rc;
}

/* ---- the end */

/* Waits for the work of its context, as cuMemFree does. */
static CUresult array_destroy(uint64_t handle, bool mipmapped)
{
    struct client_call call;
    CU_TRY(front_ready());
    if (client_call_exiting()) {
        return CUDA_SUCCESS;
    }
    struct client_array *array = array_find(handle, mipmapped);
    if (array == NULL || array->front.of_level) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    const struct ga_array_destroy_args args = {.array = handle};
    const struct ga_mipmap_destroy_args whole = {.mipmap = handle};
    CUresult rc = client_call_enter_in(&call, API_OP_ga_array_destroy, array->object.context);
    if (rc == CUDA_SUCCESS && mipmapped) {
        call.op = API_OP_ga_mipmap_destroy;
        rc = client_wait_ga_mipmap_destroy(&call, &whole, true);
    } else if (rc == CUDA_SUCCESS) {
        rc = client_wait_ga_array_destroy(&call, &args, true);
    }
    if (rc == CUDA_SUCCESS) {
        client_handle_drop(handle);
    }
    return rc;
}

CUresult CUDAAPI cuArrayDestroy(CUarray hArray)
{
    return array_destroy((uint64_t)(uintptr_t)hArray, false);
}

CUresult CUDAAPI cuMipmappedArrayDestroy(CUmipmappedArray hMipmappedArray)
{
    return array_destroy((uint64_t)(uintptr_t)hMipmappedArray, true);
}
