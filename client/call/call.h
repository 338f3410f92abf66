/* SPDX-License-Identifier: Apache-2.0 */
/* A call on its way: what generated stubs and hand-written calls share.
 *
 * client_call_enter: is there a context, is it alive.
 * client_NOUN_check, by the file of the noun: handles become what the wire carries; an explicit
 * stream, event or module of another context sends the call there (as CUDA does).
 * client_call_begin: locks the sender and lends call.writer; nothing may wait from here on.
 * client_call_post: sends; or client_call_wait, then client_call_end. With bytes of the program's
 * memory: payload.h. */
#ifndef CLIENT_CALL_CALL_H
#define CLIENT_CALL_CALL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/calls.h"
#include "api/cuda_names.h"
#include "base/cursor.h"
#include "base/handle.h"
#include "client/conn/conn.h"

struct client_context;
struct client_session;
struct client_call;

/* How many mirrors there are (memory/mirror.h counts). A program without them pays for this load
 * alone. */
extern atomic_uint client_mirror_count;

static inline bool client_mirrors_some(void)
{
    return atomic_load_explicit(&client_mirror_count, memory_order_relaxed) != 0;
}

/* The mirrors that a call uses. */
struct client_call_mirrors {
    void (*sent)(struct client_call *call); /* to be called when it has been sent; NULL: none */
    bool all;                               /* everything that the stream may use */
    bool later;          /* client_call_sent is still to be called: pieces have not left */
    uint64_t stream;     /* of `all` */
    uint64_t devices[2]; /* else: addresses; 0: none */
};

struct client_call {
    struct client_context *context; /* NULL: none is current, and no handle has been checked yet */
    struct client_session *session; /* of a call without a context; else NULL */
    struct client_conn *conn;
    uint16_t op;
    CUresult missing; /* why the context is NULL */
    bool routed;      /* a handle has decided where the call runs */
    struct client_call_mirrors mirrors;
    bool bare; /* names its context itself; the connection's current context stays */
    struct ga_writer writer;
    struct pending_reply *record; /* between wait and end */
    uint64_t sequence;            /* of the last call that was sent; 0: none */
    bool lends;                   /* the next call uses the program's memory until it is done */
    bool brief;                   /* it leaves work that ends by itself and soon */
    uint64_t stream;              /* that it names, as client_conn_facts.lasting_in; 0: not known */
};

/* Begins a call in the current context. */
CUresult client_call_enter(struct client_call *call, uint16_t op);
/* Begins a call whose handle has a context, so that no current one is needed. client_stream_check
 * reports the missing one if the stream is only a name (the default streams). */
CUresult client_call_enter_handle(struct client_call *call, uint16_t op);
/* Begins a call in a given context, which need not be current. */
CUresult client_call_enter_in(struct client_call *call, uint16_t op,
                              struct client_context *context);

/* Begins a call of a device, without a context: late errors are left for the contexts. */
CUresult client_call_enter_session(struct client_call *call, uint16_t op,
                                   struct client_session *session);

/* Logs once that `what` between devices of different servers is not supported. */
CUresult client_call_between_nodes(const char *what);

/* After exit() has begun, calls that release resources do nothing. */
bool client_call_exiting(void);

CUresult client_context_check(struct client_call *call, CUcontext handle, uint64_t *wire);
CUresult client_device_check(struct client_call *call, CUdevice ordinal, int32_t *wire);
/* For the checks: the call names an object of this context. The first such object decides where the
 * call runs. */
CUresult client_call_route(struct client_call *call, struct client_context *context);

/* Makes the handle of a new object in the call's context. */
CUresult client_handle_make(struct client_call *call, enum ga_handle_type type, uint64_t *wire);
void client_handle_drop(uint64_t wire);

/* Whether the server's build lacks this call. */
bool client_call_lacking(const struct client_call *call);
/* `bound`: bytes of values at most. On failure nothing is locked. */
CUresult client_call_begin(struct client_call *call, size_t bound);
CUresult client_call_post(struct client_call *call);
/* Post with bulk bytes behind the values; they have been read when it returns. */
CUresult client_call_post_bulk(struct client_call *call, const void *from, uint64_t bytes);
/* As begin; but it waits until a bulk connection is free, and the call begins with the prefix. */
CUresult client_call_begin_out_of_band(struct client_call *call, size_t bound);
/* Puts WIRE_BULK in front of the call: its bytes come over this bulk connection (0: none),
 * compressed to `packed` bytes (0: plain). */
void client_call_prefix(struct client_call *call, size_t bound, unsigned connection,
                        uint32_t compressed);
/* Post with bulk bytes through the bulk connection that begin_out_of_band has found: see
 * client_conn_send_out_of_band. When they have left, the caller must call client_call_sent. */
CUresult client_call_post_out_of_band(struct client_call *call, const void *from, uint64_t bytes,
                                      struct conn_out_of_band *out_of_band);
/* Call after sending: accounts for the call's writes into mirrors. May wait for the server. */
void client_call_sent(struct client_call *call);
/* Room for bulk bytes inside the buffer, behind the values; the bound of begin included them. The
 * caller fills it and posts. */
uint8_t *client_call_bulk_room(struct client_call *call, uint64_t bytes);
/* Post, and expect an answer that no thread waits for. */
CUresult client_call_post_expect(struct client_call *call, const struct reply_action *want);
/* Waits. CUDA_SUCCESS: the reader is at the results. A late error of the context takes the place of
 * success, and of errors that follow from it. The caller must call client_call_end in any case. */
CUresult client_call_wait(struct client_call *call, struct ga_reader *reader);
/* As client_call_wait. `want`: what the answer does besides; `keep_late`: late errors are left for
 * a later call; `from`: bulk (NULL: none). The results can be read also after an error. */
CUresult client_call_wait_want(struct client_call *call, const struct reply_action *want,
                               bool keep_late, const void *from, uint64_t bytes,
                               struct ga_reader *reader);
/* client_call_wait_want in two halves, so that several calls can be under way before one waits. */
CUresult client_call_start(struct client_call *call, const struct reply_action *want,
                           const void *from, uint64_t bytes);
CUresult client_call_finish(struct client_call *call, bool keep_late, struct ga_reader *reader);
CUresult client_call_broken(struct client_call *call);
void client_call_end(struct client_call *call);

#endif
