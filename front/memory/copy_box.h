/* SPDX-License-Identifier: Apache-2.0 */
/* The common shape of cuMemcpy2D, cuMemcpy3D and cuMemcpy3DPeer: depth slices of height rows of
 * width bytes, and the place of row 0 of slice 0 on each side. */
#ifndef FRONT_MEMORY_COPY_BOX_H
#define FRONT_MEMORY_COPY_BOX_H

#include <stdint.h>

#include "api/cuda_names.h"

enum front_place {
    FRONT_HOST,
    FRONT_DEVICE,
    FRONT_UNIFIED, /* the address decides */
    FRONT_ARRAY
};

struct front_side {
    enum front_place place;
    uint64_t start;        /* address, including offsets */
    uint64_t pitch, slice; /* bytes from row to row, from slice to slice */
    CUarray array;         /* ARRAY: used instead of the above; not checked here */
    uint64_t x, y, z;      /* ARRAY: where in it; x in bytes */
};

/* A box. Slices without gaps on both sides, in linear memory, are merged into one slice. */
struct front_box {
    struct front_side from, to;
    uint64_t width, height, depth; /* width 0: nothing to copy; other members are unset */
};

/* CUDA_ERROR_INVALID_VALUE: NULL, an address of NULL, a pitch or height smaller than the copy,
 * or overflow. */
CUresult front_box_2d(const CUDA_MEMCPY2D *copy, struct front_box *box);
CUresult front_box_3d(const CUDA_MEMCPY3D *copy, struct front_box *box);
/* The caller checks the contexts. */
CUresult front_box_peer(const CUDA_MEMCPY3D_PEER *copy, struct front_box *box);

/* Bytes from the first to the last of a side, which do not wrap. */
uint64_t front_box_extent(const struct front_box *box, const struct front_side *side);

#endif
