/* SPDX-License-Identifier: Apache-2.0 */
/* Timed kernels: a kernel of a known name whose parameters say what it demands of a GPU, for
 * programs that stand for others. docs/softgpu-timing.md describes them to their authors. */
#ifndef MODEL_TIMED_H
#define MODEL_TIMED_H

#include <stdbool.h>
#include <stdint.h>

#include "model/timing.h"

#define MODEL_TIMED_NAME   "gpuaas_timed"
#define MODEL_TIMED_NS_MAX UINT64_C(3600000000000) /* as much as the key kernel_time */

/* The parameters in the layout of CUDA. */
struct model_timed {
    uint64_t ns; /* when it runs alone, after its launch */
    /* Shares of the device's places for blocks, of its busiest unit and of its memory's bandwidth:
     * 0 to 1. */
    float places, issue, bandwidth;
};
#define MODEL_TIMED_BYTES  20 /* of parameters, without the structure's padding */
#define MODEL_TIMED_PARAMS 4

/* NULL: all is within bounds; otherwise what is not, and what is allowed. */
const char *model_timed_wrong(const struct model_timed *timed);
/* The demand of a timed kernel that is not wrong. */
struct model_demand model_timed_demand(const struct model_timed *timed);

#endif
