/* SPDX-License-Identifier: Apache-2.0 */
/* Bundles. Every field of a bundle from the wire is checked before it is used. */
#include "api/bundle.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define HEADER    24u
#define ITEM      16u
#define ALIGN     16u
#define COUNT_MAX (API_IMAGE_PRELINKED_MAX + 1u)

struct header {
    char magic[4];
    uint32_t flags;
    uint64_t size;
    uint32_t count, zero;
};

static size_t bundle_aligned(size_t size)
{
    return (size + ALIGN - 1) / ALIGN * ALIGN;
}

/* ---- making ---- */

enum ga_status api_bundle_make(uint32_t flags, const struct api_bundle_item *items, size_t count,
                               uint8_t **bundle, size_t *size)
{
    if (count == 0 || count > COUNT_MAX) {
        return GA_INVALID;
    }
    size_t total = bundle_aligned(HEADER + count * ITEM);
    for (size_t i = 0; i < count; i++) {
        if (items[i].size == 0 || items[i].size > API_IMAGE_BYTES_MAX ||
            total > API_IMAGE_BYTES_MAX - bundle_aligned(items[i].size)) {
            return GA_INVALID;
        }
        total += bundle_aligned(items[i].size);
    }
    uint8_t *made = calloc(1, total);
    if (made == NULL) {
        return GA_NO_MEMORY;
    }
    struct header header = {.flags = flags, .size = total, .count = (uint32_t)count};
    memcpy(header.magic, API_BUNDLE_MAGIC, sizeof header.magic);
    memcpy(made, &header, sizeof header);
    size_t at = bundle_aligned(HEADER + count * ITEM);
    for (size_t i = 0; i < count; i++) {
        uint64_t place[2] = {at, items[i].size};
        memcpy(made + HEADER + i * ITEM, place, sizeof place);
        memcpy(made + at, items[i].bytes, items[i].size);
        at += bundle_aligned(items[i].size);
    }
    *bundle = made;
    *size = total;
    return GA_OK;
}

enum ga_status api_bundle_of_wrapper(const struct api_image *image, uint8_t **bundle, size_t *size)
{
    size_t count = 1;
    while (image->prelinked[count - 1] != NULL && count <= API_IMAGE_PRELINKED_MAX) {
        count++;
    }
    struct api_bundle_item *items = calloc(count, sizeof *items);
    if (items == NULL) {
        return GA_NO_MEMORY;
    }
    enum ga_status status = GA_OK;
    items[0] = (struct api_bundle_item){image->bytes, image->size};
    for (size_t i = 1; status == GA_OK && i < count; i++) {
        struct api_image unit;
        status = api_bundle_unit(image, i - 1, &unit);
        if (status == GA_OK) {
            items[i] = (struct api_bundle_item){unit.bytes, unit.size};
        }
    }
    if (status == GA_OK) {
        status = api_bundle_make(API_BUNDLE_LINKED, items, count, bundle, size);
    }
    free(items);
    return status == GA_AGAIN ? GA_INVALID : status;
}

/* ---- reading ---- */

static void item_read(const uint8_t *bytes, size_t index, uint64_t place[2])
{
    memcpy(place, bytes + HEADER + index * ITEM, 2 * sizeof place[0]);
}

enum ga_status api_bundle_open(const uint8_t *bytes, size_t bound, struct api_image *out)
{
    struct header header;
    if (bound < HEADER) {
        return GA_INVALID;
    }
    memcpy(&header, bytes, sizeof header);
    if (header.size > bound || header.size > API_IMAGE_BYTES_MAX || header.count == 0 ||
        header.count > COUNT_MAX || header.zero != 0 || (header.flags & ~API_BUNDLE_LINKED) != 0) {
        return GA_INVALID;
    }
    uint64_t at = bundle_aligned(HEADER + header.count * ITEM);
    if (at > header.size) {
        return GA_INVALID;
    }
    for (size_t i = 0; i < header.count; i++) {
        uint64_t place[2];
        item_read(bytes, i, place);
        if (place[0] < at || place[0] % ALIGN != 0 || place[0] > header.size || place[1] == 0 ||
            place[1] > header.size - place[0]) {
            return GA_INVALID;
        }
        at = place[0] + place[1];
    }
    *out = (struct api_image){.kind = API_IMAGE_BUNDLE, .bytes = bytes, .size = header.size};
    return GA_OK;
}

static enum ga_status item_open(const struct api_image *bundle, size_t index, struct api_image *out)
{
    struct header header;
    uint64_t place[2];
    memcpy(&header, bundle->bytes, sizeof header);
    if (index >= header.count) {
        return GA_AGAIN;
    }
    item_read(bundle->bytes, index, place);
    GA_TRY(api_image_open(bundle->bytes + place[0], (size_t)place[1], out));
    return out->kind == API_IMAGE_BUNDLE ? GA_INVALID : GA_OK;
}

static bool begins_linked(const struct api_image *bundle)
{
    struct header header;
    memcpy(&header, bundle->bytes, sizeof header);
    return (header.flags & API_BUNDLE_LINKED) != 0;
}

enum ga_status api_bundle_linked(const struct api_image *image, struct api_image *out)
{
    if (image->kind == API_IMAGE_BUNDLE) {
        return begins_linked(image) ? item_open(image, 0, out) : GA_AGAIN;
    }
    if (image->prelinked == NULL) {
        return GA_AGAIN;
    }
    *out = *image;
    out->wrapper = 0;
    out->prelinked = NULL;
    return GA_OK;
}

enum ga_status api_bundle_unit(const struct api_image *image, size_t index, struct api_image *unit)
{
    if (image->kind == API_IMAGE_BUNDLE) {
        return item_open(image, index + begins_linked(image), unit);
    }
    if (image->prelinked == NULL) {
        return GA_AGAIN;
    }
    if (index > API_IMAGE_PRELINKED_MAX) {
        return GA_INVALID;
    }
    const void *pointer = image->prelinked[index];
    if (pointer == NULL) {
        return GA_AGAIN;
    }
    GA_TRY(api_image_open(pointer, API_IMAGE_UNBOUNDED, unit));
    return unit->kind == API_IMAGE_BUNDLE || unit->prelinked != NULL ? GA_INVALID : GA_OK;
}
