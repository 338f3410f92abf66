/* SPDX-License-Identifier: Apache-2.0 */
/* Texture and surface objects. Kernels use the driver's handles, which are answered to the client;
 * a call that names an object does so by the client's handle, so that none reaches another's. */
#include "server/calls/texture.h"

#include <stdlib.h>
#include <string.h>

#include "api/calls.h"
#include "api/server_dispatch.h"
#include "server/app/app.h"
#include "server/app/current_context.h"
#include "server/objects/handles.h"

/* ---- making */

static CUresult resource_array(struct server_app *app, uint64_t source, CUDA_RESOURCE_DESC *to)
{
    const struct server_array *array = ga_handle_table_find(&app->objects.arrays, source);
    if (array == NULL) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    to->resType = CU_RESOURCE_TYPE_ARRAY;
    to->res.array.hArray = array->array;
    return CUDA_SUCCESS;
}

static CUresult resource_read(struct server_app *app, const struct ga_texture_create_args *args,
                              CUDA_RESOURCE_DESC *to)
{
    const struct server_array *mipmap;
    uint64_t bytes;
    memset(to, 0, sizeof *to);
    to->resType = (CUresourcetype)args->resource;
    switch (args->resource) {
    case CU_RESOURCE_TYPE_ARRAY:
        return resource_array(app, args->source, to);
    case CU_RESOURCE_TYPE_MIPMAPPED_ARRAY:
        mipmap = ga_handle_table_find(&app->objects.mipmaps, args->source);
        to->res.mipmap.hMipmappedArray = mipmap != NULL ? mipmap->mipmap : NULL;
        return mipmap != NULL ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    case CU_RESOURCE_TYPE_LINEAR:
        to->res.linear.devPtr = args->source;
        to->res.linear.format = (CUarray_format)args->format;
        to->res.linear.numChannels = args->channels;
        to->res.linear.sizeInBytes = args->width;
        /* Its first byte: the size may be more than there is (front_texture_memory). */
        return server_range_check(app, args->source, 1);
    case CU_RESOURCE_TYPE_PITCH2D:
        to->res.pitch2D.devPtr = args->source;
        to->res.pitch2D.format = (CUarray_format)args->format;
        to->res.pitch2D.numChannels = args->channels;
        to->res.pitch2D.width = args->width;
        to->res.pitch2D.height = args->height;
        to->res.pitch2D.pitchInBytes = args->pitch;
        /* Whole rows but for the last one, whose elements the driver measures: its first byte. */
        if (args->height == 0 || __builtin_mul_overflow(args->height - 1, args->pitch, &bytes)) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        return server_range_check(app, args->source, bytes + 1);
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
}

static CUDA_TEXTURE_DESC texture_read(const struct ga_texture_create_args *args)
{
    CUDA_TEXTURE_DESC texture = {.filterMode = (CUfilter_mode)args->filter,
                                 .flags = args->flags,
                                 .maxAnisotropy = args->anisotropy,
                                 .mipmapFilterMode = (CUfilter_mode)args->mip_filter};
    float mip[3];
    memcpy(mip, args->mip, sizeof mip);
    texture.mipmapLevelBias = mip[0];
    texture.minMipmapLevelClamp = mip[1];
    texture.maxMipmapLevelClamp = mip[2];
    memcpy(texture.borderColor, args->border, sizeof texture.borderColor);
    for (unsigned i = 0; i < 3; i++) {
        texture.addressMode[i] = (CUaddress_mode)args->mode[i];
    }
    return texture;
}

static CUDA_RESOURCE_VIEW_DESC view_read(const struct ga_texture_create_args *args)
{
    return (CUDA_RESOURCE_VIEW_DESC){.format = (CUresourceViewFormat)args->view_format,
                                     .width = args->view_size[0],
                                     .height = args->view_size[1],
                                     .depth = args->view_size[2],
                                     .firstMipmapLevel = args->view_levels[0],
                                     .lastMipmapLevel = args->view_levels[1],
                                     .firstLayer = args->view_layers[0],
                                     .lastLayer = args->view_layers[1]};
}

CUresult texture_real_destroy(struct server_app *app, bool surface, uint64_t real)
{
    return surface ? app->driver->cuSurfObjectDestroy(real) : app->driver->cuTexObjectDestroy(real);
}

static CUresult texture_put(struct server_app *app, uint64_t handle, bool surface, uint64_t real,
                            uint64_t source)
{
    struct server_texture *texture = calloc(1, sizeof *texture);
    enum ga_status status = GA_NO_MEMORY;
    if (texture != NULL) {
        *texture = (struct server_texture){.context = app->current,
                                           .handle = handle,
                                           .surface = surface,
                                           .real = real,
                                           .source = source};
        status = ga_handle_table_take(&app->objects.textures, handle, texture);
    }
    if (status != GA_OK) {
        free(texture);
        (void)texture_real_destroy(app, surface, real);
        return status == GA_INVALID ? CUDA_ERROR_INVALID_HANDLE : CUDA_ERROR_OUT_OF_MEMORY;
    }
    ga_list_append(&app->current->textures, &texture->link);
    return CUDA_SUCCESS;
}

CUresult server_do_ga_texture_create(struct server_app *app,
                                     const struct ga_texture_create_args *args,
                                     struct ga_texture_create_results *results)
{
    CUDA_RESOURCE_DESC resource;
    CUtexObject real = 0;
    if (app->current == NULL) {
        return CUDA_ERROR_INVALID_CONTEXT;
    }
    CU_TRY(resource_read(app, args, &resource));
    const CUDA_TEXTURE_DESC texture = texture_read(args);
    const CUDA_RESOURCE_VIEW_DESC view = view_read(args);
    CU_TRY(app->driver->cuTexObjectCreate(&real, &resource, &texture,
                                          args->viewed != 0 ? &view : NULL));
    results->number = real;
    bool of_array = args->resource == CU_RESOURCE_TYPE_ARRAY ||
                    args->resource == CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
    return texture_put(app, args->texture, false, real, of_array ? args->source : 0);
}

CUresult server_do_ga_surface_create(struct server_app *app,
                                     const struct ga_surface_create_args *args,
                                     struct ga_surface_create_results *results)
{
    CUDA_RESOURCE_DESC resource = {0};
    CUsurfObject real = 0;
    if (app->current == NULL) {
        return CUDA_ERROR_INVALID_CONTEXT;
    }
    CU_TRY(resource_array(app, args->array, &resource));
    CU_TRY(app->driver->cuSurfObjectCreate(&real, &resource));
    results->number = real;
    return texture_put(app, args->texture, true, real, args->array);
}

/* ---- the end */

CUresult texture_free(struct server_app *app, struct server_texture *texture)
{
    (void)ga_handle_table_remove(&app->objects.textures, texture->handle);
    ga_list_remove(&texture->link);
    CUresult rc = texture->real != 0 ? texture_real_destroy(app, texture->surface, texture->real)
                                     : CUDA_SUCCESS;
    free(texture);
    return rc;
}

CUresult server_do_ga_texture_destroy(struct server_app *app,
                                      const struct ga_texture_destroy_args *args)
{
    struct server_texture *texture = ga_handle_table_find(&app->objects.textures, args->texture);
    if (texture == NULL) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    context_apply(app, texture->context);
    CUresult rc = texture_free(app, texture);
    context_apply(app, app->current);
    return rc;
}
