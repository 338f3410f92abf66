/* SPDX-License-Identifier: Apache-2.0 */
#include "server/session/image_variables.h"

#include <elf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "api/bundle.h"
#include "api/image_unpack.h"
#include "server/session/ptx_variables.h"

#define BYTES_MAX (UINT64_C(1) << 48)

/* ---- machine code */

static bool section_holds_variables(const char *name, size_t room)
{
    static const char *const names[] = {".nv.global", ".nv.global.init", ".nv.constant3"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        size_t length = strlen(names[i]) + 1;
        if (length <= room && memcmp(name, names[i], length) == 0) {
            return true;
        }
    }
    return false;
}

static Elf64_Shdr section_at(const struct api_image *image, const Elf64_Ehdr *header, unsigned i)
{
    Elf64_Shdr section;
    memcpy(&section, image->bytes + header->e_shoff + i * sizeof section, sizeof section);
    return section;
}

/* api_image_open has checked that the sections and their bytes lie in the image. */
static enum ga_status elf_variables(const struct api_image *image, uint64_t *bytes)
{
    Elf64_Ehdr header;
    memcpy(&header, image->bytes, sizeof header);
    uint64_t all = 0;
    Elf64_Shdr names = {0};
    if (header.e_shstrndx < header.e_shnum) {
        names = section_at(image, &header, header.e_shstrndx);
    }
    uint64_t room = names.sh_type == SHT_STRTAB ? names.sh_size : 0;
    for (unsigned i = 0; i < header.e_shnum; i++) {
        Elf64_Shdr section = section_at(image, &header, i);
        if (section.sh_name < room &&
            section_holds_variables((const char *)image->bytes + names.sh_offset + section.sh_name,
                                    room - section.sh_name)) {
            if (section.sh_size > BYTES_MAX - all) {
                return GA_INVALID;
            }
            all += section.sh_size;
        }
    }
    *bytes = all;
    return GA_OK;
}

/* ---- one part of an image */

struct reading {
    unsigned sm;
    struct ledger *ledger;
    uint64_t unpacked; /* bytes so far */
};

static enum ga_status bytes_variables(const struct api_image_entry *entry, const void *at,
                                      uint64_t *bytes)
{
    struct api_image code;
    if (entry->kind == API_IMAGE_PTX) {
        return ptx_variables(at, (size_t)entry->unpacked_size, bytes);
    }
    GA_TRY(api_image_open(at, (size_t)entry->unpacked_size, &code));
    return code.kind == API_IMAGE_ELF ? elf_variables(&code, bytes) : GA_INVALID;
}

static enum ga_status compressed_variables(struct reading *reading,
                                           const struct api_image_entry *entry, uint64_t *bytes)
{
    uint64_t size = entry->unpacked_size;
    if (size > API_IMAGE_UNCOMPRESSED_MAX - reading->unpacked) {
        return GA_INVALID;
    }
    reading->unpacked += size;
    if (ledger_charge(reading->ledger, FIGURE_HOST_BYTES, size) != CUDA_SUCCESS) {
        return GA_NO_MEMORY;
    }
    void *unpacked = malloc((size_t)size);
    enum ga_status status = unpacked == NULL ? GA_NO_MEMORY
                            : !api_image_unpack(entry, unpacked)
                                ? GA_INVALID
                                : bytes_variables(entry, unpacked, bytes);
    free(unpacked);
    ledger_return(reading->ledger, FIGURE_HOST_BYTES, size);
    return status;
}

static enum ga_status entry_variables(struct reading *reading, const struct api_image_entry *entry,
                                      uint64_t *bytes)
{
    return entry->packing == API_IMAGE_RAW ? bytes_variables(entry, entry->bytes, bytes)
                                           : compressed_variables(reading, entry, bytes);
}

/* ---- which part */

#define RANK_CODE 100000u /* above all PTX */

/* The driver takes a part of the highest rank; 0: it does not fit. */
static unsigned entry_rank(const struct api_image_entry *entry, unsigned sm)
{
    bool code = entry->kind == API_IMAGE_ELF;
    bool same = entry->sm / 10 == sm / 10;
    bool fits = entry->sm <= sm && (same || !code);
    if ((entry->flags & API_IMAGE_ARCH_SPECIFIC) != 0) {
        fits = entry->sm == sm;
    } else if ((entry->flags & API_IMAGE_FAMILY_SPECIFIC) != 0) {
        fits = fits && same;
    }
    return !fits && entry->sm != 0 ? 0 : 1 + entry->sm + (code ? RANK_CODE : 0);
}

/* Of a container without others in it. */
static enum ga_status container_variables(struct reading *reading, const struct api_image *image,
                                          uint64_t *bytes, unsigned *rank)
{
    struct api_image_entry entry;
    enum ga_status status;
    size_t cursor = 0;
    unsigned best = 0;
    while (api_image_next(image, &cursor, &entry) == GA_OK) {
        unsigned now = entry_rank(&entry, reading->sm);
        best = now > best ? now : best;
    }
    *bytes = 0;
    *rank = best;
    cursor = 0;
    while ((status = api_image_next(image, &cursor, &entry)) == GA_OK) {
        uint64_t found;
        if (entry_rank(&entry, reading->sm) == best) {
            GA_TRY(entry_variables(reading, &entry, &found));
            *bytes = found > *bytes ? found : *bytes;
        }
    }
    return status == GA_AGAIN ? GA_OK : status;
}

static enum ga_status units_variables(struct reading *reading, const struct api_image *bundle,
                                      uint64_t *bytes)
{
    struct api_image unit;
    enum ga_status status;
    *bytes = 0;
    for (size_t i = 0; (status = api_bundle_unit(bundle, i, &unit)) == GA_OK; i++) {
        uint64_t found;
        unsigned rank;
        GA_TRY(container_variables(reading, &unit, &found, &rank));
        *bytes += found;
        if (*bytes > BYTES_MAX) {
            return GA_INVALID;
        }
    }
    return status == GA_AGAIN ? GA_OK : status;
}

enum ga_status image_variables(const struct api_image *image, unsigned sm, struct ledger *ledger,
                               uint64_t *bytes)
{
    struct reading reading = {.sm = sm, .ledger = ledger};
    struct api_image linked;
    unsigned rank;
    if (image->kind != API_IMAGE_BUNDLE) {
        return container_variables(&reading, image, bytes, &rank);
    }
    enum ga_status status = api_bundle_linked(image, &linked);
    if (status == GA_OK) {
        GA_TRY(container_variables(&reading, &linked, bytes, &rank));
        if (rank != 0) {
            return GA_OK;
        }
    } else if (status != GA_AGAIN) {
        return status;
    }
    return units_variables(&reading, image, bytes);
}
