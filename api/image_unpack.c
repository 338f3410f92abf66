/* SPDX-License-Identifier: Apache-2.0 */
#include "api/image_unpack.h"

#include <lz4.h>
#include <string.h>
#include <zstd.h>

bool api_image_unpack(const struct api_image_entry *entry, void *to)
{
    size_t size = (size_t)entry->unpacked_size;
    switch (entry->packing) {
    case API_IMAGE_LZ4:
        return LZ4_decompress_safe((const char *)entry->bytes, to, (int)entry->size, (int)size) ==
               (int)size;
    case API_IMAGE_ZSTD:
        return ZSTD_decompress(to, size, entry->bytes, entry->size) == size;
    case API_IMAGE_RAW:
        memcpy(to, entry->bytes, size);
        return true;
    }
    return false;
}
