/* SPDX-License-Identifier: Apache-2.0 */
/* The end of synchronous memory operations. */
#ifndef FRONT_MEMORY_SYNC_MEMOPS_H
#define FRONT_MEMORY_SYNC_MEMOPS_H

#include "api/cuda_names.h"

/* Ends a synchronous call that submitted work to `stream` with result `rc`, wrote to `to` and
 * read from `from` (0: none). Waits for the work if it must be complete when the call returns
 * (sync_memops.c). */
CUresult front_settle(CUresult rc, CUstream stream, CUdeviceptr to, CUdeviceptr from);

#endif
