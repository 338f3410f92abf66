/* SPDX-License-Identifier: Apache-2.0 */
/* Entries of an image, decompressed. Not for the client library: it links liblz4 and libzstd. */
#ifndef API_IMAGE_UNPACK_H
#define API_IMAGE_UNPACK_H

#include <stdbool.h>

#include "api/image.h"

/* Writes entry->unpacked_size bytes. False: the compressed bytes are damaged. */
bool api_image_unpack(const struct api_image_entry *entry, void *to);

#endif
