/* SPDX-License-Identifier: Apache-2.0 */
/* Special registers (PTX ISA 9.0, 10) whose value is known before a kernel or a block begins; the
 * clocks are instructions of their own (decode_move.c). */
#include "softgpu/ptx/decode_special.h"

#include "softgpu/ptx/decode.h"
#include "softgpu/ptx/decode_rows.h"

#include <stdio.h>

static const char *const special_names[SG_SPECIAL_COUNT] = {
    "%tid.x",
    "%tid.y",
    "%tid.z",
    "%ntid.x",
    "%ntid.y",
    "%ntid.z",
    "%ctaid.x",
    "%ctaid.y",
    "%ctaid.z",
    "%nctaid.x",
    "%nctaid.y",
    "%nctaid.z",
    "%laneid",
    "%warpid",
    "%nwarpid",
    "%smid",
    "%nsmid",
    "%gridid",
    "%lanemask_eq",
    "%lanemask_le",
    "%lanemask_lt",
    "%lanemask_ge",
    "%lanemask_gt",
    "%dynamic_smem_size",
    "%total_smem_size",
    "%envreg1",
    "%envreg2",
    "%clusterid.x",
    "%clusterid.y",
    "%clusterid.z",
    "%cluster_ctaid.x",
    "%cluster_ctaid.y",
    "%cluster_ctaid.z",
    "%cluster_ctarank",
    "%nclusterid.x",
    "%nclusterid.y",
    "%nclusterid.z",
    "%cluster_nctaid.x",
    "%cluster_nctaid.y",
    "%cluster_nctaid.z",
    "%cluster_nctarank",
    "%is_explicit_cluster",
};

/* "%pm" 3 "_64" */
static bool is_numbered(struct sg_text name, const char *stem, unsigned first, unsigned last,
                        const char *end)
{
    char one[32];
    bool found = false;
    for (unsigned i = first; sg_text_starts(name, stem) && i <= last && !found; i++) {
        snprintf(one, sizeof one, "%s%u%s", stem, i, end);
        found = sg_text_is(name, one);
    }
    return found;
}

/* Registers that read 0: performance monitors, environment registers that the driver does not set,
 * shared memory reserved by the system, the graph of a device launch. */
static bool reads_zero(struct sg_text name)
{
    return is_numbered(name, "%pm", 0, 7, "") || is_numbered(name, "%pm", 0, 7, "_64") ||
           is_numbered(name, "%envreg", 0, 0, "") || is_numbered(name, "%envreg", 3, 31, "") ||
           sg_text_is(name, "%reserved_smem_offset_begin") ||
           sg_text_is(name, "%reserved_smem_offset_end") ||
           sg_text_is(name, "%reserved_smem_offset_cap") ||
           is_numbered(name, "%reserved_smem_offset_", 0, 1, "") ||
           sg_text_is(name, "%current_graph_exec");
}

uint32_t sg_row_special(struct sg_decoder *decoder, const struct sg_operand *operand, bool wide)
{
    if (reads_zero(operand->text)) {
        return sg_row_literal(decoder, 0, wide);
    }
    struct sg_const c = {.kind = SG_CONST_SPECIAL, .wide = wide};
    if (sg_text_is(operand->text, "%aggr_smem_size")) { /* including memory reserved by the system,
                                                           of which there is none */
        c.index = SG_SPECIAL_TOTAL_SMEM;
        return sg_row_const(decoder, c);
    }
    for (; c.index < SG_SPECIAL_COUNT; c.index++) {
        if (sg_text_is(operand->text, special_names[c.index])) {
            return sg_row_const(decoder, c);
        }
    }
    sg_load_fail(decoder->load, SG_LOAD_UNSUPPORTED, operand->place,
                 "special register '%.*s' is unknown or not supported",
                 SG_TEXT_ARGS(operand->text));
}
