/* SPDX-License-Identifier: Apache-2.0 */
#include "server/processes/owner.h"

#include <string.h>

struct owner owner_of(const struct transport_conn *control, const uint8_t id[16])
{
    const struct transport_identity identity = transport_identify(control);
    struct owner owner = {.kind = identity.proof == TRANSPORT_PROVES_KEY    ? OWNER_KEY
                                  : identity.proof == TRANSPORT_PROVES_USER ? OWNER_USER
                                                                            : OWNER_APPLICATION};
    if (owner.kind == OWNER_KEY) {
        memcpy(owner.id, identity.key, sizeof owner.id);
    } else if (owner.kind == OWNER_USER) {
        memcpy(owner.id, &identity.uid, sizeof identity.uid);
    } else {
        memcpy(owner.id, id, 16);
    }
    return owner;
}

struct owner owner_of_tenant(uint64_t number)
{
    struct owner owner = {.kind = OWNER_TENANT};
    memcpy(owner.id, &number, sizeof number);
    return owner;
}

bool owner_same(const struct owner *one, const struct owner *other)
{
    return one->kind == other->kind && memcmp(one->id, other->id, sizeof one->id) == 0;
}

bool owner_lasts(const struct owner *owner)
{
    return owner->kind != OWNER_APPLICATION;
}
