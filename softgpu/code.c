/* From an image to a parsed program, with the messages that people need. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "softgpu/image_text.h"
#include "softgpu/module.h"
#include "softgpu/process.h"
#include "softgpu/tell.h"

#define LOG_BYTES 4096

static CUresult load_result(enum sg_load_result result)
{
    switch (result) {
    case SG_LOAD_OK:
        return CUDA_SUCCESS;
    case SG_LOAD_SYNTAX:
    case SG_LOAD_UNRESOLVED:
        return CUDA_ERROR_INVALID_PTX;
    case SG_LOAD_UNSUPPORTED:
        return CUDA_ERROR_NOT_SUPPORTED;
    case SG_LOAD_NO_MEMORY:
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    return CUDA_ERROR_UNKNOWN;
}

static CUresult link(const struct sg_texts *texts, struct sg_log *log, struct sg_program **program)
{
    struct sg_unit *units = calloc(texts->count, sizeof *units);
    if (units == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    for (size_t i = 0; i < texts->count; i++) {
        units[i] = (struct sg_unit){.text = texts->items[i].bytes, .bytes = texts->items[i].size};
    }
    CUresult result = load_result(sg_program_link(units, texts->count, log, program));
    free(units);
    return result;
}

static CUresult code_parse(const struct sg_texts *texts, struct front_jit_log *log,
                           struct sg_code *code)
{
    char buffer[LOG_BYTES] = "";
    struct sg_log messages = {.text = buffer, .size = sizeof buffer};
    CUresult result = link(texts, &messages, &code->program);
    if (result != CUDA_SUCCESS) {
        front_jit_write(log, buffer);
        char *newline = strchr(buffer, '\n');
        if (newline != NULL) {
            *newline = 0;
        }
        sg_tell("PTX refused: %s", buffer[0] != 0 ? buffer : "out of memory");
        return result;
    }
    struct sg_target target = sg_program_target(code->program);
    code->sm = target.sm;
    code->only = target.only;
    return CUDA_SUCCESS;
}

CUresult sg_code_fits(const struct sg_code *code, unsigned capability, struct front_jit_log *log)
{
    char why[160];
    if (code->sm <= capability && (code->only == 0 || code->only == capability)) {
        return CUDA_SUCCESS;
    }
    snprintf(why, sizeof why, "it is for compute capability %u.%u%s, this GPU has %u.%u",
             code->sm / 10, code->sm % 10, code->only != 0 ? " only" : " and newer",
             capability / 10, capability % 10);
    if (log != NULL) {
        front_jit_write(log, why);
    }
    sg_tell("device code refused: %s", why);
    return CUDA_ERROR_NO_BINARY_FOR_GPU;
}

CUresult sg_code_load(const struct api_image *image, struct front_jit_log *log,
                      struct sg_code **code)
{
    char why[256] = "";
    struct sg_texts texts;
    unsigned least, most;
    sg_process_capabilities(&least, &most);
    CUresult result = sg_image_texts(image, least, &texts, why, sizeof why);
    if (result == CUDA_ERROR_NO_BINARY_FOR_GPU && most > least) {
        result = sg_image_texts(image, most, &texts, why, sizeof why);
    }
    if (result != CUDA_SUCCESS) {
        front_jit_write(log, why);
        sg_tell("device code refused: %s", why);
        return result;
    }
    struct sg_code *made = calloc(1, sizeof *made);
    result = made == NULL ? CUDA_ERROR_OUT_OF_MEMORY : code_parse(&texts, log, made);
    sg_texts_free(&texts);
    if (result == CUDA_SUCCESS) { /* text without a container says by itself what it is for */
        bool middle = made->only >= least && made->only <= most;
        result = sg_code_fits(made, middle ? made->only : most, log);
        if (result != CUDA_SUCCESS) {
            sg_program_destroy(made->program);
        }
    }
    if (result != CUDA_SUCCESS) {
        free(made);
        return result;
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
