/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays, mipmapped arrays and their levels. */
#ifndef CLIENT_TEXTURE_ARRAY_H
#define CLIENT_TEXTURE_ARRAY_H

#include <stdbool.h>
#include <stdint.h>

#include "api/cuda_names.h"
#include "client/context/object.h"
#include "front/front.h"

/* An array, a mipmapped array, or a level of one. */
struct client_array {
    struct client_object object; /* of the type ARRAY, or MIPMAP if `front.levels` is not 0 */
    struct front_array front;
    uint64_t levels[FRONT_LEVELS_MAX]; /* handles of those that were asked for; 0: not yet */
};

extern const struct client_object_type client_array_type, client_mipmap_type;

/* front_host.array and front_host.sampled. */
CUresult client_array_shape(uint64_t handle, bool mipmapped, struct front_array *front);

#endif
