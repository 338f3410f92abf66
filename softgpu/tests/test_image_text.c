/* SPDX-License-Identifier: Apache-2.0 */
/* Selection of PTX, and its unpacking. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/bundle.h"
#include "softgpu/module/image_text.h"

static char *file_read(const char *name, size_t *size)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", IMAGES_DIR, name);
    FILE *stream = fopen(path, "rbe");
    cr_assert_not_null(stream, "%s", path);
    fseek(stream, 0, SEEK_END);
    *size = (size_t)ftell(stream);
    rewind(stream);
    char *bytes = malloc(*size + 1);
    cr_assert_eq(fread(bytes, 1, *size, stream), *size);
    bytes[*size] = 0;
    fclose(stream);
    return bytes;
}

static CUresult text_of_image(const struct api_image *image, unsigned sm, struct sg_text *text,
                              char *why)
{
    struct sg_texts texts;
    CUresult rc = sg_image_texts(image, sm, &texts, why, 256);
    if (rc == CUDA_SUCCESS) {
        cr_assert_eq(texts.count, 1);
        *text = texts.items[0];
        free(texts.items);
    }
    return rc;
}

static CUresult text_of(const char *name, unsigned sm, struct sg_text *text, char *why)
{
    size_t size;
    char *bytes = file_read(name, &size);
    struct api_image image;
    cr_assert_eq(api_image_open(bytes, size, &image), GA_OK, "%s", name);
    CUresult rc = text_of_image(&image, sm, text, why);
    free(bytes);
    return rc;
}

Test(image_text, every_compression_mode_gives_the_same_text)
{
    static const char *const names[] = {"raw.fatbin",  "zstd.fatbin",  "balance.fatbin",
                                        "size.fatbin", "speed.fatbin", NULL};
    struct sg_text first, text;
    char why[256];
    cr_assert_eq(text_of("raw.fatbin", 75, &first, why), CUDA_SUCCESS);
    cr_assert_not_null(strstr(first.bytes, ".entry plain"));
    for (unsigned i = 0; names[i] != NULL; i++) {
        cr_assert_eq(text_of(names[i], 75, &text, why), CUDA_SUCCESS, "%s: %s", names[i], why);
        cr_assert_eq(text.size, first.size);
        cr_assert_str_eq(text.bytes, first.bytes);
        free(text.bytes);
    }
    free(first.bytes);
}

Test(image_text, the_newest_that_fits_is_taken)
{
    struct sg_text text;
    char why[256];
    cr_assert_eq(text_of("many.fatbin", 75, &text, why), CUDA_SUCCESS);
    cr_assert_not_null(strstr(text.bytes, ".target sm_75"));
    cr_assert_eq(text.sm, 75);
    free(text.bytes);
    cr_assert_eq(text_of("many.fatbin", 90, &text, why), CUDA_SUCCESS);
    cr_assert_not_null(strstr(text.bytes, ".target sm_90"));
    free(text.bytes);
    cr_assert_eq(text_of("kernels.ptx", 75, &text, why), CUDA_SUCCESS);
    cr_assert_not_null(strstr(text.bytes, ".entry plain"));
    free(text.bytes);
}

Test(image_text, what_cannot_run_says_how_to_build_it)
{
    struct sg_text text;
    char why[256];
    cr_assert_eq(text_of("machine.fatbin", 75, &text, why), CUDA_ERROR_NO_BINARY_FOR_GPU);
    cr_assert_not_null(strstr(why, "machine code only"), "%s", why);
    cr_assert_eq(text_of("kernels.cubin", 75, &text, why), CUDA_ERROR_NO_BINARY_FOR_GPU);
    cr_assert_eq(text_of("newer.fatbin", 75, &text, why), CUDA_ERROR_NO_BINARY_FOR_GPU);
    cr_assert_not_null(strstr(why, "9.0 and newer"), "%s", why);
}

Test(image_text, a_damaged_payload_is_an_invalid_image)
{
    static const char *const names[] = {"zstd.fatbin", "speed.fatbin", NULL};
    for (unsigned n = 0; names[n] != NULL; n++) {
        size_t size;
        char *bytes = file_read(names[n], &size);
        struct api_image image;
        struct api_image_entry entry;
        size_t cursor = 0;
        struct sg_text text;
        char why[256];
        cr_assert_eq(api_image_open(bytes, size, &image), GA_OK);
        while (api_image_next(&image, &cursor, &entry) == GA_OK) {
            if (entry.kind == API_IMAGE_PTX) {
                memset((char *)bytes + (entry.bytes - (const uint8_t *)bytes), 0xff, entry.size);
            }
        }
        cr_assert_eq(text_of_image(&image, 75, &text, why), CUDA_ERROR_INVALID_IMAGE);
        free(bytes);
    }
}

struct wrapper {
    uint32_t magic, version;
    const void *data;
    const void *prelinked;
};

Test(image_text, the_units_behind_a_device_link_are_taken)
{
    size_t size;
    char *linked = file_read("machine.fatbin", &size), *unit = file_read("balance.fatbin", &size);
    char *other = file_read("many.fatbin", &size), *runtime = file_read("devrt.fatbin", &size);
    const void *units[] = {unit, runtime, other, NULL};
    struct wrapper wrapper = {0x466243b1, 2, linked, units};
    struct api_image image, bundle;
    struct sg_texts texts;
    char why[256];
    cr_assert_eq(api_image_open(&wrapper, API_IMAGE_UNBOUNDED, &image), GA_OK);
    cr_assert_eq(sg_image_texts(&image, 75, &texts, why, sizeof why), CUDA_SUCCESS, "%s", why);
    cr_assert_eq(texts.count, 2);
    cr_assert_not_null(strstr(texts.items[0].bytes, ".entry plain"));
    sg_texts_free(&texts);

    /* the same without pointers */
    uint8_t *bytes;
    cr_assert_eq(api_bundle_of_wrapper(&image, &bytes, &size), GA_OK);
    cr_assert_eq(api_image_open(bytes, size, &bundle), GA_OK);
    cr_assert_eq(sg_image_texts(&bundle, 75, &texts, why, sizeof why), CUDA_SUCCESS, "%s", why);
    cr_assert_eq(texts.count, 2);
    sg_texts_free(&texts);
    free(bytes);

    units[2] = linked; /* machine code only */
    cr_assert_eq(sg_image_texts(&image, 75, &texts, why, sizeof why), CUDA_ERROR_NO_BINARY_FOR_GPU);
    cr_assert_not_null(strstr(why, "number 3 cannot be used: it holds machine code only"), "%s",
                       why);
    units[2] = "nonsense";
    cr_assert_eq(sg_image_texts(&image, 75, &texts, why, sizeof why), CUDA_ERROR_INVALID_IMAGE);
    units[0] = runtime;
    units[1] = NULL;
    cr_assert_eq(sg_image_texts(&image, 75, &texts, why, sizeof why), CUDA_ERROR_NO_BINARY_FOR_GPU);
    free(linked);
    free(unit);
    free(other);
    free(runtime);
}

Test(image_text, a_bundle_without_a_linked_image_is_all_units)
{
    size_t size;
    char *unit = file_read("raw.fatbin", &size);
    struct api_bundle_item items[2] = {{unit, size}};
    char *text = file_read("kernels.ptx", &size);
    items[1] = (struct api_bundle_item){text, size};
    uint8_t *bytes;
    struct api_image bundle;
    struct sg_texts texts;
    char why[256];
    cr_assert_eq(api_bundle_make(0, items, 2, &bytes, &size), GA_OK);
    cr_assert_eq(api_image_open(bytes, size, &bundle), GA_OK);
    cr_assert_eq(sg_image_texts(&bundle, 75, &texts, why, sizeof why), CUDA_SUCCESS, "%s", why);
    cr_assert_eq(texts.count, 2);
    cr_assert_eq(texts.items[1].size, strlen(text));
    sg_texts_free(&texts);
    free(bytes);
    free(unit);
    free(text);
}
