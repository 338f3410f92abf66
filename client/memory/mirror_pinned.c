/* SPDX-License-Identifier: Apache-2.0 */
/* Pinned memory that devices use by the program's address (unified addressing): a mirror that is
 * made when the address first is a parameter of a kernel, or is named in a call. Until then pinned
 * memory costs nothing on any device.
 *
 * What a reader would get wrong: devices of one server share one address space, so the mirror is of
 * all of them, in the memory of the one that asked first; the others are let in when they ask. */
#include "client/alloc/window.h"
#include "client/conn/conn_list.h"
#include "client/context/context.h"
#include "client/context/object.h"
#include "client/memory/address.h"
#include "client/memory/context_wait.h"
#include "client/memory/host_memory.h"
#include "client/memory/mirror.h"
#include "client/memory/vmm.h"
#include "client/session/server_devices.h"
#include "client/session/session.h"

/* One at a time is made. */
static pthread_mutex_t making = PTHREAD_MUTEX_INITIALIZER;

static uint64_t space_bytes(uint64_t bytes)
{
    return (bytes + CLIENT_OTHERS_UNIT - 1) & ~(CLIENT_OTHERS_UNIT - 1);
}

static bool can(const struct client_device *device)
{
    return device->attributes[CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED] != 0 &&
           CLIENT_OTHERS_UNIT % device->granularity_bytes == 0;
}

static void end_memory(struct client_physical *physical, uint64_t start, bool mapped)
{
    uint64_t bytes = physical->bytes;
    struct client_session *session = physical->session;
    if (mapped) {
        (void)client_vmm_unmap(session, start, bytes);
    }
    client_vmm_drop(physical);
    if (mapped) {
        client_vmm_release(session, start, bytes);
    }
}

/* Copies into the program's memory must have ended before it is sent to the device. */
static void wait_for_copies(const struct client_memory *memory)
{
    struct client_conn *conn;
    for (unsigned i = 0; (conn = client_conn_at_index(i)) != NULL; i++) {
        client_conn_wait_range(conn, (const void *)(uintptr_t)memory->start, memory->bytes, false);
    }
}

static CUresult mirror_pinned_make(struct client_context *context,
                                   const struct client_memory *memory)
{
    uint64_t bytes = space_bytes(memory->bytes);
    struct client_physical *physical;
    int ordinal = context->device->ordinal;
    CU_TRY(client_vmm_memory(ordinal, bytes, &physical));
    CUresult rc = client_vmm_map(physical, memory->start, bytes, memory->start, bytes);
    bool mapped = rc == CUDA_SUCCESS;
    if (rc == CUDA_SUCCESS) {
        rc = client_vmm_allow(context->session, memory->start, bytes, ordinal,
                              CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    }
    if (rc == CUDA_SUCCESS) {
        wait_for_copies(memory);
        rc = client_mirror_same(context, memory, physical);
    }
    if (rc != CUDA_SUCCESS) {
        end_memory(physical, memory->start, mapped);
    }
    return rc;
}

static CUresult let_in(const struct client_context *context, const struct client_mirror *mirror)
{
    int ordinal = context->device->ordinal;
    CU_TRY(client_vmm_allow(context->session, mirror->host, space_bytes(mirror->bytes), ordinal,
                            CU_MEM_ACCESS_FLAGS_PROT_READWRITE));
    client_mirror_ask(context->session, mirror->host, ordinal);
    return CUDA_SUCCESS;
}

CUresult client_mirror_need(struct client_context *context, uint64_t address)
{
    struct client_memory memory;
    struct client_mirror mirror;
    CUresult rc = CUDA_SUCCESS;
    if (!client_window_other(address) || !client_host_find(address, &memory) ||
        (memory.flags & CLIENT_ADDRESS_PLACED) == 0 || !can(context->device)) {
        return CUDA_SUCCESS;
    }
    pthread_mutex_lock(&making);
    if (!client_mirror_at(address, context->session, &mirror)) {
        rc = mirror_pinned_make(context, &memory);
    } else if (mirror.physical != NULL && !client_mirror_asked(&mirror, context->device->ordinal)) {
        rc = let_in(context, &mirror);
    }
    pthread_mutex_unlock(&making);
    return rc;
}

void client_mirror_give(struct client_mirror *mirror)
{
    uint32_t index = 0;
    struct client_context *context;
    while ((context = client_context_next(&index)) != NULL) {
        if (atomic_load(&context->active) &&
            client_session_conn(context->session) == client_session_conn(mirror->session)) {
            (void)client_context_synchronize(context);
        }
    }
    end_memory(mirror->physical, mirror->host, true);
    client_mirror_end(mirror);
}
