/* Images and options as programs give them. */
#include "client/image.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/bundle.h"

static CUresult bundle(const struct api_image *container, struct client_image *found)
{
    uint8_t *bytes;
    size_t size;
    switch (api_bundle_of_wrapper(container, &bytes, &size)) {
    case GA_OK:
        *found = (struct client_image){.bytes = bytes, .size = size, .owned = bytes};
        return CUDA_SUCCESS;
    case GA_NO_MEMORY:
        return CUDA_ERROR_OUT_OF_MEMORY;
    default:
        return CUDA_ERROR_INVALID_IMAGE;
    }
}

CUresult client_image_find(const void *image, struct client_image *found)
{
    struct api_image container;
    if (api_image_open(image, API_IMAGE_UNBOUNDED, &container) != GA_OK) {
        return CUDA_ERROR_INVALID_IMAGE;
    }
    *found = (struct client_image){.bytes = container.bytes, .size = container.size};
    return container.prelinked != NULL ? bundle(&container, found) : CUDA_SUCCESS;
}

static bool read_all(int fd, char *to, size_t bytes)
{
    for (size_t done = 0; done < bytes;) {
        ssize_t got = read(fd, to + done, bytes - done);
        if (got <= 0) {
            return false;
        }
        done += (size_t)got;
    }
    return true;
}

CUresult client_image_read(const char *path, void **image)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return CUDA_ERROR_FILE_NOT_FOUND;
    }
    off_t size = lseek(fd, 0, SEEK_END);
    if (size < 0 || size > (off_t)API_IMAGE_BYTES_MAX || lseek(fd, 0, SEEK_SET) != 0) {
        close(fd);
        return CUDA_ERROR_INVALID_IMAGE;
    }
    char *bytes = malloc((size_t)size + 1);
    bool whole = bytes != NULL && read_all(fd, bytes, (size_t)size);
    close(fd);
    if (!whole) {
        CUresult rc = bytes == NULL ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_INVALID_IMAGE;
        free(bytes);
        return rc;
    }
    bytes[size] = 0;
    *image = bytes;
    return CUDA_SUCCESS;
}

/* The value of an option is a pointer or, for numbers, itself. */
static size_t number(void *value)
{
    return (size_t)(uintptr_t)value;
}

CUresult client_jit_read(unsigned count, const CUjit_option *options, void **values,
                         struct client_jit *jit)
{
    *jit = (struct client_jit){0};
    if (count != 0 && (options == NULL || values == NULL)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    for (unsigned i = 0; i < count; i++) {
        switch ((int)options[i]) {
        case CU_JIT_MAX_REGISTERS:
            jit->max_registers = (uint32_t)number(values[i]);
            break;
        case CU_JIT_OPTIMIZATION_LEVEL:
            if (number(values[i]) > 4) {
                return CUDA_ERROR_INVALID_VALUE;
            }
            jit->optimization = (uint32_t)number(values[i]);
            break;
        case CU_JIT_INFO_LOG_BUFFER:
            jit->info_log = values[i];
            break;
        case CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES:
            jit->info_log_bytes = (uint32_t)number(values[i]);
            jit->info_log_used = &values[i];
            break;
        case CU_JIT_ERROR_LOG_BUFFER:
            jit->error_log = values[i];
            break;
        case CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES:
            jit->error_log_bytes = (uint32_t)number(values[i]);
            jit->error_log_used = &values[i];
            break;
        default:
            if ((int)options[i] < 0 || options[i] >= CU_JIT_NUM_OPTIONS) {
                return CUDA_ERROR_INVALID_VALUE;
            }
            break; /* hints: the driver that loads decides */
        }
    }
    jit->info_log_bytes = jit->info_log != NULL ? jit->info_log_bytes : 0;
    jit->error_log_bytes = jit->error_log != NULL ? jit->error_log_bytes : 0;
    return CUDA_SUCCESS;
}
