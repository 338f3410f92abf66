/* SPDX-License-Identifier: Apache-2.0 */
/* Fuses consecutive instructions of undiverged warps into one (exec/fast.h): the first of them gets
 * the handler for all, which continues after the last. The others stay, because branches may lead
 * to them. */
#include "softgpu/ptx/decode_fuse.h"

#include "softgpu/exec/fast_pair.h"
#include "softgpu/ptx/decode_fast.h"

struct fusing {
    const struct sg_decoder *decoder;
    const struct sg_fast_mem_ops *mem;
    const uint32_t *pc; /* for each instruction, its draft */
    struct sg_insn *insns;
    sg_handler *add, *narrow_add, *product_s32, *product_u32;
    sg_handler *uses[SG_FAST_USES];
};

/* Whether only the next instruction reads the result of this load. */
static bool is_for_next(const struct fusing *fusing, const struct sg_insn *in)
{
    const uint32_t at = fusing->pc[in - fusing->insns];
    const struct sg_draft *drafts = fusing->decoder->drafts.items;
    const struct sg_draft_row *row = &fusing->decoder->rows.items[drafts[at].in.d];
    return row->start == at && row->end == at + 1 && fusing->pc[in + 1 - fusing->insns] == at + 1 &&
           in[1].c != in->d && (in[1].a == in->d) != (in[1].b == in->d);
}

/* The handler for the load and the next operation, or NULL. */
static sg_handler *used_load(const struct fusing *fusing, struct sg_insn *in, unsigned source)
{
    for (int use = 0; use < SG_FAST_USES; use++) {
        if (in[1].full == fusing->uses[use] && is_for_next(fusing, in)) {
            in[1].b = in[1].a == in->d ? in[1].b : in[1].a; /* sums and products are commutative */
            in[1].a = in->d;
            return fusing->mem->used_load[source][use];
        }
    }
    return NULL;
}

/* The handler for the computation of the address, the access, and perhaps the next operation; or
 * NULL. */
static sg_handler *access_behind(const struct fusing *fusing, struct sg_insn *in,
                                 enum sg_fast_front front)
{
    const struct sg_fast_mem_ops *mem = fusing->mem;
    for (int type = 0; type < SG_MEM_TYPES; type++) {
        if (in->full == mem->load[SG_FAST_GLOBAL][type][SG_FAST_NEXT]) {
            sg_handler *used = type == SG_MEM_b32 ? used_load(fusing, in, front) : NULL;
            return used != NULL ? used : mem->fused_load[front][type];
        }
        if (in->full == mem->store[SG_FAST_GLOBAL][type][SG_FAST_NEXT]) {
            return mem->fused_store[front][type];
        }
    }
    return NULL;
}

/* A check, a product and a sum, perhaps followed by an access. */
static void index_pair(const struct fusing *fusing, struct sg_insn *in)
{
    const bool is_signed = in->full == sg_fast_check_s32;
    const uint32_t product = in[1].d;
    if (in[1].full != (is_signed ? fusing->product_s32 : fusing->product_u32) ||
        in[2].full != fusing->add || (in[2].a == product) == (in[2].b == product)) {
        return;
    }
    in[2].b = in[2].a == product ? in[2].b : in[2].a;
    in[2].a = product;
    in->full = is_signed ? sg_fast_index_s32 : sg_fast_index_u32;
    sg_handler *fused =
        in[3].a == in[2].d
            ? access_behind(fusing, in + 3, is_signed ? SG_FAST_INDEXED : SG_FAST_INDEXED_UNSIGNED)
            : NULL;
    in->full = fused != NULL ? fused : in->full;
}

/* A load alone, with the next operation. */
static sg_handler *plain_load(const struct fusing *fusing, struct sg_insn *in)
{
    sg_handler *const(*load)[SG_MEM_TYPES][SG_FAST_SHAPES] = fusing->mem->load;
    return in->full == load[SG_FAST_GLOBAL][SG_MEM_b32][SG_FAST_NEXT]
               ? used_load(fusing, in, SG_FAST_PLAIN)
           : in->full == load[SG_FAST_SHARED][SG_MEM_b32][SG_FAST_NEXT]
               ? used_load(fusing, in, SG_FAST_SHARED_NEXT)
           : in->full == load[SG_FAST_SHARED][SG_MEM_b32][SG_FAST_SAME]
               ? used_load(fusing, in, SG_FAST_SHARED_SAME)
               : NULL;
}

static sg_handler *compare_and_branch(const struct sg_insn *in)
{
    return in[1].full == sg_fast_branch && in[1].guard == in->d
               ? sg_fast_compare_and_branch(in->full)
               : NULL;
}

/* Fuses from the last instruction but one backwards: a fused instruction cannot begin another
 * fusion, and the following ones have been examined before. */
static void fuse_one(const struct fusing *fusing, struct sg_insn *in, uint32_t left)
{
    sg_handler *fused = NULL;
    if ((in->full == sg_fast_check_s32 || in->full == sg_fast_check_u32) && left > 3) {
        index_pair(fusing, in);
        return;
    }
    if (in->full == fusing->add && in[1].a == in->d) {
        fused = access_behind(fusing, in + 1, SG_FAST_ADDED);
    }
    if (fused == NULL && (in->full == fusing->add || in->full == fusing->narrow_add) &&
        in[1].a == in->d && left > 2 && compare_and_branch(in + 1) != NULL) {
        fused = sg_fast_step_and_branch(in[1].full, in->full == fusing->add);
    }
    if (fused == NULL) {
        fused = plain_load(fusing, in);
    }
    if (fused == NULL) {
        fused = compare_and_branch(in);
    }
    in->full = fused != NULL ? fused : in->full;
}

void sg_fast_fuse(const struct sg_decoder *decoder, struct sg_insn *insns, const uint32_t *pc,
                  uint32_t count)
{
    const struct fusing fusing = {
        .decoder = decoder,
        .mem = decoder->isa->fast_mem,
        .pc = pc,
        .insns = insns,
        .add = sg_op_find("add_u64")->pair,
        .narrow_add = sg_op_find("add_u32")->pair,
        .product_s32 = sg_op_find("mul_wide_s32")->pair,
        .product_u32 = sg_op_find("mul_wide_u32")->pair,
        .uses = {[SG_FAST_ADD_U32] = sg_op_find("add_u32")->chain,
                 [SG_FAST_ADD_F32] = sg_op_find("add_f32")->chain,
                 [SG_FAST_FMA_F32] = sg_op_find("fma_f32")->chain},
    };
    for (uint32_t i = 0; i + 1 < count; i++) {
        fuse_one(&fusing, &insns[i], count - i);
    }
}
