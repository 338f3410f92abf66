/* SPDX-License-Identifier: Apache-2.0 */
/* Boxes of bytes: reading the structures of copies. */
#include "front/memory/copy_box.h"

#include <stdbool.h>
#include <stddef.h>

/* the largest CU_DEVICE_ATTRIBUTE_MAX_PITCH of any device */
#define PITCH_MAX 0x7fffffffu

/* One side of a copy, in the members of cuda.h. */
struct said {
    CUmemorytype type;
    const void *host;
    CUdeviceptr device;
    CUarray array;
    uint64_t pitch, height; /* 0: without gaps */
    uint64_t x, y, z, lod;
};

/* *sum += a * b. False: overflow. */
static bool box_add(uint64_t *sum, uint64_t a, uint64_t b)
{
    uint64_t product;
    return !__builtin_mul_overflow(a, b, &product) && !__builtin_add_overflow(*sum, product, sum);
}

static CUresult box_place_of(const struct said *said, struct front_side *side)
{
    side->start = said->device;
    switch ((int)said->type) {
    case CU_MEMORYTYPE_HOST:
        side->place = FRONT_HOST;
        side->start = (uint64_t)(uintptr_t)said->host;
        break;
    case CU_MEMORYTYPE_DEVICE:
        side->place = FRONT_DEVICE;
        break;
    case CU_MEMORYTYPE_UNIFIED:
        side->place = FRONT_UNIFIED;
        break;
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
    return side->start != 0 && said->lod == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static CUresult side_read(const struct said *said, const struct front_box *box,
                          struct front_side *side)
{
    uint64_t row = said->x, column = said->y, slice = 0;
    if (said->type == CU_MEMORYTYPE_ARRAY) { /* an array has no pitch */
        *side = (struct front_side){
            .place = FRONT_ARRAY, .array = said->array, .x = said->x, .y = said->y, .z = said->z};
        return said->lod == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    }
    CUresult rc = box_place_of(said, side);
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    if (!box_add(&row, box->width, 1) || !box_add(&column, box->height, 1)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    side->pitch = said->pitch != 0 ? said->pitch : row;
    uint64_t height = said->height != 0 || box->depth == 1 ? said->height : column;
    bool fits = side->pitch >= row && said->pitch <= PITCH_MAX &&
                (height >= column || box->depth == 1) && box_add(&slice, side->pitch, height);
    side->slice = slice;
    uint64_t end = 0;
    fits = fits && box_add(&side->start, said->z, slice) &&
           box_add(&side->start, said->y, side->pitch) && box_add(&side->start, said->x, 1);
    fits = fits && box_add(&end, box->depth - 1, slice) &&
           box_add(&end, box->height - 1, side->pitch) && box_add(&end, box->width, 1) &&
           box_add(&end, side->start, 1);
    return fits ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static CUresult box_shape_read(struct front_box *box, const struct said *from,
                               const struct said *to)
{
    if (box->width == 0 || box->height == 0 || box->depth == 0) {
        box->width = 0;
        return CUDA_SUCCESS;
    }
    CUresult rc = side_read(from, box, &box->from);
    if (rc == CUDA_SUCCESS) {
        rc = side_read(to, box, &box->to);
    }
    bool linear = box->from.place != FRONT_ARRAY && box->to.place != FRONT_ARRAY;
    if (rc == CUDA_SUCCESS && linear && box->from.slice == box->from.pitch * box->height &&
        box->to.slice == box->to.pitch * box->height) {
        box->height *= box->depth;
        box->depth = 1;
    }
    return rc;
}

CUresult front_box_2d(const CUDA_MEMCPY2D *copy, struct front_box *box)
{
    if (copy == NULL) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    const struct said from = {.type = copy->srcMemoryType,
                              .host = copy->srcHost,
                              .device = copy->srcDevice,
                              .array = copy->srcArray,
                              .pitch = copy->srcPitch,
                              .x = copy->srcXInBytes,
                              .y = copy->srcY};
    const struct said to = {.type = copy->dstMemoryType,
                            .host = copy->dstHost,
                            .device = copy->dstDevice,
                            .array = copy->dstArray,
                            .pitch = copy->dstPitch,
                            .x = copy->dstXInBytes,
                            .y = copy->dstY};
    *box = (struct front_box){.width = copy->WidthInBytes, .height = copy->Height, .depth = 1};
    return box_shape_read(box, &from, &to);
}

/* The two structures have these members in common. */
#define SIDE_3D(copy, side)                                                                        \
    {                                                                                              \
        .type = (copy)->side##MemoryType, .host = (copy)->side##Host,                              \
        .device = (copy)->side##Device, .array = (copy)->side##Array,                              \
        .pitch = (copy)->side##Pitch, .height = (copy)->side##Height, .x = (copy)->side##XInBytes, \
        .y = (copy)->side##Y, .z = (copy)->side##Z, .lod = (copy)->side##LOD                       \
    }
#define BOX_3D(copy)                                                                               \
    (struct front_box)                                                                             \
    {                                                                                              \
        .width = (copy)->WidthInBytes, .height = (copy)->Height, .depth = (copy)->Depth            \
    }

CUresult front_box_3d(const CUDA_MEMCPY3D *copy, struct front_box *box)
{
    if (copy == NULL || copy->reserved0 != NULL || copy->reserved1 != NULL) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    const struct said from = SIDE_3D(copy, src), to = SIDE_3D(copy, dst);
    *box = BOX_3D(copy);
    return box_shape_read(box, &from, &to);
}

CUresult front_box_peer(const CUDA_MEMCPY3D_PEER *copy, struct front_box *box)
{
    if (copy == NULL) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    const struct said from = SIDE_3D(copy, src), to = SIDE_3D(copy, dst);
    *box = BOX_3D(copy);
    return box_shape_read(box, &from, &to);
}

uint64_t front_box_extent(const struct front_box *box, const struct front_side *side)
{
    return (box->depth - 1) * side->slice + (box->height - 1) * side->pitch + box->width;
}
