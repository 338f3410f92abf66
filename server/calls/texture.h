/* SPDX-License-Identifier: Apache-2.0 */
/* Textures: their end. */
#ifndef SERVER_CALLS_TEXTURE_H
#define SERVER_CALLS_TEXTURE_H

#include "api/cuda_names.h"

struct server_conn;
struct server_texture;

/* Frees it, in the driver too. */
CUresult texture_free(struct server_conn *conn, struct server_texture *texture);

#endif
