/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays and mipmapped arrays. */
#include "server/calls/array.h"

#include <stdlib.h>

#include "api/calls.h"
#include "api/extent.h"
#include "api/range.h"
#include "api/server_dispatch.h"
#include "server/app/carrier.h"
#include "server/app/current_context.h"
#include "server/conn/conn.h"
#include "server/conn/reply.h"
#include "server/objects/contexts.h"
#include "server/objects/mapped_memory.h"
#include "server/objects/scrub.h"

static struct ga_handle_table *table_of(struct server_app *app, uint64_t handle)
{
    return ga_handle_type_of(handle) == GA_HANDLE_MIPMAP ? &app->objects.mipmaps
                                                         : &app->objects.arrays;
}

/* ---- its memory */

/* No channel of other formats has more. */
static uint64_t channel_bytes(CUarray_format format)
{
    switch ((int)format) {
    case CU_AD_FORMAT_UNSIGNED_INT8:
    case CU_AD_FORMAT_SIGNED_INT8:
        return 1;
    case CU_AD_FORMAT_UNSIGNED_INT16:
    case CU_AD_FORMAT_SIGNED_INT16:
    case CU_AD_FORMAT_HALF:
        return 2;
    default:
        return 4;
    }
}

uint64_t array_element_bytes(const CUDA_ARRAY3D_DESCRIPTOR *shape)
{
    return channel_bytes(shape->Format) * shape->NumChannels;
}

/* Rows are whole units of so many bytes; where there are several, they come in groups. */
#define ROW_BYTES 64u
#define ROW_GROUP 8u

static uint64_t round_to(uint64_t value, uint64_t unit)
{
    return value > UINT64_MAX - unit ? UINT64_MAX : (value + unit - 1) / unit * unit;
}

/* The bytes of all levels, by estimate: GPUs lay texels out in such blocks. */
static uint64_t array_bytes(const CUDA_ARRAY3D_DESCRIPTOR *shape, uint32_t levels)
{
    uint64_t all = 0;
    bool layers = (shape->Flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP)) != 0;
    for (uint32_t level = 0; level < (levels != 0 ? levels : 1) && level < 64; level++) {
        uint64_t width = shape->Width >> level, height = shape->Height >> level;
        uint64_t depth = layers ? shape->Depth : shape->Depth >> level;
        uint64_t bytes = array_element_bytes(shape);
        bytes = round_to(api_range_times(bytes, width != 0 ? width : 1), ROW_BYTES);
        bytes = api_range_times(bytes, height > 1 ? round_to(height, ROW_GROUP) : 1);
        bytes = round_to(api_range_times(bytes, depth != 0 ? depth : 1), API_EXTENT_UNIT);
        all = bytes < UINT64_MAX - all ? all + bytes : UINT64_MAX;
    }
    return api_extent(all);
}

/* ---- making */

static CUresult real_create(struct server_app *app, const CUDA_ARRAY3D_DESCRIPTOR *shape,
                            uint32_t levels, struct server_array *array)
{
    uint64_t bytes = array_bytes(shape, levels);
    const struct server_session *session = app->current->session;
    CU_TRY(memory_charge(app, session, bytes));
    CUresult rc = levels != 0 ? app->driver->cuMipmappedArrayCreate(&array->mipmap, shape, levels)
                              : app->driver->cuArray3DCreate_v2(&array->array, shape);
    memory_answered(app, session, bytes, rc);
    if (rc != CUDA_SUCCESS) {
        ledger_return_device(app->ledger, session->gpu, bytes);
        return rc;
    }
    array->gpu = session->gpu;
    array->bytes = bytes;
    array->made_from = (struct made_array){.shape = *shape, .levels = levels};
    return CUDA_SUCCESS;
}

static CUresult array_scrub(struct server_app *app, const struct server_array *array)
{
    const CUDA_ARRAY3D_DESCRIPTOR *shape = &array->made_from.shape;
    return scrub_array(app, array, channel_bytes(shape->Format) * shape->NumChannels);
}

static CUresult array_destroy(const struct cuda_driver *driver, uint64_t array)
{
    return driver->cuArrayDestroy((CUarray)(uintptr_t)array);
}

static CUresult mipmap_destroy(const struct cuda_driver *driver, uint64_t mipmap)
{
    return driver->cuMipmappedArrayDestroy((CUmipmappedArray)(uintptr_t)mipmap);
}

static struct waiting_call destroying(const struct server_array *array)
{
    return array->mipmap != NULL
               ? (struct waiting_call){.make = mipmap_destroy,
                                       .object = (uint64_t)(uintptr_t)array->mipmap}
               : (struct waiting_call){.make = array_destroy,
                                       .object = (uint64_t)(uintptr_t)array->array};
}

static void array_gone(struct server_app *app, struct completer_entry *entry)
{
    ledger_return_device(app->ledger, (uint32_t)entry->job_values[0], entry->job_values[1]);
}

/* One that was made just now; no work uses it, but the driver may wait for all the same. */
static void array_unmake(struct server_app *app, struct server_context *context,
                         const struct server_array *array)
{
    struct completer_entry *entry =
        array->whole != 0 ? NULL : server_entry_make(app, COMPLETER_JOB);
    if (entry != NULL) {
        entry->waits = destroying(array);
        entry->job = array_gone;
        entry->job_values[0] = array->gpu;
        entry->job_values[1] = array->bytes;
        waiting_call_make(app, context, entry);
    }
}

/* Takes the array over, under the client's handle; or destroys it. */
static CUresult array_put(struct server_app *app, uint64_t handle, struct server_context *context,
                          struct server_array *array)
{
    enum ga_status status = ga_handle_table_take(table_of(app, handle), handle, array);
    if (status != GA_OK) {
        array_unmake(app, context, array);
        free(array);
        return status == GA_INVALID ? CUDA_ERROR_INVALID_HANDLE : CUDA_ERROR_OUT_OF_MEMORY;
    }
    array->handle = handle;
    array->context = context;
    ga_list_append(&context->arrays, &array->link);
    return CUDA_SUCCESS;
}

/* `levels` 0: an array, else a mipmapped one. */
static CUresult array_create(struct server_app *app, uint64_t handle,
                             const CUDA_ARRAY3D_DESCRIPTOR *shape, uint32_t levels)
{
    if (app->current == NULL) {
        return CUDA_ERROR_INVALID_CONTEXT;
    }
    if (ga_handle_type_of(handle) != (levels != 0 ? GA_HANDLE_MIPMAP : GA_HANDLE_ARRAY)) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    struct server_array *array = calloc(1, sizeof *array);
    if (array == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    CUresult rc = real_create(app, shape, levels, array);
    if (rc == CUDA_SUCCESS) {
        rc = array_scrub(app, array);
        if (rc != CUDA_SUCCESS) {
            array_unmake(app, app->current, array);
        }
    }
    if (rc != CUDA_SUCCESS) {
        free(array);
        return rc;
    }
    return array_put(app, handle, app->current, array);
}

/* The shape in the arguments of either call */
#define SHAPE_OF(args)                                                                             \
    {                                                                                              \
        .Width = (args)->width, .Height = (args)->height, .Depth = (args)->depth,                  \
        .Format = (CUarray_format)(args)->format, .NumChannels = (args)->channels,                 \
        .Flags = (args)->flags                                                                     \
    }

CUresult server_do_ga_array_create(struct server_app *app, const struct ga_array_create_args *args)
{
    const CUDA_ARRAY3D_DESCRIPTOR shape = SHAPE_OF(args);
    return array_create(app, args->array, &shape, 0);
}

CUresult server_do_ga_mipmap_create(struct server_app *app,
                                    const struct ga_mipmap_create_args *args)
{
    const CUDA_ARRAY3D_DESCRIPTOR shape = SHAPE_OF(args);
    return args->levels != 0 ? array_create(app, args->mipmap, &shape, args->levels)
                             : CUDA_ERROR_INVALID_VALUE;
}

CUresult server_do_ga_array_level(struct server_app *app, const struct ga_array_level_args *args)
{
    const struct server_array *whole = ga_handle_table_find(&app->objects.mipmaps, args->mipmap);
    if (whole == NULL || ga_handle_type_of(args->array) != GA_HANDLE_ARRAY) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    struct server_array *array = calloc(1, sizeof *array);
    if (array == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    CUresult rc = app->driver->cuMipmappedArrayGetLevel(&array->array, whole->mipmap, args->level);
    if (rc != CUDA_SUCCESS) {
        free(array);
        return rc;
    }
    array->whole = whole->handle;
    array->made_from.level = args->level;
    return array_put(app, args->array, whole->context, array);
}

/* ---- the end */

/* From now on its handle means nothing, nor do those of its levels. */
static void array_forget(struct server_app *app, struct server_array *array)
{
    if (array->mipmap != NULL) {
        ga_list_each (at, next, &array->context->arrays) {
            struct server_array *level = ga_container(at, struct server_array, link);
            if (level->whole == array->handle) {
                (void)ga_handle_table_remove(&app->objects.arrays, level->handle);
                ga_list_remove(&level->link);
                free(level);
            }
        }
    }
    (void)ga_handle_table_remove(table_of(app, array->handle), array->handle);
    array->leaving = true;
}

CUresult array_free(struct server_app *app, struct server_array *array)
{
    if (!array->leaving) {
        array_forget(app, array);
    }
    ga_list_remove(&array->link);
    CUresult rc = CUDA_SUCCESS;
    if (array->whole == 0) { /* a level goes with the whole */
        const struct waiting_call destroy = destroying(array);
        app->carrier->flush(app);
        rc = destroy.make(app->driver, destroy.object);
        ledger_return_device(app->ledger, array->gpu, array->bytes);
    }
    free(array);
    return rc;
}

static void destroyed(struct server_app *app, struct completer_entry *entry)
{
    const struct wire_header header = {.session = entry->session, .sequence = entry->sequence};
    array_gone(app, entry);
    server_reply(app, &header, entry->rc);
}

static struct server_array *leaving_find(const struct server_context *context, uint64_t handle)
{
    ga_list_each (at, next, &context->arrays) {
        struct server_array *array = ga_container(at, struct server_array, link);
        if (array->leaving && array->handle == handle) {
            return array;
        }
    }
    return NULL;
}

/* The work that was there when the client destroyed it is done. The context may have ended since,
 * and the array with it. */
static void destroy_later(struct server_app *app, struct completer_entry *entry)
{
    const struct wire_header header = {.session = entry->session, .sequence = entry->sequence};
    struct server_context *context =
        ga_handle_table_find(&app->objects.contexts, entry->job_values[0]);
    struct server_array *array =
        context != NULL ? leaving_find(context, entry->job_values[1]) : NULL;
    struct completer_entry *after =
        array != NULL ? completer_entry_make(&conn_of(app)->completer, COMPLETER_JOB,
                                             entry->session, entry->sequence)
                      : NULL;
    if (after == NULL) { /* without memory for it, it stays until its context ends */
        server_reply(app, &header, array == NULL ? entry->rc : CUDA_ERROR_OUT_OF_MEMORY);
        return;
    }
    after->rc = entry->rc;
    after->waits = destroying(array);
    after->job = destroyed;
    after->job_values[0] = array->gpu;
    after->job_values[1] = array->bytes;
    ga_list_remove(&array->link);
    free(array);
    waiting_call_make(app, context, after);
}

/* The driver is asked when the work before is done, so that it waits for later work only, if for
 * any. `array` NULL: there is none. */
static CUresult destroy_after_work(struct server_app *app, struct server_array *array)
{
    if (array == NULL || array->whole != 0) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    struct completer_entry *entry = server_entry_make(app, COMPLETER_JOB);
    if (entry == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    context_apply(app, array->context);
    CUresult rc = context_mark(app, array->context, &entry->marks);
    context_apply(app, app->current);
    if (rc != CUDA_SUCCESS) {
        completer_entry_free(&conn_of(app)->completer, entry);
        return rc;
    }
    entry->job = destroy_later;
    entry->job_values[0] = array->context->handle;
    entry->job_values[1] = array->handle;
    array_forget(app, array);
    completer_add(&conn_of(app)->completer, entry);
    return SERVER_ANSWERED;
}

CUresult server_do_ga_array_destroy(struct server_app *app,
                                    const struct ga_array_destroy_args *args)
{
    return destroy_after_work(app, ga_handle_table_find(&app->objects.arrays, args->array));
}

CUresult server_do_ga_mipmap_destroy(struct server_app *app,
                                     const struct ga_mipmap_destroy_args *args)
{
    return destroy_after_work(app, ga_handle_table_find(&app->objects.mipmaps, args->mipmap));
}
