/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptions of copies: results and refusals. */
#include <criterion/criterion.h>

#include "front/memory/copy_box.h"

static CUDA_MEMCPY3D plain(void)
{
    return (CUDA_MEMCPY3D){.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                           .srcDevice = 0x10000,
                           .srcPitch = 100,
                           .srcHeight = 20,
                           .dstMemoryType = CU_MEMORYTYPE_HOST,
                           .dstHost = (void *)0x500000,
                           .dstPitch = 64,
                           .dstHeight = 5,
                           .WidthInBytes = 64,
                           .Height = 5,
                           .Depth = 3};
}

Test(copy_box, offsets_and_extents)
{
    CUDA_MEMCPY3D copy = plain();
    struct front_box box;
    copy.srcXInBytes = 7, copy.srcY = 2, copy.srcZ = 4;
    cr_assert_eq(front_box_3d(&copy, &box), CUDA_SUCCESS);
    cr_assert_eq(box.from.start, 0x10000 + 4 * 2000 + 2 * 100 + 7);
    cr_assert_eq(box.from.slice, 2000);
    cr_assert(box.from.place == FRONT_DEVICE && box.to.place == FRONT_HOST);
    cr_assert(box.width == 64 && box.height == 5 && box.depth == 3);
    cr_assert_eq(front_box_extent(&box, &box.from), 2 * 2000 + 4 * 100 + 64);
    cr_assert_eq(front_box_extent(&box, &box.to), 3 * 5 * 64);
}

Test(copy_box, slices_without_a_gap_become_rows)
{
    CUDA_MEMCPY3D copy = plain();
    struct front_box box;
    copy.srcHeight = 5;
    cr_assert_eq(front_box_3d(&copy, &box), CUDA_SUCCESS);
    cr_assert(box.height == 15 && box.depth == 1);
    copy.srcHeight = copy.dstHeight = copy.srcPitch = copy.dstPitch = 0;
    cr_assert_eq(front_box_3d(&copy, &box), CUDA_SUCCESS);
    cr_assert(box.height == 15 && box.depth == 1 && box.from.pitch == 64);
}

Test(copy_box, nothing_is_always_right)
{
    CUDA_MEMCPY3D copy = plain();
    struct front_box box;
    copy.dstHost = NULL;
    copy.Depth = 0;
    cr_assert_eq(front_box_3d(&copy, &box), CUDA_SUCCESS);
    cr_assert_eq(box.width, 0);
}

#define REFUSED(change)                                                                            \
    do {                                                                                           \
        CUDA_MEMCPY3D copy = plain();                                                              \
        struct front_box box;                                                                      \
        change;                                                                                    \
        cr_assert_eq(front_box_3d(&copy, &box), CUDA_ERROR_INVALID_VALUE, #change);                \
    } while (0)

Test(copy_box, refused)
{
    REFUSED(copy.srcPitch = 63);
    REFUSED(copy.srcXInBytes = 37);
    REFUSED(copy.srcHeight = 4);
    REFUSED(copy.dstY = 1);
    REFUSED(copy.dstHost = NULL);
    REFUSED(copy.srcDevice = 0);
    REFUSED(copy.srcLOD = 1);
    REFUSED(copy.reserved0 = &copy);
    REFUSED(copy.srcMemoryType = (CUmemorytype)9);
    REFUSED(copy.srcPitch = UINT64_C(1) << 31);
    REFUSED(copy.srcZ = UINT64_MAX / 1000);
    REFUSED(copy.srcXInBytes = UINT64_MAX - 3);
    REFUSED((copy.Depth = UINT64_MAX / 2, copy.srcHeight = copy.dstHeight = 0));
    REFUSED((copy.Height = UINT64_MAX, copy.Depth = 1));
    struct front_box box;
    cr_assert_eq(front_box_3d(NULL, &box), CUDA_ERROR_INVALID_VALUE);
    cr_assert_eq(front_box_2d(NULL, &box), CUDA_ERROR_INVALID_VALUE);
    cr_assert_eq(front_box_peer(NULL, &box), CUDA_ERROR_INVALID_VALUE);
}
