/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes between two processes, behind one table.
 *
 * A transport is a reliable, ordered stream of bytes that never blocks. An operation that cannot be
 * done now returns GA_AGAIN, and poll(2) says when to try again: on the descriptors that
 * `poll_prepare` names, or, for a connection that is not upgraded, on its own descriptor.
 * transport/frame.h makes frames of the bytes. A new transport has a struct transport_ops, a line
 * in transport_all[] and a line in the contract test; ARCHITECTURE.md says who chooses it. */
#ifndef TRANSPORT_TRANSPORT_H
#define TRANSPORT_TRANSPORT_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "base/status.h"

struct transport_ops;

#define TRANSPORT_POLL_MAX 3 /* descriptors to poll, at most */
#define TRANSPORT_FDS_MAX  6 /* descriptors of a connection, at most */

#define TRANSPORT_TICKET_ID  16
#define TRANSPORT_TICKET_KEY 32

/* The credentials of a tls connection: certificates, or a ticket that both ends have (RFC 8446: an
 * external pre-shared key). Borrowed until a connection is made; a listener's function and `user`
 * are borrowed as long as it and its connections live. */
struct transport_secret {
    /* Files (PEM); NULL: none. A listener without tickets needs `cert` and `key`, and with `ca`
     * demands certificates of clients. The connecting end needs `ca` (NULL: what the machine
     * trusts). */
    const char *cert, *key, *ca;
    /* The ticket of the connecting end; NULL: it uses certificates */
    const uint8_t *ticket_id, *ticket_key;
    /* Of a listener for tickets: gives the key of a ticket that is good. False: it is not; the
     * cause has been logged. Connections of such a listener have no certificates. */
    bool (*ticket)(void *user, const uint8_t *id, uint8_t *key);
    void *user;
};

/* "tcp://host:port", "tls://host:port", "host:port", "host", "[v6]:port", "rdma://host:port", or
 * "shm:name" (the name is the host). */
struct transport_address {
    const struct transport_ops *ops;
    const struct transport_ops *inner; /* what a wrapper wraps, else NULL */
    char host[256];
    char port[8];
    char options[160];                     /* of a wrapper, else "" */
    const struct transport_secret *secret; /* of tls; borrowed. Not in the text: NULL */
};

struct transport_listener {
    const struct transport_ops *ops;
    int fd; /* readable: a connection waits */
    const struct transport_ops *inner;
    void *state; /* the transport's own; NULL: it needs none */
};

struct transport_conn {
    const struct transport_ops *ops;
    int fd;      /* non-blocking, close-on-exec */
    void *state; /* the transport's own; NULL: it needs none */
};

/* Memory that is registered with the network card of an upgraded connection. The other end
 * names it by address and key. */
struct transport_memory {
    void *state; /* the transport's own */
    uint64_t address;
    uint32_t key;
};

/* One one-sided copy between the memory of both ends. */
struct transport_one_sided_copy {
    const struct transport_memory *own; /* TRANSPORT_OWN; borrowed until the copy has ended */
    void *here;                         /* in `own` */
    uint64_t there;                     /* in memory that the other end has shared, */
    uint32_t key;                       /* by its key */
    uint32_t bytes;                     /* not 0 */
};

enum transport_use { TRANSPORT_OWN, TRANSPORT_SHARED };

/* One-sided operations of a network card (RDMA READ and WRITE). One end shares memory, and does no
 * more; the other end fetches from it and stores into it, by address and key, which travel as any
 * bytes do. Naming memory that is not shared (any more) ends the connection. (GPUDirect has its
 * place here: memory of a GPU is registered, TRANSPORT_OWN, as memory of the host is, and then
 * bytes need no memory of the host on their way.) */
struct transport_one_sided {
    /* Registers memory, which stays the caller's and where it is: TRANSPORT_SHARED for the other
     * end, TRANSPORT_OWN for copies that this end makes. Any thread. GA_UNSUPPORTED: the connection
     * is not upgraded. GA_NO_MEMORY, with errno. */
    GA_CHECKED enum ga_status (*share)(struct transport_conn *conn, void *memory, size_t bytes,
                                       enum transport_use use, struct transport_memory *out);
    /* The other end cannot reach the memory any more when this returns. Call before close. */
    void (*unshare)(struct transport_conn *conn, struct transport_memory *memory);
    /* Begins a copy from the other end (RDMA READ). Fetches end in the order in which they have
     * begun. One thread. GA_AGAIN: too many are under way. */
    GA_CHECKED enum ga_status (*fetch)(struct transport_conn *conn,
                                       const struct transport_one_sided_copy *copy);
    /* The count of all fetches that have ended. To wait for one: `poll_prepare` with POLLPRI.
     * GA_LOST. The thread that fetches. */
    GA_CHECKED enum ga_status (*fetched)(struct transport_conn *conn, uint64_t *count);
    /* Begins a copy to the other end (RDMA WRITE), which gets these bytes before bytes that are
     * sent afterwards. The thread that sends. GA_AGAIN: too many are under way; as for `send`. */
    GA_CHECKED enum ga_status (*store)(struct transport_conn *conn,
                                       const struct transport_one_sided_copy *copy);
    /* The count of all stores that have ended: their memory here may be used again. Any thread. */
    GA_CHECKED enum ga_status (*stored)(struct transport_conn *conn, uint64_t *count);
};

/* One transport. Functions report by their status, and `why` gets the cause in words; errno means
 * nothing unless a function says so. */
struct transport_ops {
    const char *scheme;
    /* Sending takes no system call, so batching saves nothing. */
    bool send_is_cheap;
    GA_CHECKED enum ga_status (*listen)(const struct transport_address *address,
                                        struct transport_listener *out, char *why, size_t why_size);
    /* GA_AGAIN: none waits. GA_NO_MEMORY: no descriptors or memory are left, the caller pauses. */
    GA_CHECKED enum ga_status (*accept)(struct transport_listener *listener,
                                        struct transport_conn *out);
    /* Starts; GA_OK at once or later: poll for what `poll_prepare` names for POLLOUT, then
     * connect_end. A host may have several addresses: connect_end goes on to the next when one does
     * not answer, on the same `fd`. */
    GA_CHECKED enum ga_status (*connect_begin)(const struct transport_address *address,
                                               struct transport_conn *out, char *why,
                                               size_t why_size);
    /* GA_AGAIN: not yet. GA_LOST with `why`: refused, unreachable, ... */
    GA_CHECKED enum ga_status (*connect_end)(struct transport_conn *conn, char *why,
                                             size_t why_size);
    /* Upgrades a connection that will carry much, before its first byte, at the end that connects.
     * NULL: the transport cannot. On failure, with `why`, bytes go the plain way. */
    GA_CHECKED enum ga_status (*upgrade)(struct transport_conn *conn, char *why, size_t why_size);
    /* Of an upgraded connection, at the end that connected: passes a descriptor, which stays
     * the caller's, to the process at the other end; bytes that are sent afterwards arrive after
     * it. NULL: the transport cannot. GA_AGAIN: not now. GA_UNSUPPORTED: the connection is not
     * upgraded. Any thread. */
    GA_CHECKED enum ga_status (*send_fd)(struct transport_conn *conn, int fd);
    /* At the other end: receives the next one, which is then the caller's. GA_AGAIN: there is none.
     * The thread that receives. */
    GA_CHECKED enum ga_status (*receive_fd)(struct transport_conn *conn, int *fd);
    /* NULL: the transport has no one-sided operations. */
    const struct transport_one_sided *one_sided;
    /* Sends some bytes: GA_OK with *sent > 0, GA_AGAIN, or GA_LOST. After GA_AGAIN the next call's
     * bytes begin with those of this one: they may be encrypted already. */
    GA_CHECKED enum ga_status (*send)(struct transport_conn *conn, const struct iovec *pieces,
                                      int count, size_t *sent);
    /* Receives some bytes: GA_OK with *got > 0, GA_AGAIN, or GA_LOST (also at a clean end). */
    GA_CHECKED enum ga_status (*receive)(struct transport_conn *conn, void *to, size_t size,
                                         size_t *got);
    /* Call now and then, in the place of a sender: gives back memory that has not been used for a
     * while, and ends the connection if sent bytes cannot arrive. NULL: nothing to do. */
    void (*idle)(struct transport_conn *conn, uint64_t now_ns);
    /* Before sleeping until some of `wanted` (POLLIN, POLLOUT; POLLPRI: a fetch ends) may be
     * possible: fills in what to poll for, up to TRANSPORT_POLL_MAX; when any of it has an event,
     * ask again. 0: ask now. Any thread. */
    unsigned (*poll_prepare)(struct transport_conn *conn, short wanted, struct pollfd *fds);
    /* All descriptors of the connection, TRANSPORT_FDS_MAX at most, for who must close them after
     * a fork. */
    unsigned (*descriptors)(const struct transport_conn *conn, int *fds);
    /* Makes the connection GA_LOST when the other machine gives no sign of life for so long. For
     * connections whose other end always reads: a full receive window counts as silence, too. */
    GA_CHECKED enum ga_status (*set_dead_after)(struct transport_conn *conn, unsigned timeout_ms);
    /* The cause of the loss, in words, where the transport knows it; else NULL. For the thread that
     * got GA_LOST. NULL: the transport never knows. */
    const char *(*error_text)(const struct transport_conn *conn);
    /* "tcp://host:port" as bound; for port 0 the real one. */
    GA_CHECKED enum ga_status (*local_address)(int fd, char *url, size_t size);
    void (*close_listener)(struct transport_listener *listener);
    void (*close)(struct transport_conn *conn);
};

extern const struct transport_ops *const transport_all[];
extern const size_t transport_count;

/* Whether listeners of this scheme can do more here than plain TCP: "rdma" on a machine that has a
 * card for it. */
bool transport_is_useful(const char *scheme);

/* GA_INVALID with `why` naming the text, what is wrong and what is allowed. `default_port` is used
 * where the text has none. */
GA_CHECKED enum ga_status transport_address_parse(const char *text, const char *default_port,
                                                  struct transport_address *out, char *why,
                                                  size_t why_size);
/* Whether it is (wrapped or not) of this scheme. */
bool transport_address_is(const struct transport_address *address, const char *scheme);
/* Whether what is sent stays on this machine, as far as its socket knows. */
bool transport_is_here(const struct transport_conn *conn);
/* The shortest round trip that its TCP connection has seen (1: none yet); 0: it has no such. */
uint64_t transport_round_trip_ns(const struct transport_conn *conn);
/* The other end's address, as "192.0.2.7:40332" or "[2001:db8::7]:40332"; "": it has none, as
 * programs of this machine that come by shared memory. */
#define TRANSPORT_PEER_BYTES 80
void transport_peer(const struct transport_conn *conn, char text[TRANSPORT_PEER_BYTES]);
/* The cause of the loss, as its transport says it; else NULL. */
const char *transport_error_text(const struct transport_conn *conn);
/* Waits until what connect_begin has begun is connected; on failure it stays the caller's to close.
 */
GA_CHECKED enum ga_status transport_connected(struct transport_conn *conn, int timeout_ms,
                                              char *why, size_t why_size);
/* Connects, waiting at most `timeout_ms`; on failure nothing stays open. */
GA_CHECKED enum ga_status transport_connect(const struct transport_address *address, int timeout_ms,
                                            struct transport_conn *out, char *why, size_t why_size);

/* Frames, compression and side connections belong to the door of this folder. */
#include "transport/compress.h" /* IWYU pragma: export */
#include "transport/frame.h"    /* IWYU pragma: export */
#include "transport/side.h"     /* IWYU pragma: export */

#endif
