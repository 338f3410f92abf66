/* SPDX-License-Identifier: Apache-2.0 */
/* A session's part of gates: the gate that it asks (gate.h), and, under a policy, the state of that
 * (turn_gate.h). */
#ifndef SERVER_APP_GATE_STATE_H
#define SERVER_APP_GATE_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "api/call_info.h"
#include "base/status.h"

struct grant;
struct grant_request;
struct server_app;

/* ---- any gate */

/* A socket at which somebody rings when gates may have opened. */
struct gate_bell {
    int fd;
    /* The bell has been read here, and others may wait for it. May be NULL: there are no others. */
    void (*rang)(void *user);
    void *user;
};

struct gate {
    /* Waits until work for the engine may be submitted; `what`: as gate_enter has it. GA_LOST: the
     * connection has ended. */
    enum ga_status (*enter)(struct gate *gate, struct server_app *app, enum api_engine engine,
                            uint64_t what);
    /* No call is here, and the thread is to sleep: after how many ns it must be asked again;
     * UINT64_MAX: when the bell rings. May be NULL: never. */
    uint64_t (*rest)(struct gate *gate, struct server_app *app);
    const struct gate_bell *bell; /* the same one for all gates of an application; NULL: none */
};

/* ---- one under a policy */

#define TURN_AHEAD_KINDS 64u

/* The state of turn_ahead.h. */
struct turn_ahead {
    uint64_t left_ns;                       /* of this batch */
    unsigned side;                          /* at which it is counted: 0 and 1, in turns */
    uint64_t busy_ns;                       /* of the GPU, for this session, when it was learned */
    uint32_t expected_ns[TURN_AHEAD_KINDS]; /* of a work */
    uint32_t works[2][TURN_AHEAD_KINDS];    /* of which nothing was learned yet, by side */
};

struct turn_gate {
    struct gate base;
    const struct grant *grant;
    struct grant_request *request;
    uint32_t ordinal; /* of the GPU in its driver */
    uint64_t open;    /* the grant with which works pass without a look; 0: none */
    struct turn_ahead ahead;
    uint64_t returned;  /* the last turn that it has returned */
    uint64_t told;      /* what the request says */
    bool waits;         /* at the gate */
    uint64_t idle_ns;   /* since then it has nothing to do; 0: it has */
    uint32_t in_flight; /* batches, when one of them was last done: at moved_ns */
    uint64_t moved_ns;
};

#endif
