/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays and mipmapped arrays, with their contents. */
#include "server/calls/array.h"
#include "server/rebuild/rebuild_state.h"

static size_t at_least_one(size_t size)
{
    return size != 0 ? size : 1;
}

/* A copy between all of an array and packed bytes; their number. */
static size_t whole_copy(const CUDA_ARRAY3D_DESCRIPTOR *shape, CUDA_MEMCPY3D *copy)
{
    copy->WidthInBytes = shape->Width * array_element_bytes(shape);
    copy->Height = at_least_one(shape->Height);
    copy->Depth = at_least_one(shape->Depth);
    return copy->WidthInBytes * copy->Height * copy->Depth;
}

static CUresult array_contents_keep(struct rebuild *rebuild, CUarray array)
{
    const struct cuda_driver *driver = rebuild->app->driver;
    CUDA_ARRAY3D_DESCRIPTOR shape;
    CUDA_MEMCPY3D copy = {.srcMemoryType = CU_MEMORYTYPE_ARRAY,
                          .srcArray = array,
                          .dstMemoryType = CU_MEMORYTYPE_HOST};
    CU_TRY(driver->cuArray3DGetDescriptor_v2(&shape, array));
    copy.dstHost = saved_room(&rebuild->arrays, whole_copy(&shape, &copy));
    copy.dstPitch = copy.WidthInBytes;
    copy.dstHeight = copy.Height;
    return copy.dstHost != NULL ? driver->cuMemcpy3D_v2(&copy) : CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult array_contents_put(struct rebuild *rebuild, CUarray array)
{
    const struct cuda_driver *driver = rebuild->app->driver;
    CUDA_ARRAY3D_DESCRIPTOR shape;
    CUDA_MEMCPY3D copy = {.srcMemoryType = CU_MEMORYTYPE_HOST,
                          .dstMemoryType = CU_MEMORYTYPE_ARRAY,
                          .dstArray = array};
    CU_TRY(driver->cuArray3DGetDescriptor_v2(&shape, array));
    copy.srcHost = saved_look(&rebuild->arrays, whole_copy(&shape, &copy));
    copy.srcPitch = copy.WidthInBytes;
    copy.srcHeight = copy.Height;
    return copy.srcHost != NULL ? driver->cuMemcpy3D_v2(&copy) : CUDA_ERROR_INVALID_VALUE;
}

/* The contents of all its levels. */
static CUresult contents_each(struct rebuild *rebuild, const struct server_array *array,
                              CUresult (*use)(struct rebuild *, CUarray))
{
    if (array->mipmap == NULL) {
        return use(rebuild, array->array);
    }
    for (uint32_t i = 0; i < array->made_from.levels; i++) {
        CUarray level;
        CU_TRY(rebuild->app->driver->cuMipmappedArrayGetLevel(&level, array->mipmap, i));
        CU_TRY(use(rebuild, level));
    }
    return CUDA_SUCCESS;
}

void rebuild_arrays_down(struct rebuild *rebuild, struct server_context *context)
{
    const struct cuda_driver *driver = rebuild->app->driver;
    ga_list_each (at, next, &context->arrays) {
        const struct server_array *array = ga_container(at, struct server_array, link);
        if (array->whole != 0) {
            continue; /* a level goes with the whole */
        }
        CUresult rc = contents_each(rebuild, array, array_contents_keep);
        (void)rebuild_check(rebuild, rc, "the contents of an array");
        rc = array->mipmap != NULL ? driver->cuMipmappedArrayDestroy(array->mipmap)
                                   : driver->cuArrayDestroy(array->array);
        (void)rebuild_check(rebuild, rc, "an array");
    }
}

static void level_up(struct rebuild *rebuild, struct server_array *level)
{
    struct server_app *app = rebuild->app;
    const struct server_array *whole = ga_handle_table_find(&app->objects.mipmaps, level->whole);
    CUresult rc = whole != NULL ? app->driver->cuMipmappedArrayGetLevel(
                                      &level->array, whole->mipmap, level->made_from.level)
                                : CUDA_ERROR_INVALID_HANDLE;
    (void)rebuild_check(rebuild, rc, "a level of an array");
}

/* Levels come behind the whole in the list of their context, as they were made. */
void rebuild_arrays_up(struct rebuild *rebuild, struct server_context *context)
{
    const struct cuda_driver *driver = rebuild->app->driver;
    ga_list_each (at, next, &context->arrays) {
        struct server_array *array = ga_container(at, struct server_array, link);
        const struct made_array *made = &array->made_from;
        if (array->whole != 0) {
            level_up(rebuild, array);
            continue;
        }
        CUresult rc =
            array->mipmap != NULL
                ? driver->cuMipmappedArrayCreate(&array->mipmap, &made->shape, made->levels)
                : driver->cuArray3DCreate_v2(&array->array, &made->shape);
        if (rebuild_check(rebuild, rc, "an array")) {
            rc = contents_each(rebuild, array, array_contents_put);
            (void)rebuild_check(rebuild, rc, "the contents of an array");
        }
    }
}
