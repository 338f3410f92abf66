/* SPDX-License-Identifier: Apache-2.0 */
/* The message is packed: no padding anywhere, little endian. */
#include "front/tables/integrity.h"

#include <string.h>

#include "front/tables/md2.h"

struct packed {
    uint32_t driver_version, version, pid, thread;
    uint64_t runtime_table, integrity_table, integrity_function, unix_seconds;
};
_Static_assert(sizeof(struct packed) == 48, "the head of the message has no padding");

struct packed_device {
    uint8_t uuid[16];
    int32_t pci_domain, pci_bus, pci_device;
};
_Static_assert(sizeof(struct packed_device) == 28, "a device's part has no padding");

static const uint8_t key[16] = {0x14, 0x6a, 0xdd, 0xae, 0x53, 0xa9, 0xa7, 0x52,
                                0xaa, 0x08, 0x41, 0x36, 0x0b, 0xf5, 0x5a, 0x9f};

void front_integrity_hash(const struct front_integrity *facts, uint64_t answer[2])
{
    if (facts->version % 10 < 2) {
        answer[0] = facts->version % 10 == 0 ? 0x3341181c03cb675cu : 0x1841181c03cb675cu;
        answer[1] = 0x8ed383aa1f4cd1e8u;
        return;
    }
    struct packed head = {facts->driver_version,
                          facts->version,
                          facts->pid,
                          facts->thread,
                          facts->runtime_table,
                          facts->integrity_table,
                          facts->integrity_function,
                          facts->unix_seconds};
    struct front_hmac hmac;
    uint8_t digest[FRONT_MD2_BYTES];
    front_hmac_begin(&hmac, key, sizeof key);
    front_md2_add(&hmac.md2, &head, sizeof head);
    for (size_t i = 0; i < facts->device_count; i++) {
        const struct front_device *device = &facts->devices[i];
        struct packed_device part = {.pci_domain = device->pci_domain,
                                     .pci_bus = device->pci_bus,
                                     .pci_device = device->pci_device};
        memcpy(part.uuid, device->uuid, sizeof part.uuid);
        front_md2_add(&hmac.md2, &part, sizeof part);
    }
    front_hmac_end(&hmac, digest);
    memcpy(answer, digest, sizeof digest);
}
