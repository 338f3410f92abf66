/* SPDX-License-Identifier: Apache-2.0 */
/* Texture and surface objects: the rules of cuda.h at cuTexObjectCreate and cuSurfObjectCreate. */
#include "front/texture/texture.h"

#include <stddef.h>

#include "front/front.h"

#define TEXTURE_FLAGS                                                                              \
    (CU_TRSF_READ_AS_INTEGER | CU_TRSF_NORMALIZED_COORDINATES | CU_TRSF_SRGB |                     \
     CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION | CU_TRSF_SEAMLESS_CUBEMAP)

static int texture_limit(CUdevice device, CUdevice_attribute attribute)
{
    int value = 0;
    (void)front_host.device_attribute(device, attribute, &value);
    return value;
}

/* ---- views */

static CUresult view_check(const CUDA_RESOURCE_VIEW_DESC *view, const struct front_array *array)
{
    CUarray_format element;
    unsigned channels, levels = array->levels != 0 ? array->levels : 1;
    bool cube = (array->shape.Flags & CUDA_ARRAY3D_CUBEMAP) != 0;
    bool layered = (array->shape.Flags & CUDA_ARRAY3D_LAYERED) != 0;
    bool good = view->firstMipmapLevel <= view->lastMipmapLevel && view->lastMipmapLevel < levels &&
                view->firstLayer <= view->lastLayer;
    if ((unsigned)view->format > CU_RES_VIEW_FORMAT_UNSIGNED_BC7 || !good) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (view->format > CU_RES_VIEW_FORMAT_FLOAT_4X32) {
        return front_unsupported("a view of compressed blocks");
    }
    if (front_view_format(view->format, &element, &channels) &&
        front_element_bytes(element, channels) != array->element) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    unsigned layers = view->lastLayer - view->firstLayer + 1;
    good = view->width == array->shape.Width && view->height == array->shape.Height &&
           view->depth == array->shape.Depth;
    if (layered) {
        good = good && view->lastLayer < array->shape.Depth &&
               (!cube || (view->firstLayer % 6 == 0 && layers % 6 == 0));
    } else {
        good = good && view->firstLayer == 0 && (view->lastLayer == 0 || (cube && layers == 6));
    }
    return good ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* ---- linear memory */

void front_texture_memory(const CUDA_RESOURCE_DESC *resource, uint64_t *start, uint64_t *bytes)
{
    *start = 0;
    *bytes = 0;
    if (resource->resType == CU_RESOURCE_TYPE_LINEAR) {
        *start = resource->res.linear.devPtr;
        *bytes = front_element_bytes(resource->res.linear.format, resource->res.linear.numChannels);
    } else if (resource->resType == CU_RESOURCE_TYPE_PITCH2D) {
        *start = resource->res.pitch2D.devPtr;
        *bytes =
            (resource->res.pitch2D.height - 1) * resource->res.pitch2D.pitchInBytes +
            resource->res.pitch2D.width * front_element_bytes(resource->res.pitch2D.format,
                                                              resource->res.pitch2D.numChannels);
    }
}

static bool base_format(CUarray_format format)
{
    return (unsigned)format <= CU_AD_FORMAT_FLOAT;
}

static bool aligned(CUdevice device, CUdeviceptr address)
{
    int alignment = texture_limit(device, CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT);
    return address != 0 && alignment > 0 && address % (unsigned)alignment == 0;
}

static bool linear_good(CUdevice device, const CUDA_RESOURCE_DESC *resource)
{
    CUarray_format format = resource->res.linear.format;
    unsigned element = front_element_bytes(format, resource->res.linear.numChannels);
    int most = texture_limit(device, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LINEAR_WIDTH);
    return element != 0 && base_format(format) && aligned(device, resource->res.linear.devPtr) &&
           resource->res.linear.sizeInBytes >= element &&
           resource->res.linear.sizeInBytes / element <= (size_t)most;
}

static bool pitch_good(CUdevice device, const CUDA_RESOURCE_DESC *resource)
{
    CUarray_format format = resource->res.pitch2D.format;
    size_t width = resource->res.pitch2D.width, height = resource->res.pitch2D.height;
    size_t pitch = resource->res.pitch2D.pitchInBytes;
    unsigned element = front_element_bytes(format, resource->res.pitch2D.numChannels);
    int unit = texture_limit(device, CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT);
    return element != 0 && base_format(format) && aligned(device, resource->res.pitch2D.devPtr) &&
           width != 0 && height != 0 &&
           width <=
               (size_t)texture_limit(device, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_WIDTH) &&
           height <=
               (size_t)texture_limit(device, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_HEIGHT) &&
           pitch <=
               (size_t)texture_limit(device, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_PITCH) &&
           pitch >= width * element && unit > 0 && pitch % (unsigned)unit == 0;
}

/* ---- objects */

/* The array of the resource, if it has one. False: the resource is invalid. */
static bool resource_good(CUdevice device, const CUDA_RESOURCE_DESC *resource,
                          const struct front_backing *backing, const struct front_array **array)
{
    *array = NULL;
    if (resource->flags != 0) {
        return false;
    }
    switch ((int)resource->resType) {
    case CU_RESOURCE_TYPE_ARRAY:
        *array = backing->array;
        return *array != NULL;
    case CU_RESOURCE_TYPE_MIPMAPPED_ARRAY:
        *array = backing->mipmap;
        return *array != NULL;
    case CU_RESOURCE_TYPE_LINEAR:
        return linear_good(device, resource);
    case CU_RESOURCE_TYPE_PITCH2D:
        return pitch_good(device, resource);
    default:
        return false;
    }
}

/* Whether fetches give integers, which cannot be filtered. */
static bool integers(const CUDA_TEXTURE_DESC *texture, CUarray_format format)
{
    switch ((int)format) {
    case CU_AD_FORMAT_UNSIGNED_INT32:
    case CU_AD_FORMAT_SIGNED_INT32:
        return true;
    case CU_AD_FORMAT_UNSIGNED_INT8:
    case CU_AD_FORMAT_UNSIGNED_INT16:
    case CU_AD_FORMAT_SIGNED_INT8:
    case CU_AD_FORMAT_SIGNED_INT16:
        return (texture->flags & CU_TRSF_READ_AS_INTEGER) != 0;
    default:
        return false;
    }
}

static CUarray_format format_of(const CUDA_RESOURCE_DESC *resource, const struct front_array *array,
                                const CUDA_RESOURCE_VIEW_DESC *view)
{
    CUarray_format format;
    unsigned channels;
    if (view != NULL && front_view_format(view->format, &format, &channels)) {
        return format;
    }
    if (array != NULL) {
        return array->shape.Format;
    }
    return resource->resType == CU_RESOURCE_TYPE_LINEAR ? resource->res.linear.format
                                                        : resource->res.pitch2D.format;
}

static bool texture_good(const CUDA_TEXTURE_DESC *texture, const CUDA_RESOURCE_DESC *resource,
                         const struct front_array *array, CUarray_format format)
{
    bool linear = resource->resType == CU_RESOURCE_TYPE_LINEAR;
    bool cube = array != NULL && (array->shape.Flags & CUDA_ARRAY3D_CUBEMAP) != 0;
    for (unsigned i = 0; i < 3; i++) {
        if ((unsigned)texture->addressMode[i] > CU_TR_ADDRESS_MODE_BORDER) {
            return false;
        }
    }
    bool normalised = (texture->flags & CU_TRSF_NORMALIZED_COORDINATES) != 0;
    return (texture->flags & ~(unsigned)TEXTURE_FLAGS) == 0 &&
           (unsigned)texture->filterMode <= CU_TR_FILTER_MODE_LINEAR &&
           (unsigned)texture->mipmapFilterMode <= CU_TR_FILTER_MODE_LINEAR &&
           (normalised || resource->resType != CU_RESOURCE_TYPE_MIPMAPPED_ARRAY) &&
           (cube || (texture->flags & CU_TRSF_SEAMLESS_CUBEMAP) == 0) &&
           (linear || texture->filterMode == CU_TR_FILTER_MODE_POINT || !integers(texture, format));
}

CUresult front_texture_read(CUdevice device, const CUDA_RESOURCE_DESC *resource,
                            const CUDA_TEXTURE_DESC *texture, const CUDA_RESOURCE_VIEW_DESC *view,
                            const struct front_backing *backing, struct front_sampled *sampled)
{
    const struct front_array *array;
    if (texture == NULL || resource == NULL || !resource_good(device, resource, backing, &array) ||
        (view != NULL && array == NULL)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    CUresult rc = view != NULL ? view_check(view, array) : CUDA_SUCCESS;
    if (rc == CUDA_SUCCESS &&
        !texture_good(texture, resource, array, format_of(resource, array, view))) {
        rc = CUDA_ERROR_INVALID_VALUE;
    }
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    *sampled =
        (struct front_sampled){.resource = *resource, .texture = *texture, .viewed = view != NULL};
    if (view != NULL) {
        sampled->view = *view;
    }
    return CUDA_SUCCESS;
}

CUresult front_surface_read(const CUDA_RESOURCE_DESC *resource, const struct front_backing *backing,
                            struct front_sampled *sampled)
{
    if (resource == NULL || resource->resType != CU_RESOURCE_TYPE_ARRAY || resource->flags != 0 ||
        backing->array == NULL) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    /* Levels need no flag: NVIDIA's driver accepts programs that give none (bindlessTexture of
     * cuda-samples). */
    if (!backing->array->of_level &&
        (backing->array->shape.Flags & CUDA_ARRAY3D_SURFACE_LDST) == 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    *sampled = (struct front_sampled){.surface = true, .resource = *resource};
    return CUDA_SUCCESS;
}
