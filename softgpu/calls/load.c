/* JIT options, images and files.
 *
 * What a reader would get wrong: the values of JIT options are not pointers to values but the
 * values themselves, cast to void *; the sizes of the log buffers are replaced by what was used. */
#include "softgpu/calls/load.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "front/front.h"
#include "softgpu/tell.h"

struct jit_options {
    struct sg_jit jit;
    void **error_used, **info_used, **wall_time; /* where to report; NULL: nowhere */
};

static unsigned value_number(void *value)
{
    return (unsigned)(uintptr_t)value;
}

/* Options that would change the program, and which an interpreter cannot honour. */
static bool option_refused(CUjit_option option)
{
    return option == CU_JIT_GLOBAL_SYMBOL_NAMES || option == CU_JIT_GLOBAL_SYMBOL_ADDRESSES ||
           option == CU_JIT_GLOBAL_SYMBOL_COUNT;
}

static CUresult options_read(unsigned count, const CUjit_option *options, void **values,
                             struct jit_options *read)
{
    if (count != 0 && (options == NULL || values == NULL)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    for (unsigned i = 0; i < count; i++) {
        switch ((int)options[i]) {
        case CU_JIT_INFO_LOG_BUFFER:
            read->jit.info.text = values[i];
            break;
        case CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES:
            read->jit.info.size = value_number(values[i]);
            read->info_used = &values[i];
            break;
        case CU_JIT_ERROR_LOG_BUFFER:
            read->jit.error.text = values[i];
            break;
        case CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES:
            read->jit.error.size = value_number(values[i]);
            read->error_used = &values[i];
            break;
        case CU_JIT_WALL_TIME:
            read->wall_time = &values[i];
            break;
        default:
            if ((int)options[i] < 0 || options[i] >= CU_JIT_NUM_OPTIONS) {
                return CUDA_ERROR_INVALID_VALUE;
            }
            if (option_refused(options[i])) {
                return front_unsupported("CU_JIT_GLOBAL_SYMBOL_*");
            }
            break; /* register limits, optimisation, caching: nothing to do here */
        }
    }
    return CUDA_SUCCESS;
}

static void log_begin(struct sg_log *log)
{
    if (log->text == NULL) {
        log->size = 0;
    }
    if (log->size > 0) {
        log->text[0] = 0;
    }
}

static void options_report(const struct jit_options *options)
{
    if (options->error_used != NULL) {
        *options->error_used = (void *)(uintptr_t)options->jit.error.used;
    }
    if (options->info_used != NULL) {
        *options->info_used = (void *)(uintptr_t)options->jit.info.used;
    }
    if (options->wall_time != NULL) {
        float none = 0; /* milliseconds, as bits of the value */
        memcpy(options->wall_time, &none, sizeof none);
    }
}

static CUresult load(const void *image, size_t bound, unsigned option_count,
                     const CUjit_option *options, void **values, struct sg_code **code)
{
    struct jit_options read = {0};
    CUresult result = options_read(option_count, options, values, &read);
    if (result != CUDA_SUCCESS) {
        return result;
    }
    log_begin(&read.jit.error);
    log_begin(&read.jit.info);
    struct api_image opened;
    if (image == NULL) {
        result = CUDA_ERROR_INVALID_VALUE;
    } else if (api_image_open(image, bound, &opened) != GA_OK) {
        sg_tell("device code refused: neither fatbin, cubin nor PTX, or damaged");
        result = CUDA_ERROR_INVALID_IMAGE;
    } else {
        result = sg_code_load(&opened, &read.jit, code);
    }
    options_report(&read);
    return result;
}

CUresult sg_load_image(const void *image, unsigned option_count, const CUjit_option *options,
                       void **values, struct sg_code **code)
{
    return load(image, API_IMAGE_UNBOUNDED, option_count, options, values, code);
}

static CUresult file_read(const char *path, char **bytes, size_t *size)
{
    FILE *file = fopen(path, "rbe");
    if (file == NULL) {
        return errno == ENOMEM ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_FILE_NOT_FOUND;
    }
    CUresult result = CUDA_ERROR_FILE_NOT_FOUND;
    char *read = NULL;
    long length = fseek(file, 0, SEEK_END) == 0 ? ftell(file) : -1;
    if (length > 0 && (size_t)length <= API_IMAGE_BYTES_MAX && fseek(file, 0, SEEK_SET) == 0) {
        read = malloc((size_t)length);
        result = read == NULL ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_INVALID_IMAGE;
        if (read != NULL && fread(read, 1, (size_t)length, file) == (size_t)length) {
            *bytes = read;
            *size = (size_t)length;
            result = CUDA_SUCCESS;
        }
    } else if (length >= 0) {
        result = CUDA_ERROR_INVALID_IMAGE;
    }
    fclose(file);
    if (result != CUDA_SUCCESS) {
        free(read);
    }
    return result;
}

CUresult sg_load_file(const char *path, unsigned option_count, const CUjit_option *options,
                      void **values, struct sg_code **code)
{
    char *bytes = NULL;
    size_t size = 0;
    CUresult result = path == NULL ? CUDA_ERROR_INVALID_VALUE : file_read(path, &bytes, &size);
    if (result == CUDA_SUCCESS) {
        result = load(bytes, size, option_count, options, values, code);
        free(bytes);
    }
    return result;
}
