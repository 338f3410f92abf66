/* SPDX-License-Identifier: Apache-2.0 */
/* Copies between the device and a shared buffer that the network card reaches. */
#ifndef SERVER_CALLS_RDMA_COPY_H
#define SERVER_CALLS_RDMA_COPY_H

#include "api/calls.h"
#include "api/cuda_names.h"

struct server_app;
struct shared_buffer;

/* Makes the slots known to the card of the connection. */
CUresult rdma_copy_prepare(struct server_app *app, CUdevice device);
/* All bytes for the GPU have been submitted when it returns; a lost connection shows as
 * conn->ended. */
CUresult rdma_copy_in(struct server_app *app, const struct ga_shared_buffer_in_args *args,
                      const struct shared_buffer *piece, CUstream stream);
/* Answers when the bytes are there, and gives the piece up. Returns SERVER_ANSWERED. */
CUresult rdma_copy_out(struct server_app *app, const struct ga_shared_buffer_out_args *args,
                       struct shared_buffer *piece, CUstream stream);

#endif
