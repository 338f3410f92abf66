/* SPDX-License-Identifier: Apache-2.0 */
/* Device code on its way to the server: where the container is and how long, and the options that
 * go with it. */
#ifndef CLIENT_MODULE_IMAGE_H
#define CLIENT_MODULE_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/cuda_names.h"
#include "front/front.h"
#include "transport/transport.h"

#define CLIENT_NAME_MAX 60000u /* of a kernel or variable; mangled names are long */

struct client_image {
    const void *bytes; /* the container, behind nvcc's wrapper if there is one */
    uint64_t size;
    void *owned; /* malloc-ed: what `bytes` points to, if it was made. NULL: the program's memory */
};

/* A linked program (nvcc -rdc=true), which is spread over several images, becomes one. The caller
 * frees `owned`. CUDA_ERROR_INVALID_IMAGE: no container at all, or broken. */
CUresult client_image_find(const void *image, struct client_image *found);
/* Its name, as API_OP_ga_module_load_named takes it. False: it cannot be computed. */
bool client_image_name(const void *image, uint64_t bytes, uint8_t name[TRANSPORT_DIGEST_BYTES]);
/* Where a driver refuses an image: whose it is, on stderr, as far as that can be known. `given`: as
 * the program passed it; `path`: the file that it was read from, or NULL. */
void client_image_refused(const void *given, const char *path, CUresult rc);
/* Reads a file, with a NUL behind; `*image` is malloc-ed. CUDA_ERROR_FILE_NOT_FOUND. */
CUresult client_image_read(const char *path, void **image);

#endif
