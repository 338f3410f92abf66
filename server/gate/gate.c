/* SPDX-License-Identifier: Apache-2.0 */
#include "server/gate/gate.h"

#include "server/app/app.h"

void gate_set(struct server_app *app, struct server_session *session, struct gate *gate)
{
    session->gate = gate;
    app->gated = false;
    app->bell = NULL;
    for (uint32_t i = 1; i <= CONF_GPUS_MAX && app->sessions[i] != NULL; i++) {
        const struct gate *at = app->sessions[i]->gate;
        app->gated = app->gated || at != NULL;
        app->bell = at != NULL ? at->bell : app->bell;
    }
}

void gates_begin(struct server_app *app)
{
    for (uint32_t i = 1; i <= CONF_GPUS_MAX && app->sessions[i] != NULL; i++) {
        struct server_session *session = app->sessions[i];
        if (session->number != 0 && session->gate == NULL && app->host->gate != NULL) {
            gate_set(app, session, app->host->gate(app->host->user, session));
        }
    }
}

/* That in which the stream works now; NULL: there is no such stream, or it captures. */
static struct server_session *session_at_work(struct server_app *app, uint64_t wire)
{
    if (wire == 0 || wire == (uint64_t)(uintptr_t)CU_STREAM_LEGACY) {
        return app->current != NULL ? app->current->session : NULL;
    }
    const struct server_stream *stream = server_stream_here(&app->objects, wire);
    return stream != NULL && stream->build == NULL ? stream->context->session : NULL;
}

enum ga_status gate_enter(struct server_app *app, enum api_engine engine, uint64_t stream,
                          uint64_t what)
{
    const struct server_session *session = session_at_work(app, stream);
    struct gate *gate = session != NULL ? session->gate : NULL;
    return gate != NULL ? gate->enter(gate, app, engine, what) : GA_OK;
}

enum ga_status gate_enter_again(struct server_app *app, enum api_engine engine, uint64_t stream)
{
    return app->gated ? gate_enter(app, engine, stream, 0) : GA_OK;
}

enum ga_status gate_enter_part(struct server_app *app, enum api_engine engine, uint64_t stream,
                               uint64_t done)
{
    return done != 0 ? gate_enter_again(app, engine, stream) : GA_OK;
}

uint64_t gate_rest(struct server_app *app)
{
    uint64_t soonest_ns = UINT64_MAX;
    for (uint32_t i = 1; i <= CONF_GPUS_MAX && app->sessions[i] != NULL; i++) {
        struct gate *gate = app->sessions[i]->gate;
        uint64_t ns = gate != NULL && gate->rest != NULL ? gate->rest(gate, app) : UINT64_MAX;
        soonest_ns = ns < soonest_ns ? ns : soonest_ns;
    }
    return soonest_ns;
}
