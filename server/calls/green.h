/* SPDX-License-Identifier: Apache-2.0 */
/* Green contexts: their end. */
#ifndef SERVER_CALLS_GREEN_H
#define SERVER_CALLS_GREEN_H

#include "api/cuda_names.h"

struct server_conn;
struct server_green;

/* Frees it with its streams, in the driver too. */
CUresult green_free(struct server_conn *conn, struct server_green *green);

#endif
