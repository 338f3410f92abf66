/* SPDX-License-Identifier: Apache-2.0 */
/* Texture and surface objects. Calls return the handle that kernels use. */
#include "softgpu/calls/texture.h"

#include "softgpu/calls/call.h"
#include "softgpu/engine/permission_map.h"
#include "softgpu/memory/ranges.h"
#include "softgpu/process/attributes.h"
#include "softgpu/process/placement.h"
#include "softgpu/texture/array.h"
#include "softgpu/texture/sampled.h"

CUresult CUDAAPI cuDeviceGetTexture1DLinearMaxWidth(size_t *maxWidthInElements,
                                                    CUarray_format format, unsigned int numChannels,
                                                    CUdevice dev)
{
    struct sg_context *context;
    int most = 0;
    CUresult rc = sg_enter(&context);
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    const struct sg_device *device = sg_device_at(dev);
    if (maxWidthInElements == NULL) {
        return sg_leave(CUDA_ERROR_INVALID_VALUE);
    }
    if (device == NULL) {
        return sg_leave(CUDA_ERROR_INVALID_DEVICE);
    }
    if (front_element_bytes(format, numChannels) == 0) {
        return sg_leave(CUDA_ERROR_INVALID_VALUE);
    }
    rc = sg_device_attribute(device, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LINEAR_WIDTH, &most);
    if (rc == CUDA_SUCCESS) {
        *maxWidthInElements = (size_t)most;
    }
    return sg_leave(rc);
}

CUresult sg_call_sampled(uint64_t handle, bool surface, struct front_sampled *sampled)
{
    struct sg_context *context;
    CU_TRY(sg_enter(&context));
    const struct sg_sampled *found = sg_sampled_find(context, handle, surface);
    if (found == NULL) {
        return sg_leave(CUDA_ERROR_INVALID_VALUE);
    }
    *sampled = found->what;
    return sg_leave(CUDA_SUCCESS);
}

/* The arrays of a resource, if they belong to this context. */
static struct front_backing call_texture_backing(const struct sg_context *context,
                                                 const CUDA_RESOURCE_DESC *resource)
{
    struct front_backing backing = {NULL, NULL};
    const struct sg_array *found = NULL;
    if (resource != NULL && resource->resType == CU_RESOURCE_TYPE_ARRAY) {
        found = sg_array_find(resource->res.array.hArray);
        backing.array = found != NULL && found->context == context ? &found->front : NULL;
    } else if (resource != NULL && resource->resType == CU_RESOURCE_TYPE_MIPMAPPED_ARRAY) {
        found = sg_array_find_mipmap(resource->res.mipmap.hMipmappedArray);
        backing.mipmap = found != NULL && found->context == context ? &found->front : NULL;
    }
    return backing;
}

/* Checks that all of the linear memory belongs to the device. */
static CUresult call_texture_memory_check(const struct sg_context *context,
                                          const CUDA_RESOURCE_DESC *resource)
{
    struct sg_range *range;
    uint64_t start, bytes;
    front_texture_memory(resource, &start, &bytes);
    if (bytes == 0) {
        return CUDA_SUCCESS;
    }
    enum sg_place place = sg_place_named(start, bytes, SG_MAP_READ, &range);
    bool good =
        place == SG_PLACE_HOST || (place == SG_PLACE_DEVICE && range->device == context->device);
    return good ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* The end of both calls: `rc` is the result of reading `what`. */
static CUresult made(struct sg_context *context, CUresult rc, const struct front_sampled *what,
                     uint64_t place, unsigned long long *handle)
{
    uint64_t object = 0;
    if (rc == CUDA_SUCCESS) {
        rc = sg_sampled_make(context, what, place, &object);
    }
    if (rc == CUDA_SUCCESS) {
        *handle = object;
    }
    return sg_leave(rc);
}

CUresult CUDAAPI cuTexObjectCreate(CUtexObject *pTexObject, const CUDA_RESOURCE_DESC *pResDesc,
                                   const CUDA_TEXTURE_DESC *pTexDesc,
                                   const CUDA_RESOURCE_VIEW_DESC *pResViewDesc)
{
    struct sg_context *context;
    uint64_t place = sg_placement_take_object();
    CUresult rc = sg_enter(&context);
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    struct front_sampled what;
    const struct front_backing backing = call_texture_backing(context, pResDesc);
    rc = pTexObject == NULL ? CUDA_ERROR_INVALID_VALUE
                            : front_texture_read((CUdevice)context->device->ordinal, pResDesc,
                                                 pTexDesc, pResViewDesc, &backing, &what);
    if (rc == CUDA_SUCCESS) {
        rc = call_texture_memory_check(context, pResDesc);
    }
    return made(context, rc, &what, place, pTexObject);
}

CUresult CUDAAPI cuSurfObjectCreate(CUsurfObject *pSurfObject, const CUDA_RESOURCE_DESC *pResDesc)
{
    struct sg_context *context;
    uint64_t place = sg_placement_take_object();
    CUresult rc = sg_enter(&context);
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    struct front_sampled what;
    const struct front_backing backing = call_texture_backing(context, pResDesc);
    rc = pSurfObject == NULL ? CUDA_ERROR_INVALID_VALUE
                             : front_surface_read(pResDesc, &backing, &what);
    return made(context, rc, &what, place, pSurfObject);
}

static CUresult sampled_destroy(uint64_t handle, bool surface)
{
    struct sg_context *context;
    CU_TRY(sg_enter(&context));
    struct sg_sampled *found = sg_sampled_find(context, handle, surface);
    if (found != NULL) {
        sg_sampled_destroy(found);
    }
    /* Destroying the handle 0 is no error. */
    return sg_leave(found != NULL || handle == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

CUresult CUDAAPI cuTexObjectDestroy(CUtexObject texObject)
{
    return sampled_destroy(texObject, false);
}

CUresult CUDAAPI cuSurfObjectDestroy(CUsurfObject surfObject)
{
    return sampled_destroy(surfObject, true);
}
