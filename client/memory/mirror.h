/* Memory that the program and a device use both: managed memory, managed variables, mapped pinned
 * memory. The program has its bytes here, the device its own on the server: two copies, mostly at
 * the same address, which are made equal where CUDA says that one side sees what the other has
 * done. Before work is sent that may use them, pages that the program has changed go to the device;
 * after a wait, pages that the device has changed come back.
 *
 * What a reader would get wrong: there are no page faults in this. A system call given such memory
 * would get EFAULT instead of a fault, and the program may have handlers of its own. What has
 * changed is found by comparing with a third copy, the one that both sides last agreed on. */
#ifndef CLIENT_MEMORY_MIRROR_H
#define CLIENT_MEMORY_MIRROR_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "api/cuda_names.h"

struct client_call;
struct client_context;
struct client_memory;
struct client_physical;

/* Work in a stream that may use a mirror, the last of it with that number. */
struct mirror_use {
    uint64_t context;        /* handle; 0: of several */
    uint64_t stream, number; /* the wire's handle */
};
#define MIRROR_USES   8u
#define MIRROR_MAPPED 0u

struct client_mirror {
    struct client_mirror *next;
    struct client_session *session;
    uint64_t context; /* handle: whose memory it is */
    uint64_t host, device, bytes;
    uint64_t block; /* the allocation that `device` is in; 0: none */
    /* What is mapped at the program's own address, for all devices of the server that have asked (a
     * bit per ordinal); NULL: a block, or a variable of a module */
    struct client_physical *physical;
    uint64_t *asked;
    atomic_bool shown; /* the program may have changed it since it was compared */
    bool fresh;        /* the device's copy is being made */
    unsigned attach; /* CU_MEM_ATTACH_* that it was allocated with; MIRROR_MAPPED: pinned memory */
    uint64_t stream; /* only this one uses it (the wire's handle); 0: any; or none: */
#define MIRROR_HOST_ONLY UINT64_MAX
    uint8_t *agreed; /* what both had when they were last made equal */
    struct mirror_use uses[MIRROR_USES];
    unsigned use_count;
};

extern atomic_uint client_mirror_count;

/* Whether there is any: all that a program without such memory pays for. */
static inline bool client_mirrors_some(void)
{
    return atomic_load_explicit(&client_mirror_count, memory_order_relaxed) != 0;
}

/* ---- mirror.c: which there are */

/* Device memory of `context` for the program's own bytes at `host`, or with host 0 for bytes that
 * the program gets at the device's address. */
CUresult client_mirror_make(struct client_context *context, uint64_t host, uint64_t bytes,
                            unsigned attach, struct client_mirror **mirror);
/* For a variable of a module, at `device` in that context, and at `host` for the program in all
 * contexts. CUDA_ERROR_NOT_SUPPORTED: something else of the program's is there. */
CUresult client_mirror_variable(struct client_context *context, uint64_t host, uint64_t device,
                                uint64_t bytes);
/* What is known of the one that holds an address of the program's, in `session` if there is one;
 * NULL: in any. False: none does. */
bool client_mirror_at(uint64_t host, const struct client_session *session,
                      struct client_mirror *copy);
/* Likewise by the device's address. */
bool client_mirror_on_device(uint64_t device, struct client_mirror *copy);
/* Replaces an address of the program's by the device's. False: it is no mirror's. */
bool client_mirror_translate(uint64_t *address);
/* Takes it out: it is the caller's. NULL: none of that kind begins there. */
struct client_mirror *client_mirror_take(uint64_t host, bool managed);
/* The program's bytes go too, if they came with it. */
void client_mirror_end(struct client_mirror *mirror);
/* All that belongs to the context, whose memory is gone. */
void client_mirrors_forget(const struct client_context *context);
/* A stream is to be the only one that uses it (MIRROR_HOST_ONLY, 0: see above). */
void client_mirror_attach(uint64_t host, uint64_t stream);
/* A kernel is launched in `stream` with these parameters. What they name that was to be used by no
 * other stream, or by none, any stream may use from now on: CUDA calls such a launch undefined, and
 * on a GPU that needs no such promise it works. */
void client_mirror_detach(const struct client_session *session, const void *params, uint32_t bytes,
                          uint64_t stream);

/* ---- mirror_pinned.c: pinned memory that a device uses by the program's address */

/* The device of the context is about to use what is there, if it is such memory. */
CUresult client_mirror_need(struct client_context *context, uint64_t address);
/* Waits for what may use it. */
void client_mirror_give(struct client_mirror *mirror);
/* Device memory at the host's address: what client_mirror_need has made. */
CUresult client_mirror_same(struct client_context *context, const struct client_memory *memory,
                            struct client_physical *physical);
/* A device of the mirror that begins at `host` uses it from now on. */
void client_mirror_ask(const struct client_session *session, uint64_t host, int ordinal);
static inline bool client_mirror_asked(const struct client_mirror *mirror, int ordinal)
{
    return (mirror->asked[ordinal / 64] >> ordinal % 64 & 1) != 0;
}

/* ---- mirror_sync.c: making them equal. The call that does it has not begun yet. */

/* The call is about to send work to the stream that may use everything on its device. When it has
 * been sent, client_call_post tells client_mirrors_sent. */
CUresult client_mirrors_before(struct client_call *call, uint64_t stream);
/* The same for work that uses the memory at this address of the device, in any stream. */
CUresult client_mirrors_before_range(struct client_call *call, uint64_t device);
void client_mirrors_sent(struct client_call *call);
/* To be asked for before a wait is sent: what is sent until now is what the wait is for. */
uint64_t client_mirrors_mark(void);
/* A wait has ended: of a stream, or with MIRROR_ALL of all that the context does. */
#define MIRROR_ALL UINT64_MAX
CUresult client_mirrors_after(struct client_context *context, uint64_t stream, uint64_t mark);
/* What the device has in a word of 4 or 8 bytes, at an address of the program's; its own does not
 * change. False: no work may use it, or it cannot be asked for. */
bool client_mirror_peek(struct client_context *context, uint64_t host, unsigned bytes,
                        uint64_t *word);
/* The program may have changed any of them: the next time all are looked at. */
void client_mirrors_show(void);
/* Sends what the program has changed, work or not. */
CUresult client_mirrors_send(struct client_context *context);

#endif
