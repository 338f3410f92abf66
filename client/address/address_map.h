/* SPDX-License-Identifier: Apache-2.0 */
/* The address map: to whom does an address belong? Code that gives addresses to the program enters
 * the range here, with its kind, and takes it out before its record goes.
 *
 * Ranges lie in others. The kinds stand below from the innermost to the outermost: of all ranges
 * that hold an address, that of the first kind answers; of several of one kind the one that was
 * entered last, because servers may have different things at one address.
 *
 * Note: a lookup takes no lock, so the range that it found may go before it is used. An answer is a
 * copy, and its `record` may be looked at only with the lock under which the record goes. */
#ifndef CLIENT_ADDRESS_ADDRESS_MAP_H
#define CLIENT_ADDRESS_ADDRESS_MAP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

struct client_session;

enum client_address_kind {
    /* Addresses of devices */
    CLIENT_ADDRESS_MIRROR,  /* the device's half of a mirror (mirror.h) */
    CLIENT_ADDRESS_BACKING, /* the allocation that such a half is in: its other bytes are nobody's
                             */
    CLIENT_ADDRESS_MAPPING, /* what the program has mapped in a space */
    CLIENT_ADDRESS_SPACE,   /* what it has reserved (mappings.h) */
    CLIENT_ADDRESS_CHUNK,   /* of a memory pool, whose allocations front/mempool/ knows */
    CLIENT_ADDRESS_IMPORT,  /* another program's allocation */
    CLIENT_ADDRESS_GLOBAL,  /* a variable of a module */
    CLIENT_ADDRESS_SESSION, /* a window, or a block of an unpinned session: its allocator's */
    /* Addresses of the program */
    CLIENT_ADDRESS_MIRRORED, /* the program's half of a mirror */
    CLIENT_ADDRESS_PINNED,   /* pinned memory (host_memory.h) */
    /* Said of device memory besides */
    CLIENT_ADDRESS_GRAPH,  /* a space in which a node of a graph allocates */
    CLIENT_ADDRESS_EXPORT, /* an allocation that other programs may use (ipc.h) */
    CLIENT_ADDRESS_KINDS
};

/* A set of kinds. */
#define CLIENT_ADDRESS(kind) (1u << (CLIENT_ADDRESS_##kind))
#define CLIENT_ADDRESS_DEVICE                                                                      \
    (CLIENT_ADDRESS(MIRROR) | CLIENT_ADDRESS(BACKING) | CLIENT_ADDRESS(MAPPING) |                  \
     CLIENT_ADDRESS(SPACE) | CLIENT_ADDRESS(CHUNK) | CLIENT_ADDRESS(IMPORT) |                      \
     CLIENT_ADDRESS(GLOBAL) | CLIENT_ADDRESS(SESSION))

#define CLIENT_ADDRESS_BARRED  1u /* MAPPING: no device may use it */
#define CLIENT_ADDRESS_PLACED  2u /* PINNED, and its mirror: kernels use it by this address */
#define CLIENT_ADDRESS_MANAGED 4u /* MIRROR, MIRRORED: managed memory, else mapped */
#define CLIENT_ADDRESS_OWN     8u /* MIRROR, MIRRORED: not a variable, it is freed by itself */

struct client_address {
    enum client_address_kind kind;
    unsigned flags;
    uint64_t start, bytes;
    struct client_session *session; /* NULL: host memory, or a space */
    uint64_t context;               /* handle of the context that made it; 0: none */
    uint64_t id;                    /* 0: `start` is one */
    void *record;                   /* the kind's own */
};

/* GA_INVALID: no bytes, or another range of the kind has some of them; mirrors may overlap. */
GA_CHECKED enum ga_status client_address_enter(const struct client_address *what);
/* Takes out the range of that kind that begins there and has this record. */
void client_address_leave(enum client_address_kind kind, uint64_t start, const void *record);
/* Changes the flags of that range. */
void client_address_flag(enum client_address_kind kind, uint64_t start, const void *record,
                         unsigned flags);
/* A session has got its window, for as long as the process lives. */
void client_address_window(struct client_session *session, uint64_t base, uint64_t bytes);

/* Whose is the address, if only these kinds count? False: nobody's. A program that has nothing of
 * these kinds pays a load, and for a window a look at each. */
bool client_address_find(uint64_t address, unsigned kinds, struct client_address *found);
/* Chooses among ranges: a lookup takes those that it returns true for; it must not block. */
typedef bool client_address_fits(const struct client_address *at, const void *user);
bool client_address_find_fit(uint64_t address, unsigned kinds, client_address_fits *fits,
                             const void *user, struct client_address *found);
/* Whether a range of these kinds has one of the bytes. Windows do not count. */
bool client_address_touches(uint64_t start, uint64_t bytes, unsigned kinds);

#endif
