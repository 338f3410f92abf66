/* SPDX-License-Identifier: Apache-2.0 */
/* Images from the wire: containers, machine code, text, bundles of them, objects and archives,
 * and the code that a software GPU extracts and decompresses. */
#include "api/bundle.h"
#include "api/host_object.h"
#include "softgpu/module/image_text.h"
#include "tests/fuzz/input.h"

static void walk(const struct api_image *image)
{
    struct api_image_entry entry;
    size_t cursor = 0;
    enum ga_status status;
    unsigned entries = 0;
    while ((status = api_image_next(image, &cursor, &entry)) == GA_OK) {
        FUZZ_CHECK(++entries <= API_IMAGE_ENTRIES_MAX);
        FUZZ_CHECK(entry.kind == API_IMAGE_PTX || entry.kind == API_IMAGE_ELF);
        FUZZ_CHECK(entry.bytes >= image->bytes &&
                   entry.size <= (size_t)(image->bytes + image->size - entry.bytes));
        FUZZ_CHECK(entry.packing == API_IMAGE_RAW
                       ? entry.unpacked_size == entry.size
                       : entry.unpacked_size <= API_IMAGE_UNCOMPRESSED_MAX);
    }
    FUZZ_CHECK(status == GA_AGAIN); /* opening has looked at all of it */
}

static void walk_objects(const uint8_t *data, size_t size)
{
    struct api_object_walk at = {0};
    struct api_image found;
    for (unsigned i = 0; i < 64 && api_object_next(data, size, &at, &found) == GA_OK; i++) {
        FUZZ_CHECK(found.bytes >= data && found.size <= (size_t)(data + size - found.bytes));
        walk(&found);
    }
}

/* Objects and archives of the host, in which a program that links looks for device code. */
static void walk_host(const uint8_t *data, size_t size)
{
    struct api_member member;
    size_t at = 0;
    walk_objects(data, size);
    for (unsigned i = 0; i < 64 && api_archive_next(data, size, &at, &member) == GA_OK; i++) {
        FUZZ_CHECK(member.bytes > data && member.size <= (size_t)(data + size - member.bytes));
        walk_objects(member.bytes, member.size);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct api_image image;
    walk_host(data, size);
    if (size == 0 || api_image_open(data, size, &image) != GA_OK) {
        return 0;
    }
    FUZZ_CHECK(image.bytes == data && image.size <= size && image.wrapper == 0);
    walk(&image);
    struct api_image unit;
    for (size_t i = 0; i < 8 && api_bundle_unit(&image, i, &unit) == GA_OK; i++) {
        FUZZ_CHECK(image.kind == API_IMAGE_BUNDLE && unit.kind != API_IMAGE_BUNDLE);
        FUZZ_CHECK(unit.bytes > data && unit.size <= (size_t)(data + image.size - unit.bytes));
        walk(&unit);
    }
    struct sg_texts texts = {0};
    char why[300] = "";
    if (sg_image_texts(&image, 75, &texts, why, sizeof why) == CUDA_SUCCESS) {
        FUZZ_CHECK(texts.count != 0);
        for (size_t i = 0; i < texts.count; i++) {
            FUZZ_CHECK(texts.items[i].bytes[texts.items[i].size] == 0);
        }
        sg_texts_free(&texts);
    } else {
        FUZZ_CHECK(texts.items == NULL && why[0] != 0);
    }
    return 0;
}
