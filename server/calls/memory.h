/* SPDX-License-Identifier: Apache-2.0 */
/* Memory: its end. */
#ifndef SERVER_CALLS_MEMORY_H
#define SERVER_CALLS_MEMORY_H

#include <stdint.h>

#include "api/cuda_names.h"

struct server_conn;

/* Frees what is mapped or allocated at `base`, in the driver too. */
CUresult memory_free(struct server_conn *conn, uint64_t base);

#endif
