/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of the device run time that are PTX themselves: cudaCG*, by which a kernel of a
 * cooperative launch synchronises its grid without the header of cooperative groups (numba does). A
 * program that declares one of them without defining it gets this unit linked to it. */
#ifndef SOFTGPU_PTX_BUILTIN_UNIT_H
#define SOFTGPU_PTX_BUILTIN_UNIT_H

#include "softgpu/ptx/ast.h"

bool sg_builtin_unit_wanted(const struct sg_ptx_module *module);
struct sg_unit sg_builtin_unit(void);

#endif
