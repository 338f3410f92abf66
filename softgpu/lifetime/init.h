/* SPDX-License-Identifier: Apache-2.0 */
/* cuInit: makes the process's state, its devices and their primary contexts. */
#ifndef SOFTGPU_LIFETIME_INIT_H
#define SOFTGPU_LIFETIME_INIT_H

#include "api/cuda_names.h"

/* cuInit; idempotent. Reads SOFTGPU_DEVICES, SOFTGPU_NODE and SOFTGPU_TRACE.
 * CUDA_ERROR_INVALID_VALUE after a log line if one of the first two is wrong. */
CUresult sg_process_init(void);

/* As sg_process_init, with the given description, on a node of its own, for tests. */
CUresult sg_process_init_with(const char *devices);

/* Undoes a failing cuInit; also in tests, if no item was ever submitted. */
void sg_process_fini(void);

#endif
