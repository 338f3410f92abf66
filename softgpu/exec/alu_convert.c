/* SPDX-License-Identifier: Apache-2.0 */
/* Handlers of op_convert.def. */
#include "softgpu/exec/alu.h"

#include "softgpu/exec/op_convert.def"

#include "softgpu/exec/alu_table.h"

static const struct sg_op table[] = {
#include "softgpu/exec/op_convert.def"
};

struct sg_op_list SG_ISA_NAME(sg_ops_convert)(void);
struct sg_op_list SG_ISA_NAME(sg_ops_convert)(void)
{
    return (struct sg_op_list){table, sizeof table / sizeof table[0]};
}
