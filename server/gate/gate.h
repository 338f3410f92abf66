/* SPDX-License-Identifier: Apache-2.0 */
/* The gate of a session: a policy that shares a GPU among applications lets its calls through, one
 * by one. Each call that gives an engine of the GPU work asks once, before its handler runs and so
 * before it has a staging slot or any other thing that others wait for. A call that is captured
 * into a graph is no work yet and does not ask; the launch of the graph does.
 *
 * A call may wait at the gate, and with it all calls of the application behind it. A gate that lets
 * it wait does so by the carrier (`pause` of struct app_carrier), so that answers go on.
 *
 * Without a policy no session has a gate. The gates of policies are in turn_gate.h. */
#ifndef SERVER_GATE_GATE_H
#define SERVER_GATE_GATE_H

#include <stdint.h>

#include "api/call_info.h"
#include "base/status.h"
#include "server/app/gate_state.h"

struct server_app;
struct server_session;

/* Gives a session a gate (NULL: none), which lasts as long. Submit thread. */
void gate_set(struct server_app *app, struct server_session *session, struct gate *gate);
/* Sessions that have none get those that the host gives now. Submit thread. */
void gates_begin(struct server_app *app);
/* Asks for a call with this engine in the stream of this client's handle; only where app->gated.
 * `what`: the handle of the kernel's function, or of the graph, 0: neither. Generated handlers do
 * (api/gen/emit_server.py), as soon as they have the arguments. GA_LOST. */
GA_CHECKED enum ga_status gate_enter(struct server_app *app, enum api_engine engine,
                                     uint64_t stream, uint64_t what);
/* As gate_enter, for a call that has asked before, and has waited for something else since: its
 * turn may be another's. GA_LOST. */
GA_CHECKED enum ga_status gate_enter_again(struct server_app *app, enum api_engine engine,
                                           uint64_t stream);
/* A long copy is done in parts, of this size or less, and asks for each of them: for the first one
 * its handler has. `done`: bytes before this part. GA_LOST: the connection ends. */
#define GATE_PART_BYTES (UINT64_C(4) << 20)
GA_CHECKED enum ga_status gate_enter_part(struct server_app *app, enum api_engine engine,
                                          uint64_t stream, uint64_t done);
/* Tells all gates that no call is here; when to do so again (see `rest`). */
uint64_t gate_rest(struct server_app *app);

#endif
