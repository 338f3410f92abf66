/* SPDX-License-Identifier: Apache-2.0 */
/* Attributes of a pointer, from the memory that the client has allocated and pinned. */
#include "client/memory/pointer.h"

#include "client/context/context.h"
#include "client/context/object.h"
#include "client/memory/address.h"
#include "client/memory/host_memory.h"
#include "client/memory/ipc.h"
#include "client/memory/mirror.h"
#include "client/memory/sync_memops.h"
#include "client/session/server_devices.h"
#include "front/front.h"

static CUdevice ordinal_of(const struct client_memory *memory, const struct client_context *context)
{
    for (CUdevice i = 0; memory->session != NULL && i < client_device_count; i++) {
        if (atomic_load(&client_devices[i]->session) == memory->session) {
            return i;
        }
    }
    return context != NULL ? context->device->ordinal : 0;
}

bool client_pointer(uint64_t address, struct front_pointer *pointer)
{
    struct client_memory memory = {0};
    bool device = client_memory_find(address, &memory);
    if (!device && !client_host_find(address, &memory)) {
        return false;
    }
    const struct client_context *context = client_object_find(GA_HANDLE_CONTEXT, memory.context);
    struct client_mirror mirror;
    bool both = client_mirror_at(address, NULL, &mirror);
    bool managed = both && mirror.attach != MIRROR_MAPPED;
    *pointer = (struct front_pointer){.device = device && (!both || managed),
                                      .on_device = device || both ||
                                                   (memory.flags & CLIENT_ADDRESS_PLACED) != 0,
                                      .to_device = both ? mirror.device - mirror.host : 0,
                                      .managed = managed,
                                      .sync_memops = client_sync_memops(address),
                                      .ipc = client_ipc_capable(&memory),
                                      .context = (CUcontext)(uintptr_t)memory.context,
                                      .ordinal = ordinal_of(&memory, context),
                                      .pool = memory.pool,
                                      .start = memory.start,
                                      .bytes = memory.bytes,
                                      .id = memory.id != 0 ? memory.id : memory.start};
    return true;
}
