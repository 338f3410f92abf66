/* Warps that have not diverged. A kernel has its instructions twice: as decoded, and once more for
 * warps of 32 lanes that all go the same way. There, rows whose 16 values of a half-warp lie evenly
 * spaced, by a distance that the decoder knows (addresses and indices, mostly; distance 0: all the
 * same), are kept as a *pair*: the values of lanes 0 and 16. A warp starts so if it can and leaves
 * for ever when its lanes part, or when 32-bit values that are widened wrap around within a half;
 * then the pairs are written out. */
#ifndef SG_EXEC_FAST_H
#define SG_EXEC_FAST_H

#include "softgpu/exec/op.h"
#include "softgpu/exec/program.h"

#define SG_HALF 16

struct sg_warp;

struct sg_fast_row {    /* one that is not kept as a row besides */
    uint32_t pair, row; /* offsets */
    int32_t stride;
    uint32_t start, end; /* instructions between which the row's place is its own */
    bool wide;
};

/* Instructions that are as decoded have kind, guard and imm as there, branches in `d` the index of
 * the target in `insns`. Accesses with a pair as address have its stride in `f`, and the handler
 * for rows in `masked`. */
struct sg_fast {
    const struct sg_insn *insns;
    const uint32_t *pc; /* of each of insns: the index as decoded */
    const uint32_t *at; /* the reverse, for each instruction as decoded */
    const struct sg_fast_row *rows;
    uint32_t row_count;
};

/* Runs the only group of the warp until it waits, ends, faults, has had its turn or leaves
 * (warp->fast is then false). False: it did nothing. */
bool sg_fast_run(struct sg_warp *warp);

/* d = the row of the pair a, whose stride is imm */
sg_handler sg_fast_expand32, sg_fast_expand64;
/* Leaves unless pair e, of stride f, does not wrap around as a signed or unsigned number; then goes
 * on with `masked`. */
sg_handler sg_fast_check_s32, sg_fast_check_u32;
/* The predicate d out of pairs a and b with strides e and f, or NULL: by the name of the operation
 * on rows */
sg_handler *sg_fast_compare(const char *name);

#endif
