/* SPDX-License-Identifier: Apache-2.0 */
/* From an image to a parsed program, with messages for the user. */
#include "softgpu/module/code.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "softgpu/module/image_text.h"
#include "softgpu/process/process.h"
#include "softgpu/process/report.h"

#define CODE_LOG_BYTES 4096

static CUresult load_result(enum sg_load_result rc)
{
    switch (rc) {
    case SG_LOAD_OK:
        return CUDA_SUCCESS;
    case SG_LOAD_SYNTAX:
    case SG_LOAD_UNRESOLVED:
        return CUDA_ERROR_INVALID_PTX;
    case SG_LOAD_UNSUPPORTED:
        return CUDA_ERROR_NOT_SUPPORTED;
    case SG_LOAD_NO_MEMORY:
        return CUDA_ERROR_OUT_OF_MEMORY;
    case SG_LOAD_MISPLACED:
        return CUDA_ERROR_INVALID_VALUE;
    case SG_LOAD_OCCUPIED:
        return CUDA_ERROR_ALREADY_ACQUIRED;
    }
    return CUDA_ERROR_UNKNOWN;
}

static CUresult link(const struct sg_texts *texts, uint64_t base, struct sg_log *log,
                     struct sg_program **program)
{
    struct sg_unit *units = calloc(texts->count, sizeof *units);
    if (units == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    for (size_t i = 0; i < texts->count; i++) {
        units[i] = (struct sg_unit){.text = texts->items[i].bytes, .bytes = texts->items[i].size};
    }
    CUresult rc = load_result(sg_program_link_at(units, texts->count, base, log, program));
    free(units);
    return rc;
}

/* The word after `key`: ".visible .entry name(" */
static void word_after(const struct sg_text *text, const char *key, char *word, size_t size)
{
    const char *at = strstr(text->bytes, key);
    at = at != NULL ? at + strlen(key) : "";
    at += strspn(at, " \t\r\n");
    snprintf(word, size, "%.*s", (int)strcspn(at, " \t\r\n(,;"), at);
}

void sg_code_refused(const struct sg_origin *origin, const char *why)
{
    char path[512] = "";
    if (origin->path != NULL) {
        snprintf(path, sizeof path, "%s", origin->path);
    } else {
        front_origin(origin->image, path, sizeof path);
    }
    const char *in = path[0] != 0 ? "; it is in " : "";
    if (origin->kernel[0] != 0) {
        sg_tell("%s%s%s; its first kernel is '%s'", why, in, path, origin->kernel);
    } else {
        sg_tell("%s%s%s", why, in, path);
    }
}

/* Advice for an unknown instruction: compilers take other ones for older GPUs. */
static const char *advice(const struct sg_texts *texts, CUresult rc)
{
    char target[16];
    word_after(&texts->items[0], ".target", target, sizeof target);
    return rc == CUDA_ERROR_NOT_SUPPORTED && strcmp(target, "sm_75") != 0
               ? "; PTX for an older compute capability may do without it: build with -gencode "
                 "arch=compute_75,code=compute_75"
               : "";
}

static CUresult code_parse(const struct sg_texts *texts, const struct sg_origin *origin,
                           uint64_t base, struct front_jit_log *log, struct sg_code *code)
{
    char buffer[CODE_LOG_BYTES] = "", why[CODE_LOG_BYTES + 256];
    struct sg_log messages = {.text = buffer, .size = sizeof buffer};
    CUresult rc = link(texts, base, &messages, &code->program);
    if (rc == CUDA_ERROR_ALREADY_ACQUIRED || rc == CUDA_ERROR_INVALID_VALUE) {
        ga_warn("softgpu: a module cannot be placed: %.*s", (int)strcspn(buffer, "\n"), buffer);
        return rc; /* the PTX is right */
    }
    if (rc != CUDA_SUCCESS) {
        front_jit_write(log, buffer);
        buffer[strcspn(buffer, "\n")] = 0;
        snprintf(why, sizeof why, "PTX refused: %s%s", buffer[0] != 0 ? buffer : "out of memory",
                 advice(texts, rc));
        sg_code_refused(origin, why);
        return rc;
    }
    struct sg_target target = sg_program_target(code->program);
    code->sm = target.sm;
    code->only = target.only;
    return CUDA_SUCCESS;
}

CUresult sg_code_fits(const struct sg_code *code, unsigned capability,
                      const struct sg_origin *origin, struct front_jit_log *log)
{
    char why[256];
    struct sg_origin own = {.image = NULL};
    if (code->sm <= capability && (code->only == 0 || code->only == capability)) {
        return CUDA_SUCCESS;
    }
    snprintf(why, sizeof why,
             "device code refused: it is for compute capability %u.%u%s, this GPU has %u.%u: build "
             "with -gencode arch=compute_75,code=compute_75, or give the GPU another capability",
             code->sm / 10, code->sm % 10, code->only != 0 ? " only" : " and newer",
             capability / 10, capability % 10);
    if (log != NULL) {
        front_jit_write(log, why);
    }
    if (origin == NULL && sg_program_kernel_count(code->program) != 0) {
        snprintf(own.kernel, sizeof own.kernel, "%s", sg_program_kernel_at(code->program, 0)->name);
    }
    sg_code_refused(origin != NULL ? origin : &own, why);
    return CUDA_ERROR_NO_BINARY_FOR_GPU;
}

CUresult sg_code_load(const struct api_image *image, struct sg_origin *origin, uint64_t base,
                      struct front_jit_log *log, struct sg_code **code)
{
    char why[256] = "", line[320];
    struct sg_texts texts;
    unsigned least, most;
    sg_process_capabilities(&least, &most);
    CUresult rc = sg_image_texts(image, least, &texts, why, sizeof why);
    if (rc == CUDA_ERROR_NO_BINARY_FOR_GPU && most > least) {
        rc = sg_image_texts(image, most, &texts, why, sizeof why);
    }
    if (rc != CUDA_SUCCESS) {
        front_jit_write(log, why);
        snprintf(line, sizeof line, "device code refused: %s", why);
        sg_code_refused(origin, line);
        return rc;
    }
    word_after(&texts.items[0], ".entry", origin->kernel, sizeof origin->kernel);
    struct sg_code *made = calloc(1, sizeof *made);
    rc = made == NULL ? CUDA_ERROR_OUT_OF_MEMORY : code_parse(&texts, origin, base, log, made);
    sg_texts_free(&texts);
    if (rc == CUDA_SUCCESS) { /* PTX without a container says itself what it is for */
        bool middle = made->only >= least && made->only <= most;
        rc = sg_code_fits(made, middle ? made->only : most, origin, log);
        if (rc != CUDA_SUCCESS) {
            sg_program_destroy(made->program);
        }
    }
    if (rc != CUDA_SUCCESS) {
        free(made);
        return rc;
    }
    made->references = 1;
    *code = made;
    return CUDA_SUCCESS;
}

void sg_code_drop(struct sg_code *code)
{
    if (--code->references == 0) {
        sg_program_destroy(code->program);
        free(code);
    }
}
