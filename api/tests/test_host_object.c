/* SPDX-License-Identifier: Apache-2.0 */
/* Device code in objects and archives that nvcc wrote, and in broken ones. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/host_object.h"

static uint8_t *file_read(const char *name, size_t *size)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", IMAGES_DIR, name);
    FILE *stream = fopen(path, "rbe");
    cr_assert_not_null(stream, "%s", path);
    fseek(stream, 0, SEEK_END);
    *size = (size_t)ftell(stream);
    rewind(stream);
    uint8_t *bytes = malloc(*size);
    cr_assert_eq(fread(bytes, 1, *size, stream), *size);
    fclose(stream);
    return bytes;
}

/* How many fatbins with PTX; -1: broken. */
static int objects(const uint8_t *bytes, size_t size)
{
    struct api_object_walk walk = {0};
    struct api_image found;
    int count = 0;
    enum ga_status status;
    while ((status = api_object_next(bytes, size, &walk, &found)) == GA_OK) {
        size_t cursor = 0;
        struct api_image_entry entry;
        cr_assert(found.bytes >= bytes && found.size <= (size_t)(bytes + size - found.bytes));
        while (api_image_next(&found, &cursor, &entry) == GA_OK) {
            count += entry.kind == API_IMAGE_PTX;
        }
    }
    return status == GA_AGAIN ? count : -1;
}

static int members(const uint8_t *bytes, size_t size)
{
    struct api_member member;
    size_t at = 0;
    int count = 0;
    enum ga_status status;
    while ((status = api_archive_next(bytes, size, &at, &member)) == GA_OK) {
        cr_assert(member.bytes > bytes && member.size <= (size_t)(bytes + size - member.bytes));
        int found = objects(member.bytes, member.size);
        count += found > 0 ? found : 0;
    }
    return status == GA_AGAIN ? count : -1;
}

Test(host_object, objects_and_archives_of_nvcc)
{
    size_t object_size, archive_size, cubin_size;
    uint8_t *object = file_read("unit.o", &object_size);
    uint8_t *archive = file_read("units.a", &archive_size);
    uint8_t *cubin = file_read("kernels.cubin", &cubin_size);
    cr_assert_eq(objects(object, object_size), 1);
    cr_assert_eq(members(archive, archive_size), 1);
    cr_assert_eq(members(object, object_size), -1);
    cr_assert_eq(objects(archive, archive_size), -1);
    struct api_object_walk walk = {0};
    struct api_image found;
    cr_assert_eq(api_object_next(cubin, cubin_size, &walk, &found), GA_OK, "device code itself");
    cr_assert_eq(found.kind, API_IMAGE_ELF);
    cr_assert_eq(api_object_next(cubin, cubin_size, &walk, &found), GA_AGAIN);
    free(object);
    free(archive);
    free(cubin);
}

static void change_bytes(const char *name, int (*count)(const uint8_t *, size_t), unsigned head)
{
    size_t size;
    uint8_t *bytes = file_read(name, &size);
    unsigned seed = 3;
    for (unsigned round = 0; round < 3000; round++) {
        uint8_t *copy = malloc(size);
        memcpy(copy, bytes, size);
        for (unsigned k = 0; k < 4; k++) {
            size_t at = (size_t)rand_r(&seed) % (round % 2 ? size : head);
            /* the table of sections is at the end */
            at = round % 4 == 1 ? size - 1 - (size_t)rand_r(&seed) % 2000 : at;
            copy[at] = (uint8_t)rand_r(&seed);
        }
        (void)count(copy, round % 3 ? size : (size_t)rand_r(&seed) % size);
        free(copy);
    }
    free(bytes);
}

Test(host_object, changed_bytes_never_lead_outside)
{
    change_bytes("unit.o", objects, 64);
    change_bytes("units.a", members, 68);
}
