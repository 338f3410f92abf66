/* SPDX-License-Identifier: Apache-2.0 */
#include "server/image/image.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "api/constants.h"
#include "api/wire.h"
#include "base/list.h"
#include "base/shared_memory.h"

/* With what the wire pads the bytes with, and a NUL: a text may have none. */
static uint64_t image_extent(uint64_t size)
{
    return (uint64_t)wire_padded(size) + 1;
}

void image_table_init(struct image_table *table, struct ledger *ledger)
{
    *table = (struct image_table){.ledger = ledger};
}

bool image_is_large(uint64_t size)
{
    return size >= API_IMAGE_NAMED_MIN;
}

/* ---- life */

static void image_unmap(struct image *image)
{
    if (image->bytes != NULL) {
        (void)munmap(image->bytes, image_extent(image->size));
        image->bytes = NULL;
    }
}

static void image_free(struct image *image)
{
    if (image->named) {
        ga_number_map_remove(&image->table->named, &image->known);
    }
    if (image->mapped) {
        image_unmap(image);
    } else {
        free(image->bytes);
    }
    if (image->fd >= 0) {
        close(image->fd);
    }
    ledger_return_image(image->table->ledger, image_extent(image->size));
    free(image);
}

void image_ref(struct image *image)
{
    image->users++;
}

void image_unref(struct image *image)
{
    if (image != NULL && --image->users == 0) {
        image_free(image);
    }
}

/* Empty, charged, and with one user. */
static CUresult image_charged(struct image_table *table, uint64_t size, struct image **out)
{
    CU_TRY(ledger_charge_image(table->ledger, image_extent(size)));
    struct image *image = calloc(1, sizeof *image);
    if (image == NULL) {
        ledger_return_image(table->ledger, image_extent(size));
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *image = (struct image){.table = table, .users = 1, .size = size, .fd = -1};
    *out = image;
    return CUDA_SUCCESS;
}

CUresult image_begin(struct image_table *table, uint64_t size, struct image **out)
{
    struct image *image;
    CU_TRY(image_charged(table, size, &image));
    image->mapped = image_is_large(size);
    if (image->mapped) {
        image->fd = ga_shared_memory_begin("gpuaasd-image", image_extent(size));
        image->bytes =
            image->fd >= 0 ? ga_shared_memory_map(image->fd, image_extent(size), NULL) : NULL;
    } else {
        image->bytes = malloc(image_extent(size));
    }
    if (image->bytes == NULL) {
        image_free(image);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *out = image;
    return CUDA_SUCCESS;
}

uint8_t *image_room(struct image *image)
{
    return image->bytes;
}

static bool image_map_frozen(struct image *image, int fd)
{
    uint64_t extent = image_extent(image->size);
    image->mapped = true;
    image->bytes = (uint8_t *)(uintptr_t)ga_shared_memory_map_frozen(fd, extent);
    return image->bytes != NULL;
}

/* From now on its bytes can be read alone. */
static bool image_freeze(struct image *image)
{
    image_unmap(image);
    return ga_shared_memory_freeze(image->fd) && image_map_frozen(image, image->fd);
}

/* ---- names */

/* Names are evenly spread: their first bytes find one among very many. */
static uint64_t name_number(const uint8_t *name)
{
    uint64_t number;
    memcpy(&number, name, sizeof number);
    return number;
}

static void image_name(struct image *image, const uint8_t *name)
{
    memcpy(image->name, name, sizeof image->name);
    image->named = true;
    ga_number_map_add(&image->table->named, &image->known, name_number(name));
}

struct image *image_find(struct image_table *table, const uint8_t *name, uint64_t size)
{
    struct ga_number_node *node = ga_number_map_find(&table->named, name_number(name));
    struct image *image = node != NULL ? ga_container(node, struct image, known) : NULL;
    if (image == NULL || image->size != size ||
        memcmp(image->name, name, sizeof image->name) != 0) {
        return NULL;
    }
    image_ref(image);
    return image;
}

CUresult image_adopt(struct image_table *table, const uint8_t *name, uint64_t size, int fd,
                     struct image **out)
{
    struct image *image;
    if (!image_is_large(size) || !ga_shared_memory_is_frozen(fd, image_extent(size))) {
        return CUDA_ERROR_NOT_FOUND;
    }
    CU_TRY(image_charged(table, size, &image));
    if (!image_map_frozen(image, fd)) {
        image_free(image);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    image_name(image, name);
    *out = image;
    return CUDA_SUCCESS;
}

CUresult image_finish(struct image **image, const uint8_t *name, int *fd)
{
    struct image *made = *image;
    *fd = -1;
    memset(made->bytes + made->size, 0, image_extent(made->size) - made->size);
    if (!made->mapped) {
        return CUDA_SUCCESS;
    }
    struct image *same = name != NULL ? image_find(made->table, name, made->size) : NULL;
    if (same != NULL) {
        image_unref(made);
        *image = same;
        return CUDA_SUCCESS;
    }
    if (!image_freeze(made)) {
        image_unref(made);
        *image = NULL;
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    if (name != NULL) {
        image_name(made, name);
    }
    *fd = made->fd;
    made->fd = -1;
    return CUDA_SUCCESS;
}
