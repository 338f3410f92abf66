/* SPDX-License-Identifier: Apache-2.0 */
/* Address space that the program has reserved and mapped, as the address map has it. */
#include "client/memory/mappings.h"

#include <stdlib.h>

#include "client/address/address_map.h"

#define NO_START (UINT64_C(1) << 62) /* makes numbers of mappings other than addresses */

bool client_mappings_reserve(uint64_t start, uint64_t bytes)
{
    struct client_space *made = calloc(1, sizeof *made);
    const struct client_address at = {
        .kind = CLIENT_ADDRESS_SPACE, .start = start, .bytes = bytes, .record = made};
    if (made == NULL) {
        return false;
    }
    made->start = start;
    made->bytes = bytes;
    if (client_address_enter(&at) != GA_OK) {
        free(made);
        return false;
    }
    return true;
}

void client_mappings_release(struct client_space *space)
{
    client_address_leave(CLIENT_ADDRESS_SPACE, space->start, space);
    free(space);
}

struct client_mapping *client_mappings_add(uint64_t start, uint64_t bytes,
                                           struct client_physical *physical)
{
    static uint64_t last_id;
    struct client_mapping *made = calloc(1, sizeof *made + (size_t)client_device_count);
    const struct client_address at = {.kind = CLIENT_ADDRESS_MAPPING,
                                      .flags = CLIENT_ADDRESS_BARRED,
                                      .start = start,
                                      .bytes = bytes,
                                      .session = physical->session,
                                      .id = ++last_id | NO_START,
                                      .record = made};
    if (made == NULL) {
        return NULL;
    }
    made->start = start;
    made->bytes = bytes;
    made->physical = physical;
    if (client_address_enter(&at) != GA_OK) {
        free(made);
        return NULL;
    }
    physical->mappings++;
    return made;
}

void client_mappings_remove(struct client_mapping *mapping)
{
    client_address_leave(CLIENT_ADDRESS_MAPPING, mapping->start, mapping);
    mapping->physical->mappings--;
    free(mapping);
}

struct client_space *client_mappings_space(uint64_t address)
{
    struct client_address at;
    return client_address_find(address, CLIENT_ADDRESS(SPACE), &at) ? at.record : NULL;
}

struct client_mapping *client_mappings_at(uint64_t address)
{
    struct client_address at;
    return client_address_find(address, CLIENT_ADDRESS(MAPPING), &at) ? at.record : NULL;
}

void client_mappings_allow(struct client_mapping *mapping, CUdevice device, CUmemAccess_flags flags)
{
    mapping->users -= mapping->rights[device] != 0;
    mapping->rights[device] = (uint8_t)flags;
    mapping->users += flags != CU_MEM_ACCESS_FLAGS_PROT_NONE;
    client_address_flag(CLIENT_ADDRESS_MAPPING, mapping->start, mapping,
                        mapping->users == 0 ? CLIENT_ADDRESS_BARRED : 0);
}
