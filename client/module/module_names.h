/* SPDX-License-Identifier: Apache-2.0 */
/* The names of all functions of a module. */
#ifndef CLIENT_MODULE_MODULE_NAMES_H
#define CLIENT_MODULE_MODULE_NAMES_H

#include "api/cuda_names.h"

struct client_module;

CUresult client_module_names(struct client_module *module);

#endif
