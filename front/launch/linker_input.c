/* SPDX-License-Identifier: Apache-2.0 */
/* Inputs of the linker: text, images, host objects and archives of them. */
#include "front/launch/linker_input.h"

#include <stdlib.h>
#include <string.h>

#include "api/host_object.h"
#include "front/core/unsupported.h"

/* Appends `image` and a NUL. */
static CUresult item_add(struct front_link_items *to, const void *image, size_t size)
{
    if (to->count == to->room) {
        size_t room = to->room != 0 ? to->room * 2 : 8;
        struct api_bundle_item *more = realloc(to->items, room * sizeof *more);
        if (more == NULL) {
            return CUDA_ERROR_OUT_OF_MEMORY;
        }
        to->items = more;
        to->room = room;
    }
    uint8_t *copy = malloc(size + 1);
    if (copy == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    memcpy(copy, image, size);
    copy[size] = 0;
    to->items[to->count++] = (struct api_bundle_item){copy, size};
    return CUDA_SUCCESS;
}

static CUresult text_add(struct front_link_items *to, const void *data, size_t size)
{
    struct api_image image;
    if (api_image_open(data, size, &image) != GA_OK || image.kind != API_IMAGE_PTX) {
        return CUDA_ERROR_INVALID_PTX;
    }
    return item_add(to, image.bytes, image.size);
}

/* A cubin or fatbin, or a bundle of an earlier link, whose inputs are added. */
static CUresult image_add(struct front_link_items *to, const void *data, size_t size)
{
    struct api_image image, unit;
    enum ga_status status = api_image_open(data, size, &image);
    if (status != GA_OK || image.kind == API_IMAGE_PTX) {
        return CUDA_ERROR_INVALID_IMAGE;
    }
    if (image.kind != API_IMAGE_BUNDLE) {
        return item_add(to, image.bytes, image.size);
    }
    CUresult rc = CUDA_SUCCESS;
    for (size_t i = 0; rc == CUDA_SUCCESS; i++) {
        status = api_bundle_unit(&image, i, &unit);
        if (status == GA_AGAIN) {
            break;
        }
        rc = status == GA_OK ? item_add(to, unit.bytes, unit.size) : CUDA_ERROR_INVALID_IMAGE;
    }
    return rc;
}

static CUresult object_add(struct front_link_items *to, const void *data, size_t size)
{
    struct api_object_walk walk = {0};
    struct api_image found;
    enum ga_status status;
    while ((status = api_object_next(data, size, &walk, &found)) == GA_OK) {
        CUresult rc = item_add(to, found.bytes, found.size);
        if (rc != CUDA_SUCCESS) {
            return rc;
        }
    }
    return status == GA_AGAIN ? CUDA_SUCCESS : CUDA_ERROR_INVALID_IMAGE;
}

static CUresult archive_add(struct front_link_items *to, const void *data, size_t size)
{
    struct api_member member;
    size_t at = 0;
    enum ga_status status;
    while ((status = api_archive_next(data, size, &at, &member)) == GA_OK) {
        CUresult rc = object_add(to, member.bytes, member.size);
        if (rc != CUDA_SUCCESS) {
            return rc;
        }
    }
    return status == GA_AGAIN ? CUDA_SUCCESS : CUDA_ERROR_INVALID_IMAGE;
}

CUresult front_link_input(struct front_link_items *to, CUjitInputType type, const void *data,
                          size_t size)
{
    if (data == NULL || size == 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    switch ((int)type) {
    case CU_JIT_INPUT_PTX:
        return text_add(to, data, size);
    case CU_JIT_INPUT_CUBIN:
    case CU_JIT_INPUT_FATBINARY:
        return image_add(to, data, size);
    case CU_JIT_INPUT_OBJECT:
        return object_add(to, data, size);
    case CU_JIT_INPUT_LIBRARY:
        return archive_add(to, data, size);
    case CU_JIT_INPUT_NVVM:
        return front_unsupported("CU_JIT_INPUT_NVVM");
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
}

void front_link_items_free(struct front_link_items *items)
{
    for (size_t i = 0; i < items->count; i++) {
        free((void *)(uintptr_t)items->items[i].bytes);
    }
    free(items->items);
    *items = (struct front_link_items){0};
}
