/* SPDX-License-Identifier: Apache-2.0 */
/* Address ranges that may overlap, in the order of their starts: a treap whose nodes know where the
 * last range of their subtree ends, so that all that hold an address are found (an interval tree).
 * Its fields are atomic, because the map is read while it changes. */
#ifndef CLIENT_ADDRESS_ADDRESS_TREAP_H
#define CLIENT_ADDRESS_ADDRESS_TREAP_H

#include <stdatomic.h>
#include <stdint.h>

struct client_session;
struct client_address_node;
typedef struct client_address_node *_Atomic client_address_link;

struct client_address_node {
    client_address_link left, right; /* `right`: the next one that is unused, too */
    _Atomic uint64_t start, end;
    _Atomic uint64_t last;   /* where the last range of the subtree ends */
    _Atomic uint64_t serial; /* of those that begin at one address the larger one comes later */
    _Atomic uint64_t context, id;
    _Atomic unsigned kind, flags;
    struct client_session *_Atomic session;
    void *_Atomic record;
    uint32_t priority;
};

/* A thread that reads a value which another one has written sees all that that one wrote before. */
#define ADDRESS_READ(at)         atomic_load_explicit(at, memory_order_acquire)
#define ADDRESS_WRITE(at, value) atomic_store_explicit(at, value, memory_order_release)

/* One thread at a time. `start`, `end` and `serial` stay while the node is in a treap. */
void client_address_treap_insert(client_address_link *root, struct client_address_node *node);
void client_address_treap_remove(client_address_link *root, struct client_address_node *node);

#endif
