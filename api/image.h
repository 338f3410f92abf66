/* SPDX-License-Identifier: Apache-2.0 */
/* The containers of device code: nvcc's wrapper, fatbin, ELF cubin, PTX text, and our own bundle
 * of several of those (api/bundle.h).
 *
 * Note: CUDA passes images without a length. A pointer of the application is trusted (bound
 * API_IMAGE_UNBOUNDED): the container's header gives the length, or the NUL of a text. Bytes from
 * the wire have a bound, and a wrapper, which holds pointers, is refused there. Nothing is
 * decompressed here.
 *
 * Source: public descriptions of the container, and containers that nvcc 13.0 wrote. */
#ifndef API_IMAGE_H
#define API_IMAGE_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

#define API_IMAGE_UNBOUNDED        SIZE_MAX
#define API_IMAGE_BYTES_MAX        ((size_t)512 << 20) /* real ones reach about 300 MiB */
#define API_IMAGE_ENTRIES_MAX      4096
#define API_IMAGE_UNCOMPRESSED_MAX ((uint64_t)256 << 20)
#define API_IMAGE_PRELINKED_MAX    4096

enum api_image_kind { API_IMAGE_PTX, API_IMAGE_ELF, API_IMAGE_FATBIN, API_IMAGE_BUNDLE };

struct api_image {
    enum api_image_kind kind;
    const uint8_t *bytes; /* the container itself, behind a wrapper if there was one; borrowed */
    size_t size;          /* PTX: with the final NUL if there is one */
    /* The wrapper's version: 0 none, 1 of a translation unit, 2 of a device link (-rdc=true): then
     * `bytes` holds machine code only and `prelinked` the translation units' own fatbins,
     * NULL-terminated (NULL: none). */
    uint32_t wrapper;
    const void *const *prelinked;
};

/* Recognises the container at `image` and computes its size, checking every header on the way.
 * GA_INVALID: no known container, broken, over a limit, or beyond `bound` bytes. */
GA_CHECKED enum ga_status api_image_open(const void *image, size_t bound, struct api_image *out);

enum api_image_packing { API_IMAGE_RAW, API_IMAGE_LZ4, API_IMAGE_ZSTD };

/* fatbin flags: the targets of machine code or PTX */
#define API_IMAGE_ARCH_SPECIFIC   UINT64_C(0x100000) /* sm_XXa */
#define API_IMAGE_FAMILY_SPECIFIC UINT64_C(0x200000) /* sm_XXf */

struct api_image_entry {
    enum api_image_kind kind; /* PTX or ELF */
    uint32_t sm;              /* 75 for sm_75; 0: unknown */
    uint64_t flags;           /* as in the container */
    enum api_image_packing packing;
    const uint8_t *bytes; /* as stored; borrowed */
    size_t size;
    uint64_t unpacked_size; /* compressed: at most API_IMAGE_UNCOMPRESSED_MAX; otherwise `size` */
};

/* The next entry of PTX or machine code; start with *cursor = 0. A bare ELF or PTX image is its
 * own only entry, a bundle has none. GA_AGAIN: no more. */
GA_CHECKED enum ga_status api_image_next(const struct api_image *image, size_t *cursor,
                                         struct api_image_entry *entry);

#endif
