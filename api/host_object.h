/* SPDX-License-Identifier: Apache-2.0 */
/* Device code in host files: nvcc puts fatbins into sections of host objects, and objects into
 * archives. The bytes are not trusted: every step is checked. */
#ifndef API_HOST_OBJECT_H
#define API_HOST_OBJECT_H

#include "api/image.h"

struct api_object_walk { /* zeros: the beginning */
    size_t section, at;
};

/* The next fatbin in an ELF object of the host, or the object itself if it is device code.
 * GA_AGAIN: no more. GA_INVALID: not an ELF object, or broken. */
GA_CHECKED enum ga_status api_object_next(const uint8_t *bytes, size_t size,
                                          struct api_object_walk *walk, struct api_image *found);

struct api_member {
    const uint8_t *bytes;
    size_t size;
};

/* The next object of an archive (ar), without the archive's tables; start with *at = 0.
 * GA_AGAIN: no more. GA_INVALID: not an archive, or broken. */
GA_CHECKED enum ga_status api_archive_next(const uint8_t *bytes, size_t size, size_t *at,
                                           struct api_member *member);

#endif
