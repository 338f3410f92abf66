/* SPDX-License-Identifier: Apache-2.0 */
/* Inputs of the linker (cuLinkAddData) as images of a bundle. */
#ifndef FRONT_LAUNCH_LINKER_INPUT_H
#define FRONT_LAUNCH_LINKER_INPUT_H

#include "api/cuda_names.h"

#include "api/bundle.h"

struct front_link_items {          /* zeros: empty */
    struct api_bundle_item *items; /* each malloc-ed */
    size_t count, room;
};

/* Extracts the device code of an input, which is not kept. CUDA_ERROR_INVALID_IMAGE,
 * CUDA_ERROR_INVALID_PTX (PTX without .version): the input is not of this type. */
CUresult front_link_input(struct front_link_items *to, CUjitInputType type, const void *data,
                          size_t size);
void front_link_items_free(struct front_link_items *items);

#endif
