/* SPDX-License-Identifier: Apache-2.0 */
/* CUDA arrays: what their descriptors may say, and what of them a copy may touch. An array is of
 * one level; a mipmapped array has several, each of which is an array too. */
#ifndef FRONT_TEXTURE_ARRAY_H
#define FRONT_TEXTURE_ARRAY_H

#include <stdbool.h>
#include <stdint.h>

#include "api/cuda_names.h"
#include "front/memory/copy_box.h"

#define FRONT_LEVELS_MAX 18u /* of the widest array there is */

struct front_array {
    CUDA_ARRAY3D_DESCRIPTOR shape; /* as cuArray3DGetDescriptor tells it; of the first level */
    unsigned levels;               /* 0: no mipmapped array */
    bool of_level;                 /* it is a level of a mipmapped one */
    unsigned element;              /* bytes */
};

/* CUDA_ERROR_INVALID_VALUE: NULL, an unknown format or flag, sizes or flags that do not go together
 * or are beyond the device's. CUDA_ERROR_NOT_SUPPORTED, named: formats of several planes or of
 * compressed blocks; sparse, deferred, depth and video arrays. `levels` of a mipmapped array are
 * cut to what it can have. */
CUresult front_array_read(CUdevice device, const CUDA_ARRAY3D_DESCRIPTOR *said, bool mipmapped,
                          unsigned levels, struct front_array *array);
/* The same of an array of one or two dimensions. */
CUresult front_array_read_2d(CUdevice device, const CUDA_ARRAY_DESCRIPTOR *said,
                             struct front_array *array);
/* An existing level of a mipmapped array. */
struct front_array front_array_level(const struct front_array *whole, unsigned level);
/* Layers; 1 for an array without. */
unsigned front_array_layers(const struct front_array *array);

/* Bytes of an element; 0: no such format, or it has not so many channels. */
unsigned front_element_bytes(CUarray_format format, unsigned channels);

/* CUDA_ERROR_INVALID_VALUE unless this side of the box, which is of the array, lies in it and does
 * not cut elements. */
CUresult front_array_holds(const struct front_array *array, const struct front_box *box,
                           const struct front_side *side);

#endif
