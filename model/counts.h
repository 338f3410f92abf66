/* SPDX-License-Identifier: Apache-2.0 */
/* Resources of a multiprocessor that a kernel uses, counted while it runs or known before.
 *
 * Note: the unit is one instruction of a whole warp, whatever number of its lanes take part, as on
 * hardware; only bytes are counted by lane. */
#ifndef MODEL_COUNTS_H
#define MODEL_COUNTS_H

#include <stdatomic.h>
#include <stdint.h>

enum model_count {
    MODEL_COUNT_ISSUE, /* every instruction */
    MODEL_COUNT_F32,   /* operations in single precision and below */
    MODEL_COUNT_F64,
    MODEL_COUNT_INT,
    MODEL_COUNT_SPECIAL, /* rcp, sqrt, sin, ... */
    MODEL_COUNT_MATRIX,  /* multiplications of mma, 32 as one */
    MODEL_COUNT_SHARED,  /* 4 bytes of shared memory for each lane */
    MODEL_COUNT_GLOBAL,  /* accesses to global and local memory, textures, surfaces */
    MODEL_COUNT_BYTES,   /* bytes of these accesses */
    MODEL_COUNTS
};

struct model_counts { /* of a grid and what it launches */
    _Atomic uint64_t of[MODEL_COUNTS];
};

#endif
