/* SPDX-License-Identifier: Apache-2.0 */
/* Green contexts: made in the driver, and their end. */
#ifndef SERVER_CALLS_GREEN_H
#define SERVER_CALLS_GREEN_H

#include "api/cuda_names.h"

struct server_app;
struct server_green;

/* Makes it in the driver, from what it was made from. */
CUresult green_real_make(struct server_app *app, struct server_green *green);
/* Makes a stream of it in the driver. The green context is current afterwards. */
CUresult green_stream_make(struct server_app *app, const struct server_green *green, unsigned flags,
                           int priority, CUstream *real);
/* Frees it with its streams, in the driver too. */
CUresult green_free(struct server_app *app, struct server_green *green);

#endif
