/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays: their elements, and their end. */
#ifndef SERVER_CALLS_ARRAY_H
#define SERVER_CALLS_ARRAY_H

#include <stdint.h>

#include "api/cuda_names.h"

struct server_array;
struct server_app;

/* An unknown format counts as the largest one. */
uint64_t array_element_bytes(const CUDA_ARRAY3D_DESCRIPTOR *shape);
/* Frees it, in the driver too: its context has no work. */
CUresult array_free(struct server_app *app, struct server_array *array);

#endif
