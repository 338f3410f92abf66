/* SPDX-License-Identifier: Apache-2.0 */
/* Between gpuaasd and its backend processes: packets over a socketpair that keeps their bounds
 * (SOCK_SEQPACKET). Both ends are one program, so structs travel as they are.
 *
 *   gpuaasd                              backend process
 *     SETUP -------------------------------> <--------------------- WARM, or FAILED     its driver
 *     is open: it serves nobody yet APPLICATION -------------------------> the application, and its
 *     seat <------ READY (its address), or FAILED TICKET ------------------------------>     one
 *     for each device that the client opens <-------------------------------- IDLE     no session,
 *     no ticket that is still good <------------------------------ SERVED     its data and side
 *     connections are open ALONE ------------------------------->     its control connection has
 *     ended: SERVED, please,
 *                                                if the others have not; IDLE, if there are none
 *     <------------------------------- BOUND     a device is open: a session
 *     VOID -------------------------------->     tickets for this GPU that nobody has shown yet
 *     <-------------------------------- VOID     are worth nothing any more; or one has been shown
 *     LEAVE ------------------------------->     the application at this seat is to end
 *     <------------------------------- ENDED     it has, and the seat is free
 *     LIMITS ------------------------------>     what holds from now on for the one at this seat
 *     TURNS ------------------------------->     from now on its sessions ask for turns
 *     <--------------------------- FORBIDDEN     it has made a call that its sandbox ends it for
 *     <-------------------------------- FACTS    a probe: one for each device, then it exits
 *     <------------------------------ CHECKED    the same of a check (health.h)
 *     <----------------------------- REQUEST     memory that applications share, images
 *     REQUEST ---------------------------->     (images.h), perhaps with a descriptor; and the
 *                                                answer, likewise; or, unasked, that others lack
 *                                                memory, or that
 *     <----------------------------- REQUEST     one opens what this one shares: the descriptor
 *     NOTICE ------------------------------>     a text for the program's user
 *
 * A process may serve several applications; each has a seat, a small number that gpuaasd chooses.
 *
 * The channel holds some hundred packets, and neither end waits for the other. An end that finds it
 * full either lets the packet wait (channel_queue.h), or remembers what is to be said when there is
 * room (gpuaasd: APPLICATION, LEAVE, LIMITS, RECALL, TURNS and TICKET), or says it again later
 * (ALONE, IDLE). backend/outbox.h and processes/backend_process.h have the rest.
 *
 * Either end's death is the other's end of file. */
#ifndef SERVER_CHANNEL_H
#define SERVER_CHANNEL_H

#include <stdbool.h>
#include <stdint.h>

#include "api/handshake.h"
#include "api/limits.h"
#include "api/wire.h"
#include "base/status.h"
#include "conf/conf.h"
#include "transport/transport.h"

#define CHANNEL_FD         3 /* the backend process's end */
#define CHANNEL_TEXT_MAX   256u
#define CHANNEL_TENANT_MAX 65u
#define CHANNEL_KEY_BYTES  32u
#define CHANNEL_SEATS      8u /* of a process */
#define CHANNEL_GROUPS_MAX 32u
/* Memory and events that one application lets others use, at most. For each of memory its backend
 * process keeps a descriptor. */
#define CHANNEL_SHARES_MAX 1024u
/* Memory of others that an application may have open at a time. */
#define CHANNEL_OPENINGS_MAX 65536u
/* The amount that is lent at a time, where so much is left; and where nothing limits it: a piece
 * that no application uses up. */
#define CHANNEL_GRAIN_BYTES   (UINT64_C(64) << 20)
#define CHANNEL_GRAIN_OBJECTS UINT64_C(256)
#define CHANNEL_BOUNDLESS     (UINT64_C(1) << 40)

enum channel_kind {
    CHANNEL_SETUP = 1,
    CHANNEL_READY,
    CHANNEL_FAILED,
    CHANNEL_TICKET,
    CHANNEL_IDLE,
    CHANNEL_FACTS,
    CHANNEL_WARM,
    CHANNEL_APPLICATION,
    CHANNEL_REQUEST,
    CHANNEL_LEAVE,
    CHANNEL_ENDED,
    CHANNEL_FORBIDDEN,
    CHANNEL_SERVED,
    CHANNEL_ALONE,
    CHANNEL_NOTICE,
    CHANNEL_LIMITS,
    CHANNEL_CHECKED,
    CHANNEL_TURNS,
    CHANNEL_BOUND,
    CHANNEL_VOID,
};

/* The purpose of a process. */
enum channel_probe { CHANNEL_SERVES, CHANNEL_PROBE_FACTS, CHANNEL_PROBE_CHECK };

enum channel_verb {
    CHANNEL_SHARE = 1,
    CHANNEL_OPEN,
    CHANNEL_WITHDRAW,
    CHANNEL_FETCH, /* from gpuaasd, with a number of its own; and the answer, with the descriptor */
    /* To gpuaasd: the others on the GPU `address` (an index into the list that clients see) shall
     * return cached memory (`bytes` 1), or have been asked to (0); the answer's `bytes`: 1: not all
     * of them have. From gpuaasd, with number 0: return cached memory. */
    CHANNEL_TRIM,
    CHANNEL_TRIMMED, /* it has been done */
    /* Images of modules (processes/images.h): `key` is the name, `bytes` the size. KEEP has the
     * descriptor of one, and no answer. The answer to FIND has it, or CUDA_ERROR_NOT_FOUND. */
    CHANNEL_IMAGE_KEEP,
    CHANNEL_IMAGE_FIND,
    /* The limits of a tenant are lent in amounts to the backend processes of its applications
     * (lender.h); `what` is an enum channel_lent, `address` a GPU as in TRIM, in the words of
     * gpuaasd. LEND: `bytes` are wanted, and the process returns `offset` that it has not used. The
     * answer: `bytes` are lent; or CUDA_ERROR_OUT_OF_MEMORY with the limit (`what`: an enum limit),
     * what is used of it (`offset`) and what is allowed (`mapping_bytes`). RETURN: the process has
     * no use of `bytes`. No answer. RECALL, from gpuaasd, with a number of its own: return all that
     * is not used of the kinds whose bits `bytes` has; the answer comes when that has been done.
     * ROOM: what the limits leave beside what others have: on all GPUs (`bytes`), and on the GPU
     * `address` (`offset`); with `mapping_bytes` 1 that stays so until struct figures_tenant
     * (figures.h) tells of a change that is not the process's own; `changes` is what it told when
     * this was found. The first answer to LEND or ROOM of a tenant with limits of device memory
     * says by `opening` 1 that it brings the descriptor of that memory. The first things that
     * a session needs come unasked, with the number 0 (lender_offer). */
    CHANNEL_LEND,
    CHANNEL_RETURN,
    CHANNEL_RECALL,
    CHANNEL_ROOM,
    CHANNEL_CLOSE, /* what OPEN has given (`opening`) is not open any more, or has never been */
};
/* The kinds of lent amounts. Objects have no bytes: they are counted. */
enum channel_lent {
#define LENT(kind, limit, figure, grain, text) CHANNEL_LENT_##kind,
#include "server/lent.def"
#undef LENT
    CHANNEL_LENT_KINDS
};
/* The receivers of TRIM: all that use the GPU, or the tenant's own. */
enum channel_trim { CHANNEL_TRIM_ALL, CHANNEL_TRIM_TENANT };
enum channel_what {
    CHANNEL_MEMORY = 1,
    CHANNEL_EVENT, /* by the driver's handle */
    CHANNEL_PHYSICAL,
    CHANNEL_EVENT_FILE, /* by a descriptor */
};

/* The user that a process runs as once its driver is open. */
struct channel_identity {
    uint32_t change; /* 0: the one that has started it */
    uint32_t uid, gid, group_count;
    uint32_t groups[CHANNEL_GROUPS_MAX];
};

struct channel_setup {
    uint32_t kind;
    uint32_t probe; /* enum channel_probe; to report on the devices, and exit */
    enum conf_driver driver;
    char driver_path[CONF_TEXT_MAX]; /* empty: the driver's usual place */
    struct conf_backend conf;
    uint32_t tls;   /* 1: applications may come by TLS */
    uint32_t meter; /* 1: GPU time is measured */
    uint32_t turns; /* 1: sessions ask for turns on their GPUs (grants.h) from the start */
    struct channel_identity identity;
    uint32_t seats;        /* applications that it may have to serve at once */
    uint32_t outlives;     /* 1: it goes on when its applications have ended */
    uint32_t device_count; /* GPUs of this driver */
    struct {
        uint32_t device;  /* index into the list that clients see; probe: into the configuration */
        uint32_t ordinal; /* in the driver */
        uint64_t context_bytes; /* as in FACTS */
    } devices[CONF_GPUS_MAX];
};

/* WARM and TURNS. */
struct channel_bare {
    uint32_t kind;
};

struct channel_application {
    uint32_t kind;
    uint32_t seat;
    uint8_t id[16];
    char bind_host[CONF_TEXT_MAX];     /* where to listen */
    bool tls;                          /* and whether with tls, by tickets */
    char client[TRANSPORT_PEER_BYTES]; /* its address, for the log */
    uint32_t tenant;                   /* its number, which no other tenant has had */
    char tenant_name[CHANNEL_TENANT_MAX];
    char user[CHANNEL_TENANT_MAX]; /* of the tenant; "": not known */
    /* The limits of the tenant, for all its applications together, or of the user, where `own` has
     * the limit's bit. */
    struct limits limits;
    uint32_t own;
    struct limits shown; /* as they were when the program was told of its devices */
    uint64_t began_ns;   /* when its first session has begun (ga_clock_ns); 0: this will be it */
    /* Bit n: of the kind n (enum channel_lent) CHANNEL_BOUNDLESS is lent from the start; of device
     * memory, on each GPU. */
    uint32_t boundless;
    uint32_t gpu_count; /* in the list that clients see: those of which device memory is lent */
};

struct channel_ready {
    uint32_t kind;
    uint32_t seat;
    char url[CHANNEL_TEXT_MAX + 16];
    char local[CHANNEL_TEXT_MAX]; /* "shm:name", or empty */
    uint32_t ways;                /* HANDSHAKE_WAY_* */
};

struct channel_failed {
    uint32_t kind;
    uint32_t seat;  /* CHANNEL_SEATS: the process has failed, not an application */
    int32_t result; /* CUresult for the client */
    char reason[2 * CHANNEL_TEXT_MAX];
};

struct channel_ticket {
    uint32_t kind;
    uint32_t device; /* index into the list that clients see */
    uint32_t gpu;    /* that serves it; an index of the same kind */
    uint32_t seat;
    uint8_t application[16]; /* whose it is */
    uint8_t id[16];
    uint8_t key[32];
};

struct channel_idle {
    uint32_t kind;
    uint32_t seat;
    uint32_t tickets; /* how many have arrived: one that has not is why IDLE comes too early */
};

/* SERVED, ALONE, LEAVE and ENDED. */
struct channel_seat {
    uint32_t kind;
    uint32_t seat;
};

/* BOUND, which has the seat and the GPU alone, and VOID. */
struct channel_claim {
    uint32_t kind;
    uint32_t seat;
    uint32_t gpu;     /* an index into the list that clients see */
    uint32_t tickets; /* how many gpuaasd had given out; the answer has it, too */
    uint32_t used;    /* of an answer: 1: a ticket for the GPU has been shown */
};

struct channel_notice {
    uint32_t kind;
    uint32_t seat;
    uint32_t notice; /* enum wire_notice */
    char text[WIRE_NOTICE_MAX + 1];
};

struct channel_limits {
    uint32_t kind;
    uint32_t seat;
    struct limits limits;
    uint32_t own; /* as in channel_application */
};

struct channel_forbidden {
    uint32_t kind;
    int32_t call; /* number of the system call */
};

struct channel_facts {
    uint32_t kind;
    uint32_t device; /* as in SETUP */
    char name[CHANNEL_TEXT_MAX];
    uint8_t uuid[16];
    uint64_t memory_bytes, granularity_bytes;
    uint64_t context_bytes; /* of its memory that a context takes; 0: none, or it is not known */
    int32_t priority_least, priority_greatest;
    int32_t driver_version;
    uint32_t traits;
    uint64_t peers; /* bit n: kernels may use memory of the device n of SETUP, n < 64 */
    uint32_t attribute_count;
    int32_t attributes[HANDSHAKE_ATTRIBUTES_MAX];
};

struct channel_checked {
    uint32_t kind;
    uint32_t device;               /* as in SETUP */
    char reason[CHANNEL_TEXT_MAX]; /* why it cannot be used; "": it can */
};

struct channel_request {
    uint32_t kind;
    uint32_t seat;   /* whose request it is */
    uint32_t number; /* the answer has it, too */
    uint32_t verb, what;
    int32_t result;                 /* CUresult; of an answer */
    uint8_t key[CHANNEL_KEY_BYTES]; /* OPEN, FETCH; and the answer to SHARE */
    /* MEMORY: its address in the owner, and its offset in the mapping that the descriptor is of.
     * WITHDRAW: everything that begins in [address, address + bytes). PHYSICAL and events, which
     * have no address: the owner's handle, and the bytes of PHYSICAL. WITHDRAW with
     * `mapping_bytes`: the memory of so many bytes at `address` has been freed; in the answer: so
     * much of it is charged to others from now on. */
    uint64_t address, bytes, offset, mapping_bytes;
    uint8_t event[64]; /* CUipcEventHandle */
    /* The opening of memory that another application has made: a number from the answer to OPEN,
     * for CLOSE, and for SHARE of the same memory. 0: none. */
    uint64_t opening;
    uint64_t changes; /* the answer to ROOM */
    uint32_t gpu;     /* SHARE of memory: where it lies, an index into the list that clients see */
};

union channel_packet {
    uint32_t kind;
    struct channel_setup setup;
    struct channel_bare bare;
    struct channel_application application;
    struct channel_ready ready;
    struct channel_failed failed;
    struct channel_ticket ticket;
    struct channel_idle idle;
    struct channel_seat seat;
    struct channel_claim claim;
    struct channel_notice notice;
    struct channel_forbidden forbidden;
    struct channel_limits limits;
    struct channel_facts facts;
    struct channel_checked checked;
    struct channel_request request;
};

/* Sends one packet; never blocks. GA_AGAIN: the other end does not read. */
GA_CHECKED enum ga_status channel_send(int fd, const void *packet, size_t size);
/* As channel_send, with a descriptor (-1: none), which stays the caller's. */
GA_CHECKED enum ga_status channel_send_with(int fd, const void *packet, size_t size, int passed);
/* Receives one packet without waiting. GA_LOST: the other end is gone or sends nonsense. */
GA_CHECKED enum ga_status channel_receive(int fd, union channel_packet *packet);
/* As channel_receive; `passed`: the descriptor that came with a REQUEST, the caller's; -1: none. */
GA_CHECKED enum ga_status channel_receive_with(int fd, union channel_packet *packet, int *passed);
/* The seat that the packet is about; CHANNEL_SEATS: it is about the process. */
uint32_t channel_packet_seat(const union channel_packet *packet);

#endif
