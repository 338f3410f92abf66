/* SPDX-License-Identifier: Apache-2.0 */
/* Calls cuLink* of the libcuda.so.1 that the program uses. */
#include "jit/driver_link.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The driver's functions. */
static struct {
    __typeof__(&cuInit) init;
    __typeof__(&cuCtxGetCurrent) current;
    __typeof__(&cuCtxPushCurrent_v2) push;
    __typeof__(&cuCtxPopCurrent_v2) pop;
    __typeof__(&cuDevicePrimaryCtxRetain) retain;
    __typeof__(&cuDevicePrimaryCtxRelease_v2) release;
    __typeof__(&cuLinkCreate_v2) create;
    __typeof__(&cuLinkAddData_v2) add;
    __typeof__(&cuLinkComplete) complete;
    __typeof__(&cuLinkDestroy) destroy;
    bool found;
} driver;

static void driver_find(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        return;
    }
    driver.init = (__typeof__(driver.init))dlsym(library, "cuInit");
    driver.current = (__typeof__(driver.current))dlsym(library, "cuCtxGetCurrent");
    driver.push = (__typeof__(driver.push))dlsym(library, "cuCtxPushCurrent_v2");
    driver.pop = (__typeof__(driver.pop))dlsym(library, "cuCtxPopCurrent_v2");
    driver.retain = (__typeof__(driver.retain))dlsym(library, "cuDevicePrimaryCtxRetain");
    driver.release = (__typeof__(driver.release))dlsym(library, "cuDevicePrimaryCtxRelease_v2");
    driver.create = (__typeof__(driver.create))dlsym(library, "cuLinkCreate_v2");
    driver.add = (__typeof__(driver.add))dlsym(library, "cuLinkAddData_v2");
    driver.complete = (__typeof__(driver.complete))dlsym(library, "cuLinkComplete");
    driver.destroy = (__typeof__(driver.destroy))dlsym(library, "cuLinkDestroy");
    driver.found = driver.init != NULL && driver.current != NULL && driver.push != NULL &&
                   driver.pop != NULL && driver.retain != NULL && driver.release != NULL &&
                   driver.create != NULL && driver.add != NULL && driver.complete != NULL &&
                   driver.destroy != NULL;
}

static CUresult link_all(const struct jit_input *inputs, size_t count, void **image, size_t *size,
                         char *log)
{
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {log, (void *)(uintptr_t)JIT_LOG_BYTES};
    CUlinkState state;
    CUresult rc = driver.create(2, options, values, &state);
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    for (size_t i = 0; rc == CUDA_SUCCESS && i < count; i++) {
        rc = driver.add(state, inputs[i].type, (void *)(uintptr_t)inputs[i].bytes, inputs[i].size,
                        inputs[i].name, 0, NULL, NULL);
    }
    void *made = NULL;
    if (rc == CUDA_SUCCESS) {
        rc = driver.complete(state, &made, size);
    }
    if (rc == CUDA_SUCCESS) {
        *image = malloc(*size);
        rc = *image != NULL ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
    }
    if (rc == CUDA_SUCCESS) {
        memcpy(*image, made, *size);
    }
    (void)driver.destroy(state);
    return rc;
}

CUresult jit_driver_link(const struct jit_input *inputs, size_t count, void **image, size_t *size,
                         char *log)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    CUcontext context = NULL;
    pthread_once(&once, driver_find);
    if (!driver.found) {
        snprintf(log, JIT_LOG_BYTES, "there is no libcuda.so.1 that can link");
        return CUDA_ERROR_NOT_SUPPORTED;
    }
    CUresult rc = driver.init(0);
    if (rc == CUDA_SUCCESS) {
        rc = driver.current(&context);
    }
    if (rc != CUDA_SUCCESS || context != NULL) {
        return rc != CUDA_SUCCESS ? rc : link_all(inputs, count, image, size, log);
    }
    rc = driver.retain(&context, 0);
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    rc = driver.push(context);
    if (rc == CUDA_SUCCESS) {
        rc = link_all(inputs, count, image, size, log);
        (void)driver.pop(&context);
    }
    (void)driver.release(0);
    return rc;
}
