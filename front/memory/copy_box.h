/* SPDX-License-Identifier: Apache-2.0 */
/* What cuMemcpy2D, cuMemcpy3D and cuMemcpy3DPeer describe, in one shape: depth slices of height
 * rows of width bytes, and where row 0 of slice 0 lies on each side. */
#ifndef FRONT_MEMORY_COPY_BOX_H
#define FRONT_MEMORY_COPY_BOX_H

#include <stdint.h>

#include "api/cuda_names.h"

enum front_place {
    FRONT_HOST,
    FRONT_DEVICE,
    FRONT_UNIFIED, /* whatever the address is */
    FRONT_ARRAY
};

struct front_side {
    enum front_place place;
    uint64_t start;        /* address; offsets are in it */
    uint64_t pitch, slice; /* bytes from row to row, from slice to slice */
    CUarray array;    /* ARRAY: instead of all this, not looked at yet (front/texture/array.h) */
    uint64_t x, y, z; /* ARRAY: where in it; x in bytes */
};

/* Slices that follow each other without a gap on both sides, in linear memory, are rows of one
 * slice here. */
struct front_box {
    struct front_side from, to;
    uint64_t width, height, depth; /* width 0: there is nothing to copy, and no more is said */
};

/* CUDA_ERROR_INVALID_VALUE: NULL, an address of NULL, a pitch or height smaller than what is
 * copied, numbers too large. */
CUresult front_box_2d(const CUDA_MEMCPY2D *copy, struct front_box *box);
CUresult front_box_3d(const CUDA_MEMCPY3D *copy, struct front_box *box);
/* Its contexts are the caller's to check. */
CUresult front_box_peer(const CUDA_MEMCPY3D_PEER *copy, struct front_box *box);

/* Bytes from the first to the last of a side. It has been checked that they do not wrap. */
uint64_t front_box_extent(const struct front_box *box, const struct front_side *side);

#endif
