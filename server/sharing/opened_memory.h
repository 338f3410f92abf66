/* SPDX-License-Identifier: Apache-2.0 */
/* Device memory that applications of a tenant share, and the application that is charged for it:
 * the one that has made it, for as long as it has it; then, of those that still have it open, the
 * one that has opened it first. It is charged once for as long as any application has it.
 *
 * Note: this is not the table of what may be opened (sharing_registry.h). Memory may have several
 * entries there, as one mapping has several allocations; and it stays open when its entries are
 * withdrawn.
 *
 * Figures of applications are a stranger's: one that says too little is charged too little, as with
 * its own memory. */
#ifndef SERVER_SHARING_OPENED_MEMORY_H
#define SERVER_SHARING_OPENED_MEMORY_H

#include <stdint.h>

#include "base/list.h"
#include "base/number_map.h"
#include "server/channel.h"

struct opened_memory;

enum opened_charge {
    OPENED_TAKEN_OVER, /* memory that another application has made is charged to this one */
    OPENED_GIVEN_UP,   /* and no more */
    OPENED_PASSED_ON,  /* what this one has made and freed is charged to another one from now on */
};

/* An application. */
struct opener {
    struct ga_list made;           /* struct opened_memory that it has not freed */
    struct ga_list opened;         /* struct opening: of what others have made */
    struct ga_number_map openings; /* the same by their numbers */
    uint32_t count;                /* of them */
    uint64_t last;                 /* number */
    void (*charge)(void *user, enum opened_charge change, uint32_t gpu, uint64_t bytes);
    void *user;
};

void opened_init(struct opener *opener,
                 void (*charge)(void *user, enum opened_charge change, uint32_t gpu,
                                uint64_t bytes),
                 void *user);
/* Closes all openings of the application. Its charges for memory that it made itself are the
 * caller's to return. */
void opened_end(struct opener *opener);

/* The memory that the application shares with this packet: known already, or new; it has one more
 * entry. NULL: no memory, or nonsense. */
struct opened_memory *opened_memory_share(struct opener *opener,
                                          const struct channel_request *packet);
/* An entry is withdrawn. */
void opened_memory_withdraw(struct opened_memory *memory);
/* The application opens it: the number of the opening. 0: no memory, or it has opened too much. */
uint64_t opened_memory_open(struct opened_memory *memory, struct opener *opener);
/* It closes what it has opened. */
void opened_memory_close(struct opener *opener, uint64_t opening);
/* The application has freed memory that it has made, at this address (or handle): returns how much
 * of it others are charged for from now on, all or nothing. */
uint64_t opened_memory_freed(struct opener *opener, uint32_t what, uint64_t at);

#endif
