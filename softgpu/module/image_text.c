/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses and unpacks PTX. api/image.c has checked the sizes before anything is allocated. */
#include "softgpu/module/image_text.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/bundle.h"
#include "api/image_unpack.h"

struct found {
    unsigned sm;                 /* the capability of the GPU */
    bool ptx, code;              /* the image has PTX, has machine code */
    uint32_t newest;             /* lowest PTX that is too new, 0: none */
    struct api_image_entry best; /* size 0: none */
};

static bool entry_fits(const struct api_image_entry *entry, unsigned sm)
{
    if ((entry->flags & (API_IMAGE_ARCH_SPECIFIC | API_IMAGE_FAMILY_SPECIFIC)) != 0) {
        return entry->sm == sm;
    }
    return entry->sm <= sm;
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
        if (!entry_fits(&entry, found->sm)) {
            found->newest =
                found->newest == 0 || entry.sm < found->newest ? entry.sm : found->newest;
        } else if (found->best.size == 0 || entry.sm > found->best.sm) {
            found->best = entry;
        }
    }
    return status == GA_AGAIN ? CUDA_SUCCESS : CUDA_ERROR_INVALID_IMAGE;
}

static CUresult image_text_take(const struct api_image_entry *entry, struct sg_text *text,
                                char *why, size_t why_bytes)
{
    char *bytes = malloc((size_t)entry->unpacked_size + 1);
    if (bytes == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    if (!api_image_unpack(entry, bytes)) {
        free(bytes);
        snprintf(why, why_bytes, "the compressed PTX is damaged");
        return CUDA_ERROR_INVALID_IMAGE;
    }
    bytes[entry->unpacked_size] = 0;
    text->bytes = bytes;
    text->size = strlen(bytes);
    text->sm = entry->sm;
    return CUDA_SUCCESS;
}

static CUresult texts_add(struct sg_texts *texts, const struct api_image_entry *entry, char *why,
                          size_t why_bytes)
{
    uint64_t total = entry->unpacked_size;
    for (size_t i = 0; i < texts->count; i++) {
        total += texts->items[i].size;
    }
    if (total > API_IMAGE_UNCOMPRESSED_MAX) {
        snprintf(why, why_bytes, "its PTX is larger than %u MiB",
                 (unsigned)(API_IMAGE_UNCOMPRESSED_MAX >> 20));
        return CUDA_ERROR_INVALID_IMAGE;
    }
    struct sg_text *more = realloc(texts->items, (texts->count + 1) * sizeof *more);
    if (more == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    texts->items = more;
    CUresult rc = image_text_take(entry, &more[texts->count], why, why_bytes);
    texts->count += rc == CUDA_SUCCESS;
    return rc;
}

/* Whether the entry is NVIDIA's device run time (libcudadevrt): machine code, and PTX for the
 * newest GPUs. It is not needed, since its functions are built in. It is recognised by a name that
 * only its file has. */
static bool is_device_runtime(const struct api_image *unit)
{
    static const char mark[] = "cuda_device_runtime_cu";
    size_t cursor = 0;
    struct api_image_entry entry;
    bool found = false;
    if (api_image_next(unit, &cursor, &entry) == GA_OK) {
        char *bytes = malloc((size_t)entry.unpacked_size + 1);
        found = bytes != NULL && api_image_unpack(&entry, bytes) &&
                memmem(bytes, (size_t)entry.unpacked_size, mark, sizeof mark - 1) != NULL;
        free(bytes);
    }
    return found;
}

static CUresult nothing_fits(const struct found *found, const char *where, char *why,
                             size_t why_bytes)
{
    if (found->ptx) {
        snprintf(
            why, why_bytes,
            "%sits PTX is for compute capability %u.%u and newer, this GPU has %u.%u: build "
            "with -gencode arch=compute_75,code=compute_75, or give the GPU another capability",
            where, found->newest / 10, found->newest % 10, found->sm / 10, found->sm % 10);
    } else {
        snprintf(why, why_bytes,
                 "%sit holds machine code only, which a software GPU cannot run: build with PTX "
                 "(-gencode arch=compute_75,code=compute_75, or -arch=sm_75)",
                 where);
    }
    return CUDA_ERROR_NO_BINARY_FOR_GPU;
}

static CUresult unit_take(const struct api_image *unit, size_t index, struct sg_texts *texts,
                          char *why, size_t why_bytes)
{
    char where[64];
    struct found found = {.sm = texts->sm};
    CU_TRY(search(unit, &found));
    if (found.best.size != 0) {
        return texts_add(texts, &found.best, why, why_bytes);
    }
    if (is_device_runtime(unit)) {
        return CUDA_SUCCESS;
    }
    snprintf(where, sizeof where, "of the linked units, number %zu cannot be used: ", index + 1);
    return nothing_fits(&found, where, why, why_bytes);
}

static CUresult units_take(const struct api_image *image, struct sg_texts *texts, char *why,
                           size_t why_bytes)
{
    CUresult rc = CUDA_SUCCESS;
    for (size_t i = 0; rc == CUDA_SUCCESS; i++) {
        struct api_image unit;
        enum ga_status status = api_bundle_unit(image, i, &unit);
        if (status == GA_AGAIN) {
            return CUDA_SUCCESS;
        }
        rc =
            status == GA_OK ? unit_take(&unit, i, texts, why, why_bytes) : CUDA_ERROR_INVALID_IMAGE;
    }
    return rc;
}

static CUresult image_text_gather(const struct api_image *image, struct sg_texts *texts, char *why,
                                  size_t why_bytes)
{
    struct found found = {.sm = texts->sm};
    struct api_image linked;
    bool plain = image->kind != API_IMAGE_BUNDLE && image->prelinked == NULL;
    enum ga_status status = plain ? GA_OK : api_bundle_linked(image, &linked);
    if (status != GA_OK && status != GA_AGAIN) {
        return CUDA_ERROR_INVALID_IMAGE;
    }
    CUresult rc = status == GA_OK ? search(plain ? image : &linked, &found) : CUDA_SUCCESS;
    if (rc == CUDA_SUCCESS && found.best.size != 0) {
        return texts_add(texts, &found.best, why, why_bytes);
    }
    if (rc == CUDA_SUCCESS && !plain) {
        rc = units_take(image, texts, why, why_bytes);
    }
    if (rc == CUDA_SUCCESS && texts->count == 0) {
        rc = nothing_fits(&found, "", why, why_bytes);
    }
    return rc;
}

CUresult sg_image_texts(const struct api_image *image, unsigned sm, struct sg_texts *texts,
                        char *why, size_t why_bytes)
{
    struct sg_texts made = {.sm = sm};
    snprintf(why, why_bytes, "the container is damaged");
    CUresult rc = image_text_gather(image, &made, why, why_bytes);
    if (rc == CUDA_SUCCESS) {
        *texts = made;
    } else {
        sg_texts_free(&made);
    }
    return rc;
}

void sg_texts_free(struct sg_texts *texts)
{
    for (size_t i = 0; i < texts->count; i++) {
        free(texts->items[i].bytes);
    }
    free(texts->items);
    *texts = (struct sg_texts){0};
}
