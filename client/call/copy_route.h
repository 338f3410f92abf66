/* SPDX-License-Identifier: Apache-2.0 */
/* The route of a copy: which way do its bytes take between the program's memory and a device? One
 * table says it, in copy_route.c and row by row in ARCHITECTURE.md: the first row that fits.
 *
 * Note: a route may be unavailable this time, because a buffer was refused, all slots are busy, or
 * bytes do not get smaller. Code that finds this marks it `tried` and asks again. A large copy asks
 * for each of its pieces. */
#ifndef CLIENT_CALL_COPY_ROUTE_H
#define CLIENT_CALL_COPY_ROUTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct client_conn;

enum client_copy_route {
    /* Beside the connection */
    CLIENT_ROUTE_SHARED,    /* the server's driver copies from and to memory that both ends map */
    CLIENT_ROUTE_ONE_SIDED, /* the server's network card reads and writes the program's memory */
    CLIENT_ROUTE_BOUNCE,    /* through slots of memory that is shared in one of these ways */
    /* With the call, to the device */
    CLIENT_ROUTE_BULK,       /* over a bulk connection, compressed where that pays */
    CLIENT_ROUTE_COMPRESSED, /* in the frame, compressed where that pays */
    CLIENT_ROUTE_DIRECT,     /* in the frame, sent from the program's memory */
    CLIENT_ROUTE_FRAME,      /* in the frame, copied into the send buffer */
    /* With the answer, to the host */
    CLIENT_ROUTE_ANSWER, /* as the server chooses (server/conn/copy_chunks.c) */
    CLIENT_ROUTES
};

/* Abilities of a connection for copies. */
#define CLIENT_CAN_MAP      1u /* both ends map the same memory */
#define CLIENT_CAN_REACH    2u /* a network card reaches the program's memory */
#define CLIENT_CAN_BULK     4u /* there are bulk connections */
#define CLIENT_CAN_COMPRESS 8u

#define CLIENT_ROUTE_DIRECT_MIN                                                                    \
    (UINT64_C(16) << 10) /* copying less costs less than sending apart */
/* Smaller ones are faster through the connection, whose buffers stay in the cache; only from here
 * on does it matter what can be done and what the memory is. */
#define CLIENT_ROUTE_LARGE (UINT64_C(64) << 10)

struct client_copy_facts {
    bool to_device;
    bool pinned; /* all bytes of the program's memory, in one range */
    bool waits;  /* the bytes are there when the call returns */
    bool gaps;   /* between rows of the program's memory */
    uint64_t bytes;
    unsigned can;   /* CLIENT_CAN_*: what the asker can use of it */
    unsigned tried; /* 1 << route: not to be had this time */
};

enum client_copy_route client_copy_route(const struct client_copy_facts *facts);
/* CLIENT_CAN_* of the connection, as it is now. */
unsigned client_copy_abilities(const struct client_conn *conn);

/* The table, for the test that compares it with ARCHITECTURE.md. */
struct client_copy_rule {
    enum client_copy_route route;
    bool to_device, to_host;
    bool waits;     /* to the host only if the call waits */
    bool pinned;    /* only pinned memory; else any */
    bool gaps;      /* also rows with gaps */
    uint64_t least; /* bytes */
    unsigned needs; /* CLIENT_CAN_*, one of them; 0: nothing */
};
extern const struct client_copy_rule client_copy_rules[CLIENT_ROUTES];

#endif
