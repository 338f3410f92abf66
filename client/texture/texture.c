/* SPDX-License-Identifier: Apache-2.0 */
/* Texture and surface objects. The program gets the driver's handle, because kernels do; between
 * client and server the object has one of ours, so that the server knows whose it is. */
#include "client/texture/texture.h"

#include <string.h>

#include "api/calls.h"
#include "api/client_calls.h"
#include "client/call/call.h"
#include "client/context/context.h"
#include "client/context/object.h"
#include "client/memory/address.h"
#include "client/session/session.h"
#include "client/texture/array.h"
#include "front/front.h"

/* ---- which there are */

static struct client_sampled *sampled_find(struct client_context *context, uint64_t number,
                                           bool surface)
{
    pthread_mutex_lock(&client_state_lock);
    struct ga_number_node *node = ga_number_map_find(&context->sampled, number);
    pthread_mutex_unlock(&client_state_lock);
    struct client_sampled *found =
        node != NULL ? ga_container(node, struct client_sampled, by_number) : NULL;
    return found != NULL && found->what.surface == surface ? found : NULL;
}

static void sampled_release(void *at)
{
    struct client_sampled *sampled = at;
    pthread_mutex_lock(&client_state_lock);
    ga_number_map_remove(&sampled->object.context->sampled, &sampled->by_number);
    pthread_mutex_unlock(&client_state_lock);
}

const struct client_object_type client_sampled_type = {.bytes = sizeof(struct client_sampled),
                                                       .release = sampled_release};

CUresult client_sampled_of(uint64_t handle, bool surface, struct front_sampled *sampled)
{
    struct client_call call;
    CU_TRY(client_call_enter(&call, API_OP_ga_texture_create));
    const struct client_sampled *found = sampled_find(call.context, handle, surface);
    if (found == NULL) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    *sampled = found->what;
    return CUDA_SUCCESS;
}

/* ---- making */

/* The arrays of a resource, if they are of this context. */
static struct front_backing backing_of(const struct client_context *context,
                                       const CUDA_RESOURCE_DESC *resource)
{
    struct front_backing backing = {NULL, NULL};
    const struct client_array *found;
    if (resource != NULL && resource->resType == CU_RESOURCE_TYPE_ARRAY) {
        found =
            client_object_find(GA_HANDLE_ARRAY, (uint64_t)(uintptr_t)resource->res.array.hArray);
        backing.array = found != NULL && found->object.context == context ? &found->front : NULL;
    } else if (resource != NULL && resource->resType == CU_RESOURCE_TYPE_MIPMAPPED_ARRAY) {
        found = client_object_find(GA_HANDLE_MIPMAP,
                                   (uint64_t)(uintptr_t)resource->res.mipmap.hMipmappedArray);
        backing.mipmap = found != NULL && found->object.context == context ? &found->front : NULL;
    }
    return backing;
}

static CUresult memory_check(const struct client_context *context,
                             const CUDA_RESOURCE_DESC *resource)
{
    struct client_session *session;
    uint64_t start, bytes;
    front_texture_memory(resource, &start, &bytes);
    if (bytes == 0) {
        return CUDA_SUCCESS;
    }
    CUresult rc = client_memory_check(start, bytes, &session);
    return rc == CUDA_SUCCESS && session != context->session ? CUDA_ERROR_INVALID_VALUE : rc;
}

static void resource_fill(const CUDA_RESOURCE_DESC *resource, struct ga_texture_create_args *args)
{
    args->resource = resource->resType;
    switch (resource->resType) {
    case CU_RESOURCE_TYPE_ARRAY:
        args->source = (uint64_t)(uintptr_t)resource->res.array.hArray;
        break;
    case CU_RESOURCE_TYPE_MIPMAPPED_ARRAY:
        args->source = (uint64_t)(uintptr_t)resource->res.mipmap.hMipmappedArray;
        break;
    case CU_RESOURCE_TYPE_LINEAR:
        args->source = resource->res.linear.devPtr;
        args->format = resource->res.linear.format;
        args->channels = resource->res.linear.numChannels;
        args->width = resource->res.linear.sizeInBytes;
        break;
    case CU_RESOURCE_TYPE_PITCH2D:
        args->source = resource->res.pitch2D.devPtr;
        args->format = resource->res.pitch2D.format;
        args->channels = resource->res.pitch2D.numChannels;
        args->width = resource->res.pitch2D.width;
        args->height = resource->res.pitch2D.height;
        args->pitch = resource->res.pitch2D.pitchInBytes;
        break;
    }
}

static void texture_fill(const CUDA_TEXTURE_DESC *texture, struct ga_texture_create_args *args)
{
    const float mip[3] = {texture->mipmapLevelBias, texture->minMipmapLevelClamp,
                          texture->maxMipmapLevelClamp};
    for (unsigned i = 0; i < 3; i++) {
        args->mode[i] = texture->addressMode[i];
    }
    args->filter = texture->filterMode;
    args->flags = texture->flags;
    args->anisotropy = texture->maxAnisotropy;
    args->mip_filter = texture->mipmapFilterMode;
    memcpy(args->mip, mip, sizeof args->mip);
    memcpy(args->border, texture->borderColor, sizeof args->border);
}

static void view_fill(const CUDA_RESOURCE_VIEW_DESC *view, struct ga_texture_create_args *args)
{
    args->viewed = 1;
    args->view_format = view->format;
    args->view_size[0] = view->width;
    args->view_size[1] = view->height;
    args->view_size[2] = view->depth;
    args->view_levels[0] = view->firstMipmapLevel;
    args->view_levels[1] = view->lastMipmapLevel;
    args->view_layers[0] = view->firstLayer;
    args->view_layers[1] = view->lastLayer;
}

static CUresult ask_texture(struct client_call *call, uint64_t texture,
                            const struct front_sampled *what, uint64_t *number)
{
    struct ga_texture_create_args args = {.texture = texture};
    resource_fill(&what->resource, &args);
    texture_fill(&what->texture, &args);
    if (what->viewed) {
        view_fill(&what->view, &args);
    }
    call->op = API_OP_ga_texture_create;
    struct ga_texture_create_results results = {0};
    CUresult rc;
    rc = client_wait_ga_texture_create(call, &args, true, &results);
    *number = results.number;
    return rc;
}

static CUresult ask_surface(struct client_call *call, uint64_t texture,
                            const struct front_sampled *what, uint64_t *number)
{
    struct ga_surface_create_args args = {
        .texture = texture, .array = (uint64_t)(uintptr_t)what->resource.res.array.hArray};
    call->op = API_OP_ga_surface_create;
    struct ga_surface_create_results results = {0};
    CUresult rc;
    rc = client_wait_ga_surface_create(call, &args, true, &results);
    *number = results.number;
    return rc;
}

static CUresult texture_create(struct client_call *call, const struct front_sampled *what,
                               uint64_t *out)
{
    uint64_t number;
    struct client_sampled *sampled = client_object_make(GA_HANDLE_TEXTURE, call->context);
    if (sampled == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    sampled->what = *what;
    CUresult rc = what->surface ? ask_surface(call, sampled->object.handle, what, &number)
                                : ask_texture(call, sampled->object.handle, what, &number);
    if (rc != CUDA_SUCCESS) {
        client_object_drop(sampled);
        return rc;
    }
    pthread_mutex_lock(&client_state_lock);
    ga_number_map_add(&call->context->sampled, &sampled->by_number, number);
    pthread_mutex_unlock(&client_state_lock);
    *out = number;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuTexObjectCreate(CUtexObject *pTexObject, const CUDA_RESOURCE_DESC *pResDesc,
                                   const CUDA_TEXTURE_DESC *pTexDesc,
                                   const CUDA_RESOURCE_VIEW_DESC *pResViewDesc)
{
    struct client_call call;
    struct front_sampled what;
    uint64_t number;
    CU_TRY(client_call_enter(&call, API_OP_ga_texture_create));
    if (pTexObject == NULL) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    const struct front_backing backing = backing_of(call.context, pResDesc);
    CU_TRY(front_texture_read(call.context->device->ordinal, pResDesc, pTexDesc, pResViewDesc,
                              &backing, &what));
    CU_TRY(memory_check(call.context, pResDesc));
    CU_TRY(texture_create(&call, &what, &number));
    *pTexObject = number;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuSurfObjectCreate(CUsurfObject *pSurfObject, const CUDA_RESOURCE_DESC *pResDesc)
{
    struct client_call call;
    struct front_sampled what;
    uint64_t number;
    CU_TRY(client_call_enter(&call, API_OP_ga_surface_create));
    if (pSurfObject == NULL) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    const struct front_backing backing = backing_of(call.context, pResDesc);
    CU_TRY(front_surface_read(pResDesc, &backing, &what));
    CU_TRY(texture_create(&call, &what, &number));
    *pSurfObject = number;
    return CUDA_SUCCESS;
}

/* ---- the end */

static CUresult texture_destroy(uint64_t number, bool surface)
{
    struct client_call call;
    CUresult rc = client_call_enter(&call, API_OP_ga_texture_destroy);
    if (rc != CUDA_SUCCESS || client_call_exiting() || number == 0) {
        return rc; /* to destroy none is no mistake */
    }
    struct client_sampled *found = sampled_find(call.context, number, surface);
    if (found == NULL) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    const struct ga_texture_destroy_args args = {.texture = found->object.handle};
    CU_TRY(client_post_ga_texture_destroy(&call, &args));
    client_object_drop(found);
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuTexObjectDestroy(CUtexObject texObject)
{
    return texture_destroy(texObject, false);
}

CUresult CUDAAPI cuSurfObjectDestroy(CUsurfObject surfObject)
{
    return texture_destroy(surfObject, true);
}
