/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of array descriptors. */
#ifndef FRONT_TEXTURE_ARRAY_READ_H
#define FRONT_TEXTURE_ARRAY_READ_H

#include "front/texture/array.h"

/* CUDA_ERROR_INVALID_VALUE: NULL, an unknown format or flag, or sizes or flags that contradict
 * each other or exceed the device's limits. CUDA_ERROR_NOT_SUPPORTED, named on stderr: formats
 * of several planes or of compressed blocks; sparse, deferred, depth and video arrays. `levels`
 * of a mipmapped array are cut to the possible number. */
CUresult front_array_read(CUdevice device, const CUDA_ARRAY3D_DESCRIPTOR *said, bool mipmapped,
                          unsigned levels, struct front_array *array);
/* As front_array_read, for an array of one or two dimensions. */
CUresult front_array_read_2d(CUdevice device, const CUDA_ARRAY_DESCRIPTOR *said,
                             struct front_array *array);

#endif
