/* SPDX-License-Identifier: Apache-2.0 */
#include "server/session/gate.h"

#include "server/session/conn.h"
#include "server/session/handles.h"

void gate_set(struct server_conn *conn, struct server_session *session, struct gate *gate)
{
    session->gate = gate;
    conn->gated = false;
    conn->bell = NULL;
    for (uint32_t i = 1; i <= CONF_GPUS_MAX && conn->sessions[i] != NULL; i++) {
        const struct gate *at = conn->sessions[i]->gate;
        conn->gated = conn->gated || at != NULL;
        conn->bell = at != NULL ? at->bell : conn->bell;
    }
}

void gates_begin(struct server_conn *conn)
{
    for (uint32_t i = 1; i <= CONF_GPUS_MAX && conn->sessions[i] != NULL; i++) {
        struct server_session *session = conn->sessions[i];
        if (session->number != 0 && session->gate == NULL && conn->host->gate != NULL) {
            gate_set(conn, session, conn->host->gate(conn->host->user, session));
        }
    }
}

/* That in which the stream works now; NULL: there is no such stream, or it captures. */
static struct server_session *session_at_work(struct server_conn *conn, uint64_t wire)
{
    if (wire == 0 || wire == (uint64_t)(uintptr_t)CU_STREAM_LEGACY) {
        return conn->current != NULL ? conn->current->session : NULL;
    }
    const struct server_stream *stream = server_stream_here(&conn->objects, wire);
    return stream != NULL && stream->build == NULL ? stream->context->session : NULL;
}

enum ga_status gate_enter(struct server_conn *conn, enum api_engine engine, uint64_t stream,
                          uint64_t what)
{
    const struct server_session *session = session_at_work(conn, stream);
    struct gate *gate = session != NULL ? session->gate : NULL;
    return gate != NULL ? gate->enter(gate, conn, engine, what) : GA_OK;
}

enum ga_status gate_enter_again(struct server_conn *conn, enum api_engine engine, uint64_t stream)
{
    return conn->gated ? gate_enter(conn, engine, stream, 0) : GA_OK;
}

enum ga_status gate_enter_part(struct server_conn *conn, enum api_engine engine, uint64_t stream,
                               uint64_t done)
{
    return done != 0 ? gate_enter_again(conn, engine, stream) : GA_OK;
}

uint64_t gate_rest(struct server_conn *conn)
{
    uint64_t soonest_ns = UINT64_MAX;
    for (uint32_t i = 1; i <= CONF_GPUS_MAX && conn->sessions[i] != NULL; i++) {
        struct gate *gate = conn->sessions[i]->gate;
        uint64_t ns = gate != NULL && gate->rest != NULL ? gate->rest(gate, conn) : UINT64_MAX;
        soonest_ns = ns < soonest_ns ? ns : soonest_ns;
    }
    return soonest_ns;
}
