/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays: their end. */
#ifndef SERVER_CALLS_ARRAY_H
#define SERVER_CALLS_ARRAY_H

#include "api/cuda_names.h"

struct server_array;
struct server_conn;

/* Frees it, in the driver too. */
CUresult array_free(struct server_conn *conn, struct server_array *array);

#endif
