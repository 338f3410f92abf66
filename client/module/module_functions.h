/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of a module, by name. */
#ifndef CLIENT_MODULE_MODULE_FUNCTIONS_H
#define CLIENT_MODULE_MODULE_FUNCTIONS_H

#include "api/cuda_names.h"

struct client_function;
struct client_module;

CUresult client_module_function(struct client_module *module, const char *name,
                                struct client_function **function);

#endif
