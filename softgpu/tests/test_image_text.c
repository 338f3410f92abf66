/* Which PTX is taken, and that it comes out as it went in. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "softgpu/image_text.h"

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

static CUresult text_of(const char *name, struct sg_text *text, char *why)
{
    size_t size;
    char *bytes = file_read(name, &size);
    struct api_image image;
    cr_assert_eq(api_image_open(bytes, size, &image), GA_OK, "%s", name);
    CUresult result = sg_image_text(&image, text, why, 256);
    free(bytes);
    return result;
}

Test(image_text, every_compression_mode_gives_the_same_text)
{
    static const char *const names[] = {"raw.fatbin",  "zstd.fatbin",  "balance.fatbin",
                                        "size.fatbin", "speed.fatbin", NULL};
    struct sg_text first, text;
    char why[256];
    cr_assert_eq(text_of("raw.fatbin", &first, why), CUDA_SUCCESS);
    cr_assert_not_null(strstr(first.bytes, ".entry plain"));
    for (unsigned i = 0; names[i] != NULL; i++) {
        cr_assert_eq(text_of(names[i], &text, why), CUDA_SUCCESS, "%s: %s", names[i], why);
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
    cr_assert_eq(text_of("many.fatbin", &text, why), CUDA_SUCCESS);
    cr_assert_not_null(strstr(text.bytes, ".target sm_75"));
    free(text.bytes);
    cr_assert_eq(text_of("kernels.ptx", &text, why), CUDA_SUCCESS);
    cr_assert_not_null(strstr(text.bytes, ".entry plain"));
    free(text.bytes);
}

Test(image_text, what_cannot_run_says_how_to_build_it)
{
    struct sg_text text;
    char why[256];
    cr_assert_eq(text_of("machine.fatbin", &text, why), CUDA_ERROR_NO_BINARY_FOR_GPU);
    cr_assert_not_null(strstr(why, "machine code only"), "%s", why);
    cr_assert_eq(text_of("kernels.cubin", &text, why), CUDA_ERROR_NO_BINARY_FOR_GPU);
    cr_assert_eq(text_of("newer.fatbin", &text, why), CUDA_ERROR_NO_BINARY_FOR_GPU);
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
        cr_assert_eq(sg_image_text(&image, &text, why, sizeof why), CUDA_ERROR_INVALID_IMAGE);
        free(bytes);
    }
}

struct wrapper {
    uint32_t magic, version;
    const void *data;
    const void *prelinked;
};

Test(image_text, one_translation_unit_behind_a_device_link_is_taken)
{
    size_t size;
    char *linked = file_read("machine.fatbin", &size), *unit = file_read("balance.fatbin", &size);
    const void *one[] = {unit, NULL}, *two[] = {unit, unit, NULL};
    struct wrapper wrapper = {0x466243b1, 2, linked, one};
    struct api_image image;
    struct sg_text text;
    char why[256];
    cr_assert_eq(api_image_open(&wrapper, API_IMAGE_UNBOUNDED, &image), GA_OK);
    cr_assert_eq(sg_image_text(&image, &text, why, sizeof why), CUDA_SUCCESS);
    free(text.bytes);
    wrapper.prelinked = two;
    cr_assert_eq(api_image_open(&wrapper, API_IMAGE_UNBOUNDED, &image), GA_OK);
    cr_assert_eq(sg_image_text(&image, &text, why, sizeof why), CUDA_ERROR_NOT_SUPPORTED);
    cr_assert_not_null(strstr(why, "-rdc=true"), "%s", why);
    free(linked);
    free(unit);
}
