/* SPDX-License-Identifier: Apache-2.0 */
/* Textures and surfaces, which get the numbers they had: kernels hold them. */
#include "api/driver_places.h"
#include "server/calls/texture.h"
#include "server/rebuild/rebuild_state.h"

/* All that the driver tells. */
struct texture_facts {
    CUDA_RESOURCE_DESC resource;
    CUDA_TEXTURE_DESC texture;
    CUDA_RESOURCE_VIEW_DESC view;
    bool viewed;
};

static CUresult texture_read(const struct cuda_driver *driver, const struct server_texture *texture,
                             struct texture_facts *facts)
{
    *facts = (struct texture_facts){.viewed = false};
    if (texture->surface) {
        return driver->cuSurfObjectGetResourceDesc(&facts->resource, texture->real);
    }
    CU_TRY(driver->cuTexObjectGetResourceDesc(&facts->resource, texture->real));
    CU_TRY(driver->cuTexObjectGetTextureDesc(&facts->texture, texture->real));
    facts->viewed =
        driver->cuTexObjectGetResourceViewDesc(&facts->view, texture->real) == CUDA_SUCCESS &&
        facts->view.format != CU_RES_VIEW_FORMAT_NONE;
    return CUDA_SUCCESS;
}

void rebuild_textures_down(struct rebuild *rebuild, struct server_context *context)
{
    struct server_app *app = rebuild->app;
    ga_list_each (at, next, &context->textures) {
        const struct server_texture *texture = ga_container(at, struct server_texture, link);
        struct texture_facts facts;
        if (texture->real == 0) {
            continue;
        }
        CUresult rc = texture_read(app->driver, texture, &facts);
        if (rc == CUDA_SUCCESS && !saved_put(&rebuild->textures, &facts, sizeof facts)) {
            rc = CUDA_ERROR_OUT_OF_MEMORY;
        }
        (void)rebuild_check(rebuild, rc, "the facts of a texture");
        rc = texture_real_destroy(app, texture->surface, texture->real);
        (void)rebuild_check(rebuild, rc, "a texture");
    }
}

/* Its array is another one of the driver now. False: the program has destroyed it. */
static bool array_replace(struct server_app *app, const struct server_texture *texture,
                          CUDA_RESOURCE_DESC *resource)
{
    const struct server_array *array;
    switch (resource->resType) {
    case CU_RESOURCE_TYPE_ARRAY:
        array = ga_handle_table_find(&app->objects.arrays, texture->source);
        resource->res.array.hArray = array != NULL ? array->array : NULL;
        return array != NULL;
    case CU_RESOURCE_TYPE_MIPMAPPED_ARRAY:
        array = ga_handle_table_find(&app->objects.mipmaps, texture->source);
        resource->res.mipmap.hMipmappedArray = array != NULL ? array->mipmap : NULL;
        return array != NULL;
    default:
        return true;
    }
}

static CUresult texture_make(struct rebuild *rebuild, const struct server_texture *texture,
                             const struct texture_facts *facts)
{
    const struct cuda_driver *driver = rebuild->app->driver;
    unsigned long long real = 0;
    CU_TRY((CUresult)rebuild->places->object_place(texture->real));
    CUresult rc = texture->surface
                      ? driver->cuSurfObjectCreate(&real, &facts->resource)
                      : driver->cuTexObjectCreate(&real, &facts->resource, &facts->texture,
                                                  facts->viewed ? &facts->view : NULL);
    return rc == CUDA_SUCCESS && real != texture->real ? CUDA_ERROR_INVALID_HANDLE : rc;
}

/* One whose array is gone may be destroyed, but no kernel may use it: it is not made again. */
void rebuild_textures_up(struct rebuild *rebuild, struct server_context *context)
{
    ga_list_each (at, next, &context->textures) {
        struct server_texture *texture = ga_container(at, struct server_texture, link);
        struct texture_facts facts;
        if (texture->real == 0) {
            continue;
        }
        if (!saved_take(&rebuild->textures, &facts, sizeof facts)) {
            (void)rebuild_check(rebuild, CUDA_ERROR_INVALID_VALUE, "a texture");
            return;
        }
        if (!array_replace(rebuild->app, texture, &facts.resource)) {
            texture->real = 0;
            continue;
        }
        (void)rebuild_check(rebuild, texture_make(rebuild, texture, &facts), "a texture");
    }
}
