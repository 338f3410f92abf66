/* SPDX-License-Identifier: Apache-2.0 */
/* Copies with arrays. The driver knows how large an array is; the rest is as with linear memory. */
#include "api/calls.h"
#include "api/range.h"
#include "api/server_dispatch.h"
#include "server/calls/copy.h"
#include "server/conn/conn.h"
#include "server/conn/copy_room.h"
#include "server/meter/meter.h"
#include "server/objects/handles.h"

static CUresult array_find(struct server_app *app, uint64_t wire, CUarray *real)
{
    const struct server_array *array = ga_handle_table_find(&app->objects.arrays, wire);
    if (array == NULL) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    *real = array->array;
    return CUDA_SUCCESS;
}

/* ---- to the GPU */

static CUresult copy_in_array(struct server_app *app, const struct ga_copy_in_array_args *args,
                              const uint8_t *from)
{
    CUarray array;
    CUstream stream;
    CU_TRY(server_handle_stream(app, args->stream, &stream));
    CU_TRY(array_find(app, args->array, &array));
    const CUDA_MEMCPY3D copy = {.srcMemoryType = CU_MEMORYTYPE_HOST,
                                .srcHost = from,
                                .srcPitch = args->width,
                                .srcHeight = args->rows,
                                .dstMemoryType = CU_MEMORYTYPE_ARRAY,
                                .dstArray = array,
                                .dstXInBytes = args->x,
                                .dstY = args->y,
                                .dstZ = args->z,
                                .WidthInBytes = args->width,
                                .Height = args->rows,
                                .Depth = 1};
    if (args->width == 0 || args->rows == 0) {
        return CUDA_SUCCESS;
    }
    meter_work(&app->meter, app, API_ENGINE_H2D, args->stream);
    CUresult rc = app->driver->cuMemcpy3DAsync_v2(&copy, stream);
    meter_copied(app, API_ENGINE_H2D, args->stream, args->width * args->rows);
    return rc;
}

CUresult server_do_ga_copy_in_array(struct server_app *app,
                                    const struct ga_copy_in_array_args *args)
{
    struct conn_room room;
    CU_TRY(copy_bulk_take(app, args->stream, api_range_times(args->width, args->rows), &room));
    return copy_in_end(app, room.slot, args->stream, copy_in_array(app, args, room.at));
}

/* ---- from the GPU */

static CUresult copy_out_array(struct copy_out *copy, const struct ga_copy_out_array_args *args)
{
    CUarray array;
    CU_TRY(array_find(copy->app, args->array, &array));
    CU_TRY(copy_out_begin(copy));
    if (copy->total == 0) {
        return CUDA_SUCCESS;
    }
    if (args->width > WIRE_CHUNK) {
        return CUDA_ERROR_INVALID_VALUE; /* clients cut such rows */
    }
    uint64_t at_once = WIRE_CHUNK / args->width;
    for (uint64_t row = 0; row < args->rows; row += at_once) {
        uint64_t left = args->rows - row, rows = left < at_once ? left : at_once;
        const CUDA_MEMCPY3D slice = {.srcMemoryType = CU_MEMORYTYPE_ARRAY,
                                     .srcArray = array,
                                     .srcXInBytes = args->x,
                                     .srcY = args->y + row,
                                     .srcZ = args->z,
                                     .dstMemoryType = CU_MEMORYTYPE_HOST,
                                     .dstPitch = args->width,
                                     .dstHeight = rows,
                                     .WidthInBytes = args->width,
                                     .Height = rows,
                                     .Depth = 1};
        const struct copy_piece piece = {.slice = &slice, .bytes = rows * args->width};
        CU_TRY(copy_piece_submit(copy, &piece));
    }
    return CUDA_SUCCESS;
}

CUresult server_do_ga_copy_out_array(struct server_app *app,
                                     const struct ga_copy_out_array_args *args)
{
    struct copy_out copy = {
        .app = app, .stream_wire = args->stream, .total = api_range_times(args->width, args->rows)};
    return copy_out_end(&copy, copy_out_array(&copy, args));
}

/* ---- within the node */

/* One side of a copy, as the driver wants it. */
struct side {
    CUmemorytype type;
    CUarray array;
    CUdeviceptr address;
};

static CUresult side_find(struct server_app *app, const struct ga_copy_array_args *args,
                          uint64_t array, uint64_t address, uint64_t pitch, struct side *side)
{
    *side = (struct side){.type = CU_MEMORYTYPE_ARRAY};
    if (array != 0) {
        return array_find(app, array, &side->array);
    }
    *side = (struct side){.type = CU_MEMORYTYPE_DEVICE, .address = address};
    return server_range_check(app, address, api_range_pitched(pitch, args->width, args->rows));
}

CUresult server_do_ga_copy_array(struct server_app *app, const struct ga_copy_array_args *args)
{
    CUstream stream;
    struct side from, to;
    CU_TRY(server_handle_stream(app, args->stream, &stream));
    CU_TRY(side_find(app, args, args->src_array, args->src, args->src_pitch, &from));
    CU_TRY(side_find(app, args, args->dst_array, args->dst, args->dst_pitch, &to));
    if (args->width == 0 || args->rows == 0) {
        return CUDA_SUCCESS;
    }
    const CUDA_MEMCPY3D copy = {.srcMemoryType = from.type,
                                .srcArray = from.array,
                                .srcDevice = from.address,
                                .srcPitch = args->src_pitch,
                                .srcXInBytes = args->src_at[0],
                                .srcY = args->src_at[1],
                                .srcZ = args->src_at[2],
                                .dstMemoryType = to.type,
                                .dstArray = to.array,
                                .dstDevice = to.address,
                                .dstPitch = args->dst_pitch,
                                .dstXInBytes = args->dst_at[0],
                                .dstY = args->dst_at[1],
                                .dstZ = args->dst_at[2],
                                .WidthInBytes = args->width,
                                .Height = args->rows,
                                .Depth = 1};
    /* The check above is from the address on. */
    bool offset = (from.array == NULL && (args->src_at[0] | args->src_at[1] | args->src_at[2])) ||
                  (to.array == NULL && (args->dst_at[0] | args->dst_at[1] | args->dst_at[2]));
    return offset ? CUDA_ERROR_INVALID_VALUE : app->driver->cuMemcpy3DAsync_v2(&copy, stream);
}
