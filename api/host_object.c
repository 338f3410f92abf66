/* SPDX-License-Identifier: Apache-2.0 */
/* ELF sections and ar members. */
#include "api/host_object.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* ---- objects ---- */

#define ELF_HEADER   64u
#define ELF_SECTION  64u
#define MACHINE_CUDA 190u

static uint64_t object_get(const uint8_t *at, size_t bytes)
{
    uint64_t value = 0;
    memcpy(&value, at, bytes);
    return value;
}

struct elf {
    const uint8_t *bytes;
    size_t size;
    const uint8_t *sections;
    size_t count;
    const char *names;
    size_t names_size;
};

static bool section_bytes(const struct elf *elf, size_t index, const uint8_t **at, size_t *size)
{
    const uint8_t *section = elf->sections + index * ELF_SECTION;
    uint64_t offset = object_get(section + 24, 8), bytes = object_get(section + 32, 8);
    if (offset > elf->size || bytes > elf->size - offset) {
        return false;
    }
    *at = elf->bytes + offset;
    *size = (size_t)bytes;
    return true;
}

static bool elf_read(const uint8_t *bytes, size_t size, struct elf *elf)
{
    if (size < ELF_HEADER || memcmp(bytes, "\177ELF\2\1", 6) != 0) { /* 64 bit, little endian */
        return false;
    }
    uint64_t sections = object_get(bytes + 40, 8), count = object_get(bytes + 60, 2),
             names = object_get(bytes + 62, 2);
    if (object_get(bytes + 58, 2) != ELF_SECTION || sections > size ||
        count > (size - sections) / ELF_SECTION || names >= count) {
        return false;
    }
    *elf = (struct elf){
        .bytes = bytes, .size = size, .sections = bytes + sections, .count = (size_t)count};
    const uint8_t *text = NULL;
    bool found = section_bytes(elf, (size_t)names, &text, &elf->names_size);
    elf->names = (const char *)text;
    return found && elf->names_size != 0 && text[elf->names_size - 1] == 0;
}

static bool holds_device_code(const struct elf *elf, size_t index)
{
    uint64_t name = object_get(elf->sections + index * ELF_SECTION, 4);
    return name < elf->names_size && (strcmp(elf->names + name, ".nv_fatbin") == 0 ||
                                      strcmp(elf->names + name, "__nv_relfatbin") == 0);
}

/* Fatbins follow each other, with zeros in between. */
static enum ga_status section_next(const uint8_t *bytes, size_t size, size_t *at,
                                   struct api_image *found)
{
    while (*at < size && bytes[*at] == 0) {
        ++*at;
    }
    if (*at == size) {
        return GA_AGAIN;
    }
    GA_TRY(api_image_open(bytes + *at, size - *at, found));
    if (found->kind != API_IMAGE_FATBIN) {
        return GA_INVALID;
    }
    *at += found->size;
    return GA_OK;
}

enum ga_status api_object_next(const uint8_t *bytes, size_t size, struct api_object_walk *walk,
                               struct api_image *found)
{
    struct elf elf;
    if (!elf_read(bytes, size, &elf)) {
        return GA_INVALID;
    }
    if (object_get(bytes + 18, 2) == MACHINE_CUDA) {
        return walk->section++ == 0 ? api_image_open(bytes, size, found) : GA_AGAIN;
    }
    for (; walk->section < elf.count; walk->section++, walk->at = 0) {
        const uint8_t *section;
        size_t section_size;
        if (!holds_device_code(&elf, walk->section)) {
            continue;
        }
        if (!section_bytes(&elf, walk->section, &section, &section_size)) {
            return GA_INVALID;
        }
        enum ga_status status = section_next(section, section_size, &walk->at, found);
        if (status != GA_AGAIN) {
            return status;
        }
    }
    return GA_AGAIN;
}

/* ---- archives ---- */

#define AR_MAGIC  8u
#define AR_HEADER 60u

static bool size_read(const uint8_t *header, size_t *size)
{
    char digits[11] = {0};
    memcpy(digits, header + 48, 10);
    char *end;
    unsigned long long value = strtoull(digits, &end, 10);
    *size = (size_t)value;
    return end != digits && (*end == 0 || *end == ' ') && digits[0] != '-' &&
           value <= API_IMAGE_BYTES_MAX;
}

enum ga_status api_archive_next(const uint8_t *bytes, size_t size, size_t *at,
                                struct api_member *member)
{
    if (size < AR_MAGIC || memcmp(bytes, "!<arch>\n", AR_MAGIC) != 0) {
        return GA_INVALID;
    }
    for (size_t here = *at != 0 ? *at : AR_MAGIC; here < size;) {
        const uint8_t *header = bytes + here;
        size_t length;
        if (size - here < AR_HEADER || header[58] != '`' || header[59] != '\n' ||
            !size_read(header, &length) || length > size - here - AR_HEADER) {
            return GA_INVALID;
        }
        here += AR_HEADER + length + length % 2;
        /* "/" and "//" are the archive's tables, "/12" is a name in a table */
        if (header[0] != '/' || (header[1] >= '0' && header[1] <= '9')) {
            *member = (struct api_member){header + AR_HEADER, length};
            *at = here;
            return GA_OK;
        }
    }
    return GA_AGAIN;
}
