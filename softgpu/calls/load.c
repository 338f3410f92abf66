/* SPDX-License-Identifier: Apache-2.0 */
/* Loading images, from memory and from files. */
#include "softgpu/calls/load.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "front/front.h"
#include "softgpu/module/code.h"

/* `path`: the file of the image; NULL: it is in the program's memory. */
static CUresult load_image(const void *image, size_t bound, const char *path, unsigned option_count,
                           const CUjit_option *options, void **values, uint64_t base,
                           struct sg_code **code)
{
    struct sg_origin origin = {.image = image, .path = path};
    struct front_jit read;
    CUresult rc = front_jit_read(option_count, options, values, &read);
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    struct api_image opened;
    if (image == NULL) {
        rc = CUDA_ERROR_INVALID_VALUE;
    } else if (api_image_open(image, bound, &opened) != GA_OK) {
        sg_code_refused(&origin, "device code refused: neither fatbin, cubin nor PTX, or damaged");
        rc = CUDA_ERROR_INVALID_IMAGE;
    } else {
        rc = sg_code_load(&opened, &origin, base, &read.error, code);
    }
    front_jit_end(&read);
    return rc;
}

CUresult sg_load_image(const void *image, unsigned option_count, const CUjit_option *options,
                       void **values, uint64_t base, struct sg_code **code)
{
    return load_image(image, API_IMAGE_UNBOUNDED, NULL, option_count, options, values, base, code);
}

static CUresult load_file_read(const char *path, char **bytes, size_t *size)
{
    FILE *file = fopen(path, "rbe");
    if (file == NULL) {
        return errno == ENOMEM ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_FILE_NOT_FOUND;
    }
    CUresult rc = CUDA_ERROR_FILE_NOT_FOUND;
    char *read = NULL;
    long length = fseek(file, 0, SEEK_END) == 0 ? ftell(file) : -1;
    if (length > 0 && (size_t)length <= API_IMAGE_BYTES_MAX && fseek(file, 0, SEEK_SET) == 0) {
        read = malloc((size_t)length);
        rc = read == NULL ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_INVALID_IMAGE;
        if (read != NULL && fread(read, 1, (size_t)length, file) == (size_t)length) {
            *bytes = read;
            *size = (size_t)length;
            rc = CUDA_SUCCESS;
        }
    } else if (length >= 0) {
        rc = CUDA_ERROR_INVALID_IMAGE;
    }
    fclose(file);
    if (rc != CUDA_SUCCESS) {
        free(read);
    }
    return rc;
}

CUresult sg_load_file(const char *path, unsigned option_count, const CUjit_option *options,
                      void **values, uint64_t base, struct sg_code **code)
{
    char *bytes = NULL;
    size_t size = 0;
    CUresult rc = path == NULL ? CUDA_ERROR_INVALID_VALUE : load_file_read(path, &bytes, &size);
    if (rc == CUDA_SUCCESS) {
        rc = load_image(bytes, size, path, option_count, options, values, base, code);
        free(bytes);
    }
    return rc;
}
