/* SPDX-License-Identifier: Apache-2.0 */
/* Parses modules. */
#ifndef SOFTGPU_PTX_MODULE_H
#define SOFTGPU_PTX_MODULE_H

#include "softgpu/ptx/parse.h"

/* Parses all units of the load into one module; errors leave by sg_load_fail. */
struct sg_ptx_module *sg_parse_module(struct sg_load *load);

#endif
