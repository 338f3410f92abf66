/* SPDX-License-Identifier: Apache-2.0 */
/* The owner of an application: images that one owner has sent, its other applications may use. This
 * is the one place that decides it. */
#ifndef SERVER_PROCESSES_OWNER_H
#define SERVER_PROCESSES_OWNER_H

#include <stdbool.h>
#include <stdint.h>

#include "transport/transport.h"

enum owner_kind {
    OWNER_APPLICATION, /* one that has proved nothing: it has no other applications */
    OWNER_KEY,         /* who has the private key of a client certificate */
    OWNER_USER,        /* a user of this machine */
    OWNER_TENANT,      /* a tenant */
};

struct owner {
    enum owner_kind kind;
    uint8_t id[32];
};

/* The owner of the application `id`, whose control connection this is. A connection over TCP proves
 * nothing, not even on this machine. */
struct owner owner_of(const struct transport_conn *control, const uint8_t id[16]);
/* A tenant of the store, by its number. */
struct owner owner_of_tenant(uint64_t number);
bool owner_same(const struct owner *one, const struct owner *other);
/* Whether the owner may have other applications, now or later. */
bool owner_lasts(const struct owner *owner);

#endif
