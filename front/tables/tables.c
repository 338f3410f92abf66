/* SPDX-License-Identifier: Apache-2.0 */
/* The private tables of the CUDA runtime: which slots it calls, with which arguments, and the
 * answers that it needs. A slot is the n-th 8-byte word of its table. Word 0 is the size of the
 * table in bytes, except in CONTEXT_LOCAL_STORAGE. A slot of unknown meaning holds a function that
 * names the table and the slot; an empty slot would be a jump to address 0.
 *
 * The integrity hash contains the addresses of the tables, so they never change while the
 * process lives. */
#include "front/tables/tables.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "front/core/storage.h"
#include "front/front.h"
#include "front/tables/integrity.h"

/* ---- slots that name themselves */

/* clang-format off */
#define TEN(X, t, d)                                                                               \
    X(t, d##0) X(t, d##1) X(t, d##2) X(t, d##3) X(t, d##4) X(t, d##5) X(t, d##6) X(t, d##7)        \
    X(t, d##8) X(t, d##9)
#define UP_TO_12(X, t)                                                                             \
    X(t, 0) X(t, 1) X(t, 2) X(t, 3) X(t, 4) X(t, 5) X(t, 6) X(t, 7) X(t, 8) X(t, 9)                \
    X(t, 10) X(t, 11) X(t, 12)
#define UP_TO_94(X, t)                                                                             \
    UP_TO_12(X, t) X(t, 13) X(t, 14) X(t, 15) X(t, 16) X(t, 17) X(t, 18) X(t, 19)                  \
    TEN(X, t, 2) TEN(X, t, 3) TEN(X, t, 4) TEN(X, t, 5) TEN(X, t, 6) TEN(X, t, 7) TEN(X, t, 8)     \
    X(t, 90) X(t, 91) X(t, 92) X(t, 93) X(t, 94)
/* clang-format on */

#define SLOT_FUNCTION(t, n)                                                                        \
    static CUresult t##_slot_##n(void)                                                             \
    {                                                                                              \
        return front_unsupported("driver table " #t ", slot " #n);                                 \
    }
#define SLOT_WORD(t, n) (const void *)t##_slot_##n,
#define SLOTS(t, all)   all(SLOT_FUNCTION, t) static const void *t[] = {all(SLOT_WORD, t)}

SLOTS(CUDART_INTERFACE, UP_TO_12);
SLOTS(RUNTIME_CALLBACK_HOOKS, UP_TO_12);
SLOTS(TOOLS_TLS, UP_TO_12);
SLOTS(CONTEXT_LOCAL_STORAGE, UP_TO_12);
SLOTS(CONTEXT_CHECKS, UP_TO_12);
SLOTS(INTEGRITY_CHECK, UP_TO_12);
SLOTS(TOOLS_CONTEXT, UP_TO_94);
SLOTS(TOOLS_MODULE, UP_TO_94);

/* ---- slots of known meaning */

/* NULL stands for the calling thread's current context everywhere. */
static CUresult need_context(CUcontext *context)
{
    return *context != NULL ? CUDA_SUCCESS : front_context_need(context);
}

static CUresult interface_primary_context(CUcontext *context, CUdevice device)
{
    CUresult rc = front_ready();
    if (rc == CUDA_SUCCESS && context == NULL) {
        rc = CUDA_ERROR_INVALID_VALUE;
    }
    return rc == CUDA_SUCCESS ? front_host.primary_context(device, context) : rc;
}

/* Runtimes of CUDA 13.1 and newer call this once when they start, without arguments (the
 * registers hold remains of getenv), and pass its error on to the program. NVIDIA's driver loads
 * its compilers then (according to ZLUDA). Nothing is loaded here: the software GPU or the
 * server's driver compiles a module when it is loaded, and an error comes from that load. */
static CUresult interface_compilers(void)
{
    return CUDA_SUCCESS;
}

/* The runtime asks for two zeroed buffers for its tools. No tool is ever attached. */
static void hooks_large(void **buffer, size_t *count)
{
    static uint64_t space[1024];
    *buffer = space;
    *count = sizeof space / sizeof space[0];
}

static void hooks_small(void **buffer, size_t *count)
{
    static uint64_t space[14];
    *buffer = space;
    *count = sizeof space / sizeof space[0];
}

static CUresult storage_put(CUcontext context, void *key, void *value,
                            front_storage_destroy *destroy)
{
    CUresult rc = need_context(&context);
    return rc == CUDA_SUCCESS ? front_storage_put(context, key, value, destroy) : rc;
}

static CUresult storage_remove(CUcontext context, void *key)
{
    CUresult rc = need_context(&context);
    return rc == CUDA_SUCCESS ? front_storage_remove(context, key) : rc;
}

static CUresult storage_get(void **value, CUcontext context, void *key)
{
    CUresult rc = need_context(&context);
    return rc == CUDA_SUCCESS ? front_storage_get(context, key, value) : rc;
}

static CUresult checks_context(CUcontext context, unsigned int *finding, const void **more)
{
    (void)context;
    (void)more;
    if (finding != NULL) {
        *finding = 0;
    }
    return CUDA_SUCCESS;
}

static CUresult checks_nothing(void)
{
    return CUDA_SUCCESS;
}

static CUresult integrity_answer(uint32_t version, uint64_t unix_seconds, uint64_t answer[2]);

static CUresult tools_context_device(CUcontext context, CUdevice *device)
{
    return cuCtxGetDevice_v2(device, context);
}

static CUresult tools_context_id(CUcontext context, unsigned long long *id)
{
    return cuCtxGetId(context, id);
}

/* The stream object is the stream's identifier as a pointer; no caller dereferences it. */
static CUresult tools_context_stream(CUcontext context, CUstream stream, void **object,
                                     int per_thread)
{
    unsigned long long id = 0;
    CUresult rc = need_context(&context);
    if (rc == CUDA_SUCCESS && object == NULL) {
        rc = CUDA_ERROR_INVALID_VALUE;
    }
    if (rc == CUDA_SUCCESS) {
        CUstream named = stream == NULL && per_thread != 0 ? CU_STREAM_PER_THREAD : stream;
        rc = front_host.stream_id(context, named, &id);
    }
    if (rc == CUDA_SUCCESS) {
        *object = (void *)(uintptr_t)id;
    }
    return rc;
}

static CUresult tools_context_stream_id(CUcontext context, void *object, uint64_t *id)
{
    (void)context;
    if (object == NULL || id == NULL) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    *id = (uint64_t)(uintptr_t)object;
    return CUDA_SUCCESS;
}

/* Calls back for each kernel and returns their number. */
static unsigned int tools_module_kernels(CUcontext context, CUmodule module,
                                         void (*each)(void *user, CUfunction kernel, void *more),
                                         void *user)
{
    (void)context;
    unsigned int count = 0;
    if (front_host.module_function_count(&count, module) != CUDA_SUCCESS || count == 0) {
        return 0;
    }
    CUfunction *kernels = calloc(count, sizeof *kernels);
    if (kernels == NULL || front_host.module_functions(kernels, count, module) != CUDA_SUCCESS) {
        count = 0;
    }
    for (unsigned int i = 0; i < count && each != NULL; i++) {
        each(user, kernels[i], NULL);
    }
    free(kernels);
    return count;
}

/* ---- the tables */

struct table {
    uint8_t uuid[16];
    const void **words;
    size_t count; /* of words; 0: word 0 is a slot, not the size */
};

/* clang-format off */
static const struct table tables[] = {
    {{0x6b, 0xd5, 0xfb, 0x6c, 0x5b, 0xf4, 0xe7, 0x4a, 0x89, 0x87, 0xd9, 0x39, 0x12, 0xfd, 0x9d,
      0xf9}, CUDART_INTERFACE, 13},
    {{0xa0, 0x94, 0x79, 0x8c, 0x2e, 0x74, 0x2e, 0x74, 0x93, 0xf2, 0x08, 0x00, 0x20, 0x0c, 0x0a,
      0x66}, RUNTIME_CALLBACK_HOOKS, 7},
    {{0x42, 0xd8, 0x5a, 0x81, 0x23, 0xf6, 0xcb, 0x47, 0x82, 0x98, 0xf6, 0xe7, 0x8a, 0x3a, 0xec,
      0xdc}, TOOLS_TLS, 4},
    {{0xc6, 0x93, 0x33, 0x6e, 0x11, 0x21, 0xdf, 0x11, 0xa8, 0xc3, 0x68, 0xf3, 0x55, 0xd8, 0x95,
      0x93}, CONTEXT_LOCAL_STORAGE, 0},
    {{0x26, 0x3e, 0x88, 0x60, 0x7c, 0xd2, 0x61, 0x43, 0x92, 0xf6, 0xbb, 0xd5, 0x00, 0x6d, 0xfa,
      0x7e}, CONTEXT_CHECKS, 4},
    {{0xd4, 0x08, 0x20, 0x55, 0xbd, 0xe6, 0x70, 0x4b, 0x8d, 0x34, 0xba, 0x12, 0x3c, 0x66, 0xe1,
      0xf2}, INTEGRITY_CHECK, 3},
    {{0x21, 0x31, 0x8c, 0x60, 0x97, 0x14, 0x32, 0x48, 0x8c, 0xa6, 0x41, 0xff, 0x73, 0x24, 0xc8,
      0xf2}, TOOLS_CONTEXT, 95},
    {{0x6e, 0x16, 0x3f, 0xbe, 0xb9, 0x58, 0x44, 0x4d, 0x83, 0x5c, 0xe1, 0x82, 0xaf, 0xf1, 0x99,
      0x1e}, TOOLS_MODULE, 95},
};
/* clang-format on */

static void tables_fill(void)
{
    CUDART_INTERFACE[2] = (const void *)interface_primary_context;
    CUDART_INTERFACE[12] = (const void *)interface_compilers;
    RUNTIME_CALLBACK_HOOKS[2] = (const void *)hooks_large;
    RUNTIME_CALLBACK_HOOKS[6] = (const void *)hooks_small;
    TOOLS_TLS[2] = (const void *)cuCtxGetCurrent;
    CONTEXT_LOCAL_STORAGE[0] = (const void *)storage_put;
    CONTEXT_LOCAL_STORAGE[1] = (const void *)storage_remove;
    CONTEXT_LOCAL_STORAGE[2] = (const void *)storage_get;
    CONTEXT_CHECKS[2] = (const void *)checks_context;
    CONTEXT_CHECKS[3] = (const void *)checks_nothing;
    INTEGRITY_CHECK[1] = (const void *)integrity_answer;
    TOOLS_CONTEXT[3] = (const void *)tools_context_device;
    TOOLS_CONTEXT[4] = (const void *)tools_context_id;
    TOOLS_CONTEXT[39] = (const void *)tools_context_stream_id;
    TOOLS_CONTEXT[51] = (const void *)tools_context_stream;
    TOOLS_MODULE[7] = (const void *)tools_module_kernels;
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
        if (tables[i].count != 0) {
            tables[i].words[0] = (const void *)(uintptr_t)(tables[i].count * sizeof(void *));
        }
    }
}

const void *front_table_find(const CUuuid *uuid)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, tables_fill);
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
        if (memcmp(uuid->bytes, tables[i].uuid, sizeof tables[i].uuid) == 0) {
            return tables[i].words;
        }
    }
    return NULL;
}

/* Each copy of the runtime calls this three times, on the thread that initialises it. */
static CUresult integrity_answer(uint32_t version, uint64_t unix_seconds, uint64_t answer[2])
{
    int count = 0;
    CUresult rc = front_ready();
    if (rc == CUDA_SUCCESS && answer == NULL) {
        rc = CUDA_ERROR_INVALID_VALUE;
    }
    if (rc == CUDA_SUCCESS) {
        rc = front_host.device_count(&count);
    }
    if (rc != CUDA_SUCCESS) {
        return rc;
    }
    struct front_device *devices = calloc((size_t)count + 1, sizeof *devices);
    if (devices == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    for (int i = 0; i < count && rc == CUDA_SUCCESS; i++) {
        rc = front_host.device(i, &devices[i]);
    }
    if (rc == CUDA_SUCCESS) {
        struct front_integrity facts = {
            .driver_version = CUDA_VERSION,
            .version = version,
            .pid = (uint32_t)getpid(),
            .thread = (uint32_t)(uintptr_t)pthread_self(),
            .runtime_table = (uintptr_t)CUDART_INTERFACE,
            .integrity_table = (uintptr_t)INTEGRITY_CHECK,
            .integrity_function = (uintptr_t)INTEGRITY_CHECK[1],
            .unix_seconds = unix_seconds,
            .devices = devices,
            .device_count = (size_t)count,
        };
        front_integrity_hash(&facts, answer);
    } else {
        ga_error("the runtime's integrity check needs the devices: error %d", (int)rc);
    }
    free(devices);
    return rc;
}
