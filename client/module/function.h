/* SPDX-License-Identifier: Apache-2.0 */
/* Functions as a context has them. */
#ifndef CLIENT_MODULE_FUNCTION_H
#define CLIENT_MODULE_FUNCTION_H

#include <stdint.h>

#include "api/cuda_names.h"

struct client_call;
struct client_context;
struct client_function;

CUresult client_function_resolve(struct client_context *context, CUfunction handle,
                                 struct client_function **function);
CUresult client_function_check(struct client_call *call, CUfunction handle, uint64_t *wire);

#endif
