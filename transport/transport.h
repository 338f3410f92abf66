/* SPDX-License-Identifier: Apache-2.0 */
/* Transports: bytes between two processes, behind one table of functions.
 *
 * A transport is a reliable, ordered stream of bytes that never blocks. An operation that cannot
 * be done now returns GA_AGAIN, and poll(2) shows when to try again: on the descriptors of
 * `poll_prepare`, or, for a connection that is not upgraded, on its own descriptor.
 * transport/frame.h makes frames of the bytes. A new transport has a struct transport_ops, a
 * line in transport_all[] and a line in the contract test; ARCHITECTURE.md names the code that
 * chooses it. */
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

/* The credentials of a tls connection: certificates, or a ticket that both ends have (an
 * external pre-shared key of RFC 8446). Borrowed until a connection is made; a listener's
 * function and `user` are borrowed as long as it and its connections live. */
struct transport_secret {
    /* Files (PEM); NULL: none. A listener without tickets needs `cert` and `key`; with `ca` it
     * demands certificates of clients, or, with `optional`, takes clients that have none, too.
     * The connecting end needs `ca` (NULL: the machine's authorities). */
    const char *cert, *key, *ca;
    bool optional;
    /* The ticket of the connecting end; NULL: certificates */
    const uint8_t *ticket_id, *ticket_key;
    /* For a listener of tickets: gives the key of a valid ticket. False: the ticket is invalid;
     * the reason has been logged. Connections of such a listener have no certificates. */
    bool (*ticket)(void *user, const uint8_t *id, uint8_t *key);
    void *user;
};

/* "tcp://host:port", "tls://host:port", "host:port", "host", "[v6]:port", "rdma://host:port", or
 * "shm:name" (the name is the host). */
struct transport_address {
    const struct transport_ops *ops;
    const struct transport_ops *inner; /* the wrapped transport; NULL: none */
    char host[256];
    char port[8];
    char options[160];                     /* of a wrapper, otherwise "" */
    const struct transport_secret *secret; /* of tls; borrowed. The parser sets NULL */
};

struct transport_listener {
    const struct transport_ops *ops;
    int fd; /* readable: a connection waits */
    const struct transport_ops *inner;
    void *state; /* for the transport; NULL: not needed */
};

struct transport_conn {
    const struct transport_ops *ops;
    int fd;      /* non-blocking, close-on-exec */
    void *state; /* for the transport; NULL: not needed */
};

/* Memory that is registered with the network card of an upgraded connection. The other end
 * identifies it by address and key. */
struct transport_memory {
    void *state; /* for the transport */
    uint64_t address;
    uint32_t key;
};

/* A one-sided copy between the memory of both ends. */
struct transport_one_sided_copy {
    const struct transport_memory *own; /* TRANSPORT_OWN; borrowed until the copy has ended */
    void *here;                         /* in `own` */
    uint64_t there;                     /* address in memory that the other end has shared */
    uint32_t key;                       /* the key of that memory */
    uint32_t bytes;                     /* not 0 */
};

enum transport_use { TRANSPORT_OWN, TRANSPORT_SHARED };

/* One-sided operations of a network card (RDMA READ and WRITE). One end shares memory; the other
 * end fetches from it and stores into it by address and key, which are sent like other bytes.
 * Using memory that is not shared (any more) ends the connection. (GPUDirect fits in here: a
 * GPU's memory can be registered as TRANSPORT_OWN, and then bytes bypass the host's memory.) */
struct transport_one_sided {
    /* Registers memory, which the caller keeps in place: TRANSPORT_SHARED for the other end,
     * TRANSPORT_OWN for copies that this end makes. Any thread. GA_UNSUPPORTED: the connection
     * is not upgraded. GA_NO_MEMORY, with errno. */
    GA_CHECKED enum ga_status (*share)(struct transport_conn *conn, void *memory, size_t bytes,
                                       enum transport_use use, struct transport_memory *out);
    /* When this returns, the other end cannot reach the memory any more. To be called before
     * close. */
    void (*unshare)(struct transport_conn *conn, struct transport_memory *memory);
    /* Begins a copy from the other end (RDMA READ). Fetches end in the order in which they
     * began. One thread. GA_AGAIN: too many are in progress. */
    GA_CHECKED enum ga_status (*fetch)(struct transport_conn *conn,
                                       const struct transport_one_sided_copy *copy);
    /* The number of fetches that have ended. `poll_prepare` with POLLPRI waits for one. GA_LOST.
     * Only the thread that fetches. */
    GA_CHECKED enum ga_status (*fetched)(struct transport_conn *conn, uint64_t *count);
    /* Begins a copy to the other end (RDMA WRITE), which gets these bytes before bytes that are
     * sent later. Only the thread that sends. GA_AGAIN: too many are in progress, or as for
     * `send`. */
    GA_CHECKED enum ga_status (*store)(struct transport_conn *conn,
                                       const struct transport_one_sided_copy *copy);
    /* The number of stores that have ended: their memory here may be reused. Any thread. */
    GA_CHECKED enum ga_status (*stored)(struct transport_conn *conn, uint64_t *count);
};

/* The identity of the other end, as far as it has proved it. */
enum transport_proof {
    TRANSPORT_PROVES_NOTHING,
    TRANSPORT_PROVES_KEY,  /* it has the private key of a certificate that an authority of the
                              listener has signed */
    TRANSPORT_PROVES_USER, /* it is a process of a user of this machine */
};

#define TRANSPORT_URI_BYTES 256

struct transport_identity {
    enum transport_proof proof;
    /* KEY: SHA-256 of the public key, which a renewed certificate may share, and of the
     * certificate; and the URI among its names (subjectAltName) that begins with "gpuaas://". "":
     * it has none, or several, or an unprintable or longer one. */
    uint8_t key[32], certificate[32];
    char uri[TRANSPORT_URI_BYTES];
    /* USER: as it was when the process connected */
    uint32_t uid, gid;
    int32_t pid;
};

/* A transport. Functions return a status, and write the reason into `why`; errno is meaningless
 * unless a function says otherwise. */
struct transport_ops {
    const char *scheme;
    /* Sending needs no system call, so batching saves nothing. */
    bool send_is_cheap;
    /* Does beforehand what the first listener with tickets would have to wait for. NULL: nothing.
     */
    void (*prepare)(void);
    GA_CHECKED enum ga_status (*listen)(const struct transport_address *address,
                                        struct transport_listener *out, char *why, size_t why_size);
    /* GA_AGAIN: no connection waits. GA_NO_MEMORY: no descriptors or memory are left; the caller
     * should pause. */
    GA_CHECKED enum ga_status (*accept)(struct transport_listener *listener,
                                        struct transport_conn *out);
    /* Reads the files of `secret` anew, for the connections that it accepts from now on; others
     * keep what they have. On failure, GA_INVALID with `why`, nothing changes. NULL: the transport
     * has no secrets. */
    GA_CHECKED enum ga_status (*renew)(struct transport_listener *listener,
                                       const struct transport_secret *secret, char *why,
                                       size_t why_size);
    /* Starts to connect. GA_OK: poll as `poll_prepare` says for POLLOUT, then call connect_end.
     * A host may have several addresses: connect_end tries the next one if one does not answer,
     * on the same `fd`. */
    GA_CHECKED enum ga_status (*connect_begin)(const struct transport_address *address,
                                               struct transport_conn *out, char *why,
                                               size_t why_size);
    /* GA_AGAIN: not yet connected. GA_LOST with `why`: refused, unreachable, ... */
    GA_CHECKED enum ga_status (*connect_end)(struct transport_conn *conn, char *why,
                                             size_t why_size);
    /* Upgrades a connection that will carry much data, before its first byte, at the end that
     * connects. NULL: the transport cannot. On failure, with `why`, bytes go the plain way. */
    GA_CHECKED enum ga_status (*upgrade)(struct transport_conn *conn, char *why, size_t why_size);
    /* Passes a descriptor, which stays the caller's, to the process at the other end of an
     * upgraded connection; only at the end that connected. Bytes that are sent later arrive
     * after it. NULL: the transport cannot. GA_AGAIN: not now. GA_UNSUPPORTED: the connection is
     * not upgraded. Any thread. */
    GA_CHECKED enum ga_status (*send_fd)(struct transport_conn *conn, int fd);
    /* Receives the next descriptor at the other end; the caller owns it. GA_AGAIN: there is
     * none. Only the thread that receives. */
    GA_CHECKED enum ga_status (*receive_fd)(struct transport_conn *conn, int *fd);
    /* NULL: the transport has no one-sided operations. */
    const struct transport_one_sided *one_sided;
    /* Sends some bytes: GA_OK with *sent > 0, GA_AGAIN, or GA_LOST. After GA_AGAIN the next call
     * must begin with the same bytes: they may be encrypted already. */
    GA_CHECKED enum ga_status (*send)(struct transport_conn *conn, const struct iovec *pieces,
                                      int count, size_t *sent);
    /* Receives some bytes: GA_OK with *got > 0, GA_AGAIN, or GA_LOST (even at a clean end). */
    GA_CHECKED enum ga_status (*receive)(struct transport_conn *conn, void *to, size_t size,
                                         size_t *got);
    /* To be called now and then, in the place of a sender: gives back memory that has been
     * unused for a while, and ends the connection if sent bytes cannot arrive. NULL: not needed. */
    void (*idle)(struct transport_conn *conn, uint64_t now_ns);
    /* To be called before sleeping until some of `wanted` may be possible (POLLIN, POLLOUT;
     * POLLPRI: a fetch ends). Fills in what to poll, up to TRANSPORT_POLL_MAX; on any event, ask
     * again. 0: ask now. Any thread. */
    unsigned (*poll_prepare)(struct transport_conn *conn, short wanted, struct pollfd *fds);
    /* All descriptors of the connection, at most TRANSPORT_FDS_MAX, to be closed after a fork. */
    unsigned (*descriptors)(const struct transport_conn *conn, int *fds);
    /* Makes the connection GA_LOST when the other machine gives no sign of life for so long. For
     * connections whose other end always reads: a full receive window counts as silence. */
    GA_CHECKED enum ga_status (*set_dead_after)(struct transport_conn *conn, unsigned timeout_ms);
    /* Tells whose the other end is; at the end that accepted, once bytes have come from the other
     * one. `out` proves nothing yet. False: it has proved nothing. NULL: it never can. */
    bool (*identify)(const struct transport_conn *conn, struct transport_identity *out);
    /* Whether this end, which has accepted the connection, has done what takes long of beginning
     * it, and the other end's answer to that is due. NULL: nothing takes long. */
    bool (*begun)(const struct transport_conn *conn);
    /* The reason of the loss, if the transport knows it, otherwise NULL. For the thread that got
     * GA_LOST. NULL: the transport never knows. */
    const char *(*error_text)(const struct transport_conn *conn);
    /* "tcp://host:port" as bound; for port 0 the real one. */
    GA_CHECKED enum ga_status (*local_address)(int fd, char *url, size_t size);
    void (*close_listener)(struct transport_listener *listener);
    void (*close)(struct transport_conn *conn);
};

extern const struct transport_ops *const transport_all[];
extern const size_t transport_count;

/* Whether listeners of this scheme can do more here than plain TCP: "rdma" on a machine with a
 * card. */
bool transport_is_useful(const char *scheme);

/* Does beforehand what takes long of the first listener of this scheme that has tickets. */
void transport_prepare(const char *scheme);

/* GA_INVALID with `why`: the text, the mistake and the allowed forms. `default_port` is used if
 * the text has none. */
GA_CHECKED enum ga_status transport_address_parse(const char *text, const char *default_port,
                                                  struct transport_address *out, char *why,
                                                  size_t why_size);
/* Whether the address, wrapped or not, has this scheme. */
bool transport_address_is(const struct transport_address *address, const char *scheme);
/* A connection over a stream socket that is connected already (not blocking), which it owns. */
struct transport_conn transport_of_socket(int fd);
/* Whether sent bytes stay on this machine, as far as the socket knows. */
bool transport_is_here(const struct transport_conn *conn);
/* Whether the other machine has taken the connection that connect_begin has begun. */
bool transport_is_taken(const struct transport_conn *conn);
/* The shortest round trip of the TCP connection (1: none measured); 0: there is no TCP
 * connection. */
uint64_t transport_round_trip_ns(const struct transport_conn *conn);
/* The other end's address, as "192.0.2.7:40332" or "[2001:db8::7]:40332". "": none, as of
 * programs of this machine that use shared memory. */
#define TRANSPORT_PEER_BYTES 80
void transport_peer(const struct transport_conn *conn, char text[TRANSPORT_PEER_BYTES]);
/* Where the connection comes from, to count those of one source together: the other end's address;
 * of IPv6 the network of 64 bits, in which a machine chooses its address; of a program of this
 * machine that uses shared memory the user. Zeros: it is not known. */
#define TRANSPORT_SOURCE_BYTES 16
void transport_source(const struct transport_conn *conn, uint8_t source[TRANSPORT_SOURCE_BYTES]);
/* The identity of the other end, for the end that has accepted the connection and read from it. */
struct transport_identity transport_identify(const struct transport_conn *conn);
bool transport_is_begun(const struct transport_conn *conn);
/* Seconds since 1970 (UTC); `until` is the first one in which it is not valid any more. */
struct transport_validity {
    int64_t from, until;
};
/* When all certificates in the file are valid; `any`: when one of them is, at least. False: the
 * file has none. */
bool transport_certificates_look(const char *path, bool any, struct transport_validity *out);
/* The reason of the loss, if the transport knows it, otherwise NULL. */
const char *transport_error_text(const struct transport_conn *conn);
/* The errno that has come to its socket and that nobody has been told; 0: none. It is told once. */
int transport_error(const struct transport_conn *conn);
/* Waits until a connection of connect_begin is connected; on failure the caller must close it. */
GA_CHECKED enum ga_status transport_connected(struct transport_conn *conn, int timeout_ms,
                                              char *why, size_t why_size);
/* Connects, waiting at most `timeout_ms`; on failure nothing stays open. */
GA_CHECKED enum ga_status transport_connect(const struct transport_address *address, int timeout_ms,
                                            struct transport_conn *out, char *why, size_t why_size);

/* Frames, compression, digests and side connections are part of this folder's interface. */
#include "transport/compress.h" /* IWYU pragma: export */
#include "transport/digest.h"   /* IWYU pragma: export */
#include "transport/frame.h"    /* IWYU pragma: export */
#include "transport/side.h"     /* IWYU pragma: export */

#endif
