/* Finds instructions of undiverged warps that stand one behind the other and are done in one
 * (exec/fast.h): the first of them gets the handler for all, which goes on behind the last. The
 * others stay as they are, for whoever jumps to them. */
#include "softgpu/exec/fast.h"
#include "softgpu/ptx/decode_fast.h"

struct fusing {
    const struct sg_fast_mem_ops *mem;
    sg_handler *add, *product_s32, *product_u32;
};

static bool stores_or_loads(const struct sg_fast_mem_ops *mem, const struct sg_insn *in,
                            enum sg_fast_front front, sg_handler **fused)
{
    for (int type = 0; type < SG_MEM_TYPES; type++) {
        if (in->full == mem->load[SG_FAST_GLOBAL][type][SG_FAST_NEXT]) {
            *fused = mem->fused_load[front][type];
            return *fused != NULL;
        }
        if (in->full == mem->store[SG_FAST_GLOBAL][type][SG_FAST_NEXT]) {
            *fused = mem->fused_store[front][type];
            return *fused != NULL;
        }
    }
    return false;
}

/* A check, a product and a sum, perhaps an access besides */
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
    sg_handler *fused;
    if (in[3].a == in[2].d &&
        stores_or_loads(fusing->mem, in + 3, is_signed ? SG_FAST_INDEXED : SG_FAST_INDEXED_UNSIGNED,
                        &fused)) {
        in->full = fused;
    }
}

/* Handlers are looked for in front of each other: what has been fused is no beginning of anything
 * else, and what comes behind has not been looked at yet. */
void sg_fast_fuse(const struct sg_decoder *decoder, struct sg_insn *insns, uint32_t count)
{
    const struct fusing fusing = {
        .mem = decoder->isa->fast_mem,
        .add = sg_op_find("add_u64")->pair,
        .product_s32 = sg_op_find("mul_wide_s32")->pair,
        .product_u32 = sg_op_find("mul_wide_u32")->pair,
    };
    for (uint32_t i = 0; i + 1 < count; i++) {
        struct sg_insn *in = &insns[i];
        sg_handler *fused;
        if ((in->full == sg_fast_check_s32 || in->full == sg_fast_check_u32) && i + 3 < count) {
            index_pair(&fusing, in);
        } else if (in->full == fusing.add && in[1].a == in->d &&
                   stores_or_loads(fusing.mem, in + 1, SG_FAST_ADDED, &fused)) {
            in->full = fused;
        } else if (in[1].full == sg_fast_branch && in[1].guard == in->d &&
                   (fused = sg_fast_compare_and_branch(in->full)) != NULL) {
            in->full = fused;
        }
    }
}
