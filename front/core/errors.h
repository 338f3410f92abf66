/* SPDX-License-Identifier: Apache-2.0 */
/* Results of peers. */
#ifndef FRONT_CORE_ERRORS_H
#define FRONT_CORE_ERRORS_H

#include <stdint.h>

#include "api/cuda_names.h"

/* Translates a result that a peer sent. A number that this library's cuda.h does not have,
 * because the peer is newer or wrong, becomes CUDA_ERROR_UNKNOWN (999). */
CUresult front_result_of(int32_t number);

#endif
