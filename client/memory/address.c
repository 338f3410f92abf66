/* SPDX-License-Identifier: Apache-2.0 */
/* Lookup of device addresses. */
#include "client/memory/address.h"

#include "client/memory/mempool.h"
#include "client/session/server_devices.h"
#include "client/session/session.h"

static void address_copy(const struct client_address *at, struct client_memory *memory)
{
    *memory = (struct client_memory){.kind = at->kind,
                                     .session = at->session,
                                     .start = at->start,
                                     .bytes = at->bytes,
                                     .context = at->context,
                                     .id = at->id,
                                     .flags = at->flags};
}

static bool allocated(struct client_session *session, uint64_t address,
                      struct client_memory *memory)
{
    struct client_allocation allocation;
    bool known = client_allocator_find(&session->allocator, address, &allocation);
    if (known) {
        *memory = (struct client_memory){.kind = CLIENT_ADDRESS_SESSION,
                                         .session = session,
                                         .start = allocation.address,
                                         .bytes = allocation.bytes,
                                         .context = allocation.owner};
    }
    return known;
}

/* Memory of a pool belongs to no context. */
static bool pooled(struct client_session *session, uint64_t address, struct client_memory *memory)
{
    struct front_mempool_found found;
    bool known = client_mempool_find(address, &found);
    if (known) {
        *memory = (struct client_memory){.kind = CLIENT_ADDRESS_CHUNK,
                                         .session = session,
                                         .start = found.start,
                                         .bytes = found.bytes,
                                         .pool = found.pool,
                                         .id = found.id | UINT64_C(1) << 63};
    }
    return known;
}

bool client_memory_find(uint64_t address, struct client_memory *memory)
{
    struct client_address at;
    if (!client_address_find(address, CLIENT_ADDRESS_DEVICE, &at)) {
        return false;
    }
    switch (at.kind) {
    case CLIENT_ADDRESS_SESSION:
        return allocated(at.session, address, memory);
    case CLIENT_ADDRESS_CHUNK:
        return pooled(at.session, address, memory);
    case CLIENT_ADDRESS_SPACE:
    case CLIENT_ADDRESS_BACKING:
        return false;
    default:
        address_copy(&at, memory);
        return true;
    }
}

static struct client_session *address_any_session(void)
{
    struct client_session *found = NULL;
    for (int i = 0; found == NULL && i < client_device_count; i++) {
        found = atomic_load(&client_devices[i]->session);
    }
    return found;
}

static struct client_session *address_session_of(uint64_t address, unsigned kinds)
{
    struct client_address at;
    if (!client_address_find(address, kinds, &at)) {
        return NULL;
    }
    return at.kind == CLIENT_ADDRESS_SPACE ? address_any_session() : at.session;
}

struct client_session *client_memory_window(uint64_t address)
{
    return address_session_of(address, CLIENT_ADDRESS(SESSION) | CLIENT_ADDRESS(MAPPING) |
                                           CLIENT_ADDRESS(SPACE));
}

struct client_session *client_memory_session(uint64_t address)
{
    return address_session_of(address, CLIENT_ADDRESS_DEVICE);
}

CUresult client_memory_check(uint64_t address, uint64_t bytes, struct client_session **session)
{
    struct client_memory memory;
    if (bytes == 0) {
        *session = NULL;
        return CUDA_SUCCESS;
    }
    if (!client_memory_find(address, &memory) || (memory.flags & CLIENT_ADDRESS_BARRED) != 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    *session = memory.session;
    uint64_t room = memory.bytes - (address - memory.start);
    while (room < bytes) {
        struct client_address next;
        if (memory.kind != CLIENT_ADDRESS_MAPPING ||
            !client_address_find(address + room, CLIENT_ADDRESS(MAPPING), &next) ||
            (next.flags & CLIENT_ADDRESS_BARRED) != 0 ||
            client_session_conn(next.session) != client_session_conn(*session)) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        room += next.bytes;
    }
    return CUDA_SUCCESS;
}
