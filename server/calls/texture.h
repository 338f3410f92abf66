/* SPDX-License-Identifier: Apache-2.0 */
/* Textures: their end. */
#ifndef SERVER_CALLS_TEXTURE_H
#define SERVER_CALLS_TEXTURE_H

#include <stdbool.h>
#include <stdint.h>

#include "api/cuda_names.h"

struct server_app;
struct server_texture;

/* Destroys that of the driver. */
CUresult texture_real_destroy(struct server_app *app, bool surface, uint64_t real);
/* Frees it, in the driver too. */
CUresult texture_free(struct server_app *app, struct server_texture *texture);

#endif
