/* SPDX-License-Identifier: Apache-2.0 */
/* Managed memory. */
#ifndef CLIENT_MEMORY_MANAGED_H
#define CLIENT_MEMORY_MANAGED_H

#include <stdbool.h>
#include <stdint.h>

#include "api/cuda_names.h"

/* front_host.managed_move and front_host.managed_attach (managed.c). */
CUresult client_managed_move(CUstream stream, uint64_t start, uint64_t bytes, bool device);
CUresult client_managed_attach(CUstream stream, uint64_t start, unsigned flags);

#endif
