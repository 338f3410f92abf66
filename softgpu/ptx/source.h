/* SPDX-License-Identifier: Apache-2.0 */
/* Parses source positions. */
#ifndef SOFTGPU_PTX_SOURCE_H
#define SOFTGPU_PTX_SOURCE_H

#include "softgpu/ptx/parse.h"

/* Parse ".loc" and ".file", up to the end of the line. */
void sg_parse_loc(struct sg_parser *parser);
void sg_parse_file(struct sg_parser *parser);

#endif
