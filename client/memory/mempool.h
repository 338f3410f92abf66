/* SPDX-License-Identifier: Apache-2.0 */
/* Memory pools: what front/mempool/ wants of the client. */
#ifndef CLIENT_MEMORY_MEMPOOL_H
#define CLIENT_MEMORY_MEMPOOL_H

#include <stdbool.h>
#include <stdint.h>

#include "api/cuda_names.h"
#include "front/front.h"

struct front_mempool_found;

extern const struct front_mempool_host client_mempool;
/* Locked, as the functions of front/mempool/mempool.h want it. */
bool client_mempool_find(uint64_t address, struct front_mempool_found *found);
bool client_mempool_free(uint64_t address);
bool client_mempool_release(CUdevice device);
/* As client_mempool_release, for a thread that must not wait for long: another one may hold the
 * lock while it waits for other programs. False: it did not come to it. */
bool client_mempool_release_soon(CUdevice device);
void client_mempool_reset(CUdevice device);

#endif
