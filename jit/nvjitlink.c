/* SPDX-License-Identifier: Apache-2.0 */
/* libnvJitLink for programs on software GPUs: its output stays PTX. NVIDIA's own library makes PTX
 * of LTO-IR; a single PTX input is the result as it is; the driver links several inputs.
 *
 * Note: the "cubin" is an image for cuModuleLoadData and similar calls; nothing else may be done
 * with it. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "jit/driver_link.h"
#include "jit/lto.h"
#include "jit/real.h"

#define NVJITLINK_INPUTS_MAX 4096u

struct nvJitLink {
    char **options;
    uint32_t option_count;
    struct jit_input *inputs; /* each owns its bytes and its name */
    bool *lto;                /* input i is LTO-IR, which its type does not say */
    size_t count;
    bool complete;
    void *image;
    size_t image_size;
    char *ptx; /* made of LTO-IR; with a final NUL */
    size_t ptx_size;
    char log[JIT_LOG_BYTES];
};

static void inputs_free(struct nvJitLink *link)
{
    for (size_t i = 0; i < link->count; i++) {
        free((void *)(uintptr_t)link->inputs[i].bytes);
        free((void *)(uintptr_t)link->inputs[i].name);
    }
    free(link->inputs);
    free(link->lto);
}

static void nvjitlink_destroy(struct nvJitLink *link)
{
    inputs_free(link);
    for (uint32_t i = 0; i < link->option_count; i++) {
        free(link->options[i]);
    }
    free(link->options);
    free(link->image);
    free(link->ptx);
    free(link);
}

static nvJitLinkResult nvjitlink_create(nvJitLinkHandle *handle, uint32_t count,
                                        const char *const *options)
{
    bool arch = false;
    if (handle == NULL || (count != 0 && options == NULL)) {
        return NVJITLINK_ERROR_NULL_INPUT;
    }
    struct nvJitLink *link = calloc(1, sizeof *link);
    char **copies = calloc((size_t)count + 1, sizeof *copies);
    if (link == NULL || copies == NULL) {
        free(link);
        free(copies);
        return NVJITLINK_ERROR_INTERNAL;
    }
    link->options = copies;
    for (uint32_t i = 0; i < count; i++) {
        arch = arch || strncmp(options[i], "-arch=", 6) == 0;
        copies[i] = strdup(options[i]);
        if (copies[i] == NULL) {
            nvjitlink_destroy(link);
            return NVJITLINK_ERROR_INTERNAL;
        }
        link->option_count++;
    }
    if (!arch) {
        nvjitlink_destroy(link);
        return NVJITLINK_ERROR_MISSING_ARCH;
    }
    *handle = link;
    return NVJITLINK_SUCCESS;
}

/* The type of an input given as NVJITLINK_INPUT_ANY. */
static nvJitLinkInputType type_of(const void *data, size_t size)
{
    static const struct {
        const char *magic;
        size_t bytes;
        nvJitLinkInputType type;
    } known[] = {{"\x50\xed\x55\xba", 4, NVJITLINK_INPUT_FATBIN},
                 {"!<arch>\n", 8, NVJITLINK_INPUT_LIBRARY},
                 {"\x7f"
                  "ELF",
                  4, NVJITLINK_INPUT_OBJECT},
                 {"\xed\x43\x4e\x7f", 4, NVJITLINK_INPUT_LTOIR}};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (size >= known[i].bytes && memcmp(data, known[i].magic, known[i].bytes) == 0) {
            return known[i].type;
        }
    }
    return NVJITLINK_INPUT_PTX;
}

static nvJitLinkResult nvjitlink_add(struct nvJitLink *link, nvJitLinkInputType type,
                                     const void *data, size_t size, const char *name)
{
    static const CUjitInputType types[] = {
        [NVJITLINK_INPUT_CUBIN] = CU_JIT_INPUT_CUBIN,
        [NVJITLINK_INPUT_PTX] = CU_JIT_INPUT_PTX,
        [NVJITLINK_INPUT_LTOIR] = CU_JIT_NUM_INPUT_TYPES,
        [NVJITLINK_INPUT_FATBIN] = CU_JIT_INPUT_FATBINARY,
        [NVJITLINK_INPUT_OBJECT] = CU_JIT_INPUT_OBJECT,
        [NVJITLINK_INPUT_LIBRARY] = CU_JIT_INPUT_LIBRARY,
    };
    if (link == NULL || data == NULL) {
        return NVJITLINK_ERROR_NULL_INPUT;
    }
    if (type == NVJITLINK_INPUT_ANY) {
        type = type_of(data, size);
    }
    if (type <= NVJITLINK_INPUT_NONE || type > NVJITLINK_INPUT_LIBRARY || link->complete ||
        size == 0 || link->count == NVJITLINK_INPUTS_MAX) {
        return NVJITLINK_ERROR_INVALID_INPUT;
    }
    struct jit_input *inputs = realloc(link->inputs, (link->count + 1) * sizeof *inputs);
    link->inputs = inputs != NULL ? inputs : link->inputs;
    bool *lto = realloc(link->lto, (link->count + 1) * sizeof *lto);
    link->lto = lto != NULL ? lto : link->lto;
    char *bytes = malloc(size + 1), *called = strdup(name != NULL ? name : "");
    if (inputs == NULL || lto == NULL || bytes == NULL || called == NULL) {
        free(bytes);
        free(called);
        return NVJITLINK_ERROR_INTERNAL;
    }
    memcpy(bytes, data, size);
    bytes[size] = '\0';
    bool open_text = type == NVJITLINK_INPUT_PTX && bytes[size - 1] != '\0';
    link->lto[link->count] = type == NVJITLINK_INPUT_LTOIR;
    link->inputs[link->count++] = (struct jit_input){
        .type = types[type], .bytes = bytes, .size = size + open_text, .name = called};
    return NVJITLINK_SUCCESS;
}

static nvJitLinkResult add_file(struct nvJitLink *link, nvJitLinkInputType type, const char *path)
{
    FILE *file = path != NULL ? fopen(path, "rbe") : NULL;
    if (file == NULL) {
        return path != NULL ? NVJITLINK_ERROR_INVALID_INPUT : NVJITLINK_ERROR_NULL_INPUT;
    }
    nvJitLinkResult rc = NVJITLINK_ERROR_INVALID_INPUT;
    char *bytes = NULL;
    long size = fseek(file, 0, SEEK_END) == 0 ? ftell(file) : -1;
    rewind(file);
    if (size > 0 && (bytes = malloc((size_t)size)) != NULL &&
        fread(bytes, 1, (size_t)size, file) == (size_t)size) {
        rc = nvjitlink_add(link, type, bytes, (size_t)size, path);
    }
    free(bytes);
    (void)fclose(file);
    return rc;
}

/* ---- the link itself */

static nvJitLinkResult lto_link(struct nvJitLink *link)
{
    struct jit_input *inputs = calloc(link->count, sizeof *inputs);
    size_t count = 0;
    if (inputs == NULL) {
        return NVJITLINK_ERROR_INTERNAL;
    }
    for (size_t i = 0; i < link->count; i++) {
        if (link->lto[i]) {
            inputs[count++] = link->inputs[i];
        }
    }
    nvJitLinkResult rc = jit_lto_link(link->options, link->option_count, inputs, count, &link->ptx,
                                      &link->ptx_size, link->log);
    free(inputs);
    return rc;
}

/* The inputs for the driver, with the PTX made of LTO-IR. */
static size_t nvjitlink_gather(const struct nvJitLink *link, struct jit_input *room)
{
    size_t count = 0;
    if (link->ptx != NULL) {
        room[count++] = (struct jit_input){.type = CU_JIT_INPUT_PTX,
                                           .bytes = link->ptx,
                                           .size = link->ptx_size + 1,
                                           .name = "lto"};
    }
    for (size_t i = 0; i < link->count; i++) {
        if (!link->lto[i]) {
            room[count++] = link->inputs[i];
        }
    }
    return count;
}

static nvJitLinkResult nvjitlink_complete(struct nvJitLink *link)
{
    bool lto = false;
    if (link == NULL) {
        return NVJITLINK_ERROR_NULL_INPUT;
    }
    for (size_t i = 0; i < link->count; i++) {
        lto = lto || link->lto[i];
    }
    if (link->count == 0 || link->complete) {
        return NVJITLINK_ERROR_INVALID_INPUT;
    }
    nvJitLinkResult rc = lto ? lto_link(link) : NVJITLINK_SUCCESS;
    if (rc != NVJITLINK_SUCCESS) {
        return rc;
    }
    struct jit_input *inputs = calloc(link->count + 1, sizeof *inputs);
    if (inputs == NULL) {
        return NVJITLINK_ERROR_INTERNAL;
    }
    size_t count = nvjitlink_gather(link, inputs);
    if (count == 1 && inputs[0].type == CU_JIT_INPUT_PTX) {
        link->image = malloc(inputs[0].size);
        link->image_size = inputs[0].size;
        if (link->image != NULL) {
            memcpy(link->image, inputs[0].bytes, inputs[0].size);
        }
        rc = link->image != NULL ? NVJITLINK_SUCCESS : NVJITLINK_ERROR_INTERNAL;
    } else {
        CUresult linked =
            jit_driver_link(inputs, count, &link->image, &link->image_size, link->log);
        rc = linked == CUDA_SUCCESS               ? NVJITLINK_SUCCESS
             : linked == CUDA_ERROR_INVALID_PTX   ? NVJITLINK_ERROR_PTX_COMPILE
             : linked == CUDA_ERROR_INVALID_IMAGE ? NVJITLINK_ERROR_INVALID_INPUT
                                                  : NVJITLINK_ERROR_FINALIZE;
    }
    free(inputs);
    link->complete = rc == NVJITLINK_SUCCESS;
    return rc;
}

static nvJitLinkResult nvjitlink_copy_out(const struct nvJitLink *link, const void *bytes,
                                          size_t size, void *out)
{
    if (link == NULL || out == NULL) {
        return NVJITLINK_ERROR_NULL_INPUT;
    }
    if (bytes == NULL) {
        return NVJITLINK_ERROR_INVALID_INPUT;
    }
    memcpy(out, bytes, size);
    return NVJITLINK_SUCCESS;
}

static nvJitLinkResult tell_size(const struct nvJitLink *link, bool there, size_t size, size_t *out)
{
    if (link == NULL || out == NULL) {
        return NVJITLINK_ERROR_NULL_INPUT;
    }
    if (!there) {
        return NVJITLINK_ERROR_INVALID_INPUT;
    }
    *out = size;
    return NVJITLINK_SUCCESS;
}

/* ---- what is exported: each function by its name and, for programs in C, by that of its
 * version */

#define NVJITLINK_EXPORT(name, parameters, value)                                                  \
    JIT_EXPORT nvJitLinkResult name parameters;                                                    \
    JIT_EXPORT nvJitLinkResult JIT_VERSIONED(name) parameters;                                     \
    nvJitLinkResult name parameters                                                                \
    {                                                                                              \
        return value;                                                                              \
    }                                                                                              \
    nvJitLinkResult JIT_VERSIONED(name) parameters                                                 \
    {                                                                                              \
        return value;                                                                              \
    }

static nvJitLinkResult nvjitlink_end(nvJitLinkHandle *handle)
{
    if (handle == NULL || *handle == NULL) {
        return NVJITLINK_ERROR_NULL_INPUT;
    }
    nvjitlink_destroy(*handle);
    *handle = NULL;
    return NVJITLINK_SUCCESS;
}

NVJITLINK_EXPORT(nvJitLinkCreate,
                 (nvJitLinkHandle * handle, uint32_t numOptions, const char *const *options),
                 nvjitlink_create(handle, numOptions, options))
NVJITLINK_EXPORT(nvJitLinkDestroy, (nvJitLinkHandle * handle), nvjitlink_end(handle))
NVJITLINK_EXPORT(nvJitLinkAddData,
                 (nvJitLinkHandle handle, nvJitLinkInputType inputType, const void *data,
                  size_t size, const char *name),
                 nvjitlink_add(handle, inputType, data, size, name))
NVJITLINK_EXPORT(nvJitLinkAddFile,
                 (nvJitLinkHandle handle, nvJitLinkInputType inputType, const char *fileName),
                 add_file(handle, inputType, fileName))
NVJITLINK_EXPORT(nvJitLinkComplete, (nvJitLinkHandle handle), nvjitlink_complete(handle))
NVJITLINK_EXPORT(nvJitLinkGetLinkedCubinSize, (nvJitLinkHandle handle, size_t *size),
                 tell_size(handle, handle != NULL && handle->complete,
                           handle != NULL ? handle->image_size : 0, size))
NVJITLINK_EXPORT(nvJitLinkGetLinkedCubin, (nvJitLinkHandle handle, void *cubin),
                 nvjitlink_copy_out(handle, handle != NULL ? handle->image : NULL,
                                    handle != NULL ? handle->image_size : 0, cubin))
NVJITLINK_EXPORT(nvJitLinkGetLinkedPtxSize, (nvJitLinkHandle handle, size_t *size),
                 tell_size(handle, handle != NULL && handle->ptx,
                           handle != NULL ? handle->ptx_size : 0, size))
NVJITLINK_EXPORT(nvJitLinkGetLinkedPtx, (nvJitLinkHandle handle, char *ptx),
                 nvjitlink_copy_out(handle, handle != NULL ? handle->ptx : NULL,
                                    handle != NULL ? handle->ptx_size : 0, ptx))
NVJITLINK_EXPORT(nvJitLinkGetErrorLogSize, (nvJitLinkHandle handle, size_t *size),
                 tell_size(handle, true, handle != NULL ? strlen(handle->log) + 1 : 0, size))
NVJITLINK_EXPORT(nvJitLinkGetErrorLog, (nvJitLinkHandle handle, char *log),
                 nvjitlink_copy_out(handle, handle != NULL ? handle->log : NULL,
                                    handle != NULL ? strlen(handle->log) + 1 : 0, log))
NVJITLINK_EXPORT(nvJitLinkGetInfoLogSize, (nvJitLinkHandle handle, size_t *size),
                 tell_size(handle, true, 1, size))
NVJITLINK_EXPORT(nvJitLinkGetInfoLog, (nvJitLinkHandle handle, char *log),
                 nvjitlink_copy_out(handle, "", 1, log))

JIT_EXPORT nvJitLinkResult nvJitLinkVersion(unsigned int *major, unsigned int *minor)
{
    if (major == NULL || minor == NULL) {
        return NVJITLINK_ERROR_NULL_INPUT;
    }
    *major = JIT_CUDA_MAJOR;
    *minor = JIT_CUDA_MINOR;
    return NVJITLINK_SUCCESS;
}
