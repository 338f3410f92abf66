/* SPDX-License-Identifier: Apache-2.0 */
/* Warps that have not diverged. A kernel has its instructions twice: as decoded, and once more for
 * warps of 32 lanes that all go the same way. There, rows whose 16 values of a half-warp lie evenly
 * spaced, by a distance that the decoder knows (addresses and indices, mostly; distance 0: all the
 * same), are kept as a *pair*: the values of lanes 0 and 16. A warp starts so if it can and leaves
 * for ever when its lanes part, or when 32-bit values that are widened wrap around within a half;
 * then the pairs are written out.
 *
 * The handlers of this version are a *chain*: each ends with a jump to the handler of the
 * instruction that comes next. The one that returns ends the warp's turn, and has seen to it that
 * the warp's group says where it stands. Nothing may be on the stack at the jump, or it is a call,
 * and the stack grows: pass no address of a local variable to a function. */
#ifndef SOFTGPU_EXEC_FAST_H
#define SOFTGPU_EXEC_FAST_H

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

/* `full` of these instructions is of the chain, and `run` means nothing. Handlers that are not
 * (those of operations that have no other) stand behind an instruction that calls them. Branches
 * have the distance to their target in `d`, in `c` all bits if their guard is negated, and in imm
 * what they had as decoded. Accesses with a
 * pair as address have its stride in `f`, and the handler for rows in `masked`. */
struct sg_fast {
    const struct sg_insn *insns;
    const uint32_t *pc; /* of each of insns: the index as decoded */
    const uint32_t *at; /* the reverse, for each instruction as decoded */
    const struct sg_fast_row *rows;
    uint32_t row_count;
};

/* Goes on with `handler` or with the instruction `next`: the last statement of a handler of the
 * chain. gcc makes a jump of it from -O2 on, with which all of these are compiled always. */
#if defined(__clang__)
#define SG_FAST_TO(handler, warp, in)                                                              \
    __attribute__((musttail)) return (handler)((warp), (in), UINT32_MAX)
#else
#define SG_FAST_TO(handler, warp, in) (handler)((warp), (in), UINT32_MAX)
#endif
#define SG_FAST_GO(warp, next) SG_FAST_TO((next)->full, warp, next)

/* Backward branches in one turn. Fewer than elsewhere: where warps walk through an array side by
 * side, each finds its neighbours' pages still at hand. */
#define SG_FAST_SPIN_MAX 32
#define SG_FAST_JUMP(warp, in)                                                                     \
    const struct sg_insn *jump_ = (in);                                                            \
    const int64_t distance_ = (int32_t)jump_->d;                                                   \
    if (distance_ <= 0 && ++(warp)->spin >= SG_FAST_SPIN_MAX) {                                    \
        (warp)->groups[0].pc = (uint32_t)jump_->imm;                                               \
        return;                                                                                    \
    }                                                                                              \
    SG_FAST_GO(warp, jump_ + distance_)

/* Runs the only group of the warp until it waits, ends, faults, has had its turn or leaves
 * (warp->fast is then false). False: it did nothing. */
bool sg_fast_run(struct sg_warp *warp);
/* From `in` on the warp is like any other. */
void sg_fast_leave(struct sg_warp *warp, const struct sg_insn *in);

/* Branches without a guard and with one, the end of all lanes, and other kinds */
sg_handler sg_fast_jump, sg_fast_branch, sg_fast_exit, sg_fast_special;
/* Runs the instruction behind it, which is not of the chain; the second looks at its guard. */
sg_handler sg_fast_step, sg_fast_guarded;

/* Row `d` from the pair `a` */
void sg_fast_write32(struct sg_warp *warp, uint32_t d, uint32_t a, uint32_t stride);
void sg_fast_write64(struct sg_warp *warp, uint32_t d, uint32_t a, uint64_t stride);
/* d = the row of the pair a, whose stride is imm */
sg_handler sg_fast_expand32, sg_fast_expand64;
/* Leaves unless pair a, of stride b, does not wrap around as a signed or unsigned number */
sg_handler sg_fast_check_s32, sg_fast_check_u32;
/* The predicate d out of pairs a and b with strides e and f, or NULL: by the name of the operation
 * on rows */
sg_handler *sg_fast_compare(const char *name, int32_t stride_a, int32_t stride_b);

/* ---- several instructions in one ----
 * Each does what several do that stand one behind the other, and goes on behind them. All of them
 * stay, so that the others may be jumped to, and so that the first one can leave the rest to them.
 */

/* A comparison and the branch that it guards; NULL: `compare` is none of those above */
sg_handler *sg_fast_compare_and_branch(sg_handler *compare);
/* A sum of pairs (wide: of 64 bits), the comparison whose `a` it is, and the branch; or NULL */
sg_handler *sg_fast_step_and_branch(sg_handler *compare, bool wide);
/* A check, the product behind it, and the sum in whose `a` it is */
sg_handler sg_fast_index_s32, sg_fast_index_u32;

struct sg_fast_pair {
    uint64_t low, high;
};

/* Two numbers that were just stored one by one must not be loaded as one vector: no processor finds
 * both in its store buffer then, and waits until they are in the cache. This keeps gcc from it. */
#define SG_FAST_APART(value) __asm__("" : "+r"(value))

static inline struct sg_fast_pair sg_fast_sum(struct sg_warp *warp, const struct sg_insn *in,
                                              struct sg_fast_pair a)
{
    char *rows = (char *)warp;
    const uint64_t *b = (const uint64_t *)(void *)(rows + in->b);
    uint64_t *d = (uint64_t *)(void *)(rows + in->d);
    a.low += b[0];
    a.high += b[1];
    SG_FAST_APART(a.low);
    SG_FAST_APART(a.high);
    d[0] = a.low;
    d[1] = a.high;
    return a;
}

/* The first two of an index. False: what is widened wraps around */
#define SG_FAST_PRODUCT(name, T, W)                                                                \
    static inline bool sg_fast_product_##name(struct sg_warp *warp, const struct sg_insn *in,      \
                                              struct sg_fast_pair *out)                            \
    {                                                                                              \
        char *rows = (char *)warp;                                                                 \
        const T *x = (const T *)(void *)(rows + in->a);                                            \
        const T *a = (const T *)(void *)(rows + in[1].a),                                          \
                *b = (const T *)(void *)(rows + in[1].b);                                          \
        uint64_t *d = (uint64_t *)(void *)(rows + in[1].d);                                        \
        const int64_t reach = (int64_t)(int32_t)in->b * (SG_HALF - 1);                             \
        const int64_t low = x[0] + reach, high = x[1] + reach;                                     \
        if (low != (T)low || high != (T)high) {                                                    \
            return false;                                                                          \
        }                                                                                          \
        d[0] = out->low = (uint64_t)((W)a[0] * b[0]);                                              \
        d[1] = out->high = (uint64_t)((W)a[1] * b[1]);                                             \
        return true;                                                                               \
    }

SG_FAST_PRODUCT(s32, int32_t, int64_t)
SG_FAST_PRODUCT(u32, uint32_t, uint64_t)

#endif
