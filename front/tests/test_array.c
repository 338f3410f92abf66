/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptors of arrays and textures: results, refusals, and calls that need nothing else. */
#include <criterion/criterion.h>

#include "front/front.h"
#include "front/tests/fake_host.h"

static CUDA_ARRAY3D_DESCRIPTOR shape(size_t width, size_t height, size_t depth, unsigned flags)
{
    return (CUDA_ARRAY3D_DESCRIPTOR){.Width = width,
                                     .Height = height,
                                     .Depth = depth,
                                     .Format = CU_AD_FORMAT_HALF,
                                     .NumChannels = 2,
                                     .Flags = flags};
}

/* The device of these tests allows, for each size attribute, its number as the size. */
static CUresult read_shape(CUDA_ARRAY3D_DESCRIPTOR said, bool mipmapped, unsigned levels,
                           struct front_array *array)
{
    return front_array_read(0, &said, mipmapped, levels, array);
}

Test(array, elements)
{
    cr_assert_eq(front_element_bytes(CU_AD_FORMAT_UNSIGNED_INT8, 1), 1);
    cr_assert_eq(front_element_bytes(CU_AD_FORMAT_HALF, 4), 8);
    cr_assert_eq(front_element_bytes(CU_AD_FORMAT_FLOAT, 4), 16);
    cr_assert_eq(front_element_bytes(CU_AD_FORMAT_FLOAT, 3), 0);
    cr_assert_eq(front_element_bytes(CU_AD_FORMAT_FLOAT, 0), 0);
    cr_assert_eq(front_element_bytes(CU_AD_FORMAT_UNORM_INT8X4, 4), 4);
    cr_assert_eq(front_element_bytes(CU_AD_FORMAT_UNORM_INT8X4, 2), 0);
    cr_assert_eq(front_element_bytes(CU_AD_FORMAT_UNORM_INT16X2, 2), 4);
    cr_assert_eq(front_element_bytes(CU_AD_FORMAT_SNORM_INT16X4, 4), 8);
    cr_assert_eq(front_element_bytes(CU_AD_FORMAT_NV12, 1), 0);
    cr_assert_eq(front_element_bytes((CUarray_format)0, 1), 0);
}

Test(array, levels_are_cut_and_halved)
{
    struct front_array array;
    cr_assert_eq(read_shape(shape(10, 3, 0, 0), true, 100, &array), CUDA_SUCCESS);
    cr_assert_eq(array.levels, 4);
    struct front_array level = front_array_level(&array, 2);
    cr_assert(level.shape.Width == 2 && level.shape.Height == 1 && level.shape.Depth == 0);
    cr_assert_eq(level.levels, 0);
    cr_assert_eq(read_shape(shape(4, 2, 9, 0), true, 0, &array), CUDA_SUCCESS);
    cr_assert_eq(array.levels, 1);
    cr_assert_eq(front_array_level(&array, 1).shape.Depth, 4);
    cr_assert_eq(read_shape(shape(4, 2, 9, CUDA_ARRAY3D_LAYERED), true, 9, &array), CUDA_SUCCESS);
    cr_assert_eq(array.levels, 3, "layers are no dimension");
    cr_assert_eq(front_array_level(&array, 2).shape.Depth, 9);
    cr_assert_eq(front_array_layers(&array), 9);
}

#define REFUSED(said, mipmapped)                                                                   \
    cr_assert_eq(read_shape(said, mipmapped, 1, &array), CUDA_ERROR_INVALID_VALUE, #said)

Test(array, refused)
{
    struct front_array array;
    const unsigned cube = CUDA_ARRAY3D_CUBEMAP, layered = CUDA_ARRAY3D_LAYERED;
    REFUSED(shape(0, 0, 0, 0), false);
    REFUSED(shape(4, 0, 2, 0), false);
    REFUSED(shape(4, 4, 0, layered), false);
    REFUSED(shape(4, 4, 5, cube), false);
    REFUSED(shape(4, 3, 6, cube), false);
    REFUSED(shape(4, 4, 8, cube | layered), false);
    REFUSED(shape(4, 4, 2, CUDA_ARRAY3D_TEXTURE_GATHER), false);
    REFUSED(shape(4, 4, 0, 1u << 30), false);
    REFUSED(shape((size_t)1 << 33, 0, 0, 0), false);
    REFUSED(shape((size_t)1 << 33, 0, 0, 0), true);
    cr_assert_eq(front_array_read(0, NULL, false, 0, &array), CUDA_ERROR_INVALID_VALUE);
    cr_assert_eq(read_shape(shape(4, 4, 0, CUDA_ARRAY3D_SPARSE), false, 0, &array),
                 CUDA_ERROR_NOT_SUPPORTED);
    cr_assert_eq(read_shape(shape(4, 4, 12, cube | layered), false, 0, &array), CUDA_SUCCESS);
}

Test(array, what_a_copy_may_touch)
{
    struct front_array array;
    cr_assert_eq(read_shape(shape(10, 3, 0, 0), false, 0, &array), CUDA_SUCCESS);
    struct front_box box = {.width = 8, .height = 2, .depth = 1};
    struct front_side side = {.place = FRONT_ARRAY, .x = 32, .y = 1};
    cr_assert_eq(front_array_holds(&array, &box, &side), CUDA_SUCCESS);
    side.x = 36;
    cr_assert_eq(front_array_holds(&array, &box, &side), CUDA_ERROR_INVALID_VALUE);
    side.x = 30;
    cr_assert_eq(front_array_holds(&array, &box, &side), CUDA_ERROR_INVALID_VALUE);
    side.x = UINT64_MAX - 3;
    cr_assert_eq(front_array_holds(&array, &box, &side), CUDA_ERROR_INVALID_VALUE);
    side.x = 0, side.y = 2;
    cr_assert_eq(front_array_holds(&array, &box, &side), CUDA_ERROR_INVALID_VALUE);
    side.y = 0, side.z = 1;
    cr_assert_eq(front_array_holds(&array, &box, &side), CUDA_ERROR_INVALID_VALUE);
    side.z = 0, box.height = UINT64_MAX;
    cr_assert_eq(front_array_holds(&array, &box, &side), CUDA_ERROR_INVALID_VALUE);
}

Test(array, views_name_formats)
{
    CUarray_format format;
    unsigned channels;
    cr_assert(front_view_format(CU_RES_VIEW_FORMAT_SINT_2X16, &format, &channels));
    cr_assert(format == CU_AD_FORMAT_SIGNED_INT16 && channels == 2);
    cr_assert(front_view_format(CU_RES_VIEW_FORMAT_FLOAT_4X32, &format, &channels));
    cr_assert(format == CU_AD_FORMAT_FLOAT && channels == 4);
    cr_assert_not(front_view_format(CU_RES_VIEW_FORMAT_NONE, &format, &channels));
    cr_assert_not(front_view_format(CU_RES_VIEW_FORMAT_UNSIGNED_BC1, &format, &channels));
}

Test(array, calls_that_need_only_the_shape)
{
    CUDA_ARRAY_DESCRIPTOR flat;
    CUDA_ARRAY3D_DESCRIPTOR solid;
    CUDA_RESOURCE_DESC resource;
    CUDA_RESOURCE_VIEW_DESC view;
    cr_assert_eq(cuInit(0), CUDA_SUCCESS);
    cr_assert_eq(cuArrayGetDescriptor_v2(&flat, (CUarray)0x20), CUDA_SUCCESS);
    cr_assert(flat.Width == 64 && flat.Height == 32 && flat.Format == CU_AD_FORMAT_FLOAT);
    cr_assert_eq(cuArray3DGetDescriptor_v2(&solid, (CUarray)0x10), CUDA_SUCCESS);
    cr_assert(solid.Width == 64 && solid.Height == 0 && solid.Depth == 0);
    cr_assert_eq(cuArray3DGetDescriptor_v2(&solid, (CUarray)0x30), CUDA_ERROR_INVALID_HANDLE);
    cr_assert_eq(cuTexObjectGetResourceDesc(&resource, 0x40), CUDA_SUCCESS);
    cr_assert_eq(cuTexObjectGetResourceViewDesc(&view, 0x40), CUDA_ERROR_INVALID_VALUE);
    cr_assert_eq(cuSurfObjectGetResourceDesc(&resource, 0x41), CUDA_ERROR_INVALID_VALUE);
}
