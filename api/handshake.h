/* SPDX-License-Identifier: Apache-2.0 */
/* The handshake: the messages before the first call.
 *
 *   client                       gpuaasd (control)               backend process
 *     HELLO ---------------------->
 *     <------------ WELCOME (devices)   or REFUSED
 *     OPEN(device) --------------->  starts or picks the application's process
 *     <------------ TICKET(address)     or REFUSED
 *     DATA_HELLO(ticket, window, context) --------------------------->   (kind data and side)
 *     <-------------------- DATA_WELCOME(session, window, context made?) or REFUSED
 *     WINDOW(window) until accepted, HANDSHAKE_WINDOW_ROUNDS times: then the session has none
 *
 * A client that does not choose devices sends the first OPEN right behind HELLO, and both
 * connections to the backend process begin at once: four round trips lead to a context.
 * The control connection stays open for the client's life. When it ends, so does the application,
 * unless its data and side connections live; a client that says HELLO again with the same number
 * joins it then.
 * Strings and arrays in a read struct are borrowed from the message. Within a protocol major,
 * fields are only added at the end of a message: a reader ignores fields that a newer peer has
 * added, and reads fields that an older one does not send as zero. */
#ifndef API_HANDSHAKE_H
#define API_HANDSHAKE_H

#include <stdbool.h>
#include <stdint.h>

#include "api/signatures.h"
#include "base/cursor.h"
#include "base/status.h"

#define HANDSHAKE_WAY_RDMA        1u /* data connections to `address` may ask for RDMA */
#define HANDSHAKE_DEVICES_MAX     1024u
#define HANDSHAKE_ATTRIBUTES_MAX  512u
#define HANDSHAKE_STRING_MAX      1024u
#define HANDSHAKE_WINDOW_ROUNDS   3u                  /* proposals after the first, at most */
#define HANDSHAKE_GRANULARITY_MAX (UINT64_C(1) << 30) /* drivers say 2 MiB */

/* Facts about the client. An older server takes no notice of them. */
enum {
    HANDSHAKE_HELLO_OBSERVER = 8, /* it only looks at the devices, and opens none: no session */
};

struct handshake_hello {
    uint32_t magic, major, minor;
    uint8_t application[16]; /* random, one per client process */
    uint32_t pid;
    const char *build;   /* version of the sender's build */
    const char *program; /* for people: argv[0] of the application */
    const char *token;   /* NULL: none */
    /* Behind the older fields, 16-aligned; what is added later begins likewise. */
    uint32_t takes; /* HANDSHAKE_HELLO_* */
};

/* Facts about a device, read from the driver once; the client answers calls with them. */
struct handshake_device {
    const char *name;
    uint8_t uuid[16];
    uint64_t memory_bytes;
    /* The granularity of mappings (cuMemGetAllocationGranularity, minimum): a power of two, or
     * 0. */
    uint64_t granularity_bytes;
    int32_t priority_least, priority_greatest; /* stream priorities */
    uint32_t attribute_count; /* attributes[n] is CUdevice_attribute n; [0] unused */
    const int32_t *attributes;
    /* Behind the attributes. Bit n: kernels of this device may use memory of the n-th device, n
     * < 64. */
    uint64_t peers;
    uint32_t traits; /* CUDA_DEVICE_* of api/driver_open.h; at the end of WELCOME */
};

struct handshake_welcome {
    uint32_t major, minor;
    const char *build;
    const char *pool; /* the pool's identifier, equal for all servers of a pool */
    const char *node;
    int32_t driver_version; /* of the node's driver, as cuDriverGetVersion */
    uint32_t device_count;
    struct handshake_device *devices; /* owned by the caller: room for HANDSHAKE_DEVICES_MAX */
};

struct handshake_refused {
    int32_t result;     /* CUresult for the application */
    const char *reason; /* for people: cause and cure */
};

struct handshake_open {
    uint32_t device; /* index into WELCOME's list */
};

struct handshake_ticket {
    const char *address; /* "tcp://host:port" or tls, of the backend process */
    const char *local;   /* "shm:name" for programs on its machine; "": none */
    uint32_t ways;       /* further ways, HANDSHAKE_WAY_* */
    uint64_t process; /* equal numbers: the same process; the existing connection is to be used */
    uint8_t id[16];
    uint8_t key[32];
};

/* An address window: [base, base + bytes). bytes 0: none. In a client's proposal this means that
 * no range is free; in the server's answer, that the session is unpinned and the driver picks
 * the addresses. */
struct handshake_window {
    uint64_t base, bytes;
};

/* BULK: `device` is the connection's number, from 0, and the ticket came with ga_bulk_open. The
 * answer is an empty DATA_WELCOME; then only bytes of copies follow. */
enum handshake_kind { HANDSHAKE_DATA = 0, HANDSHAKE_SIDE = 1, HANDSHAKE_BULK = 2 };
#define HANDSHAKE_KINDS 3

/* The context that an application is about to use in a new session. It is made with the session,
 * which saves a round trip. handle 0: none. */
struct handshake_context {
    uint64_t handle;      /* as in ga_context_create */
    uint32_t kind, flags; /* as in ga_context_create */
    uint64_t block_bytes; /* bytes to map for it at the start of the window; 0: none */
};

/* Messages and forms that a client understands besides the answers to its calls. */
enum {
    HANDSHAKE_TAKES_OUTPUT = 1,     /* WIRE_OUTPUT */
    HANDSHAKE_TAKES_COMPRESSED = 2, /* compressed bulk (WIRE_BULK); of the server as well */
    HANDSHAKE_WANTS_COMPRESSED = 4, /* compressed bulk is wanted, whatever it costs; for tests */
    HANDSHAKE_TAKES_TRIM = 8,       /* WIRE_TRIM, so it may cache memory */
    HANDSHAKE_TAKES_NOTICES = 16,   /* WIRE_NOTICE on the data connection */
};

/* DATA_HELLO; also the values of SESSION_OPEN. */
struct handshake_data_hello {
    uint32_t magic, major, minor;
    uint32_t kind;   /* enum handshake_kind */
    uint32_t device; /* index into WELCOME's list */
    uint8_t application[16];
    uint8_t id[16];
    uint8_t key[32];
    struct handshake_window window; /* reserved by the client; zero unless kind is DATA */
    /* Minor 1, in the first hello of kind DATA: the signatures of the client's calls. */
    uint32_t signature_count;
    const struct api_signature *signatures;
    /* Minor 1. */
    struct handshake_context context;
    uint32_t takes; /* HANDSHAKE_TAKES_* */
};

/* Answer to DATA_HELLO, SESSION_OPEN and WINDOW. */
struct handshake_data_welcome {
    uint16_t session;               /* the number of this device in all later frames */
    struct handshake_window window; /* the proposal: agreed; else the server's proposal */
    /* Minor 1, in the answer to DATA_HELLO: ops of the client's calls that the server lacks. */
    uint32_t lacking_count;
    const uint16_t *lacking;
    /* Minor 1, once the window is agreed: the result of making the context. */
    bool context_made;      /* the server has tried; see `context_result` */
    int32_t context_result; /* CUresult */
    uint64_t block_bytes;   /* bytes that were mapped; 0: none, which is no error */
    uint32_t takes;         /* HANDSHAKE_TAKES_COMPRESSED */
    /* Minor 1: the most freed bytes of the device that the client may cache. */
    uint64_t client_cache_bytes;
};

/* Each pair writes a message and reads it. A reader returns GA_INVALID for bytes that are not
 * such a message; the struct is then unusable. */
#define HANDSHAKE_PAIR(name)                                                                       \
    void handshake_##name##_write(struct ga_writer *w, const struct handshake_##name *m);          \
    GA_CHECKED enum ga_status handshake_##name##_read(struct ga_reader *r,                         \
                                                      struct handshake_##name *m);
HANDSHAKE_PAIR(hello)
HANDSHAKE_PAIR(welcome)
HANDSHAKE_PAIR(refused)
HANDSHAKE_PAIR(open)
HANDSHAKE_PAIR(ticket)
HANDSHAKE_PAIR(data_hello)
HANDSHAKE_PAIR(data_welcome)
HANDSHAKE_PAIR(window)
#undef HANDSHAKE_PAIR

#endif
