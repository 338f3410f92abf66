/* SPDX-License-Identifier: Apache-2.0 */
/* Memory and events that applications share, as gpuaasd knows them. */
#ifndef SERVER_CALLS_IPC_H
#define SERVER_CALLS_IPC_H

#include <stdint.h>

#include "api/cuda_names.h"
#include "server/channel.h"

struct server_app;

/* Sends a request to gpuaasd (sharing_registry.h), whose answer the packet becomes. A descriptor in
 * `*fd` stays the caller's; so does that of the answer, which comes only with CUDA_SUCCESS.
 */
CUresult ipc_ask(struct server_app *app, struct channel_request *packet, int *fd);
/* Whether others can have what SHARE was about, or may: gpuaasd has not answered in time. */
bool ipc_may_be_shared(CUresult rc);
/* Our memory on this GPU, which the driver has freed and others may have open: withdraws its
 * entries, and returns it to the ledger, unless it is charged to one of the others now, or gpuaasd
 * does not say. */
void ipc_return(struct server_app *app, enum channel_what what, uint64_t address, uint32_t gpu,
                uint64_t bytes);
/* Closes what OPEN has given. */
void ipc_close(struct server_app *app, uint64_t opening);
/* Withdraws entries of the sharing registry: other applications can open that memory no more. */
void ipc_withdraw(struct server_app *app, enum channel_what what, uint64_t address, uint64_t bytes);

#endif
