/* SPDX-License-Identifier: Apache-2.0 */
/* Structures that describe arrays, textures and surfaces. */
#include <stddef.h>
#include <stdint.h>

#include "api/cuda_names.h"
#include "tests/arguments/good.h"
#include "tests/arguments/structs.h"

/* ---- arrays */

static CUDA_ARRAY_DESCRIPTOR plane(void)
{
    return (CUDA_ARRAY_DESCRIPTOR){
        .Width = 16, .Height = 4, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 4};
}

MEMBERS(CUDA_ARRAY_DESCRIPTOR, plane, plane)
MEMBERS(CUDA_ARRAY_DESCRIPTOR, plane_no_width, plane, it.Width = 0)
MEMBERS(CUDA_ARRAY_DESCRIPTOR, plane_too_wide, plane, it.Width = (size_t)1 << 40)
MEMBERS(CUDA_ARRAY_DESCRIPTOR, plane_too_high, plane, it.Height = 1 << 20)
MEMBERS(CUDA_ARRAY_DESCRIPTOR, plane_unknown, plane, it.Format = (CUarray_format)0x77)
MEMBERS(CUDA_ARRAY_DESCRIPTOR, plane_three, plane, it.NumChannels = 3)
MEMBERS(CUDA_ARRAY_DESCRIPTOR, plane_planes, plane, it.Format = CU_AD_FORMAT_NV12)

static CUDA_ARRAY3D_DESCRIPTOR solid(void)
{
    return (CUDA_ARRAY3D_DESCRIPTOR){
        .Width = 8, .Height = 4, .Depth = 6, .Format = CU_AD_FORMAT_HALF, .NumChannels = 2};
}

MEMBERS(CUDA_ARRAY3D_DESCRIPTOR, solid, solid)
MEMBERS(CUDA_ARRAY3D_DESCRIPTOR, solid_no_height, solid, it.Height = 0)
MEMBERS(CUDA_ARRAY3D_DESCRIPTOR, solid_too_deep, solid, it.Depth = 1 << 20)
MEMBERS(CUDA_ARRAY3D_DESCRIPTOR, solid_flags, solid, it.Flags = 0x80000000u)
MEMBERS(CUDA_ARRAY3D_DESCRIPTOR, solid_gather, solid, it.Flags = CUDA_ARRAY3D_TEXTURE_GATHER)
MEMBERS(CUDA_ARRAY3D_DESCRIPTOR, solid_sparse, solid, it.Flags = CUDA_ARRAY3D_SPARSE)
MEMBERS(CUDA_ARRAY3D_DESCRIPTOR, solid_no_layers, solid, it.Flags = CUDA_ARRAY3D_LAYERED,
        it.Depth = 0)

static CUDA_ARRAY3D_DESCRIPTOR cube(void)
{
    CUDA_ARRAY3D_DESCRIPTOR made = solid();
    made.Height = made.Width;
    made.Flags = CUDA_ARRAY3D_CUBEMAP;
    return made;
}

MEMBERS(CUDA_ARRAY3D_DESCRIPTOR, cube, cube)
MEMBERS(CUDA_ARRAY3D_DESCRIPTOR, cube_five, cube, it.Depth = 5)
MEMBERS(CUDA_ARRAY3D_DESCRIPTOR, cube_oblong, cube, it.Height = 4)
MEMBERS(CUDA_ARRAY3D_DESCRIPTOR, cube_seven, cube, it.Flags |= CUDA_ARRAY3D_LAYERED, it.Depth = 7)

/* ---- what textures and surfaces are made of */

static CUDA_RESOURCE_DESC resource(void)
{
    return (CUDA_RESOURCE_DESC){.resType = CU_RESOURCE_TYPE_ARRAY,
                                .res.array.hArray = (CUarray)good_array()};
}

MEMBERS(CUDA_RESOURCE_DESC, resource, resource)
MEMBERS(CUDA_RESOURCE_DESC, resource_unknown, resource, it.resType = (CUresourcetype)UNKNOWN)
MEMBERS(CUDA_RESOURCE_DESC, resource_null, resource, it.res.array.hArray = NULL)
MEMBERS(CUDA_RESOURCE_DESC, resource_stale, resource,
        it.res.array.hArray = (CUarray)new_dead_array())
MEMBERS(CUDA_RESOURCE_DESC, resource_other, resource,
        it.res.array.hArray = (CUarray)good_other_array())
MEMBERS(CUDA_RESOURCE_DESC, resource_flags, resource, it.flags = 1)
MEMBERS(CUDA_RESOURCE_DESC, resource_of_line, resource, it.res.array.hArray = (CUarray)good_line())

static CUDA_RESOURCE_DESC mipmapped(void)
{
    return (CUDA_RESOURCE_DESC){.resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY,
                                .res.mipmap.hMipmappedArray = (CUmipmappedArray)good_mipmap()};
}

MEMBERS(CUDA_RESOURCE_DESC, resource_mipmap, mipmapped)
MEMBERS(CUDA_RESOURCE_DESC, resource_mipmap_null, mipmapped, it.res.mipmap.hMipmappedArray = NULL)

static CUDA_RESOURCE_DESC linear(void)
{
    return (CUDA_RESOURCE_DESC){.resType = CU_RESOURCE_TYPE_LINEAR,
                                .res.linear = {.devPtr = good_block(),
                                               .format = CU_AD_FORMAT_FLOAT,
                                               .numChannels = 4,
                                               .sizeInBytes = 4096}};
}

MEMBERS(CUDA_RESOURCE_DESC, resource_linear, linear)
MEMBERS(CUDA_RESOURCE_DESC, resource_linear_odd, linear, it.res.linear.devPtr += 16)
MEMBERS(CUDA_RESOURCE_DESC, resource_linear_wild, linear, it.res.linear.devPtr = 0x100000)
MEMBERS(CUDA_RESOURCE_DESC, resource_linear_long, linear,
        it.res.linear.sizeInBytes = (size_t)1 << 40)
MEMBERS(CUDA_RESOURCE_DESC, resource_linear_beyond, linear,
        it.res.linear.sizeInBytes = (size_t)1 << 30)
MEMBERS(CUDA_RESOURCE_DESC, resource_linear_three, linear, it.res.linear.numChannels = 3)
MEMBERS(CUDA_RESOURCE_DESC, resource_linear_empty, linear, it.res.linear.sizeInBytes = 0)

static CUDA_RESOURCE_DESC pitched(void)
{
    return (CUDA_RESOURCE_DESC){.resType = CU_RESOURCE_TYPE_PITCH2D,
                                .res.pitch2D = {.devPtr = good_block(),
                                                .format = CU_AD_FORMAT_UNSIGNED_INT8,
                                                .numChannels = 1,
                                                .width = 100,
                                                .height = 50,
                                                .pitchInBytes = 512}};
}

MEMBERS(CUDA_RESOURCE_DESC, resource_pitch, pitched)
MEMBERS(CUDA_RESOURCE_DESC, resource_pitch_odd, pitched, it.res.pitch2D.pitchInBytes = 500)
MEMBERS(CUDA_RESOURCE_DESC, resource_pitch_narrow, pitched, it.res.pitch2D.pitchInBytes = 96)
MEMBERS(CUDA_RESOURCE_DESC, resource_pitch_high, pitched, it.res.pitch2D.height = 1 << 20)
MEMBERS(CUDA_RESOURCE_DESC, resource_pitch_beyond, pitched, it.res.pitch2D.height = 60000)

/* ---- how they are read */

static CUDA_TEXTURE_DESC sampler(void)
{
    return (CUDA_TEXTURE_DESC){.addressMode = {CU_TR_ADDRESS_MODE_CLAMP, CU_TR_ADDRESS_MODE_CLAMP,
                                               CU_TR_ADDRESS_MODE_CLAMP},
                               .filterMode = CU_TR_FILTER_MODE_LINEAR};
}

MEMBERS(CUDA_TEXTURE_DESC, sampler, sampler)
MEMBERS(CUDA_TEXTURE_DESC, sampler_mode, sampler, it.addressMode[1] = (CUaddress_mode)UNKNOWN)
MEMBERS(CUDA_TEXTURE_DESC, sampler_filter, sampler, it.filterMode = (CUfilter_mode)UNKNOWN)
MEMBERS(CUDA_TEXTURE_DESC, sampler_flags, sampler, it.flags = 0x80000000u)
MEMBERS(CUDA_TEXTURE_DESC, sampler_seamless, sampler, it.flags = CU_TRSF_SEAMLESS_CUBEMAP)
MEMBERS(CUDA_TEXTURE_DESC, sampler_mips, sampler, it.mipmapFilterMode = (CUfilter_mode)UNKNOWN)

static CUDA_RESOURCE_VIEW_DESC view(void)
{
    return (CUDA_RESOURCE_VIEW_DESC){
        .format = CU_RES_VIEW_FORMAT_FLOAT_1X32, .width = 16, .height = 4};
}

MEMBERS(CUDA_RESOURCE_VIEW_DESC, view, view)
MEMBERS(CUDA_RESOURCE_VIEW_DESC, view_wide, view, it.format = CU_RES_VIEW_FORMAT_FLOAT_2X32)
MEMBERS(CUDA_RESOURCE_VIEW_DESC, view_format, view, it.format = (CUresourceViewFormat)UNKNOWN)
MEMBERS(CUDA_RESOURCE_VIEW_DESC, view_other_size, view, it.width = 8)
MEMBERS(CUDA_RESOURCE_VIEW_DESC, view_blocks, view, it.format = CU_RES_VIEW_FORMAT_UNSIGNED_BC1)
MEMBERS(CUDA_RESOURCE_VIEW_DESC, view_levels, view, it.lastMipmapLevel = 1)
MEMBERS(CUDA_RESOURCE_VIEW_DESC, view_layers, view, it.lastLayer = 1)
