/* SPDX-License-Identifier: Apache-2.0 */
/* Initialisers: "= {1, 2, {3, name+4}}". */
#ifndef SOFTGPU_PTX_INITIALISER_H
#define SOFTGPU_PTX_INITIALISER_H

#include "softgpu/ptx/parse.h"

/* Adds to the variable's inits; `bytes`: of the part that has values. */
void sg_parse_initialiser(struct sg_parser *parser, struct sg_ptx_var *var, uint64_t *bytes);

#endif
