/* SPDX-License-Identifier: Apache-2.0 */
/* The linker (cuLinkCreate and related calls). It collects its inputs into a bundle (api/bundle.h),
 * which a driver links whenever it is loaded. cuLinkComplete tries to load the bundle, so that
 * errors and logs come from the call that CUDA documents.
 *
 * Note: the program's options are kept by pointer, as CUDA does, because results are written
 * into them; they must live as long as the link. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/handle_table.h"
#include "front/front.h"
#include "front/launch/linker_input.h"

#define LINKS_MAX 65536u

struct link {
    uint64_t handle;
    struct front_link_items inputs;
    unsigned option_count;
    CUjit_option *options;
    void **values;
    uint8_t *made; /* NULL: not completed yet */
    size_t made_size;
    uint64_t spent_ns;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct ga_handle_table links;

static bool options_good(unsigned count, const CUjit_option *options, void *const *values)
{
    bool good = count == 0 || (options != NULL && values != NULL);
    for (unsigned i = 0; good && i < count; i++) {
        good = (int)options[i] >= 0 && options[i] < CU_JIT_NUM_OPTIONS;
    }
    return good;
}

/* Writes the time in milliseconds, as the bits of the value. */
static void tell_time(const struct link *link)
{
    float ms = (float)link->spent_ns / (float)GA_NS_PER_MS;
    for (unsigned i = 0; i < link->option_count; i++) {
        if (link->options[i] == CU_JIT_WALL_TIME) {
            memcpy(&link->values[i], &ms, sizeof ms);
        }
    }
}

static struct link *link_find(CUlinkState state)
{
    return ga_handle_table_find(&links, (uint64_t)(uintptr_t)state);
}

/* Begins every call after the first. The lock is held on CUDA_SUCCESS, until the call ends: two
 * threads cannot use a link at once. */
static CUresult link_enter(CUlinkState state, struct link **link)
{
    CUresult rc = front_ready();
    if (rc == CUDA_SUCCESS) {
        rc = front_host.process_state();
    }
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    pthread_mutex_lock(&lock);
    *link = link_find(state);
    if (*link == NULL) {
        pthread_mutex_unlock(&lock);
        return CUDA_ERROR_INVALID_HANDLE;
    }
    return CUDA_SUCCESS;
}

static CUresult link_leave(CUresult rc)
{
    pthread_mutex_unlock(&lock);
    return rc;
}

/* Checks that there is a live current context. */
static CUresult link_context_check(void)
{
    CUcontext context;
    CUdevice device;
    CUresult rc = front_context_need(&context);
    return rc == CUDA_SUCCESS ? cuCtxGetDevice(&device) : rc;
}

CUresult CUDAAPI cuLinkCreate_v2(unsigned int numOptions, CUjit_option *options,
                                 void **optionValues, CUlinkState *stateOut)
{
    CUresult rc = link_context_check();
    if (rc == CUDA_SUCCESS) {
        rc = front_host.process_state();
    }
    if (rc == CUDA_SUCCESS &&
        (stateOut == NULL || !options_good(numOptions, options, optionValues))) {
        rc = CUDA_ERROR_INVALID_VALUE;
    }
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    struct link *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    made->option_count = numOptions;
    made->options = options;
    made->values = optionValues;
    pthread_mutex_lock(&lock);
    if (links.limit == 0) {
        ga_handle_table_init(&links, GA_HANDLE_LINK, LINKS_MAX);
    }
    if (ga_handle_table_make(&links, made, &made->handle) != GA_OK) {
        free(made);
        return link_leave(CUDA_ERROR_OUT_OF_MEMORY);
    }
    *stateOut = (CUlinkState)(uintptr_t)made->handle;
    return link_leave(CUDA_SUCCESS);
}

static CUresult link_add(struct link *link, CUjitInputType type, const void *data, size_t size,
                         unsigned option_count, const CUjit_option *options, void *const *values)
{
    if (link->made != NULL || !options_good(option_count, options, values)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    uint64_t begin = ga_clock_ns();
    CUresult rc = front_link_input(&link->inputs, type, data, size);
    link->spent_ns += ga_clock_ns() - begin;
    return rc;
}

CUresult CUDAAPI cuLinkAddData_v2(CUlinkState state, CUjitInputType type, void *data, size_t size,
                                  const char *name, unsigned int numOptions, CUjit_option *options,
                                  void **optionValues)
{
    struct link *link;
    CUresult rc = link_enter(state, &link);
    (void)name;
    return rc != CUDA_SUCCESS
               ? rc
               : link_leave(link_add(link, type, data, size, numOptions, options, optionValues));
}

/* Reads a file and appends a NUL. */
static CUresult link_file_read(const char *path, void **data, size_t *size)
{
    FILE *file = fopen(path, "rbe");
    if (file == NULL) {
        return CUDA_ERROR_FILE_NOT_FOUND;
    }
    CUresult rc = CUDA_ERROR_INVALID_IMAGE;
    char *bytes = NULL;
    long length = fseek(file, 0, SEEK_END) == 0 ? ftell(file) : -1;
    if (length > 0 && (size_t)length <= API_IMAGE_BYTES_MAX && fseek(file, 0, SEEK_SET) == 0) {
        bytes = malloc((size_t)length + 1);
        if (bytes == NULL) {
            rc = CUDA_ERROR_OUT_OF_MEMORY;
        } else if (fread(bytes, 1, (size_t)length, file) == (size_t)length) {
            bytes[length] = 0;
            *data = bytes;
            *size = (size_t)length;
            rc = CUDA_SUCCESS;
        }
    }
    fclose(file);
    if (rc != CUDA_SUCCESS) {
        free(bytes);
    }
    return rc;
}

CUresult CUDAAPI cuLinkAddFile_v2(CUlinkState state, CUjitInputType type, const char *path,
                                  unsigned int numOptions, CUjit_option *options,
                                  void **optionValues)
{
    struct link *link;
    void *data = NULL;
    size_t size = 0;
    CUresult rc = link_enter(state, &link);
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    rc = path == NULL ? CUDA_ERROR_INVALID_VALUE : link_file_read(path, &data, &size);
    if (rc == CUDA_SUCCESS) {
        rc = link_add(link, type, data, size, numOptions, options, optionValues);
        free(data);
    }
    return link_leave(rc);
}

static CUresult link_complete(struct link *link)
{
    uint8_t *made;
    size_t size;
    switch (api_bundle_make(0, link->inputs.items, link->inputs.count, &made, &size)) {
    case GA_OK:
        break;
    case GA_NO_MEMORY:
        return CUDA_ERROR_OUT_OF_MEMORY;
    default:
        return CUDA_ERROR_INVALID_IMAGE; /* empty or too large */
    }
    uint64_t begin = ga_clock_ns();
    CUresult rc = front_host.module_try(made, link->option_count, link->options, link->values);
    link->spent_ns += ga_clock_ns() - begin;
    tell_time(link);
    if (rc != CUDA_SUCCESS) {
        free(made);
        return rc;
    }
    link->made = made;
    link->made_size = size;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuLinkComplete(CUlinkState state, void **cubinOut, size_t *sizeOut)
{
    struct link *link;
    CUresult rc = link_enter(state, &link);
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    if (cubinOut == NULL) {
        return link_leave(CUDA_ERROR_INVALID_VALUE);
    }
    rc = link->made != NULL ? CUDA_SUCCESS : link_context_check();
    if (rc == CUDA_SUCCESS && link->made == NULL) {
        rc = link_complete(link);
    }
    if (rc == CUDA_SUCCESS) {
        *cubinOut = link->made;
        if (sizeOut != NULL) {
            *sizeOut = link->made_size;
        }
    }
    return link_leave(rc);
}

CUresult CUDAAPI cuLinkDestroy(CUlinkState state)
{
    CUresult rc = front_ready();
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    pthread_mutex_lock(&lock);
    struct link *link = ga_handle_table_remove(&links, (uint64_t)(uintptr_t)state);
    pthread_mutex_unlock(&lock);
    if (link == NULL) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    front_link_items_free(&link->inputs);
    free(link->made);
    free(link);
    return CUDA_SUCCESS;
}
