/* Chooses and unpacks PTX. Sizes were checked by api/image.c before anything is allocated. */
#include "softgpu/image_text.h"

#include <lz4.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "softgpu/device.h"

#define SM (SG_CC_MAJOR * 10 + SG_CC_MINOR)

struct found {
    bool ptx, code;              /* any PTX, any machine code */
    uint32_t newest;             /* lowest PTX that is too new, 0: none */
    struct api_image_entry best; /* size 0: none */
};

static bool entry_fits(const struct api_image_entry *entry)
{
    if ((entry->flags & (API_IMAGE_ARCH_SPECIFIC | API_IMAGE_FAMILY_SPECIFIC)) != 0) {
        return entry->sm == SM;
    }
    return entry->sm <= SM;
}

static CUresult search(const struct api_image *image, struct found *found)
{
    size_t cursor = 0;
    struct api_image_entry entry;
    enum ga_status status;
    while ((status = api_image_next(image, &cursor, &entry)) == GA_OK) {
        if (entry.kind != API_IMAGE_PTX) {
            found->code = true;
            continue;
        }
        found->ptx = true;
        if (!entry_fits(&entry)) {
            found->newest =
                found->newest == 0 || entry.sm < found->newest ? entry.sm : found->newest;
        } else if (found->best.size == 0 || entry.sm > found->best.sm) {
            found->best = entry;
        }
    }
    return status == GA_AGAIN ? CUDA_SUCCESS : CUDA_ERROR_INVALID_IMAGE;
}

static bool unpack(const struct api_image_entry *entry, char *to)
{
    size_t size = (size_t)entry->unpacked_size;
    switch (entry->packing) {
    case API_IMAGE_LZ4:
        return LZ4_decompress_safe((const char *)entry->bytes, to, (int)entry->size, (int)size) ==
               (int)size;
    case API_IMAGE_ZSTD:
        return ZSTD_decompress(to, size, entry->bytes, entry->size) == size;
    case API_IMAGE_RAW:
        memcpy(to, entry->bytes, size);
        return true;
    }
    return false;
}

static CUresult take(const struct api_image_entry *entry, struct sg_text *text, char *why,
                     size_t why_bytes)
{
    char *bytes = malloc((size_t)entry->unpacked_size + 1);
    if (bytes == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    if (!unpack(entry, bytes)) {
        free(bytes);
        snprintf(why, why_bytes, "the compressed PTX is damaged");
        return CUDA_ERROR_INVALID_IMAGE;
    }
    bytes[entry->unpacked_size] = 0;
    text->bytes = bytes;
    text->size = strlen(bytes);
    return CUDA_SUCCESS;
}

/* The fatbins of the translation units behind a device link. */
static CUresult search_prelinked(const struct api_image *image, struct found *found, char *why,
                                 size_t why_bytes)
{
    unsigned units = 0;
    for (unsigned i = 0; image->prelinked[i] != NULL; i++) {
        struct api_image unit;
        struct found in_unit = {0};
        if (i == API_IMAGE_PRELINKED_MAX ||
            api_image_open(image->prelinked[i], API_IMAGE_UNBOUNDED, &unit) != GA_OK ||
            search(&unit, &in_unit) != CUDA_SUCCESS) {
            return CUDA_ERROR_INVALID_IMAGE;
        }
        units += in_unit.best.size != 0;
        found->best = in_unit.best.size != 0 ? in_unit.best : found->best;
        found->ptx |= in_unit.ptx;
        found->newest = in_unit.newest != 0 ? in_unit.newest : found->newest;
    }
    if (units > 1) {
        snprintf(why, why_bytes,
                 "the program was linked from %u translation units with device code "
                 "(-rdc=true); linking PTX is not supported yet",
                 units);
        return CUDA_ERROR_NOT_SUPPORTED;
    }
    return CUDA_SUCCESS;
}

CUresult sg_image_text(const struct api_image *image, struct sg_text *text, char *why,
                       size_t why_bytes)
{
    struct found found = {0};
    snprintf(why, why_bytes, "the container is damaged");
    CUresult result = search(image, &found);
    if (result == CUDA_SUCCESS && image->prelinked != NULL && found.best.size == 0) {
        result = search_prelinked(image, &found, why, why_bytes);
    }
    if (result != CUDA_SUCCESS) {
        return result;
    }
    if (found.best.size != 0) {
        return take(&found.best, text, why, why_bytes);
    }
    if (found.ptx) {
        snprintf(why, why_bytes,
                 "its PTX is for compute capability %u.%u and newer, this GPU has %d.%d: build "
                 "with -gencode arch=compute_75,code=compute_75",
                 found.newest / 10, found.newest % 10, SG_CC_MAJOR, SG_CC_MINOR);
    } else {
        snprintf(why, why_bytes,
                 "it holds machine code only, which a software GPU cannot run: build with PTX "
                 "(-gencode arch=compute_75,code=compute_75, or -arch=sm_75)");
    }
    return CUDA_ERROR_NO_BINARY_FOR_GPU;
}
