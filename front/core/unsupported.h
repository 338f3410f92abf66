/* SPDX-License-Identifier: Apache-2.0 */
/* The answer of an unsupported CUDA function. */
#ifndef FRONT_CORE_UNSUPPORTED_H
#define FRONT_CORE_UNSUPPORTED_H

#include "api/cuda_names.h"

/* Names the function on stderr (once per name, level info) and returns CUDA_ERROR_NOT_SUPPORTED.
 * `name` is borrowed for ever. */
CUresult front_unsupported(const char *name);

#endif
