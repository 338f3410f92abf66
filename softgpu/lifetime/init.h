/* SPDX-License-Identifier: Apache-2.0 */
/* cuInit: makes the process's state, its devices and their primary contexts. */
#ifndef SOFTGPU_LIFETIME_INIT_H
#define SOFTGPU_LIFETIME_INIT_H

#include "api/cuda_names.h"

/* Idempotent; what cuInit does. Reads SOFTGPU_DEVICES, SOFTGPU_NODE and SOFTGPU_TRACE.
 * CUDA_ERROR_INVALID_VALUE after a log line when one of the first two makes no sense. */
CUresult sg_process_init(void);

/* The same with a given text, on a node of its own. Tests. */
CUresult sg_process_init_with(const char *devices);

/* Undoes what a failing cuInit has done; and in tests, when no item was ever submitted. */
void sg_process_fini(void);

#endif
