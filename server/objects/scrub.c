/* SPDX-License-Identifier: Apache-2.0 */
#include "server/objects/scrub.h"

#include <stdlib.h>

#include "server/app/current_context.h"

#define BAND_BYTES (4u << 20) /* of zeros, copied into arrays again and again */

/* ---- linear memory */

/* The current context waits for it and for nothing else. */
static CUresult memory_zero(const struct cuda_driver *driver, CUdeviceptr at, uint64_t bytes)
{
    CUstream stream;
    CU_TRY(driver->cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CUresult rc = driver->cuMemsetD8Async(at, 0, bytes, stream);
    if (rc == CUDA_SUCCESS) {
        rc = driver->cuStreamSynchronize(stream);
    }
    (void)driver->cuStreamDestroy_v2(stream);
    return rc;
}

/* Makes the device's primary context current, for memory that is no context's. */
static CUresult scrub_enter(struct server_app *app, const struct server_session *session)
{
    CUcontext primary;
    CU_TRY(app->driver->cuDevicePrimaryCtxRetain(&primary, session->real));
    return app->driver->cuCtxSetCurrent(primary);
}

static void scrub_leave(struct server_app *app, const struct server_session *session)
{
    context_apply(app, app->current);
    (void)app->driver->cuDevicePrimaryCtxRelease_v2(session->real);
}

CUresult scrub_memory(struct server_app *app, const struct server_session *session,
                      const struct server_context *context, CUdeviceptr at, uint64_t bytes)
{
    if (!app->host->scrubs) {
        return CUDA_SUCCESS;
    }
    if (context != NULL) {
        context_apply(app, context);
        CUresult rc = memory_zero(app->driver, at, bytes);
        context_apply(app, app->current);
        return rc;
    }
    CU_TRY(scrub_enter(app, session));
    CUresult rc = memory_zero(app->driver, at, bytes);
    scrub_leave(app, session);
    return rc;
}

/* ---- physical memory */

static CUresult physical_zero(const struct cuda_driver *driver, CUdevice device,
                              CUmemGenericAllocationHandle physical, uint64_t bytes)
{
    const CUmemAccessDesc access = {.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device},
                                    .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CUdeviceptr at;
    CU_TRY(driver->cuMemAddressReserve(&at, bytes, 0, 0, 0));
    CUresult rc = driver->cuMemMap(at, bytes, 0, physical, 0);
    if (rc == CUDA_SUCCESS) {
        rc = driver->cuMemSetAccess(at, bytes, &access, 1);
        if (rc == CUDA_SUCCESS) {
            rc = memory_zero(driver, at, bytes);
        }
        (void)driver->cuMemUnmap(at, bytes);
    }
    (void)driver->cuMemAddressFree(at, bytes);
    return rc;
}

CUresult scrub_physical(struct server_app *app, const struct server_session *session,
                        CUmemGenericAllocationHandle physical, uint64_t bytes)
{
    if (!app->host->scrubs) {
        return CUDA_SUCCESS;
    }
    CU_TRY(scrub_enter(app, session));
    CUresult rc = physical_zero(app->driver, session->real, physical, bytes);
    scrub_leave(app, session);
    return rc;
}

/* ---- arrays */

static uint64_t scrub_at_least_one(uint64_t size)
{
    return size != 0 ? size : 1;
}

/* One layer or slice, as many rows at once as there are zeros for. */
static CUresult slice_zero(const struct cuda_driver *driver, CUDA_MEMCPY3D *copy, uint64_t rows,
                           CUstream stream)
{
    const uint64_t band = scrub_at_least_one(BAND_BYTES / copy->WidthInBytes);
    for (uint64_t row = 0; row < rows; row += band) {
        copy->dstY = row;
        copy->Height = rows - row < band ? rows - row : band;
        CU_TRY(driver->cuMemcpy3DAsync_v2(copy, stream));
    }
    return CUDA_SUCCESS;
}

/* `shape`: of the level that `array` is. */
static CUresult array_zero(const struct cuda_driver *driver, CUarray array,
                           const CUDA_ARRAY3D_DESCRIPTOR *shape, uint64_t row_bytes)
{
    const uint64_t rows = scrub_at_least_one(shape->Height);
    const uint64_t band = row_bytes < BAND_BYTES ? BAND_BYTES : row_bytes;
    CUDA_MEMCPY3D copy = {.srcMemoryType = CU_MEMORYTYPE_HOST,
                          .srcPitch = row_bytes,
                          .dstMemoryType = CU_MEMORYTYPE_ARRAY,
                          .dstArray = array,
                          .WidthInBytes = row_bytes,
                          .Depth = 1};
    CUstream stream;
    void *zeros = calloc(1, band);
    if (zeros == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    copy.srcHost = zeros;
    CUresult rc = driver->cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
    if (rc == CUDA_SUCCESS) {
        for (; rc == CUDA_SUCCESS && copy.dstZ < scrub_at_least_one(shape->Depth); copy.dstZ++) {
            rc = slice_zero(driver, &copy, rows, stream);
        }
        CUresult done = driver->cuStreamSynchronize(stream);
        rc = rc == CUDA_SUCCESS ? done : rc;
        (void)driver->cuStreamDestroy_v2(stream);
    }
    free(zeros);
    return rc;
}

static CUresult mipmap_zero(const struct cuda_driver *driver, const struct server_array *array,
                            uint64_t texel_bytes)
{
    CUDA_ARRAY3D_DESCRIPTOR shape = array->made_from.shape;
    const bool layers = (shape.Flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP)) != 0;
    for (unsigned level = 0; level < array->made_from.levels; level++) {
        CUarray of_level;
        CU_TRY(driver->cuMipmappedArrayGetLevel(&of_level, array->mipmap, level));
        CU_TRY(array_zero(driver, of_level, &shape, shape.Width * texel_bytes));
        shape.Width = scrub_at_least_one(shape.Width / 2);
        shape.Height = shape.Height != 0 ? scrub_at_least_one(shape.Height / 2) : 0;
        shape.Depth =
            shape.Depth == 0 || layers ? shape.Depth : scrub_at_least_one(shape.Depth / 2);
    }
    return CUDA_SUCCESS;
}

CUresult scrub_array(struct server_app *app, const struct server_array *array, uint64_t texel_bytes)
{
    const CUDA_ARRAY3D_DESCRIPTOR *shape = &array->made_from.shape;
    if (!app->host->scrubs) {
        return CUDA_SUCCESS;
    }
    return array->mipmap != NULL
               ? mipmap_zero(app->driver, array, texel_bytes)
               : array_zero(app->driver, array->array, shape, shape->Width * texel_bytes);
}
