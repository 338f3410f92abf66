/* SPDX-License-Identifier: Apache-2.0 */
/* What the calls of the linker (cuLinkAddData) are given, as images of a bundle. */
#ifndef FRONT_LAUNCH_LINKER_INPUT_H
#define FRONT_LAUNCH_LINKER_INPUT_H

#include "api/cuda_names.h"

#include "api/bundle.h"

struct front_link_items {          /* zeros: none */
    struct api_bundle_item *items; /* each malloc-ed */
    size_t count, room;
};

/* Takes the device code out of it; what it is taken from is not kept. CUDA_ERROR_INVALID_IMAGE,
 * CUDA_ERROR_INVALID_PTX (PTX without .version): it is nothing of this type. */
CUresult front_link_input(struct front_link_items *to, CUjitInputType type, const void *data,
                          size_t size);
void front_link_items_free(struct front_link_items *items);

#endif
