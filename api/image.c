/* SPDX-License-Identifier: Apache-2.0 */
/* Walking through containers of device code. Fields are read with memcpy, because bytes from the
 * wire are not aligned. */
#include "api/bundle.h"

#include <stdbool.h>
#include <string.h>

#define WRAPPER_MAGIC 0x466243b1u
#define FATBIN_MAGIC  0xba55ed50u
#define FATBIN_HEADER 16u
#define ENTRY_HEADER  64u
#define KIND_PTX      1u
#define KIND_ELF      2u
#define FLAG_LZ4      UINT64_C(0x2000)
#define FLAG_ZSTD     UINT64_C(0x8000)

/* Generated PTX compresses well; a greater ratio is a decompression bomb. */
#define RATIO_MAX 1024u

static uint16_t get_u16(const uint8_t *at)
{
    uint16_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

static uint32_t get_u32(const uint8_t *at)
{
    uint32_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

static uint64_t get_u64(const uint8_t *at)
{
    uint64_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

/* ---- fatbin ---- */

struct entry_header {
    uint32_t kind, header_size, payload_size, packed_size, sm;
    uint64_t flags, unpacked_size;
};

/* Reads the entry at `at`; false when it does not fit in `size` bytes or contradicts itself. */
static bool entry_read(const uint8_t *bytes, size_t size, size_t at, struct entry_header *entry)
{
    if (size - at < ENTRY_HEADER) {
        return false;
    }
    const uint8_t *h = bytes + at;
    *entry = (struct entry_header){.kind = get_u16(h),
                                   .header_size = get_u32(h + 4),
                                   .payload_size = get_u32(h + 8),
                                   .packed_size = get_u32(h + 16),
                                   .sm = get_u32(h + 28),
                                   .flags = get_u64(h + 40),
                                   .unpacked_size = get_u64(h + 56)};
    if (entry->header_size < ENTRY_HEADER || entry->header_size > size - at ||
        entry->payload_size > size - at - entry->header_size) {
        return false;
    }
    if ((entry->flags & (FLAG_LZ4 | FLAG_ZSTD)) == 0) {
        return true;
    }
    return entry->packed_size != 0 && entry->packed_size <= entry->payload_size &&
           entry->unpacked_size != 0 && entry->unpacked_size <= API_IMAGE_UNCOMPRESSED_MAX &&
           entry->unpacked_size / RATIO_MAX <= entry->packed_size;
}

static enum ga_status fatbin_open(const uint8_t *bytes, size_t bound, struct api_image *out)
{
    if (bound < FATBIN_HEADER || get_u16(bytes + 6) < FATBIN_HEADER || get_u16(bytes + 4) != 1) {
        return GA_INVALID;
    }
    uint64_t header = get_u16(bytes + 6);
    uint64_t body = get_u64(bytes + 8);
    if (body > API_IMAGE_BYTES_MAX || header + body > bound) {
        return GA_INVALID;
    }
    size_t size = (size_t)(header + body);
    unsigned entries = 0;
    for (size_t at = (size_t)header; at < size;) {
        struct entry_header entry;
        if (++entries > API_IMAGE_ENTRIES_MAX || !entry_read(bytes, size, at, &entry)) {
            return GA_INVALID;
        }
        at += (size_t)entry.header_size + entry.payload_size;
    }
    out->kind = API_IMAGE_FATBIN;
    out->bytes = bytes;
    out->size = size;
    return GA_OK;
}

/* ---- ELF ---- */

#define ELF_HEADER     64u
#define ELF_SECTION    64u
#define ELF_SEGMENT    56u
#define SECTION_NOBITS 8u

static void image_extend(uint64_t offset, uint64_t bytes, uint64_t *end)
{
    uint64_t to = offset + bytes < offset ? UINT64_MAX : offset + bytes;
    *end = to > *end ? to : *end;
}

/* The end of the last part that the headers name. */
static enum ga_status elf_open(const uint8_t *bytes, size_t bound, struct api_image *out)
{
    if (bound < ELF_HEADER || bytes[4] != 2 || bytes[5] != 1) { /* 64 bit, little endian */
        return GA_INVALID;
    }
    uint64_t segments = get_u64(bytes + 32), sections = get_u64(bytes + 40);
    uint64_t segment_count = get_u16(bytes + 56), section_count = get_u16(bytes + 60);
    if ((segment_count != 0 && get_u16(bytes + 54) != ELF_SEGMENT) ||
        (section_count != 0 && get_u16(bytes + 58) != ELF_SECTION)) {
        return GA_INVALID;
    }
    size_t most = bound < API_IMAGE_BYTES_MAX ? bound : API_IMAGE_BYTES_MAX;
    uint64_t end = ELF_HEADER;
    if (segment_count != 0) {
        image_extend(segments, segment_count * ELF_SEGMENT, &end);
    }
    if (section_count != 0) {
        image_extend(sections, section_count * ELF_SECTION, &end);
    }
    if (end > most) {
        return GA_INVALID;
    }
    for (uint64_t i = 0; i < segment_count; i++) {
        const uint8_t *segment = bytes + segments + i * ELF_SEGMENT;
        image_extend(get_u64(segment + 8), get_u64(segment + 32), &end);
    }
    for (uint64_t i = 0; i < section_count; i++) {
        const uint8_t *section = bytes + sections + i * ELF_SECTION;
        if (get_u32(section + 4) != SECTION_NOBITS) {
            image_extend(get_u64(section + 24), get_u64(section + 32), &end);
        }
    }
    if (end > most) {
        return GA_INVALID;
    }
    out->kind = API_IMAGE_ELF;
    out->bytes = bytes;
    out->size = (size_t)end;
    return GA_OK;
}

/* ---- PTX ---- */

/* Text that contains ".version" counts as PTX; the compiler checks it. */
static enum ga_status ptx_open(const uint8_t *bytes, size_t bound, struct api_image *out)
{
    static const char word[] = ".version";
    size_t most = bound < API_IMAGE_BYTES_MAX ? bound : API_IMAGE_BYTES_MAX;
    bool found = false;
    size_t i = 0;
    for (; i < most && bytes[i] != 0; i++) {
        if (bytes[i] < ' ' && (bytes[i] < '\t' || bytes[i] > '\r')) {
            return GA_INVALID;
        }
        if (!found && bytes[i] == 'n' && i + 1 >= sizeof word - 1) {
            found = memcmp(bytes + i + 2 - sizeof word, word, sizeof word - 1) == 0;
        }
    }
    bool ended = i < most;
    if (!found || (!ended && bound > API_IMAGE_BYTES_MAX)) {
        return GA_INVALID;
    }
    out->kind = API_IMAGE_PTX;
    out->bytes = bytes;
    out->size = i + ended;
    return GA_OK;
}

/* ---- any ---- */

struct wrapper {
    uint32_t magic, version;
    const void *data;
    const void *prelinked;
};

static enum ga_status bare_open(const uint8_t *bytes, size_t bound, struct api_image *out)
{
    /* Text may be shorter than a magic number: then its NUL precedes the fourth byte. */
    for (size_t i = 0; i < 4; i++) {
        if (i == bound || bytes[i] == 0) {
            return GA_INVALID;
        }
    }
    uint32_t magic = get_u32(bytes);
    if (magic == FATBIN_MAGIC) {
        return fatbin_open(bytes, bound, out);
    }
    if (memcmp(bytes, API_BUNDLE_MAGIC, 4) == 0) {
        return api_bundle_open(bytes, bound, out);
    }
    return memcmp(bytes, "\177ELF", 4) == 0 ? elf_open(bytes, bound, out)
                                            : ptx_open(bytes, bound, out);
}

enum ga_status api_image_open(const void *image, size_t bound, struct api_image *out)
{
    struct api_image opened = {0};
    const uint8_t *bytes = image;
    if (bytes == NULL) {
        return GA_INVALID;
    }
    if (bound == API_IMAGE_UNBOUNDED && bytes[0] == (WRAPPER_MAGIC & 0xff) &&
        bytes[1] == (WRAPPER_MAGIC >> 8 & 0xff) && bytes[2] == (WRAPPER_MAGIC >> 16 & 0xff) &&
        bytes[3] == WRAPPER_MAGIC >> 24) {
        struct wrapper wrapper;
        memcpy(&wrapper, bytes, sizeof wrapper);
        if ((wrapper.version != 1 && wrapper.version != 2) || wrapper.data == NULL) {
            return GA_INVALID;
        }
        opened.wrapper = wrapper.version;
        opened.prelinked = wrapper.version == 2 ? wrapper.prelinked : NULL;
        bytes = wrapper.data;
    }
    GA_TRY(bare_open(bytes, bound, &opened));
    *out = opened;
    return GA_OK;
}

static enum ga_status fatbin_next(const struct api_image *image, size_t *cursor,
                                  struct api_image_entry *entry)
{
    size_t at = *cursor != 0 ? *cursor : get_u16(image->bytes + 6);
    while (at < image->size) {
        struct entry_header header;
        if (!entry_read(image->bytes, image->size, at, &header)) {
            return GA_INVALID;
        }
        const uint8_t *payload = image->bytes + at + header.header_size;
        at += (size_t)header.header_size + header.payload_size;
        if (header.kind != KIND_PTX && header.kind != KIND_ELF) {
            continue; /* intermediate code for link-time optimisation, and unknown kinds */
        }
        bool lz4 = (header.flags & FLAG_LZ4) != 0, zstd = (header.flags & FLAG_ZSTD) != 0;
        *entry = (struct api_image_entry){
            .kind = header.kind == KIND_PTX ? API_IMAGE_PTX : API_IMAGE_ELF,
            .sm = header.sm,
            .flags = header.flags,
            .packing = lz4    ? API_IMAGE_LZ4
                       : zstd ? API_IMAGE_ZSTD
                              : API_IMAGE_RAW,
            .bytes = payload,
            .size = lz4 || zstd ? header.packed_size : header.payload_size,
            .unpacked_size = lz4 || zstd ? header.unpacked_size : header.payload_size};
        *cursor = at;
        return GA_OK;
    }
    return GA_AGAIN;
}

enum ga_status api_image_next(const struct api_image *image, size_t *cursor,
                              struct api_image_entry *entry)
{
    if (image->kind == API_IMAGE_FATBIN) {
        return fatbin_next(image, cursor, entry);
    }
    if (*cursor != 0 || image->kind == API_IMAGE_BUNDLE) {
        return GA_AGAIN;
    }
    *cursor = 1;
    *entry = (struct api_image_entry){.kind = image->kind,
                                      .packing = API_IMAGE_RAW,
                                      .bytes = image->bytes,
                                      .size = image->size,
                                      .unpacked_size = image->size};
    return GA_OK;
}
