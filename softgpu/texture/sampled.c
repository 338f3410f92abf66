/* SPDX-License-Identifier: Apache-2.0 */
/* Texture and surface objects; see sampled.h. */
#include "softgpu/texture/sampled.h"

#include <stdlib.h>

#include "softgpu/engine/texture_objects.h"
#include "softgpu/process/context.h"
#include "softgpu/process/process.h"
#include "softgpu/stream/queue.h"
#include "softgpu/stream/streams.h"
#include "softgpu/texture/array.h"

/* ---- from descriptions to texels and samplers */

static void linear_texels(const CUDA_RESOURCE_DESC *resource, struct sg_texels *texels)
{
    bool line = resource->resType == CU_RESOURCE_TYPE_LINEAR;
    struct sg_level *level = &texels->levels[0];
    *texels = (struct sg_texels){
        .shape = line ? SG_SHAPE_LINEAR : SG_SHAPE_2D, .layers = 1, .level_count = 1};
    if (line) {
        (void)sg_texels_format(resource->res.linear.format, resource->res.linear.numChannels,
                               texels);
        *level = (struct sg_level){
            .base = resource->res.linear.devPtr,
            .width = (uint32_t)(resource->res.linear.sizeInBytes / sg_texel_bytes(texels)),
            .height = 1,
            .depth = 1};
    } else {
        (void)sg_texels_format(resource->res.pitch2D.format, resource->res.pitch2D.numChannels,
                               texels);
        *level = (struct sg_level){.base = resource->res.pitch2D.devPtr,
                                   .row_bytes = resource->res.pitch2D.pitchInBytes,
                                   .width = (uint32_t)resource->res.pitch2D.width,
                                   .height = (uint32_t)resource->res.pitch2D.height,
                                   .depth = 1};
    }
}

/* Restricts the texels to levels and layers, in another format. */
static void view_texels(const CUDA_RESOURCE_VIEW_DESC *view, struct sg_texels *texels)
{
    CUarray_format format;
    unsigned channels;
    if (front_view_format(view->format, &format, &channels)) {
        (void)sg_texels_format(format, channels, texels);
    }
    texels->level_count = view->lastMipmapLevel - view->firstMipmapLevel + 1;
    for (uint32_t i = 0; i < texels->level_count; i++) {
        texels->levels[i] = texels->levels[view->firstMipmapLevel + i];
        texels->levels[i].base += view->firstLayer * texels->levels[i].slice_bytes;
    }
    if (texels->shape == SG_SHAPE_1D_LAYERED || texels->shape == SG_SHAPE_2D_LAYERED ||
        texels->shape == SG_SHAPE_CUBE_LAYERED) {
        texels->layers = view->lastLayer - view->firstLayer + 1;
    }
}

static void texels_of(const struct front_sampled *what, struct sg_texels *texels)
{
    const CUDA_RESOURCE_DESC *resource = &what->resource;
    if (resource->resType == CU_RESOURCE_TYPE_ARRAY) {
        *texels = sg_array_find(resource->res.array.hArray)->texels;
    } else if (resource->resType == CU_RESOURCE_TYPE_MIPMAPPED_ARRAY) {
        *texels = sg_array_find_mipmap(resource->res.mipmap.hMipmappedArray)->texels;
    } else {
        linear_texels(resource, texels);
    }
    if (what->viewed) {
        view_texels(&what->view, texels);
    }
}

static void sampler_of(const struct front_sampled *what, struct sg_sampler *sampler)
{
    const CUDA_TEXTURE_DESC *said = &what->texture;
    bool line = what->resource.resType == CU_RESOURCE_TYPE_LINEAR;
    *sampler = (struct sg_sampler){.linear = !line && said->filterMode == CU_TR_FILTER_MODE_LINEAR,
                                   .normalised_coordinates =
                                       !line && (said->flags & CU_TRSF_NORMALIZED_COORDINATES) != 0,
                                   .read_integer = (said->flags & CU_TRSF_READ_AS_INTEGER) != 0,
                                   .srgb = (said->flags & CU_TRSF_SRGB) != 0,
                                   .mip_linear = said->mipmapFilterMode == CU_TR_FILTER_MODE_LINEAR,
                                   .seamless = (said->flags & CU_TRSF_SEAMLESS_CUBEMAP) != 0,
                                   .mip_bias = said->mipmapLevelBias,
                                   .mip_min = said->minMipmapLevelClamp,
                                   .mip_max = said->maxMipmapLevelClamp};
    for (unsigned i = 0; i < 3; i++) {
        sampler->address[i] = (enum sg_address_mode)said->addressMode[i];
    }
    for (unsigned i = 0; i < 4; i++) {
        sampler->border[i] = said->borderColor[i];
    }
}

/* ---- life */

static void sampled_free(struct sg_sampled *sampled)
{
    (void)sg_objects_remove(sampled->context->objects, sampled->by_handle.number);
    ga_list_remove(&sampled->in_context);
    free(sampled);
}

/* Frees the objects whose last user has finished. */
static void reap(struct sg_context *context)
{
    ga_list_each (at, next, &context->sampled_destroyed) {
        struct sg_sampled *sampled = ga_container(at, struct sg_sampled, in_context);
        bool used = false;
        ga_list_each (stream, next_stream, &context->streams) {
            used = used || sg_stream_older(ga_container(stream, struct sg_stream, in_context),
                                           sampled->destroyed + 1);
        }
        if (!used) {
            sampled_free(sampled);
        }
    }
}

static CUresult object_result(enum ga_status status)
{
    switch (status) {
    case GA_OK:
        return CUDA_SUCCESS;
    case GA_INVALID:
        return CUDA_ERROR_INVALID_VALUE;
    case GA_DENIED:
        return CUDA_ERROR_ALREADY_ACQUIRED;
    default:
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
}

CUresult sg_sampled_make(struct sg_context *context, const struct front_sampled *what,
                         uint64_t place, uint64_t *handle)
{
    struct sg_object object = {.kind = what->surface ? SG_OBJECT_SURFACE : SG_OBJECT_TEXTURE};
    reap(context);
    struct sg_sampled *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    texels_of(what, &object.texels);
    sampler_of(what, &object.sampler);
    uint64_t number = place;
    CUresult rc = object_result(place == 0 ? sg_objects_add(context->objects, &object, &number)
                                           : sg_objects_place(context->objects, &object, place));
    if (rc != CUDA_SUCCESS) {
        free(made);
        return rc;
    }
    made->context = context;
    made->what = *what;
    *handle = number;
    ga_number_map_add(&context->sampled_by_handle, &made->by_handle, number);
    ga_list_append(&context->sampled, &made->in_context);
    return CUDA_SUCCESS;
}

struct sg_sampled *sg_sampled_find(struct sg_context *context, uint64_t handle, bool surface)
{
    struct ga_number_node *node = ga_number_map_find(&context->sampled_by_handle, handle);
    struct sg_sampled *found =
        node != NULL ? ga_container(node, struct sg_sampled, by_handle) : NULL;
    return found != NULL && found->what.surface == surface ? found : NULL;
}

void sg_sampled_destroy(struct sg_sampled *sampled)
{
    struct sg_context *context = sampled->context;
    ga_number_map_remove(&context->sampled_by_handle, &sampled->by_handle);
    ga_list_remove(&sampled->in_context);
    sampled->destroyed = sg_process.sequence;
    ga_list_append(&context->sampled_destroyed, &sampled->in_context);
    reap(context);
}

static void free_all(struct ga_list *list)
{
    while (!ga_list_empty(list)) {
        struct sg_sampled *sampled = ga_container(list->next, struct sg_sampled, in_context);
        ga_number_map_remove(&sampled->context->sampled_by_handle, &sampled->by_handle);
        sampled_free(sampled);
    }
}

void sg_sampled_drop_context(struct sg_context *context)
{
    free_all(&context->sampled);
    free_all(&context->sampled_destroyed);
}
