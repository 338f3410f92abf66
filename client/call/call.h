/* A call on its way: what generated stubs and hand-written calls share.
 *
 * client_call_enter: is there a context, is it alive.
 * client_*_check: handles become what the wire carries; an explicit stream, event or module of
 * another context sends the call there (as CUDA does).
 * client_call_begin: locks the sender and lends call.writer; nothing may wait from here on.
 * client_call_post: sends; or client_call_wait, then client_call_end. With bytes of the program's
 * memory: payload.h. */
#ifndef CLIENT_CALL_CALL_H
#define CLIENT_CALL_CALL_H

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
struct client_stream;
struct client_event;

/* What a call uses of memory that is the program's and a device's (mirror.h). */
struct client_call_mirrors {
    bool some, all;      /* all: everything that the stream may use */
    bool later;          /* client_call_sent is still to come: pieces have not left */
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
    bool bare; /* it names its context itself: the current one of the connection stays */
    struct ga_writer writer;
    struct pending_reply *record; /* between wait and end */
    uint64_t sequence;            /* of the last call that was made of it; 0: none */
    bool lends; /* the program's memory, until it is done; for the next call made */
};

/* What a call leaves to be done on a GPU: nothing, so that what was done before it still is; what
 * ends by itself and soon, tells the program nothing and uses none of its memory; anything else. */
enum client_work { WORK_NONE, WORK_SHORT, WORK_LASTING };
enum client_work client_work_of(const struct client_call *call);

/* A reply that cannot be read is the end of the connection. */
CUresult client_call_enter(struct client_call *call, uint16_t op);
/* The same for a call with a handle that has a context: it needs no current one, which is then
 * missed by client_stream_check if the stream is only a name. */
CUresult client_call_enter_handle(struct client_call *call, uint16_t op);
/* The same in a given context, which need not be current. */
CUresult client_call_enter_in(struct client_call *call, uint16_t op,
                              struct client_context *context);

/* A call of a device, whatever its contexts are: late errors stay for them. */
CUresult client_call_enter_session(struct client_call *call, uint16_t op,
                                   struct client_session *session);

/* Says once that `what` between devices of different servers is not supported. */
CUresult client_call_between_nodes(const char *what);

/* After exit() has begun, calls that release resources do nothing. */
bool client_call_exiting(void);

CUresult client_context_check(struct client_call *call, CUcontext handle, uint64_t *wire);
CUresult client_stream_check(struct client_call *call, CUstream handle, uint64_t *wire);
/* The same, and not one of the streams that are only names: it is to be destroyed. */
CUresult client_stream_check_made(struct client_call *call, CUstream handle, uint64_t *wire);
CUresult client_event_check(struct client_call *call, CUevent handle, uint64_t *wire);
CUresult client_function_check(struct client_call *call, CUfunction handle, uint64_t *wire);
CUresult client_device_check(struct client_call *call, CUdevice ordinal, int32_t *wire);
/* Device bytes that the call touches, and how the first is aligned. */
CUresult client_range_check(struct client_call *call, CUdeviceptr start, unsigned align,
                            uint64_t bytes);

/* A new object of the call's context. */
CUresult client_handle_make(struct client_call *call, enum ga_handle_type type, uint64_t *wire);
void client_handle_drop(uint64_t wire);

/* Whether the server is of a build that has not this call. */
bool client_call_lacking(const struct client_call *call);
/* `bound`: bytes of values at most. On failure nothing is locked. */
CUresult client_call_begin(struct client_call *call, size_t bound);
CUresult client_call_post(struct client_call *call);
/* Post with bulk bytes behind the values; they have been taken when it returns. */
CUresult client_call_post_bulk(struct client_call *call, const void *from, uint64_t bytes);
/* As begin; but it waits until a bulk connection is free, and the call begins with the prefix. */
CUresult client_call_begin_apart(struct client_call *call, size_t bound);
/* Puts WIRE_BULK in front of the call: its bytes come over this bulk connection (0: none), packed
 * into so many (0: they are not). */
void client_call_prefix(struct client_call *call, size_t bound, unsigned connection,
                        uint32_t packed);
/* Post with bulk bytes through the bulk connection that begin_apart has found: see
 * client_conn_apart. When they have left, client_call_sent is the caller's to say. */
CUresult client_call_post_apart(struct client_call *call, const void *from, uint64_t bytes,
                                struct conn_apart *apart);
/* Has been sent: what it has written into memory of program and device (mirror.h) is known. May
 * wait for the server. */
void client_call_sent(struct client_call *call);
/* Room for bulk bytes inside the buffer, behind the values; the bound of begin included them. The
 * caller fills it and posts. */
uint8_t *client_call_bulk_room(struct client_call *call, uint64_t bytes);
/* Post, and expect an answer that nobody waits for. */
CUresult client_call_post_expect(struct client_call *call, const struct reply_action *want);
/* Waits. CUDA_SUCCESS: the reader is over the results. A late error of the context is given
 * instead of success, and of what follows from it. client_call_end follows in any case. */
CUresult client_call_wait(struct client_call *call, struct ga_reader *reader);
/* As above: `want` says what the answer shall do besides; late errors stay for somebody else when
 * `keep_late`; `from` is bulk (NULL: none). The results can be read also after an error. */
CUresult client_call_wait_want(struct client_call *call, const struct reply_action *want,
                               bool keep_late, const void *from, uint64_t bytes,
                               struct ga_reader *reader);
/* The same in two halves, so that several calls can be under way before one waits. */
CUresult client_call_start(struct client_call *call, const struct reply_action *want,
                           const void *from, uint64_t bytes);
CUresult client_call_finish(struct client_call *call, bool keep_late, struct ga_reader *reader);
CUresult client_call_broken(struct client_call *call);
void client_call_end(struct client_call *call);

/* begin, post. */
#define CLIENT_CALL_POST(call, name, args, rc)                                                     \
    do {                                                                                           \
        rc = client_call_begin(call, name##_args_bound(args));                                     \
        if (rc == CUDA_SUCCESS) {                                                                  \
            name##_args_write(&(call)->writer, args);                                              \
            rc = client_call_post(call);                                                           \
        }                                                                                          \
    } while (0)

/* begin, wait without results, end. */
#define CLIENT_CALL_SIMPLE(call, name, args, keep_late, rc)                                        \
    do {                                                                                           \
        rc = client_call_begin(call, name##_args_bound(args));                                     \
        if (rc == CUDA_SUCCESS) {                                                                  \
            struct ga_reader reader_;                                                              \
            name##_args_write(&(call)->writer, args);                                              \
            rc = client_call_wait_want(call, NULL, keep_late, NULL, 0, &reader_);                  \
            client_call_end(call);                                                                 \
        }                                                                                          \
    } while (0)

/* The same with results, which must lend nothing out of the answer: they are read before its end,
 * and hold only if rc is CUDA_SUCCESS. */
#define CLIENT_CALL_RESULTS(call, name, args, keep_late, results, rc)                              \
    do {                                                                                           \
        rc = client_call_begin(call, name##_args_bound(args));                                     \
        if (rc == CUDA_SUCCESS) {                                                                  \
            struct ga_reader reader_;                                                              \
            name##_args_write(&(call)->writer, args);                                              \
            rc = client_call_wait_want(call, NULL, keep_late, NULL, 0, &reader_);                  \
            if (rc == CUDA_SUCCESS) {                                                              \
                name##_results_read(&reader_, results);                                            \
                rc = ga_reader_done(&reader_) ? CUDA_SUCCESS : client_call_broken(call);           \
            }                                                                                      \
            client_call_end(call);                                                                 \
        }                                                                                          \
    } while (0)

#endif
