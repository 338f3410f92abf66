/* SPDX-License-Identifier: Apache-2.0 */
/* Managed variables of libraries. */
#ifndef CLIENT_MODULE_MANAGED_VARIABLE_H
#define CLIENT_MODULE_MANAGED_VARIABLE_H

#include "api/cuda_names.h"

struct client_library;
struct client_module;

/* The library has been loaded in one more context; it goes. */
CUresult client_managed_join(struct client_library *library, struct client_module *module);
void client_managed_release(struct client_library *library);

#endif
