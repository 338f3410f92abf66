/* SPDX-License-Identifier: Apache-2.0 */
/* Virtual memory management of the program (cuMemMap): reserved address space, physical memory, and
 * the mappings between them. Reservations lie outside of all windows and belong to no device:
 * memory of any device, of any server, may be mapped in one. */
#ifndef CLIENT_MEMORY_MAPPINGS_H
#define CLIENT_MEMORY_MAPPINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "api/constants.h"
#include "client/context/object.h"
#include "client/session/server_devices.h"
#include "client/session/session.h"

/* Physical memory; lives as long as a handle or a mapping of it. */
struct client_physical {
    struct client_object object;
    struct client_device *device;
    struct client_session *session;
    uint64_t bytes;
    unsigned holds, mappings;
    bool exportable, imported;
    bool keyed; /* exported to, or imported from, another program under `key` (vmm_share.c) */
    uint64_t key[API_KEY_WORDS];
    int file; /* the source of exported descriptors; -1: nothing was exported */
    struct client_physical *next_shared;
};

struct client_space {
    uint64_t start, bytes;
    uint64_t told[4]; /* bit n: the server of the connection with that index has reserved it, too */
};

struct client_mapping {
    uint64_t start, bytes;
    struct client_physical *physical;
    unsigned users;   /* number of devices that may use it */
    uint8_t rights[]; /* CUmemAccess_flags by ordinal */
};

/* All of this is for one thread at a time, which the caller sees to (client_vmm_enter). */

/* Enter reservations and mappings in the address map, and take them out. False or NULL: no memory,
 * or it overlaps another one. */
bool client_mappings_reserve(uint64_t start, uint64_t bytes);
void client_mappings_release(struct client_space *space);
struct client_mapping *client_mappings_add(uint64_t start, uint64_t bytes,
                                           struct client_physical *physical);
void client_mappings_remove(struct client_mapping *mapping);
/* The reservation, or the mapping, that contains the address; NULL: none. */
struct client_space *client_mappings_space(uint64_t address);
struct client_mapping *client_mappings_at(uint64_t address);
void client_mappings_allow(struct client_mapping *mapping, CUdevice device,
                           CUmemAccess_flags flags);

#endif
