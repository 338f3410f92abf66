/* SPDX-License-Identifier: Apache-2.0 */
/* Images and options as programs give them. */
#include "client/module/image.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "api/bundle.h"
#include "base/log.h"

/* The server never sees such an image, so the client logs the cause. */
static CUresult damaged(void)
{
    ga_error("device code refused: neither fatbin, cubin nor PTX, or damaged");
    return CUDA_ERROR_INVALID_IMAGE;
}

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
        return damaged();
    }
}

void client_image_refused(const void *given, const char *path, CUresult rc)
{
    static const CUresult refusals[] = {
        CUDA_ERROR_INVALID_IMAGE, CUDA_ERROR_NO_BINARY_FOR_GPU,
        CUDA_ERROR_INVALID_PTX,   CUDA_ERROR_UNSUPPORTED_PTX_VERSION,
        CUDA_ERROR_NOT_SUPPORTED, CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND};
    char file[512] = "";
    bool refused = false;
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        refused |= rc == refusals[i];
    }
    if (refused && path == NULL) {
        front_origin(given, file, sizeof file);
        path = file;
    }
    if (refused && path[0] != 0) {
        const char *name = "";
        (void)cuGetErrorName(rc, &name);
        ga_error("the device code in %s is refused: %s", path, name);
    }
}

CUresult client_image_find(const void *image, struct client_image *found)
{
    struct api_image container;
    if (api_image_open(image, API_IMAGE_UNBOUNDED, &container) != GA_OK) {
        client_image_refused(image, NULL, damaged());
        return CUDA_ERROR_INVALID_IMAGE;
    }
    *found = (struct client_image){.bytes = container.bytes, .size = container.size};
    return container.prelinked != NULL ? bundle(&container, found) : CUDA_SUCCESS;
}

bool client_image_name(const void *image, uint64_t bytes, uint8_t name[TRANSPORT_DIGEST_BYTES])
{
    struct transport_digest *digest = transport_digest_begin();
    transport_digest_add(digest, image, bytes);
    return transport_digest_end(digest, name);
}

static bool image_read_all(int fd, char *to, size_t bytes)
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
    bool whole = bytes != NULL && image_read_all(fd, bytes, (size_t)size);
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
