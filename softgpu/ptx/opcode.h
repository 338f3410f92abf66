/* SPDX-License-Identifier: Apache-2.0 */
/* The opcodes of PTX. */
#ifndef SOFTGPU_PTX_OPCODE_H
#define SOFTGPU_PTX_OPCODE_H

#include "softgpu/ptx/ast.h"

/* Compares like strcmp. */
int sg_text_order(struct sg_text text, const char *name);

enum sg_opcode_class { SG_OPCODE_UNKNOWN, SG_OPCODE_KNOWN, SG_OPCODE_SUPPORTED };
enum sg_opcode_class sg_opcode_class_of(struct sg_text opcode);

#endif
