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

/* CUDA_ERROR_INVALID_VALUE: NULL, an unknown format or flag, or sizes or flags that contradict
 * each other or exceed the device's limits. CUDA_ERROR_NOT_SUPPORTED, named on stderr: formats
 * of several planes or of compressed blocks; sparse, deferred, depth and video arrays. `levels`
 * of a mipmapped array are cut to the possible number. */
CUresult front_array_read(CUdevice device, const CUDA_ARRAY3D_DESCRIPTOR *said, bool mipmapped,
                          unsigned levels, struct front_array *array);
/* As front_array_read, for an array of one or two dimensions. */
CUresult front_array_read_2d(CUdevice device, const CUDA_ARRAY_DESCRIPTOR *said,
                             struct front_array *array);
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

#endif
