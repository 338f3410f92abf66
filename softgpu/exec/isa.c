/* SPDX-License-Identifier: Apache-2.0 */
/* Lists the parts of this instruction set's build of the handlers. */
#include "softgpu/exec/alu.h"

struct sg_op_list SG_ISA_NAME(sg_ops_int)(void);
struct sg_op_list SG_ISA_NAME(sg_ops_float)(void);
struct sg_op_list SG_ISA_NAME(sg_ops_half)(void);
struct sg_op_list SG_ISA_NAME(sg_ops_video)(void);
struct sg_op_list SG_ISA_NAME(sg_ops_convert)(void);
struct sg_op_list SG_ISA_NAME(sg_ops_compare)(void);
const struct sg_mem_ops *SG_ISA_NAME(sg_mem_ops)(void);
sg_handler SG_ISA_NAME(sg_tex);
const struct sg_fast_mem_ops *SG_ISA_NAME(sg_fast_mem_ops)(void);

#define ISA_TEXT_(x) #x
#define ISA_TEXT(x)  ISA_TEXT_(x)

const struct sg_isa *SG_ISA_NAME(sg_isa)(void)
{
    static struct sg_isa isa = {
        .name = ISA_TEXT(SG_ISA),
        .lists = {SG_ISA_NAME(sg_ops_int), SG_ISA_NAME(sg_ops_float), SG_ISA_NAME(sg_ops_half),
                  SG_ISA_NAME(sg_ops_video), SG_ISA_NAME(sg_ops_convert),
                  SG_ISA_NAME(sg_ops_compare)},
        .tex = SG_ISA_NAME(sg_tex),
    };
    isa.mem = SG_ISA_NAME(sg_mem_ops)(); /* called under pthread_once, by op.c */
    isa.fast_mem = SG_ISA_NAME(sg_fast_mem_ops)();
    return &isa;
}
