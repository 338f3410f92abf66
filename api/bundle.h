/* SPDX-License-Identifier: Apache-2.0 */
/* Bundles: several images as one. A linked program (nvcc -rdc=true) is sent to a server as a
 * bundle, and the linker makes one of its inputs. Behind CUDA's wrapper of version 2 such a
 * program is an image of machine code and an array of pointers to the images of its translation
 * units; pointers cannot be sent.
 *
 * The bytes: "GAUB", u32 flags, u64 size of all, u32 count, u32 0; then u64 offset, u64 size of
 * each image, in rising order; the images, each from a multiple of 16. Little endian. An image
 * here is a fatbin, a cubin or PTX, never a bundle. */
#ifndef API_BUNDLE_H
#define API_BUNDLE_H

#include "api/image.h"

#define API_BUNDLE_MAGIC "GAUB"
/* The first image is the result of linking the others. */
#define API_BUNDLE_LINKED 1u

struct api_bundle_item {
    const void *bytes;
    size_t size;
};

/* `*bundle` is malloc-ed. GA_INVALID: no image, or more than a bundle can hold. */
GA_CHECKED enum ga_status api_bundle_make(uint32_t flags, const struct api_bundle_item *items,
                                          size_t count, uint8_t **bundle, size_t *size);

/* Makes a bundle of the images behind a wrapper of version 2, whose pointers are trusted.
 * GA_INVALID: an image is broken. */
GA_CHECKED enum ga_status api_bundle_of_wrapper(const struct api_image *image, uint8_t **bundle,
                                                size_t *size);

/* For api_image_open. */
GA_CHECKED enum ga_status api_bundle_open(const uint8_t *bytes, size_t bound,
                                          struct api_image *out);

/* The linked image: a wrapper's, or the first of a bundle with API_BUNDLE_LINKED. GA_AGAIN:
 * there is none. */
GA_CHECKED enum ga_status api_bundle_linked(const struct api_image *image, struct api_image *out);

/* The index-th translation unit of a linked program, behind a wrapper or in a bundle. GA_AGAIN:
 * no more units (other images have none). GA_INVALID: broken. */
GA_CHECKED enum ga_status api_bundle_unit(const struct api_image *image, size_t index,
                                          struct api_image *unit);

#endif
