/* SPDX-License-Identifier: Apache-2.0 */
/* CUDA arrays: checks of descriptors, and the bounds of copies. An array has one level; a
 * mipmapped array has several, each of which is an array. */
#ifndef FRONT_TEXTURE_ARRAY_H
#define FRONT_TEXTURE_ARRAY_H

#include <stdbool.h>
#include <stdint.h>

#include "api/cuda_names.h"
#include "front/memory/copy_box.h"

#define FRONT_LEVELS_MAX 18u /* of the widest array there is */

struct front_array {
    CUDA_ARRAY3D_DESCRIPTOR shape; /* as from cuArray3DGetDescriptor; of the first level */
    unsigned levels;               /* 0: not a mipmapped array */
    bool of_level;                 /* it is a level of a mipmapped array */
    unsigned element;              /* bytes */
};

/* An existing level of a mipmapped array. */
struct front_array front_array_level(const struct front_array *whole, unsigned level);
/* The number of layers; 1: no layered array. */
unsigned front_array_layers(const struct front_array *array);

/* Bytes of an element. 0: no such format, or too many channels for it. */
unsigned front_element_bytes(CUarray_format format, unsigned channels);

/* CUDA_ERROR_INVALID_VALUE unless this side of the box, an array, lies within the array and is
 * made of whole elements. */
CUresult front_array_holds(const struct front_array *array, const struct front_box *box,
                           const struct front_side *side);

/* The elements that a view's format describes: CU_AD_FORMAT_* and channels. False: there is no
 * such format, or it has no elements (CU_RES_VIEW_FORMAT_NONE, compressed blocks). */
bool front_view_format(CUresourceViewFormat format, CUarray_format *element, unsigned *channels);

#endif
