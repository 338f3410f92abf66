/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptors of arrays. The rules are those of cuda.h at cuArray3DCreate and
 * cuMipmappedArrayCreate; the limits are device attributes. */
#include "front/texture/array_read.h"

#include <stddef.h>

#include "front/front.h"

#define FLAGS_KNOWN                                                                                \
    (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_SURFACE_LDST | CUDA_ARRAY3D_CUBEMAP |                     \
     CUDA_ARRAY3D_TEXTURE_GATHER | CUDA_ARRAY3D_DEPTH_TEXTURE | CUDA_ARRAY3D_COLOR_ATTACHMENT |    \
     CUDA_ARRAY3D_SPARSE | CUDA_ARRAY3D_DEFERRED_MAPPING | CUDA_ARRAY3D_VIDEO_ENCODE_DECODE)
#define FLAGS_REFUSED                                                                              \
    (CUDA_ARRAY3D_DEPTH_TEXTURE | CUDA_ARRAY3D_SPARSE | CUDA_ARRAY3D_DEFERRED_MAPPING |            \
     CUDA_ARRAY3D_VIDEO_ENCODE_DECODE)

/* The formats of cuda.h besides those of front_element_bytes. */
static bool format_known(CUarray_format format)
{
    unsigned number = (unsigned)format;
    return number == 0x50 || (number >= 0x91 && number <= 0xb5);
}

/* ---- sizes */

/* Device attributes with the limits of a kind of array; 0: it lacks this dimension. */
struct limits {
    CUdevice_attribute width, height, depth;
};

#define LIMITS(w, h, d)                                                                            \
    {                                                                                              \
        CU_DEVICE_ATTRIBUTE_MAXIMUM_##w, CU_DEVICE_ATTRIBUTE_MAXIMUM_##h,                          \
            CU_DEVICE_ATTRIBUTE_MAXIMUM_##d                                                        \
    }
#define NO_DIMENSION (CUdevice_attribute)0

enum kind { LINE, PLANE, SOLID, LINES, PLANES, CUBE, CUBES, KINDS };

static const struct limits textures[KINDS] = {
    [LINE] = {CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_WIDTH, NO_DIMENSION, NO_DIMENSION},
    [PLANE] = {CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_WIDTH,
               CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_HEIGHT, NO_DIMENSION},
    [SOLID] = LIMITS(TEXTURE3D_WIDTH, TEXTURE3D_HEIGHT, TEXTURE3D_DEPTH),
    [LINES] = {CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LAYERED_WIDTH, NO_DIMENSION,
               CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LAYERED_LAYERS},
    [PLANES] = LIMITS(TEXTURE2D_LAYERED_WIDTH, TEXTURE2D_LAYERED_HEIGHT, TEXTURE2D_LAYERED_LAYERS),
    [CUBE] = {CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURECUBEMAP_WIDTH,
              CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURECUBEMAP_WIDTH, NO_DIMENSION},
    [CUBES] = LIMITS(TEXTURECUBEMAP_LAYERED_WIDTH, TEXTURECUBEMAP_LAYERED_WIDTH,
                     TEXTURECUBEMAP_LAYERED_LAYERS),
};

static const struct limits surfaces[KINDS] = {
    [LINE] = {CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE1D_WIDTH, NO_DIMENSION, NO_DIMENSION},
    [PLANE] = {CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_WIDTH,
               CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_HEIGHT, NO_DIMENSION},
    [SOLID] = LIMITS(SURFACE3D_WIDTH, SURFACE3D_HEIGHT, SURFACE3D_DEPTH),
    [LINES] = {CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE1D_LAYERED_WIDTH, NO_DIMENSION,
               CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE1D_LAYERED_LAYERS},
    [PLANES] = LIMITS(SURFACE2D_LAYERED_WIDTH, SURFACE2D_LAYERED_HEIGHT, SURFACE2D_LAYERED_LAYERS),
    [CUBE] = {CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACECUBEMAP_WIDTH,
              CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACECUBEMAP_WIDTH, NO_DIMENSION},
    [CUBES] = LIMITS(SURFACECUBEMAP_LAYERED_WIDTH, SURFACECUBEMAP_LAYERED_WIDTH,
                     SURFACECUBEMAP_LAYERED_LAYERS),
};

static const struct limits alternate =
    LIMITS(TEXTURE3D_WIDTH_ALTERNATE, TEXTURE3D_HEIGHT_ALTERNATE, TEXTURE3D_DEPTH_ALTERNATE);
static const struct limits gather = {CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_GATHER_WIDTH,
                                     CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_GATHER_HEIGHT,
                                     NO_DIMENSION};
static const struct limits mipmapped_line = {CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_MIPMAPPED_WIDTH,
                                             NO_DIMENSION, NO_DIMENSION};
static const struct limits mipmapped_plane = {
    CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_MIPMAPPED_WIDTH,
    CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_MIPMAPPED_HEIGHT, NO_DIMENSION};

static bool below(CUdevice device, size_t size, CUdevice_attribute attribute)
{
    int most = 0;
    return attribute == NO_DIMENSION ||
           (front_host.device_attribute(device, attribute, &most) == CUDA_SUCCESS && most > 0 &&
            size <= (size_t)most);
}

static bool array_within(CUdevice device, const CUDA_ARRAY3D_DESCRIPTOR *shape,
                         const struct limits *most)
{
    return below(device, shape->Width, most->width) && below(device, shape->Height, most->height) &&
           below(device, shape->Depth, most->depth);
}

/* The kind that the sizes and flags describe. False: they contradict each other. */
static bool kind_of(const CUDA_ARRAY3D_DESCRIPTOR *shape, enum kind *kind)
{
    bool layered = (shape->Flags & CUDA_ARRAY3D_LAYERED) != 0;
    if ((shape->Flags & CUDA_ARRAY3D_CUBEMAP) != 0) {
        *kind = layered ? CUBES : CUBE;
        return shape->Width == shape->Height &&
               (layered ? shape->Depth != 0 && shape->Depth % 6 == 0 : shape->Depth == 6);
    }
    if (layered) {
        *kind = shape->Height != 0 ? PLANES : LINES;
        return shape->Depth != 0;
    }
    *kind = shape->Depth != 0 ? SOLID : shape->Height != 0 ? PLANE : LINE;
    return shape->Depth == 0 || shape->Height != 0;
}

static bool sizes_good(CUdevice device, const CUDA_ARRAY3D_DESCRIPTOR *shape, bool mipmapped)
{
    enum kind kind;
    if (shape->Width == 0 || !kind_of(shape, &kind)) {
        return false;
    }
    const struct limits *most = &textures[kind];
    if (mipmapped && kind <= PLANE) {
        most = kind == LINE ? &mipmapped_line : &mipmapped_plane;
    }
    if ((shape->Flags & CUDA_ARRAY3D_TEXTURE_GATHER) != 0) {
        if (kind != PLANE) {
            return false;
        }
        most = &gather;
    }
    return (array_within(device, shape, most) ||
            (kind == SOLID && array_within(device, shape, &alternate))) &&
           ((shape->Flags & CUDA_ARRAY3D_SURFACE_LDST) == 0 ||
            array_within(device, shape, &surfaces[kind]));
}

/* ---- arrays */

static unsigned levels_most(const CUDA_ARRAY3D_DESCRIPTOR *shape)
{
    bool layers = (shape->Flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP)) != 0;
    size_t largest = shape->Width > shape->Height ? shape->Width : shape->Height;
    largest = !layers && shape->Depth > largest ? shape->Depth : largest;
    unsigned levels = 1;
    for (; largest > 1; largest /= 2) {
        levels++;
    }
    return levels;
}

CUresult front_array_read(CUdevice device, const CUDA_ARRAY3D_DESCRIPTOR *said, bool mipmapped,
                          unsigned levels, struct front_array *array)
{
    if (said == NULL || (said->Flags & ~(unsigned)FLAGS_KNOWN) != 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (format_known(said->Format)) {
        return front_unsupported("an array of several planes or compressed blocks");
    }
    struct front_array made = {.shape = *said,
                               .element = front_element_bytes(said->Format, said->NumChannels)};
    if (made.element == 0 || !sizes_good(device, said, mipmapped)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    if ((said->Flags & FLAGS_REFUSED) != 0) {
        return front_unsupported("a sparse, deferred, depth or video array");
    }
    if (mipmapped) {
        unsigned most = levels_most(said);
        made.levels = levels == 0 ? 1 : levels < most ? levels : most;
    }
    *array = made;
    return CUDA_SUCCESS;
}

CUresult front_array_read_2d(CUdevice device, const CUDA_ARRAY_DESCRIPTOR *said,
                             struct front_array *array)
{
    if (said == NULL) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    const CUDA_ARRAY3D_DESCRIPTOR shape = {.Width = said->Width,
                                           .Height = said->Height,
                                           .Format = said->Format,
                                           .NumChannels = said->NumChannels};
    return front_array_read(device, &shape, false, 0, array);
}
