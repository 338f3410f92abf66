/* SPDX-License-Identifier: Apache-2.0 */
/* The container walk over files of nvcc, and over broken ones. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/bundle.h"

struct file {
    uint8_t *bytes; /* exactly `size` bytes: a sanitizer sees every step beyond */
    size_t size;
};

static struct file file_read(const char *name)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", IMAGES_DIR, name);
    FILE *stream = fopen(path, "rbe");
    cr_assert_not_null(stream, "%s", path);
    fseek(stream, 0, SEEK_END);
    struct file file = {.size = (size_t)ftell(stream)};
    rewind(stream);
    file.bytes = malloc(file.size);
    cr_assert_eq(fread(file.bytes, 1, file.size, stream), file.size);
    fclose(stream);
    return file;
}

static void entries(const struct api_image *image, unsigned *ptx, unsigned *elf)
{
    size_t cursor = 0;
    struct api_image_entry entry;
    enum ga_status status;
    *ptx = *elf = 0;
    while ((status = api_image_next(image, &cursor, &entry)) == GA_OK) {
        cr_assert(entry.bytes >= image->bytes &&
                  entry.bytes + entry.size <= image->bytes + image->size);
        *ptx += entry.kind == API_IMAGE_PTX;
        *elf += entry.kind == API_IMAGE_ELF;
    }
    cr_assert_eq(status, GA_AGAIN);
}

Test(image, fatbins_of_all_compression_modes)
{
    static const char *const names[] = {"raw.fatbin",  "zstd.fatbin",  "balance.fatbin",
                                        "size.fatbin", "speed.fatbin", NULL};
    for (unsigned i = 0; names[i] != NULL; i++) {
        struct file file = file_read(names[i]);
        struct api_image image;
        unsigned ptx, elf;
        cr_assert_eq(api_image_open(file.bytes, file.size, &image), GA_OK, "%s", names[i]);
        cr_assert_eq(image.kind, API_IMAGE_FATBIN);
        cr_assert_eq(image.size, file.size);
        cr_assert_eq(image.wrapper, 0);
        entries(&image, &ptx, &elf);
        cr_assert(ptx == 1 && elf == 1, "%s: %u PTX, %u ELF", names[i], ptx, elf);
        cr_assert_eq(api_image_open(file.bytes, API_IMAGE_UNBOUNDED, &image), GA_OK);
        cr_assert_eq(image.size, file.size);
        free(file.bytes);
    }
}

Test(image, entries_say_what_they_are)
{
    struct file file = file_read("speed.fatbin");
    struct api_image image;
    struct api_image_entry entry;
    size_t cursor = 0;
    cr_assert_eq(api_image_open(file.bytes, file.size, &image), GA_OK);
    while (api_image_next(&image, &cursor, &entry) == GA_OK) {
        cr_assert_eq(entry.sm, 75);
        if (entry.kind == API_IMAGE_PTX) {
            cr_assert_neq(entry.packing, API_IMAGE_RAW);
            cr_assert_gt(entry.unpacked_size, entry.size);
        }
    }
    free(file.bytes);
}

Test(image, elf_and_text)
{
    struct file elf = file_read("kernels.cubin"), text = file_read("kernels.ptx");
    struct api_image image;
    unsigned ptx_count, elf_count;
    cr_assert_eq(api_image_open(elf.bytes, elf.size, &image), GA_OK);
    cr_assert_eq(image.kind, API_IMAGE_ELF);
    cr_assert_leq(image.size, elf.size);
    cr_assert_gt(image.size + 64, elf.size, "the computed size lacks %zu bytes",
                 elf.size - image.size);
    entries(&image, &ptx_count, &elf_count);
    cr_assert_eq(elf_count, 1);
    cr_assert_eq(api_image_open(text.bytes, text.size, &image), GA_OK);
    cr_assert_eq(image.kind, API_IMAGE_PTX);
    cr_assert_eq(image.size, text.size);
    entries(&image, &ptx_count, &elf_count);
    cr_assert_eq(ptx_count, 1);
    static const char ended[] = "// text\n.version 7.5\n";
    cr_assert_eq(api_image_open(ended, API_IMAGE_UNBOUNDED, &image), GA_OK);
    cr_assert_eq(image.size, sizeof ended);
    free(elf.bytes);
    free(text.bytes);
}

struct wrapper {
    uint32_t magic, version;
    const void *data;
    const void *prelinked;
};

Test(image, wrappers_only_behind_a_trusted_pointer)
{
    struct file file = file_read("raw.fatbin");
    const void *units[] = {file.bytes, NULL};
    struct wrapper first = {0x466243b1, 1, file.bytes, "name"};
    struct wrapper second = {0x466243b1, 2, file.bytes, units};
    struct wrapper third = {0x466243b1, 3, file.bytes, NULL};
    struct api_image image;
    cr_assert_eq(api_image_open(&first, API_IMAGE_UNBOUNDED, &image), GA_OK);
    cr_assert_eq(image.wrapper, 1);
    cr_assert_eq(image.bytes, file.bytes);
    cr_assert_null(image.prelinked);
    cr_assert_eq(api_image_open(&second, API_IMAGE_UNBOUNDED, &image), GA_OK);
    cr_assert_eq(image.wrapper, 2);
    cr_assert_eq(image.prelinked, (const void *const *)units);
    cr_assert_eq(api_image_open(&third, API_IMAGE_UNBOUNDED, &image), GA_INVALID);
    cr_assert_eq(api_image_open(&first, sizeof first, &image), GA_INVALID);
    free(file.bytes);
}

Test(image, rubbish_is_refused)
{
    struct api_image image;
    static const char *const texts[] = {"", "a", "abc", "this is not PTX", "\177EL", NULL};
    for (unsigned i = 0; texts[i] != NULL; i++) {
        cr_assert_eq(api_image_open(texts[i], API_IMAGE_UNBOUNDED, &image), GA_INVALID, "'%s'",
                     texts[i]);
        cr_assert_eq(api_image_open(texts[i], strlen(texts[i]), &image), GA_INVALID, "'%s'",
                     texts[i]);
    }
    static const char elf[] = "\177ELF\2\1 and nothing more";
    cr_assert_eq(api_image_open(elf, sizeof elf, &image), GA_INVALID);
    cr_assert_eq(api_image_open(NULL, API_IMAGE_UNBOUNDED, &image), GA_INVALID);
}

/* Opens a copy that has exactly the given bytes, and walks it. */
static enum ga_status walk(const uint8_t *bytes, size_t size)
{
    uint8_t *copy = malloc(size != 0 ? size : 1);
    memcpy(copy, bytes, size);
    struct api_image image;
    enum ga_status status = api_image_open(copy, size, &image);
    if (status == GA_OK) {
        size_t cursor = 0;
        struct api_image_entry entry;
        cr_assert_leq(image.size, size);
        unsigned sum = 0;
        while (api_image_next(&image, &cursor, &entry) == GA_OK) {
            for (size_t i = 0; i < entry.size; i += 64) {
                sum += entry.bytes[i];
            }
            cr_assert_leq(entry.unpacked_size, API_IMAGE_UNCOMPRESSED_MAX);
        }
        struct api_image unit;
        for (size_t i = 0; api_bundle_unit(&image, i, &unit) == GA_OK; i++) {
            cr_assert_leq(unit.size, (size_t)(copy + size - unit.bytes));
            sum += unit.bytes[unit.size - 1];
        }
        (void)sum;
    }
    free(copy);
    return status;
}

Test(image, every_truncation_is_refused)
{
    static const char *const names[] = {"balance.fatbin", "kernels.cubin", NULL};
    for (unsigned i = 0; names[i] != NULL; i++) {
        struct file file = file_read(names[i]);
        struct api_image whole;
        cr_assert_eq(api_image_open(file.bytes, file.size, &whole), GA_OK);
        for (size_t size = 0; size < whole.size; size++) {
            cr_assert_eq(walk(file.bytes, size), GA_INVALID, "%s cut to %zu", names[i], size);
        }
        free(file.bytes);
    }
}

Test(image, changed_bytes_never_lead_outside)
{
    static const char *const names[] = {"many.fatbin", "balance.fatbin", "kernels.cubin", NULL};
    unsigned seed = 1;
    for (unsigned i = 0; names[i] != NULL; i++) {
        struct file file = file_read(names[i]);
        for (unsigned round = 0; round < 3000; round++) {
            uint8_t before[4];
            size_t at[4];
            for (unsigned k = 0; k < 4; k++) {
                /* Mostly in the first header. */
                at[k] = (size_t)rand_r(&seed) % (round % 4 != 0 ? 128 : file.size);
                before[k] = file.bytes[at[k]];
                file.bytes[at[k]] = (uint8_t)rand_r(&seed);
            }
            (void)walk(file.bytes, file.size);
            for (unsigned k = 4; k-- > 0;) {
                file.bytes[at[k]] = before[k];
            }
        }
        free(file.bytes);
    }
}

Test(image, bundles_hold_images_and_nothing_else)
{
    struct file fatbin = file_read("machine.fatbin"), text = file_read("kernels.ptx");
    const struct api_bundle_item items[] = {{fatbin.bytes, fatbin.size}, {text.bytes, text.size}};
    struct api_image image, part;
    uint8_t *bytes, *nested;
    size_t size, nested_size;
    cr_assert_eq(api_bundle_make(API_BUNDLE_LINKED, items, 2, &bytes, &size), GA_OK);
    cr_assert_eq(api_image_open(bytes, API_IMAGE_UNBOUNDED, &image), GA_OK);
    cr_assert(image.kind == API_IMAGE_BUNDLE && image.size == size && image.bytes == bytes);
    cr_assert_eq(api_bundle_linked(&image, &part), GA_OK);
    cr_assert(part.kind == API_IMAGE_FATBIN && part.size == fatbin.size);
    cr_assert_eq(memcmp(part.bytes, fatbin.bytes, fatbin.size), 0);
    cr_assert_eq(api_bundle_unit(&image, 0, &part), GA_OK);
    cr_assert(part.kind == API_IMAGE_PTX && part.size == text.size);
    cr_assert_eq(api_bundle_unit(&image, 1, &part), GA_AGAIN);
    size_t last = 64 + (fatbin.size + 15) / 16 * 16 + text.size; /* the rest is padding */
    for (size_t cut = 0; cut < last; cut += cut < 200 ? 1 : 97) {
        cr_assert_eq(walk(bytes, cut), GA_INVALID, "cut to %zu", cut);
    }
    unsigned seed = 1;
    for (unsigned round = 0; round < 3000; round++) {
        size_t at = (size_t)rand_r(&seed) % 80;
        uint8_t before = bytes[at];
        bytes[at] = (uint8_t)rand_r(&seed);
        (void)walk(bytes, size);
        bytes[at] = before;
    }

    const struct api_bundle_item inner = {bytes, size};
    cr_assert_eq(api_bundle_make(0, &inner, 1, &nested, &nested_size), GA_OK);
    cr_assert_eq(api_image_open(nested, nested_size, &image), GA_OK);
    cr_assert_eq(api_bundle_linked(&image, &part), GA_AGAIN);
    cr_assert_eq(api_bundle_unit(&image, 0, &part), GA_INVALID, "a bundle in a bundle");
    free(nested);
    cr_assert_eq(api_bundle_make(0, items, 0, &nested, &nested_size), GA_INVALID);
    free(bytes);
    free(fatbin.bytes);
    free(text.bytes);
}
