/* SPDX-License-Identifier: Apache-2.0 */
/* Undiverged warps. A kernel has its instructions twice: as decoded, and once more for warps of 32
 * lanes that have always gone the same way. In the second version, rows whose 16 values of a
 * half-warp are evenly spaced, with a distance that the decoder knows (mostly addresses and
 * indices; distance 0: all the same), are kept as a *pair*: the values of lanes 0 and 16. A warp
 * begins so if it can. It leaves this version for ever when its lanes part, or when 32-bit values
 * that are widened wrap around within a half; then the pairs are written out.
 *
 * The handlers of this version form a *chain*: each ends with a jump to the handler of the next
 * instruction. A handler that returns ends the warp's turn, after it has stored the position in the
 * warp's group. At the jump the stack must be empty, or it becomes a call and the stack grows: pass
 * no address of a local variable to a function. */
#ifndef SOFTGPU_EXEC_FAST_H
#define SOFTGPU_EXEC_FAST_H

#include "softgpu/exec/op.h"
#include "softgpu/exec/program.h"

#define SG_HALF 16

struct sg_warp;

struct sg_fast_row {    /* one that is kept as a row only */
    uint32_t pair, row; /* offsets */
    int32_t stride;
    uint32_t start, end; /* the instructions between which the row's slot is its own */
    bool wide;
};

/* The `full` handler of these instructions belongs to the chain, and `run` is unused. Handlers
 * outside the chain (of operations with no other) follow an instruction that calls them. Branches
 * have the distance to their target in `d`, all bits set in `c` if their guard is negated, and
 * their decoded imm. Accesses with a pair as address have its stride in `f`, and the handler for
 * rows in `masked`. */
struct sg_fast {
    const struct sg_insn *insns;
    const uint32_t *pc; /* for each of insns: its decoded index */
    const uint32_t *at; /* the reverse, for each decoded instruction */
    const struct sg_fast_row *rows;
    uint32_t row_count;
};

/* Continues with `handler` or with the instruction `next`: the last statement of a handler of the
 * chain. gcc compiles it to a jump from -O2 on, so these files are always compiled with that. */
#if defined(__clang__)
#define SG_FAST_TO(handler, warp, in)                                                              \
    __attribute__((musttail)) return (handler)((warp), (in), UINT32_MAX)
#else
#define SG_FAST_TO(handler, warp, in) (handler)((warp), (in), UINT32_MAX)
#endif
#define SG_FAST_GO(warp, next) SG_FAST_TO((next)->full, warp, next)

/* Backward branches in one turn. Fewer than elsewhere: warps that walk through an array side by
 * side find their neighbours' pages still in the cache. */
#define SG_FAST_SPIN_MAX 32
#define SG_FAST_JUMP(warp, in)                                                                     \
    const struct sg_insn *jump_ = (in);                                                            \
    const int64_t distance_ = (int32_t)jump_->d;                                                   \
    if (distance_ <= 0 && ++(warp)->spin >= SG_FAST_SPIN_MAX) {                                    \
        (warp)->groups[0].pc = (uint32_t)jump_->imm;                                               \
        return;                                                                                    \
    }                                                                                              \
    SG_FAST_GO(warp, jump_ + distance_)

/* Runs the only group of the warp until it waits, ends, faults, has had its turn or diverges
 * (warp->fast is then false). False: it did nothing. */
bool sg_fast_run(struct sg_warp *warp);
/* From `in` on the warp runs the instructions as decoded. */
void sg_fast_leave(struct sg_warp *warp, const struct sg_insn *in);

/* Branches without a guard and with one, the exit of all lanes, and other kinds. */
sg_handler sg_fast_jump, sg_fast_branch, sg_fast_exit, sg_fast_special;
/* Runs the next instruction, which is not of the chain; the second one checks its guard. */
sg_handler sg_fast_step, sg_fast_guarded;

/* Writes row `d` from the pair `a`. */
void sg_fast_write32(struct sg_warp *warp, uint32_t d, uint32_t a, uint32_t stride);
void sg_fast_write64(struct sg_warp *warp, uint32_t d, uint32_t a, uint64_t stride);

struct sg_fast_pair {
    uint64_t low, high;
};

/* Two numbers that were stored one by one must not be loaded as one vector: the processor cannot
 * forward both from its store buffer, and would wait for the cache. This keeps gcc from doing
 * so. */
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

/* The first two instructions of an index. False: the widened value wraps around. */
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
