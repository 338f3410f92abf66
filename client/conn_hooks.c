/* SPDX-License-Identifier: Apache-2.0 */
/* The rooms that are called when a connection has news. */
#include "client/conn/conn.h"
#include "client/context/context.h"
#include "client/memory/reclaim.h"
#include "client/session/service.h"
#include "client/stream/host_function.h"
#include "client/transfer/bounce_buffers.h"

const struct client_conn_hooks client_conn_hooks = {
    .failed = client_context_late,
    .host_due = client_host_call_due,
    .host_lost = client_host_call_lost,
    .trim = client_trim_begin,
    .rest = client_slots_rest,
    .armed = client_service_wake,
};
