/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays: elements, levels and layers, and the bounds of copies. */
#include "front/texture/array.h"

#include <stddef.h>

#include "front/texture/texture.h"

/* ---- formats */

static unsigned array_channel_bytes(CUarray_format format)
{
    switch ((int)format) {
    case CU_AD_FORMAT_UNSIGNED_INT8:
    case CU_AD_FORMAT_SIGNED_INT8:
        return 1;
    case CU_AD_FORMAT_UNSIGNED_INT16:
    case CU_AD_FORMAT_SIGNED_INT16:
    case CU_AD_FORMAT_HALF:
        return 2;
    case CU_AD_FORMAT_UNSIGNED_INT32:
    case CU_AD_FORMAT_SIGNED_INT32:
    case CU_AD_FORMAT_FLOAT:
        return 4;
    default:
        return 0;
    }
}

unsigned front_element_bytes(CUarray_format format, unsigned channels)
{
    /* UNORM and SNORM, of 8 and of 16 bits, each of 1, 2 and 4 channels */
    if (format >= CU_AD_FORMAT_UNORM_INT8X1 && format <= CU_AD_FORMAT_SNORM_INT16X4) {
        unsigned number = (unsigned)format - CU_AD_FORMAT_UNORM_INT8X1;
        unsigned bytes = number / 3 % 2 + 1;
        return channels == 1u << number % 3 ? channels * bytes : 0;
    }
    bool good = channels == 1 || channels == 2 || channels == 4;
    return good ? channels * array_channel_bytes(format) : 0;
}

bool front_view_format(CUresourceViewFormat format, CUarray_format *element, unsigned *channels)
{
    /* In the order of the enum, three of each: 1, 2 and 4 channels. */
    static const CUarray_format formats[] = {CU_AD_FORMAT_UNSIGNED_INT8,  CU_AD_FORMAT_SIGNED_INT8,
                                             CU_AD_FORMAT_UNSIGNED_INT16, CU_AD_FORMAT_SIGNED_INT16,
                                             CU_AD_FORMAT_UNSIGNED_INT32, CU_AD_FORMAT_SIGNED_INT32,
                                             CU_AD_FORMAT_HALF,           CU_AD_FORMAT_FLOAT};
    if ((unsigned)format < CU_RES_VIEW_FORMAT_UINT_1X8 ||
        (unsigned)format > CU_RES_VIEW_FORMAT_FLOAT_4X32) {
        return false;
    }
    unsigned number = (unsigned)format - CU_RES_VIEW_FORMAT_UINT_1X8;
    *element = formats[number / 3];
    *channels = 1u << number % 3;
    return true;
}

/* ---- levels and layers */

static size_t array_halved(size_t size, unsigned times)
{
    return size == 0 ? 0 : size >> times > 1 ? size >> times : 1;
}

struct front_array front_array_level(const struct front_array *whole, unsigned level)
{
    struct front_array one = *whole;
    bool layers = (one.shape.Flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP)) != 0;
    one.levels = 0;
    one.of_level = true;
    one.shape.Width = array_halved(one.shape.Width, level);
    one.shape.Height = array_halved(one.shape.Height, level);
    one.shape.Depth = layers ? one.shape.Depth : array_halved(one.shape.Depth, level);
    return one;
}

unsigned front_array_layers(const struct front_array *array)
{
    bool layers = (array->shape.Flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP)) != 0;
    return layers ? (unsigned)array->shape.Depth : 1;
}

/* ---- copies */

/* [first, first + count) in [0, all), where 0 stands for 1. */
static bool array_inside(uint64_t first, uint64_t count, uint64_t all)
{
    all = all == 0 ? 1 : all;
    return first <= all && count <= all - first;
}

CUresult front_array_holds(const struct front_array *array, const struct front_box *box,
                           const struct front_side *side)
{
    bool good = side->x % array->element == 0 && box->width % array->element == 0 &&
                array_inside(side->x, box->width, (uint64_t)array->shape.Width * array->element) &&
                array_inside(side->y, box->height, array->shape.Height) &&
                array_inside(side->z, box->depth, array->shape.Depth);
    return good ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
