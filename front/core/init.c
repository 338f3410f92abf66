/* SPDX-License-Identifier: Apache-2.0 */
/* Initialisation, versions, and the calls about a context that need no device. */
#include "front/core/init.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "front/core/log.h"
#include "front/front.h"

static _Atomic bool ready;
static _Atomic bool forked; /* this process was forked after cuInit */
static pthread_mutex_t init_lock = PTHREAD_MUTEX_INITIALIZER;

/* A forked child has no devices, threads or connections, and cannot initialise them. */
static void init_in_child(void)
{
    atomic_store(&forked, true);
    atomic_store(&ready, false);
    atomic_store(&front_capture_count, 0);
}

/* The lock is held. */
static CUresult init(void)
{
    static bool watched;
    watched = watched || pthread_atfork(NULL, NULL, init_in_child) == 0;
    CUresult rc = watched ? front_host.init() : CUDA_ERROR_OUT_OF_MEMORY;
    if (rc == CUDA_SUCCESS) {
        atomic_store_explicit(&ready, true, memory_order_release);
    }
    return rc;
}

bool front_initialised(void)
{
    return atomic_load_explicit(&ready, memory_order_acquire);
}

CUresult CUDAAPI cuInit(unsigned int Flags)
{
    if (Flags != 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (front_initialised()) {
        CUresult rc = front_ready();
        return rc == CUDA_SUCCESS ? front_host.process_state() : rc;
    }
    if (atomic_load(&forked)) {
        return CUDA_ERROR_NOT_INITIALIZED;
    }
    CUresult rc = CUDA_SUCCESS;
    front_log_begin();
    pthread_mutex_lock(&init_lock);
    if (!front_initialised()) {
        rc = init();
    }
    pthread_mutex_unlock(&init_lock);
    return rc;
}

/* The CUDA version of this build. A server's cannot be used: the call comes before there is a
 * connection, and the runtime's integrity check contains the answer. */
CUresult CUDAAPI cuDriverGetVersion(int *driverVersion)
{
    if (driverVersion == NULL) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    *driverVersion = CUDA_VERSION;
    return CUDA_SUCCESS;
}

/* The driver reads CUDA_MODULE_LOADING; the runtime only asks for the mode. */
CUresult CUDAAPI cuModuleGetLoadingMode(CUmoduleLoadingMode *mode)
{
    CUresult rc = front_ready();
    if (rc == CUDA_SUCCESS && mode == NULL) {
        rc = CUDA_ERROR_INVALID_VALUE;
    }
    if (rc == CUDA_SUCCESS) {
        const char *wish = getenv("CUDA_MODULE_LOADING");
        bool eager = wish != NULL && strcmp(wish, "EAGER") == 0;
        *mode = eager ? CU_MODULE_EAGER_LOADING : CU_MODULE_LAZY_LOADING;
    }
    return rc;
}

/* NULL means the current context; the runtime passes it. */
static CUresult context_or_current(CUcontext *ctx)
{
    CUresult rc = front_ready();
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    if (*ctx != NULL) {
        return front_host.context_check(*ctx);
    }
    rc = front_context_need(ctx);
    bool gone = rc == CUDA_SUCCESS && front_host.context_check(*ctx) != CUDA_SUCCESS;
    return gone ? CUDA_ERROR_CONTEXT_IS_DESTROYED : rc;
}

CUresult CUDAAPI cuCtxGetDevice_v2(CUdevice *device, CUcontext ctx)
{
    CUresult rc = context_or_current(&ctx);
    if (rc == CUDA_SUCCESS && device == NULL) {
        rc = CUDA_ERROR_INVALID_VALUE;
    }
    return rc == CUDA_SUCCESS ? front_host.context_device(ctx, device) : rc;
}

CUresult CUDAAPI cuCtxGetDevice(CUdevice *device)
{
    return cuCtxGetDevice_v2(device, NULL);
}

CUresult CUDAAPI cuCtxGetId(CUcontext ctx, unsigned long long *ctxId)
{
    CUresult rc = context_or_current(&ctx);
    if (rc == CUDA_SUCCESS && ctxId == NULL) {
        rc = CUDA_ERROR_INVALID_VALUE;
    }
    return rc == CUDA_SUCCESS ? front_host.context_id(ctx, ctxId) : rc;
}

CUresult CUDAAPI cuCtxGetApiVersion(CUcontext ctx, unsigned int *version)
{
    CUresult rc = context_or_current(&ctx);
    if (rc == CUDA_SUCCESS && version == NULL) {
        rc = CUDA_ERROR_INVALID_VALUE;
    }
    return rc == CUDA_SUCCESS ? front_host.context_api_version(ctx, version) : rc;
}
