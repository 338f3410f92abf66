/* SPDX-License-Identifier: Apache-2.0 */
#include "server/image/image_variables.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "api/bundle.h"
#include "api/extent.h"
#include "api/image_unpack.h"
#include "server/image/ptx_variables.h"

#define BYTES_MAX (UINT64_C(1) << 48)

/* ---- machine code */

/* The kind of memory that the section lies in; NULL: in no memory of the GPU. `room`: from its name
 * on. */
static uint64_t *section_part(const char *name, size_t room, struct image_memory *memory)
{
    const struct {
        const char *begins;
        uint64_t *part;
    } sections[] = {{".nv.global", &memory->variables},
                    {".nv.constant3", &memory->variables}, /* the others belong to kernels */
                    {".nv.constant", &memory->code},
                    {".text.", &memory->code}};
    for (size_t i = 0; i < sizeof sections / sizeof sections[0]; i++) {
        size_t length = strlen(sections[i].begins);
        if (length <= room && memcmp(name, sections[i].begins, length) == 0) {
            return sections[i].part;
        }
    }
    return NULL;
}

static Elf64_Shdr section_at(const struct api_image *image, const Elf64_Ehdr *header, unsigned i)
{
    Elf64_Shdr section;
    memcpy(&section, image->bytes + header->e_shoff + i * sizeof section, sizeof section);
    return section;
}

/* api_image_open has checked that the sections and their bytes lie in the image. */
static enum ga_status elf_variables(const struct api_image *image, struct image_memory *memory)
{
    Elf64_Ehdr header;
    memcpy(&header, image->bytes, sizeof header);
    Elf64_Shdr names = {0};
    if (header.e_shstrndx < header.e_shnum) {
        names = section_at(image, &header, header.e_shstrndx);
    }
    uint64_t room = names.sh_type == SHT_STRTAB ? names.sh_size : 0;
    *memory = (struct image_memory){0};
    for (unsigned i = 0; i < header.e_shnum; i++) {
        Elf64_Shdr section = section_at(image, &header, i);
        uint64_t *part =
            section.sh_name < room
                ? section_part((const char *)image->bytes + names.sh_offset + section.sh_name,
                               room - section.sh_name, memory)
                : NULL;
        if (part != NULL) {
            if (section.sh_size > BYTES_MAX - *part) {
                return GA_INVALID;
            }
            *part += section.sh_size;
        }
    }
    memory->variables = api_extent(memory->variables);
    memory->code = api_extent(memory->code);
    return GA_OK;
}

/* ---- one part of an image */

struct reading {
    const struct image_reader *reader;
    uint64_t unpacked; /* bytes so far */
};

static enum ga_status bytes_variables(const struct api_image_entry *entry, const void *at,
                                      struct image_memory *memory)
{
    struct api_image code;
    if (entry->kind == API_IMAGE_PTX) {
        *memory = (struct image_memory){.code = api_extent(entry->unpacked_size)};
        return ptx_variables(at, (size_t)entry->unpacked_size, &memory->variables, &memory->heap);
    }
    GA_TRY(api_image_open(at, (size_t)entry->unpacked_size, &code));
    return code.kind == API_IMAGE_ELF ? elf_variables(&code, memory) : GA_INVALID;
}

static enum ga_status compressed_variables(struct reading *reading,
                                           const struct api_image_entry *entry,
                                           struct image_memory *memory)
{
    struct ledger *ledger = reading->reader->ledger;
    uint64_t size = entry->unpacked_size;
    if (size > API_IMAGE_UNCOMPRESSED_MAX - reading->unpacked) {
        return GA_INVALID;
    }
    reading->unpacked += size;
    if (ledger_charge(ledger, FIGURE_HOST_BYTES, size) != CUDA_SUCCESS) {
        return GA_NO_MEMORY;
    }
    void *unpacked = malloc((size_t)size);
    enum ga_status status = unpacked == NULL ? GA_NO_MEMORY
                            : !api_image_unpack(entry, unpacked)
                                ? GA_INVALID
                                : bytes_variables(entry, unpacked, memory);
    free(unpacked);
    ledger_return(ledger, FIGURE_HOST_BYTES, size);
    return status;
}

static enum ga_status entry_variables(struct reading *reading, const struct api_image_entry *entry,
                                      struct image_memory *memory)
{
    return entry->packing == API_IMAGE_RAW ? bytes_variables(entry, entry->bytes, memory)
                                           : compressed_variables(reading, entry, memory);
}

/* ---- which part */

#define RANK_CODE 100000u /* above all PTX */

/* The driver takes a part of the highest rank; 0: it does not fit. */
static unsigned entry_rank(const struct api_image_entry *entry, const struct image_reader *reader)
{
    unsigned sm = reader->sm;
    bool code = entry->kind == API_IMAGE_ELF;
    bool same = entry->sm / 10 == sm / 10;
    bool fits = entry->sm <= sm && (same || !code);
    if ((entry->flags & API_IMAGE_ARCH_SPECIFIC) != 0) {
        fits = entry->sm == sm;
    } else if ((entry->flags & API_IMAGE_FAMILY_SPECIFIC) != 0) {
        fits = fits && same;
    }
    if (code && reader->ptx_only) {
        return 0;
    }
    return !fits && entry->sm != 0 ? 0 : 1 + entry->sm + (code ? RANK_CODE : 0);
}

static uint64_t greater(uint64_t one, uint64_t other)
{
    return one > other ? one : other;
}

/* The variables of a container without others in it. */
static enum ga_status container_variables(struct reading *reading, const struct api_image *image,
                                          struct image_memory *memory, unsigned *rank)
{
    struct api_image_entry entry;
    enum ga_status status;
    size_t cursor = 0;
    unsigned best = 0;
    while (api_image_next(image, &cursor, &entry) == GA_OK) {
        unsigned now = entry_rank(&entry, reading->reader);
        best = now > best ? now : best;
    }
    *memory = (struct image_memory){0};
    *rank = best;
    cursor = 0;
    while ((status = api_image_next(image, &cursor, &entry)) == GA_OK) {
        struct image_memory found;
        bool runs = entry.kind != API_IMAGE_ELF || !reading->reader->ptx_only;
        if (runs && entry_rank(&entry, reading->reader) == best) {
            GA_TRY(entry_variables(reading, &entry, &found));
            memory->variables = greater(memory->variables, found.variables);
            memory->code = greater(memory->code, found.code);
            memory->heap = memory->heap || found.heap;
        }
    }
    return status == GA_AGAIN ? GA_OK : status;
}

static enum ga_status units_variables(struct reading *reading, const struct api_image *bundle,
                                      struct image_memory *memory)
{
    struct api_image unit;
    enum ga_status status;
    *memory = (struct image_memory){0};
    for (size_t i = 0; (status = api_bundle_unit(bundle, i, &unit)) == GA_OK; i++) {
        struct image_memory found;
        unsigned rank;
        GA_TRY(container_variables(reading, &unit, &found, &rank));
        memory->variables += found.variables;
        memory->code += found.code;
        memory->heap = memory->heap || found.heap;
        if (memory->variables > BYTES_MAX) {
            return GA_INVALID;
        }
    }
    return status == GA_AGAIN ? GA_OK : status;
}

enum ga_status image_variables(const struct api_image *image, const struct image_reader *reader,
                               struct image_memory *memory)
{
    struct reading reading = {.reader = reader};
    struct api_image linked;
    unsigned rank;
    if (image->kind != API_IMAGE_BUNDLE) {
        return container_variables(&reading, image, memory, &rank);
    }
    enum ga_status status = api_bundle_linked(image, &linked);
    if (status == GA_OK) {
        GA_TRY(container_variables(&reading, &linked, memory, &rank));
        if (rank != 0) {
            return GA_OK;
        }
    } else if (status != GA_AGAIN) {
        return status;
    }
    return units_variables(&reading, image, memory);
}
