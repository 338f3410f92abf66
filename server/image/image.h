/* SPDX-License-Identifier: Apache-2.0 */
/* Images of modules: the bytes that a module was made from, as long as it lives, once for each
 * distinct image of an application. Large ones have a name, their SHA-256, and lie in memory that
 * nobody can change any more, so other processes may map the same pages.
 *
 * What a reader would get wrong: an image has no descriptor; pass it on with that of image_finish.
 * Everything is the submit thread's. */
#ifndef SERVER_IMAGE_IMAGE_H
#define SERVER_IMAGE_IMAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "api/cuda_names.h"
#include "base/number_map.h"
#include "server/charge/ledger.h"
#include "transport/transport.h"

/* Those of one application which have a name. */
struct image_table {
    struct ga_number_map named;
    struct ledger *ledger; /* is charged host bytes */
};

struct image {
    struct ga_number_node known; /* of the table, by the first bytes of its name */
    struct image_table *table;
    unsigned users;
    bool named, mapped;
    uint8_t name[TRANSPORT_DIGEST_BYTES]; /* SHA-256 of the bytes; zero: it has none */
    uint64_t size;
    uint8_t *bytes; /* cannot be written once the image is finished, if they are mapped */
    int fd;         /* of what is still being written; -1 */
};

void image_table_init(struct image_table *table, struct ledger *ledger);

/* Whether an image of so many bytes has a name, and goes to the store. */
bool image_is_large(uint64_t size);

/* ---- making one */

/* An image to be filled, with one user; the caller finishes it or ends its use.
 * CUDA_ERROR_OUT_OF_MEMORY: it is more than the application may have, or there is no memory. */
CUresult image_begin(struct image_table *table, uint64_t size, struct image **out);
/* Where its bytes go: room for wire_padded(size). */
uint8_t *image_room(struct image *image);
/* All bytes are there; `name` is theirs, NULL: they have none. Where the application has the same
 * image already, `*image` becomes that one. `*fd`: of its memory, which is frozen, for others; the
 * caller closes it; -1: it is not for others. CUDA_ERROR_OUT_OF_MEMORY: the image is gone. */
CUresult image_finish(struct image **image, const uint8_t *name, int *fd);

/* ---- finding one */

/* The application's own of this name, with one more user. NULL: there is none. */
struct image *image_find(struct image_table *table, const uint8_t *name, uint64_t size);
/* An image that gpuaasd has kept, with one user; the descriptor stays the caller's.
 * CUDA_ERROR_NOT_FOUND: it is no such memory. CUDA_ERROR_OUT_OF_MEMORY: as of image_begin. */
CUresult image_adopt(struct image_table *table, const uint8_t *name, uint64_t size, int fd,
                     struct image **out);

/* ---- using one */

/* The bytes, with a NUL behind. */
static inline const uint8_t *image_bytes(const struct image *image)
{
    return image->bytes;
}

static inline uint64_t image_size(const struct image *image)
{
    return image->size;
}

/* One more user, and one less (NULL is none): the last one frees it. */
void image_ref(struct image *image);
void image_unref(struct image *image);

#endif
