/* What the program has mapped by itself (cuMemMap): address space that it has reserved, memory
 * without an address, and which of it is where. Reservations lie outside of all windows and belong
 * to no device: memory of any device, of any server, may be mapped in one. */
#ifndef CLIENT_MEMORY_MAPPINGS_H
#define CLIENT_MEMORY_MAPPINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "client/memory/device_memory.h"
#include "client/process/handles.h"
#include "client/session/server_devices.h"
#include "client/session/session.h"

/* Lives while a handle or a mapping does. */
struct client_physical {
    struct client_object object;
    struct client_device *device;
    struct client_session *session;
    uint64_t bytes;
    unsigned holds, mappings;
    bool exportable, imported;
    bool keyed; /* other programs know it by `key`, or this one does another's (vmm_share.c) */
    uint64_t key[4];
    int file; /* what exported descriptors are opened from; -1: nothing was exported */
    struct client_physical *next_shared;
};

struct client_space {
    struct client_range range;
    uint64_t told[4]; /* bit n: the server of the connection with that index has reserved it, too */
};

struct client_mapping {
    struct client_range range;
    struct client_physical *physical;
    uint64_t id;
    unsigned users;   /* devices that may use it */
    uint8_t rights[]; /* CUmemAccess_flags by ordinal */
};

/* Entered in the tables and taken out. The caller sees to it that one does so at a time. False: no
 * memory, or it overlaps another one. */
bool client_mappings_reserve(uint64_t start, uint64_t bytes);
void client_mappings_release(struct client_space *space);
struct client_mapping *client_mappings_add(uint64_t start, uint64_t bytes,
                                           struct client_physical *physical);
void client_mappings_remove(struct client_mapping *mapping);
/* Whole ones with the address in it; NULL: none. */
struct client_space *client_mappings_space(uint64_t address);
struct client_mapping *client_mappings_at(uint64_t address);
/* Whether any has bytes of [start, start + bytes). */
bool client_mappings_touch(uint64_t start, uint64_t bytes);
void client_mappings_allow(struct client_mapping *mapping, CUdevice device,
                           CUmemAccess_flags flags);

/* ---- what other calls ask; any thread. A program that reserves nothing pays one load. */

bool client_mappings_find(uint64_t address, struct client_memory *memory);
/* Of reserved addresses: the session of what is mapped there, or of any device; NULL: not
 * reserved. */
struct client_session *client_mappings_session(uint64_t address);

#endif
