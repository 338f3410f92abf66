/* SPDX-License-Identifier: Apache-2.0 */
/* The servers of GPUAAS_SERVERS: asked once, by cuInit. */
#ifndef CLIENT_SESSION_SERVERS_H
#define CLIENT_SESSION_SERVERS_H

#include <stdint.h>

#include "api/cuda_names.h"

extern uint8_t client_application[16];
CUresult client_servers_connect(void);

#endif
