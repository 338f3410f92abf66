/* SPDX-License-Identifier: Apache-2.0 */
/* Texture and surface objects. */
#ifndef CLIENT_TEXTURE_TEXTURE_H
#define CLIENT_TEXTURE_TEXTURE_H

#include <stdbool.h>
#include <stdint.h>

#include "api/cuda_names.h"
#include "base/number_map.h"
#include "client/context/object.h"
#include "front/front.h"

/* A texture or surface object. */
struct client_sampled {
    struct client_object object;
    struct ga_number_node by_number; /* of its context */
    struct front_sampled what;
};

extern const struct client_object_type client_sampled_type;

CUresult client_sampled_of(uint64_t handle, bool surface, struct front_sampled *sampled);

#endif
