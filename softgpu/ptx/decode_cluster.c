/* SPDX-License-Identifier: Apache-2.0 */
/* Clusters, elect, and instructions that only advise: they do nothing, since nothing is cached or
 * launched early. */
#include "softgpu/ptx/decode_cluster.h"

#include "softgpu/exec/async.h"
#include "softgpu/exec/cluster.h"
#include "softgpu/ptx/decode.h"
#include "softgpu/ptx/decode_emit.h"
#include "softgpu/ptx/decode_flow.h"
#include "softgpu/ptx/decode_rows.h"

static struct sg_draft *decode_cluster_emit(struct sg_decoder *decoder, sg_handler *handler)
{
    return sg_guard(decoder, sg_emit(decoder, handler, handler));
}

void sg_decode_barrier_cluster(struct sg_decoder *decoder)
{
    sg_modifiers_check(decoder, "cluster arrive wait release relaxed acquire aligned", false);
    sg_operands_check(decoder, 0, 0);
    bool arrive = sg_modifier(decoder, "arrive");
    if (arrive == sg_modifier(decoder, "wait")) {
        sg_decode_unsupported(decoder);
    }
    struct sg_draft *draft = decode_cluster_emit(decoder, NULL);
    draft->in.kind = (uint8_t)(arrive ? SG_KIND_CLUSTER_ARRIVE : SG_KIND_CLUSTER_WAIT);
}

/* An address: a variable, or a register of either size; `space` says that it is an offset. */
static uint32_t address_source(struct sg_decoder *decoder, const struct sg_operand *operand,
                               bool wide)
{
    return sg_row_source(decoder, operand, wide ? SG_TYPE_B64 : SG_TYPE_B32);
}

void sg_decode_mapa(struct sg_decoder *decoder)
{
    const struct sg_operand *operands = decoder->at->operands;
    bool rank = sg_text_is(decoder->at->opcode, "getctarank"), wide = sg_modifier(decoder, "u64");
    bool space = sg_modifier(decoder, "shared::cluster");
    sg_modifiers_check(decoder, "shared::cluster u32 u64", false);
    sg_operands_check(decoder, rank ? 2 : 3, rank ? 2 : 3);
    /* getctarank: the type is that of the address */
    uint32_t a = address_source(decoder, &operands[1], wide);
    uint32_t b = rank ? 0 : sg_row_source(decoder, &operands[2], SG_TYPE_B32);
    uint32_t d = sg_row_target(decoder, &operands[0], wide && !rank ? SG_TYPE_B64 : SG_TYPE_B32);
    uint32_t mapped = wide && space && !rank ? sg_row_new(decoder, SG_ROW_64) : d;
    struct sg_draft *draft = sg_emit(decoder, NULL, NULL);
    draft->in.full = draft->in.masked = rank ? (wide ? sg_cluster_rank64 : sg_cluster_rank32)
                                             : (wide ? sg_cluster_mapa64 : sg_cluster_mapa32);
    draft->in.d = mapped;
    draft->in.a = a;
    draft->in.b = b;
    draft->reads = (uint8_t)(SG_FIELD_A | (b ? SG_FIELD_B : 0));
    draft->writes = SG_FIELD_D;
    if (mapped == d) {
        sg_guard(decoder, draft);
    } else { /* an offset in the window, not a generic address */
        sg_guard(decoder, sg_emit_op(decoder, "sub_u64", d, mapped,
                                     sg_row_literal(decoder, SG_WINDOW_SHARED, true), 0));
    }
}

void sg_decode_elect(struct sg_decoder *decoder)
{
    const struct sg_operand *operands = decoder->at->operands;
    sg_modifiers_check(decoder, "sync", false);
    sg_operands_check(decoder, 2, 2);
    struct sg_operand target = operands[0];
    if (target.pair == NULL) {
        sg_decode_wrong(decoder, "the predicate is missing");
    }
    uint32_t p = sg_row_target(decoder, target.pair, SG_TYPE_PRED);
    bool wanted = target.kind != SG_OPERAND_SINK;
    target.pair = NULL;
    uint32_t d = wanted ? sg_row_target(decoder, &target, SG_TYPE_B32) : 0;
    uint32_t members = sg_row_source(decoder, &operands[1], SG_TYPE_B32);
    struct sg_draft *draft = sg_emit_collective(decoder, sg_elect, members);
    draft->in.d = d;
    draft->in.f = p;
    draft->writes = (uint8_t)(SG_FIELD_F | (wanted ? SG_FIELD_D : 0));
}

/* griddepcontrol: the previous grid has ended when a kernel begins. setmaxnreg: registers are not
 * allocated. applypriority, discard, prefetch: nothing is cached. pmevent: there is no counter. */
void sg_decode_advice(struct sg_decoder *decoder)
{
    if (sg_modifier(decoder, "tensormap") || sg_modifier(decoder, "tensor")) {
        sg_decode_unsupported(decoder);
    }
    sg_operands_check(decoder, 0, 2);
    decode_cluster_emit(decoder, sg_misc_nothing);
}

/* A policy is a number without effect. */
void sg_decode_createpolicy(struct sg_decoder *decoder)
{
    sg_operands_check(decoder, 1, 4);
    uint32_t d = sg_row_target(decoder, &decoder->at->operands[0], SG_TYPE_B64);
    sg_guard(decoder, sg_emit_op(decoder, "x_mov64", d, sg_row_literal(decoder, 0, true), 0, 0));
}
