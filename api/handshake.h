/* SPDX-License-Identifier: Apache-2.0 */
/* Who are you, what have you, may I: the messages before the first call.
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
 * A client that has no choice of devices sends the first OPEN right behind HELLO, and both
 * connections to the backend process begin at once: four round trips lead to a context.
 * The control connection stays open for the client's life: its end ends the application.
 * Strings and arrays in a read struct are borrowed from the message. Within a protocol major fields
 * are only ever added at the end of a message: a reader leaves alone what a newer peer has added,
 * and takes what an older one has not sent as zero. */
#ifndef API_HANDSHAKE_H
#define API_HANDSHAKE_H

#include <stdbool.h>
#include <stdint.h>

#include "api/signatures.h"
#include "base/cursor.h"
#include "base/status.h"

#define HANDSHAKE_WAY_RDMA        1u /* at `address`, data connections may ask for RDMA */
#define HANDSHAKE_DEVICES_MAX     1024u
#define HANDSHAKE_ATTRIBUTES_MAX  512u
#define HANDSHAKE_STRING_MAX      1024u
#define HANDSHAKE_WINDOW_ROUNDS   3u                  /* proposals after the first, at most */
#define HANDSHAKE_GRANULARITY_MAX (UINT64_C(1) << 30) /* drivers say 2 MiB */

struct handshake_hello {
    uint32_t magic, major, minor;
    uint8_t application[16]; /* random, one per client process */
    uint32_t pid;
    const char *build;   /* version of the sender's build */
    const char *program; /* for people: argv[0] of the application */
    const char *token;   /* NULL: none */
};

/* Facts about one device, taken from the driver once and answered by the client from then on. */
struct handshake_device {
    const char *name;
    uint8_t uuid[16];
    uint64_t memory_bytes;
    /* Of one mapping (cuMemGetAllocationGranularity, minimum): a power of two, or 0. */
    uint64_t granularity_bytes;
    int32_t priority_least, priority_greatest; /* stream priorities */
    uint32_t attribute_count; /* attributes[n] is CUdevice_attribute n; [0] unused */
    const int32_t *attributes;
    /* Behind those: bit n: kernels of this device may use memory of the n-th, n < 64. */
    uint64_t peers;
    uint32_t traits; /* CUDA_DEVICE_*, of api/driver_open.h; they stand at the end of WELCOME */
};

struct handshake_welcome {
    uint32_t major, minor;
    const char *build;
    const char *pool; /* pool id: two servers of one pool give the same */
    const char *node;
    int32_t driver_version; /* of the node's driver, as cuDriverGetVersion */
    uint32_t device_count;
    struct handshake_device *devices; /* owned by the caller: room for HANDSHAKE_DEVICES_MAX */
};

struct handshake_refused {
    int32_t result;     /* CUresult that the application shall see */
    const char *reason; /* for people: cause and cure */
};

struct handshake_open {
    uint32_t device; /* index into WELCOME's list */
};

struct handshake_ticket {
    const char *address; /* "tcp://host:port" or tls, of the backend process */
    const char *local;   /* "shm:name" for programs on its machine; "": there is none */
    uint32_t ways;       /* HANDSHAKE_WAY_*, besides */
    uint64_t process;    /* the same number: the same process, use the connection that is there */
    uint8_t id[16];
    uint8_t key[32];
};

/* An address window: [base, base + bytes). bytes 0: none. As a client's proposal that is: it has no
 * range free; as the server's answer: the session is unpinned, addresses come from the driver. */
struct handshake_window {
    uint64_t base, bytes;
};

/* BULK: `device` is the connection's number, from 0, and the ticket came with ga_bulk_open. The
 * answer is an empty DATA_WELCOME; behind it are only bytes of copies. */
enum handshake_kind { HANDSHAKE_DATA = 0, HANDSHAKE_SIDE = 1, HANDSHAKE_BULK = 2 };
#define HANDSHAKE_KINDS 3

/* The context that an application is about to use on a new session: made with the session, so that
 * it costs no exchange of its own. handle 0: none. */
struct handshake_context {
    uint64_t handle;      /* as in ga_context_create */
    uint32_t kind, flags; /* the same */
    uint64_t block_bytes; /* to be mapped for it at the start of the window; 0: none */
};

/* What a client understands beside the answers to its calls. */
enum {
    HANDSHAKE_TAKES_OUTPUT = 1,     /* WIRE_OUTPUT */
    HANDSHAKE_TAKES_COMPRESSED = 2, /* bulk that is compressed (WIRE_BULK); also of the server */
    HANDSHAKE_WANTS_COMPRESSED = 4, /* and rather that, whatever it costs; for tests */
    HANDSHAKE_TAKES_TRIM = 8,       /* WIRE_TRIM, and so it may keep memory */
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
    /* Minor 1, in the first hello of kind DATA: the calls that the client knows. */
    uint32_t signature_count;
    const struct api_signature *signatures;
    /* Minor 1. */
    struct handshake_context context;
    uint32_t takes; /* HANDSHAKE_TAKES_* */
};

/* Answer to DATA_HELLO, SESSION_OPEN and WINDOW. */
struct handshake_data_welcome {
    uint16_t session;               /* number in the frames of this device from now on */
    struct handshake_window window; /* equal to the proposal: agreed; else the server's proposal */
    /* Minor 1, in the answer to DATA_HELLO: ops of the client's calls that the server lacks. */
    uint32_t lacking_count;
    const uint16_t *lacking;
    /* Minor 1, once the window is agreed: what became of the context. */
    bool context_made;      /* the server has tried; `context_result` says more */
    int32_t context_result; /* CUresult */
    uint64_t block_bytes;   /* mapped; 0: not, which is no error */
    uint32_t takes;         /* HANDSHAKE_TAKES_COMPRESSED */
    /* Minor 1: bytes of the device's memory that the client may keep when they are freed. */
    uint64_t client_cache_bytes;
};

/* Each pair: write into a message, read from one. A reader answers GA_INVALID for bytes that are
 * no such message; the struct is then not usable. */
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
