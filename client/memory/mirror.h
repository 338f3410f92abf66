/* SPDX-License-Identifier: Apache-2.0 */
/* Mirrors: memory that the program and a device both use, which is managed memory, managed
 * variables and mapped pinned memory. The program has its copy here, the device has its own on the
 * server, mostly at the same address. The copies are made equal where CUDA says that one side sees
 * writes of the other: before work is sent that may use them, pages that the program has changed go
 * to the device; after a wait, pages that the device has changed come back.
 *
 * What a reader would get wrong: there are no page faults in this. A system call given such memory
 * would get EFAULT instead of a fault, and the program may have handlers of its own. Changes
 * are found by comparing with the base copy, which both sides had when they were last made equal.
 */
#ifndef CLIENT_MEMORY_MIRROR_H
#define CLIENT_MEMORY_MIRROR_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "api/cuda_names.h"
#include "base/list.h"
#include "client/call/call.h"

struct client_context;
struct client_memory;
struct client_physical;

/* Work in a stream that may use a mirror; `number` is that of the last such work. */
struct mirror_use {
    uint64_t context;        /* handle; 0: of several */
    uint64_t stream, number; /* the wire's handle */
};
#define MIRROR_USES   8u
#define MIRROR_MAPPED 0u

struct client_mirror {
    struct ga_list in_list;
    struct client_session *session;
    uint64_t context; /* handle: whose memory it is */
    uint64_t host, device, bytes;
    uint64_t block, block_bytes; /* the allocation that `device` is in; 0: none */
    /* Device memory mapped at the program's own address, for all devices of the server that have
     * asked (`asked`: a bit per ordinal). NULL: the mirror is of a block, or of a variable */
    struct client_physical *physical;
    uint64_t *asked;
    atomic_bool maybe_dirty; /* the program may have changed it since it was compared */
    bool fresh;              /* the device's copy is being made */
    unsigned attach; /* CU_MEM_ATTACH_* that it was allocated with; MIRROR_MAPPED: pinned memory */
    uint64_t stream; /* only this one uses it (the wire's handle); 0: any; or none: */
#define MIRROR_HOST_ONLY UINT64_MAX
    uint8_t *base_copy; /* what both sides last had in common */
    struct mirror_use uses[MIRROR_USES];
    unsigned use_count;
};

/* ---- mirror.c: making, finding and ending mirrors */

/* Makes a mirror in device memory of `context`: of the program's own bytes at `host`, or with host
 * 0 of new bytes that the program gets at the device's address. */
CUresult client_mirror_make(struct client_context *context, uint64_t host, uint64_t bytes,
                            unsigned attach, struct client_mirror **mirror);
/* Makes a mirror of a variable of a module, at `device` in that context, and at `host` for the
 * program in all contexts. CUDA_ERROR_NOT_SUPPORTED: other memory of the program is there. */
CUresult client_mirror_variable(struct client_context *context, uint64_t host, uint64_t device,
                                uint64_t bytes);
/* Copies the record of the mirror that contains an address of the program's: in `session`, or
 * (NULL) in any. False: there is none. */
bool client_mirror_at(uint64_t host, const struct client_session *session,
                      struct client_mirror *copy);
/* Finds a mirror by the device's address. */
bool client_mirror_on_device(uint64_t device, struct client_mirror *copy);
/* Replaces an address of the program's by the device's. False: it is no mirror's. */
bool client_mirror_translate(uint64_t *address);
/* Takes a mirror out of the list; the caller owns it. NULL: none of that kind begins there. */
struct client_mirror *client_mirror_take(uint64_t host, bool managed);
/* Ends a mirror; the program's bytes too, if they were made with it. */
void client_mirror_end(struct client_mirror *mirror);
/* Ends all mirrors of the context, whose device memory is gone. */
void client_mirrors_forget(const struct client_context *context);
/* Declares the only stream that uses a mirror (MIRROR_HOST_ONLY, 0: see `stream` above). */
void client_mirror_attach(uint64_t host, uint64_t stream);
/* Call when a kernel is launched in `stream` with these parameters. Mirrors that they name, and
 * that were attached to another stream or to none, may be used by any stream from now on: CUDA
 * calls such a launch undefined, and GPUs that need no attachment run it. */
void client_mirror_detach(const struct client_session *session, const void *params, uint32_t bytes,
                          uint64_t stream);

/* ---- mirror_pinned.c: pinned memory that a device uses by the program's address */

/* Call before the context's device uses the address: if pinned memory is there, makes its mirror,
 * or lets the device use the one that exists. */
CUresult client_mirror_need(struct client_context *context, uint64_t address);
/* Ends it, after waiting for work that may use it. */
void client_mirror_give(struct client_mirror *mirror);
/* For client_mirror_need: makes the mirror whose device memory `physical` is mapped at the host's
 * address. */
CUresult client_mirror_same(struct client_context *context, const struct client_memory *memory,
                            struct client_physical *physical);
/* Records that a device uses the mirror that begins at `host`. */
void client_mirror_ask(const struct client_session *session, uint64_t host, int ordinal);
static inline bool client_mirror_asked(const struct client_mirror *mirror, int ordinal)
{
    return (mirror->asked[ordinal / 64] >> ordinal % 64 & 1) != 0;
}

/* ---- mirror_sync.c: making both copies equal. Call these before the call itself begins. */

/* Call before work is sent to the stream that may use everything on its device. client_call_post
 * notes the use when it has been sent. */
CUresult client_mirrors_before(struct client_call *call, uint64_t stream);
/* As client_mirrors_before, for work in any stream that uses only memory at this device address. */
CUresult client_mirrors_before_range(struct client_call *call, uint64_t device);
/* The sequence point of a wait: work sent before this call. Call before the wait is sent. */
uint64_t client_mirrors_mark(void);
/* Call after a wait for a stream, or with MIRROR_ALL for all work of the context. */
#define MIRROR_ALL UINT64_MAX
CUresult client_mirrors_after(struct client_context *context, uint64_t stream, uint64_t mark);
/* Reads the device's copy of a word of 4 or 8 bytes at an address of the program's; the program's
 * copy does not change. False: no work uses it, or it cannot be read. */
bool client_mirror_peek(struct client_context *context, uint64_t host, unsigned bytes,
                        uint64_t *word);
/* Marks all mirrors maybe dirty: the next time all are compared. */
void client_mirrors_show(void);
/* Sends all changes of the program, whether work follows or not. */
CUresult client_mirrors_send(struct client_context *context);

/* ---- mirror_sync.c, for mirror.c */

/* Fills the device's copy with zeros. */
CUresult client_mirror_clear(struct client_context *context, const struct client_mirror *mirror);

/* Fetches the device's copy; if the program has no copy yet, it gets this one. */
CUresult client_mirror_read(struct client_context *context, struct client_mirror *mirror,
                            bool show);

#endif
