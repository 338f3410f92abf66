/* SPDX-License-Identifier: Apache-2.0 */
/* Global variables of a module. */
#ifndef CLIENT_MODULE_MODULE_GLOBALS_H
#define CLIENT_MODULE_MODULE_GLOBALS_H

#include <stdint.h>

#include "api/cuda_names.h"

struct client_module;

CUresult client_module_global(struct client_module *module, const char *name, uint64_t *address,
                              uint64_t *bytes);
/* The module goes, and they with it. */
void client_module_globals_release(struct client_module *module);

#endif
