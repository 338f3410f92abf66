/* SPDX-License-Identifier: Apache-2.0 */
/* Memory: its end, and getting back what others keep. */
#ifndef SERVER_CALLS_MEMORY_H
#define SERVER_CALLS_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#include "api/cuda_names.h"

struct server_app;
struct server_session;

/* Frees what is mapped at `base`, in the driver too; or allocated, when no work is left. */
CUresult memory_free(struct server_app *app, uint64_t base);
/* The tenant may have no more memory on this GPU, and the program cannot be told to try again: its
 * other programs give back what they cache, which is waited for. Whether any has been asked. */
bool memory_recall(struct server_app *app, const struct server_session *session);

#endif
