/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays, textures and surfaces as arguments. */
#include <stddef.h>
#include <stdint.h>

#include "api/cuda_names.h"
#include "tests/arguments/good.h"
#include "tests/arguments/table.h"

#define HANDLE(from) ((uint64_t)(uintptr_t)(from))

uint64_t new_array(void)
{
    const CUDA_ARRAY3D_DESCRIPTOR shape = {.Width = 16,
                                           .Height = 4,
                                           .Format = CU_AD_FORMAT_FLOAT,
                                           .NumChannels = 1,
                                           .Flags = CUDA_ARRAY3D_SURFACE_LDST};
    CUarray array;
    MUST(driver.cuArray3DCreate_v2(&array, &shape));
    return HANDLE(array);
}

uint64_t new_dead_array(void)
{
    uint64_t array = new_array();
    MUST(driver.cuArrayDestroy((CUarray)array));
    return array;
}

uint64_t good_line_make(void)
{
    const CUDA_ARRAY_DESCRIPTOR shape = {
        .Width = 64, .Format = CU_AD_FORMAT_UNSIGNED_INT32, .NumChannels = 1};
    CUarray array;
    MUST(driver.cuArrayCreate_v2(&array, &shape));
    return HANDLE(array);
}

uint64_t new_mipmap(void)
{
    const CUDA_ARRAY3D_DESCRIPTOR shape = {
        .Width = 16, .Height = 16, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 1};
    CUmipmappedArray mipmap;
    MUST(driver.cuMipmappedArrayCreate(&mipmap, &shape, 3));
    return HANDLE(mipmap);
}

uint64_t new_dead_mipmap(void)
{
    uint64_t mipmap = new_mipmap();
    MUST(driver.cuMipmappedArrayDestroy((CUmipmappedArray)mipmap));
    return mipmap;
}

uint64_t good_texture_make(uint64_t array, const void *view)
{
    const CUDA_RESOURCE_DESC resource = {.resType = CU_RESOURCE_TYPE_ARRAY,
                                         .res.array.hArray = (CUarray)array};
    const CUDA_TEXTURE_DESC sampler = {.filterMode = CU_TR_FILTER_MODE_POINT};
    CUtexObject texture;
    MUST(driver.cuTexObjectCreate(&texture, &resource, &sampler, view));
    return texture;
}

uint64_t new_texture(void)
{
    return good_texture_make(new_array(), NULL);
}

uint64_t new_dead_texture(void)
{
    uint64_t texture = new_texture();
    MUST(driver.cuTexObjectDestroy(texture));
    return texture;
}

uint64_t new_surface(void)
{
    const CUDA_RESOURCE_DESC resource = {.resType = CU_RESOURCE_TYPE_ARRAY,
                                         .res.array.hArray = (CUarray)new_array()};
    CUsurfObject surface;
    MUST(driver.cuSurfObjectCreate(&surface, &resource));
    return surface;
}

uint64_t new_dead_surface(void)
{
    uint64_t surface = new_surface();
    MUST(driver.cuSurfObjectDestroy(surface));
    return surface;
}
