/* SPDX-License-Identifier: Apache-2.0 */
/* Launches as before CUDA 4: block shape, shared memory and parameters are set on the function, one
 * after another; the launch then gives the grid only. The settings are kept here, and
 * cuLaunchKernel launches.
 *
 * Note: a launch does not reset the settings; programs set the block shape once. Settings live
 * as long as the function. Those of functions that are gone are removed whenever there are twice
 * as many settings as after the last removal. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "api/capture_hooks.h"
#include "base/list.h"
#include "base/number_map.h"
#include "front/front.h"

#define PARAMS_MAX 32764u /* bytes of parameters of any kernel */
#define LOOK_FIRST 64u

struct said {
    struct ga_number_node by_function; /* the first member */
    struct ga_list of_all;
    unsigned block[3]; /* 0, 0, 0: not set */
    unsigned shared_bytes, param_bytes;
    uint8_t *params;
    size_t room; /* bytes that have not been set are 0 */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct ga_number_map map;
static struct ga_list all;
static unsigned count, look_at = LOOK_FIRST;

static void launch_old_forget(struct said *said)
{
    ga_number_map_remove(&map, &said->by_function);
    ga_list_remove(&said->of_all);
    free(said->params);
    free(said);
    count--;
}

/* A CUkernel is accepted like a CUfunction. */
static CUresult function_check(CUfunction function)
{
    CUmodule module;
    return cuFuncGetModule(&module, function);
}

static void launch_old_forget_gone(void)
{
    ga_list_each (at, following, &all) {
        struct said *said = ga_container(at, struct said, of_all);
        CUresult rc = function_check((CUfunction)(uintptr_t)said->by_function.number);
        if (rc == CUDA_ERROR_INVALID_HANDLE) {
            launch_old_forget(said);
        }
    }
    look_at = count * 2 > LOOK_FIRST ? count * 2 : LOOK_FIRST;
}

static struct said *launch_old_find(CUfunction function)
{
    struct ga_number_node *node = ga_number_map_find(&map, (uint64_t)(uintptr_t)function);
    return node != NULL ? ga_container(node, struct said, by_function) : NULL;
}

/* Under the lock; NULL: no memory. */
static struct said *find_or_make(CUfunction function)
{
    struct said *said = launch_old_find(function);
    if (said != NULL) {
        return said;
    }
    if (all.next == NULL) {
        ga_list_init(&all);
    }
    if (count >= look_at) {
        launch_old_forget_gone();
    }
    said = calloc(1, sizeof *said);
    if (said != NULL) {
        ga_number_map_add(&map, &said->by_function, (uint64_t)(uintptr_t)function);
        ga_list_append(&all, &said->of_all);
        count++;
    }
    return said;
}

/* The lock is held on CUDA_SUCCESS. */
static CUresult launch_old_enter(CUfunction function, bool good, struct said **said)
{
    CUresult rc = function_check(function);
    if (rc == CUDA_SUCCESS && !good) {
        rc = CUDA_ERROR_INVALID_VALUE;
    }
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    pthread_mutex_lock(&lock);
    *said = find_or_make(function);
    if (*said == NULL) {
        pthread_mutex_unlock(&lock);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    return CUDA_SUCCESS;
}

static CUresult launch_old_leave(CUresult rc)
{
    pthread_mutex_unlock(&lock);
    return rc;
}

/* Checks the limits of the device; the function's are checked by the launch. */
static bool block_good(const int block[3])
{
    CUdevice device;
    bool good = cuCtxGetDevice(&device) == CUDA_SUCCESS;
    for (int i = 0; good && i < 3; i++) {
        int most;
        CUdevice_attribute attribute = CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X + (unsigned)i;
        good = front_host.device_attribute(device, attribute, &most) == CUDA_SUCCESS &&
               block[i] > 0 && block[i] <= most;
    }
    return good;
}

CUresult CUDAAPI cuFuncSetBlockShape(CUfunction hfunc, int x, int y, int z)
{
    struct said *said;
    const int block[3] = {x, y, z};
    CUresult rc = launch_old_enter(hfunc, block_good(block), &said);
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    said->block[0] = (unsigned)x;
    said->block[1] = (unsigned)y;
    said->block[2] = (unsigned)z;
    return launch_old_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuFuncSetSharedSize(CUfunction hfunc, unsigned int bytes)
{
    struct said *said;
    CUresult rc = launch_old_enter(hfunc, true, &said);
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    said->shared_bytes = bytes;
    return launch_old_leave(CUDA_SUCCESS);
}

/* Makes room for that many bytes of parameters. */
static CUresult reach(struct said *said, size_t bytes)
{
    if (bytes <= said->room) {
        return CUDA_SUCCESS;
    }
    uint8_t *larger = realloc(said->params, bytes);
    if (larger == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    memset(larger + said->room, 0, bytes - said->room);
    said->params = larger;
    said->room = bytes;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuParamSetSize(CUfunction hfunc, unsigned int numbytes)
{
    struct said *said;
    CUresult rc = launch_old_enter(hfunc, numbytes <= PARAMS_MAX, &said);
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    rc = reach(said, numbytes);
    if (rc == CUDA_SUCCESS) {
        said->param_bytes = numbytes;
    }
    return launch_old_leave(rc);
}

CUresult CUDAAPI cuParamSetv(CUfunction hfunc, int offset, void *ptr, unsigned int numbytes)
{
    struct said *said;
    bool good = offset >= 0 && (unsigned)offset <= PARAMS_MAX &&
                numbytes <= PARAMS_MAX - (unsigned)offset && (ptr != NULL || numbytes == 0);
    CUresult rc = launch_old_enter(hfunc, good, &said);
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    rc = reach(said, (size_t)offset + numbytes);
    if (rc == CUDA_SUCCESS && numbytes != 0) {
        memcpy(said->params + offset, ptr, numbytes);
    }
    return launch_old_leave(rc);
}

CUresult CUDAAPI cuParamSeti(CUfunction hfunc, int offset, unsigned int value)
{
    return cuParamSetv(hfunc, offset, &value, sizeof value);
}

CUresult CUDAAPI cuParamSetf(CUfunction hfunc, int offset, float value)
{
    return cuParamSetv(hfunc, offset, &value, sizeof value);
}

/* ---- launches ---- */

/* The function that launches: cuLaunchKernel, or its hook while the stream captures. */
typedef CUresult CUDAAPI launch_function(CUfunction, unsigned, unsigned, unsigned, unsigned,
                                         unsigned, unsigned, unsigned, CUstream, void **, void **);

/* Copies the parameters, because another thread may set the next ones meanwhile. */
static CUresult launch_old_launch(CUfunction function, int width, int height, CUstream stream,
                                  launch_function *how)
{
    struct said *said, state;
    CUresult rc = launch_old_enter(function, width > 0 && height > 0, &said);
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    state = *said;
    state.params = malloc(state.param_bytes + 1);
    if (state.params == NULL) {
        return launch_old_leave(CUDA_ERROR_OUT_OF_MEMORY);
    }
    if (state.param_bytes != 0) {
        memcpy(state.params, said->params, state.param_bytes);
    }
    (void)launch_old_leave(CUDA_SUCCESS);
    size_t bytes = state.param_bytes;
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, state.params, CU_LAUNCH_PARAM_BUFFER_SIZE,
                     &bytes, CU_LAUNCH_PARAM_END};
    rc = how(function, (unsigned)width, (unsigned)height, 1, state.block[0], state.block[1],
             state.block[2], state.shared_bytes, stream, NULL, extra);
    free(state.params);
    return rc;
}

CUresult CUDAAPI cuLaunch(CUfunction f)
{
    return launch_old_launch(f, 1, 1, NULL, cuLaunchKernel);
}

CUresult CUDAAPI cuLaunchGrid(CUfunction f, int grid_width, int grid_height)
{
    return launch_old_launch(f, grid_width, grid_height, NULL, cuLaunchKernel);
}

CUresult CUDAAPI cuLaunchGridAsync(CUfunction f, int grid_width, int grid_height, CUstream hStream)
{
    return launch_old_launch(f, grid_width, grid_height, hStream, cuLaunchKernel);
}

CUresult CUDAAPI front_capture_cuLaunchGridAsync(CUfunction f, int grid_width, int grid_height,
                                                 CUstream hStream)
{
    return launch_old_launch(f, grid_width, grid_height, hStream, front_capture_cuLaunchKernel);
}
