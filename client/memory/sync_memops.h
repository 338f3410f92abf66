/* SPDX-License-Identifier: Apache-2.0 */
/* Memory with the attribute SYNC_MEMOPS (front/memory/sync_memops.c). */
#ifndef CLIENT_MEMORY_SYNC_MEMOPS_H
#define CLIENT_MEMORY_SYNC_MEMOPS_H

#include <stdbool.h>
#include <stdint.h>

#include "api/cuda_names.h"

/* front_host.sync_memops and front_host.settles. */
CUresult client_sync_memops_set(uint64_t address, bool on);
bool client_settles(uint64_t address, bool written);
/* Whether the allocation that contains the address has the attribute. */
bool client_sync_memops(uint64_t address);
/* Call before the allocation that begins there is freed. */
void client_sync_memops_forget(uint64_t start);

#endif
