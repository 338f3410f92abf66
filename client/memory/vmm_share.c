/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of other programs of this machine: exported as a descriptor of a file without a name,
 * which may be passed on and holds the key that gpuaasd has made
 * (server/sharing/sharing_registry.h).
 *
 * What a reader would get wrong: a descriptor holds the memory. As nobody counts descriptors, each
 * that a program gets has a lock that is the kernel's (an open file description's) and is gone with
 * the last copy of it, in whichever process or on its way between two. While there is one, memory
 * that its program has released lingers on the server, so that it can be imported. */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "api/calls.h"
#include "api/client_calls.h"
#include "client/call/call.h"
#include "client/call/deferred_copies.h"
#include "client/context/context.h"
#include "client/memory/vmm.h"
#include "front/front.h"

#define RECORD_MAGIC UINT64_C(0x31796d656d756770)

/* The contents of such a file. */
struct record {
    uint64_t magic, bytes;
    uint64_t key[API_KEY_WORDS];
    uint8_t uuid[16]; /* of the device */
};

/* Known by a key, whether it is one's own or another program's. All under client_vmm_enter. */
static struct client_physical *shared;

static struct flock lock_of(short type)
{
    return (struct flock){.l_type = type, .l_whence = SEEK_SET, .l_len = 1};
}

/* The file, once more. */
static int reopen(int fd)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return open(path, O_RDONLY | O_CLOEXEC);
}

static int file_make(const struct record *record)
{
    int fd = memfd_create("gpuaas-memory", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    bool good =
        fd >= 0 && write(fd, record, sizeof *record) == (ssize_t)sizeof *record &&
        fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) == 0;
    int own = good ? reopen(fd) : -1;
    if (fd >= 0) {
        close(fd);
    }
    return own;
}

/* Whether a program has a descriptor of it. */
static bool held(const struct client_physical *physical)
{
    struct flock lock = lock_of(F_WRLCK);
    return fcntl(physical->file, F_OFD_GETLK, &lock) != 0 || lock.l_type != F_UNLCK;
}

static void vmm_share_enter(struct client_physical *physical, const uint64_t key[API_KEY_WORDS])
{
    memcpy(physical->key, key, sizeof physical->key);
    physical->keyed = true;
    physical->next_shared = shared;
    shared = physical;
}

bool client_vmm_lingers(struct client_physical *physical)
{
    if (!physical->keyed) {
        return false;
    }
    if (physical->file >= 0 && !physical->imported && held(physical)) {
        return true;
    }
    struct client_physical **at = &shared;
    while (*at != physical) {
        at = &(*at)->next_shared;
    }
    *at = physical->next_shared;
    if (physical->file >= 0) {
        close(physical->file);
    }
    return false;
}

void client_vmm_sweep(void)
{
    for (struct client_physical *next, *at = shared; at != NULL; at = next) {
        next = at->next_shared;
        client_vmm_drop(at); /* unless it is used */
    }
}

/* ---- exporting */

static CUresult ask_key(struct client_physical *physical)
{
    struct client_call call;
    struct ga_physical_share_args args = {.physical = physical->object.handle};
    struct ga_physical_share_results results;
    client_copy_expose(NULL);
    CU_TRY(client_call_enter_session(&call, API_OP_ga_physical_share, physical->session));
    CU_TRY(client_wait_ga_physical_share(&call, &args, true, &results));
    vmm_share_enter(physical, results.key);
    return CUDA_SUCCESS;
}

static CUresult export(struct client_physical *physical, int *fd)
{
    CU_TRY(physical->keyed ? CUDA_SUCCESS : ask_key(physical));
    if (physical->file < 0) {
        struct record record = {.magic = RECORD_MAGIC, .bytes = physical->bytes};
        memcpy(record.key, physical->key, sizeof record.key);
        memcpy(record.uuid, physical->device->uuid, sizeof record.uuid);
        physical->file = file_make(&record);
    }
    struct flock lock = lock_of(F_RDLCK);
    int made = physical->file >= 0 ? reopen(physical->file) : -1;
    if (made >= 0 && fcntl(made, F_OFD_SETLK, &lock) != 0) {
        close(made);
        made = -1;
    }
    *fd = made;
    return made >= 0 ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult CUDAAPI cuMemExportToShareableHandle(void *shareableHandle,
                                              CUmemGenericAllocationHandle handle,
                                              CUmemAllocationHandleType handleType,
                                              unsigned long long flags)
{
    int fd = -1;
    CU_TRY(client_vmm_enter());
    struct client_physical *physical = client_vmm_find(handle);
    if (shareableHandle == NULL || handleType != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR ||
        flags != 0 || physical == NULL || !physical->exportable) {
        return client_vmm_leave(CUDA_ERROR_INVALID_VALUE);
    }
    CUresult rc = export(physical, &fd);
    if (rc == CUDA_SUCCESS) {
        memcpy(shareableHandle, &fd, sizeof fd);
    }
    return client_vmm_leave(rc);
}

/* ---- importing */

static bool record_read(int fd, struct record *record)
{
    return lseek(fd, 0, SEEK_END) == (off_t)sizeof *record &&
           pread(fd, record, sizeof *record, 0) == (ssize_t)sizeof *record &&
           record->magic == RECORD_MAGIC && record->bytes != 0;
}

/* One handle for each memory, however often it is imported. */
static struct client_physical *vmm_share_known(const struct record *record)
{
    struct client_physical *at = shared;
    while (at != NULL && memcmp(at->key, record->key, sizeof at->key) != 0) {
        at = at->next_shared;
    }
    return at;
}

static CUresult vmm_share_ask_open(struct client_session *session, const struct record *record,
                                   uint64_t physical)
{
    struct client_call call;
    struct ga_physical_open_args args = {.physical = physical, .bytes = record->bytes};
    memcpy(args.key, record->key, sizeof args.key);
    client_copy_expose(NULL);
    CUresult rc = client_call_enter_session(&call, API_OP_ga_physical_open, session);
    if (rc == CUDA_SUCCESS) {
        rc = client_wait_ga_physical_open(&call, &args, true);
    }
    return rc == CUDA_ERROR_INVALID_HANDLE ? CUDA_ERROR_INVALID_VALUE : rc; /* gone, or never was */
}

static CUresult import_of(struct client_device *device, const struct record *record,
                          struct client_physical **out)
{
    struct client_session *session;
    CU_TRY(client_session_need(device->ordinal, &session));
    struct client_physical *made = client_vmm_make(device, session, record->bytes);
    if (made == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    CUresult rc = vmm_share_ask_open(session, record, made->object.handle);
    if (rc != CUDA_SUCCESS) {
        client_object_drop(made);
        return rc;
    }
    made->exportable = made->imported = true;
    vmm_share_enter(made, record->key);
    *out = made;
    return CUDA_SUCCESS;
}

static CUresult vmm_share_import(const struct record *record, struct client_physical **out)
{
    *out = vmm_share_known(record);
    CUresult rc = *out != NULL ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
    for (int i = 0; rc != CUDA_SUCCESS && i < client_device_count; i++) {
        if (memcmp(client_devices[i]->uuid, record->uuid, sizeof record->uuid) == 0) {
            rc = import_of(client_devices[i], record, out);
        }
    }
    return rc;
}

CUresult CUDAAPI cuMemImportFromShareableHandle(CUmemGenericAllocationHandle *handle,
                                                void *osHandle,
                                                CUmemAllocationHandleType shHandleType)
{
    struct record record;
    struct client_physical *physical;
    uintptr_t fd = (uintptr_t)osHandle; /* the descriptor itself */
    CU_TRY(client_vmm_enter());
    if (handle == NULL || shHandleType != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR ||
        fd > INT_MAX || !record_read((int)fd, &record)) {
        return client_vmm_leave(CUDA_ERROR_INVALID_VALUE);
    }
    CUresult rc = vmm_share_import(&record, &physical);
    if (rc == CUDA_SUCCESS) {
        physical->holds++;
        *handle = physical->object.handle;
    }
    return client_vmm_leave(rc);
}
