/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays and mipmapped arrays. */
#include "softgpu/calls/array.h"

#include "softgpu/texture/array.h"

#include "softgpu/calls/call.h"
#include "softgpu/stream/waits.h"

static CUdevice call_array_ordinal(const struct sg_context *context)
{
    return (CUdevice)context->device->ordinal;
}

CUresult sg_call_array(uint64_t handle, bool mipmapped, struct front_array *array)
{
    CU_TRY(sg_enter_process());
    const struct sg_array *found = mipmapped
                                       ? sg_array_find_mipmap((CUmipmappedArray)(uintptr_t)handle)
                                       : sg_array_find((CUarray)(uintptr_t)handle);
    if (found == NULL) {
        return sg_leave(CUDA_ERROR_INVALID_HANDLE);
    }
    *array = found->front;
    return sg_leave(CUDA_SUCCESS);
}

/* Enters; `rc` is the result of reading the description into `front`. */
static CUresult array_make(struct sg_context *context, const struct front_array *front, CUresult rc,
                           void **handle)
{
    struct sg_array *array = NULL;
    if (rc == CUDA_SUCCESS) {
        rc = sg_array_make(context, front, &array);
    }
    if (rc == CUDA_SUCCESS) {
        *handle = (void *)(uintptr_t)array->handle;
    }
    return sg_leave(rc);
}

CUresult CUDAAPI cuArrayCreate_v2(CUarray *pHandle, const CUDA_ARRAY_DESCRIPTOR *pAllocateArray)
{
    struct sg_context *context;
    struct front_array front;
    CUresult rc = sg_enter(&context);
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    rc = pHandle == NULL ? CUDA_ERROR_INVALID_VALUE
                         : front_array_read_2d(call_array_ordinal(context), pAllocateArray, &front);
    return array_make(context, &front, rc, (void **)pHandle);
}

CUresult CUDAAPI cuArray3DCreate_v2(CUarray *pHandle, const CUDA_ARRAY3D_DESCRIPTOR *pAllocateArray)
{
    struct sg_context *context;
    struct front_array front;
    CUresult rc = sg_enter(&context);
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    rc = pHandle == NULL
             ? CUDA_ERROR_INVALID_VALUE
             : front_array_read(call_array_ordinal(context), pAllocateArray, false, 0, &front);
    return array_make(context, &front, rc, (void **)pHandle);
}

CUresult CUDAAPI cuMipmappedArrayCreate(CUmipmappedArray *pHandle,
                                        const CUDA_ARRAY3D_DESCRIPTOR *pMipmappedArrayDesc,
                                        unsigned int numMipmapLevels)
{
    struct sg_context *context;
    struct front_array front;
    CUresult rc = sg_enter(&context);
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    rc = pHandle == NULL ? CUDA_ERROR_INVALID_VALUE
                         : front_array_read(call_array_ordinal(context), pMipmappedArrayDesc, true,
                                            numMipmapLevels, &front);
    return array_make(context, &front, rc, (void **)pHandle);
}

CUresult CUDAAPI cuMipmappedArrayGetLevel(CUarray *pLevelArray, CUmipmappedArray hMipmappedArray,
                                          unsigned int level)
{
    CUresult rc = sg_enter_process();
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    struct sg_array *array, *whole = sg_array_find_mipmap(hMipmappedArray);
    if (whole == NULL) {
        return sg_leave(CUDA_ERROR_INVALID_HANDLE);
    }
    if (pLevelArray == NULL || level >= whole->front.levels) {
        return sg_leave(CUDA_ERROR_INVALID_VALUE);
    }
    rc = sg_array_level(whole, level, &array);
    if (rc == CUDA_SUCCESS) {
        *pLevelArray = (CUarray)(uintptr_t)array->handle;
    }
    return sg_leave(rc);
}

/* Waits for earlier work in the array's context, as cuMemFree does. */
static CUresult array_destroy(uint64_t handle, struct ga_handle_table *table)
{
    CUresult rc = sg_enter_process();
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    struct sg_array *array = ga_handle_table_find(table, handle);
    if (array == NULL || array->range == NULL) { /* a level is destroyed with the whole array */
        return sg_leave(CUDA_ERROR_INVALID_HANDLE);
    }
    rc = sg_context_wait(array->context);
    array =
        ga_handle_table_find(table, handle); /* another thread may have destroyed it meanwhile */
    if (rc == CUDA_SUCCESS && array == NULL) {
        rc = CUDA_ERROR_INVALID_HANDLE;
    }
    if (rc == CUDA_SUCCESS) { /* otherwise work may still use it */
        sg_array_destroy(array);
    }
    return sg_leave(rc);
}

CUresult CUDAAPI cuArrayDestroy(CUarray hArray)
{
    return array_destroy((uint64_t)(uintptr_t)hArray, &sg_process.arrays);
}

CUresult CUDAAPI cuMipmappedArrayDestroy(CUmipmappedArray hMipmappedArray)
{
    return array_destroy((uint64_t)(uintptr_t)hMipmappedArray, &sg_process.mipmaps);
}
