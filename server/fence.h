/* Copies that wait in CUDA and not here (ga_fence): for the program they are over, so whatever it
 * submits afterwards begins behind them, in any stream of any device. A stream waits for the fence
 * when it is used next. All of it is the submit thread's. */
#ifndef SERVER_FENCE_H
#define SERVER_FENCE_H

#include <stdint.h>

#include "api/cuda_names.h"

struct event_ref;
struct server_conn;
struct server_context;

struct server_fence {
    struct event_ref *ref; /* behind the last one, and with it behind all; NULL: they are over */
    uint64_t number;       /* of the last one */
};

/* `*passed`: the last one that the stream is behind. */
void fence_pass(struct server_conn *conn, CUstream real, uint64_t *passed);
/* The work of the context is done, and its events go. */
void fence_drop(struct server_conn *conn, const struct server_context *context);

#endif
