/* SPDX-License-Identifier: Apache-2.0 */
/* The state of gpuaasd at a moment, piece by piece, as it is told to whoever shows it
 * (server/monitoring/status.h). */
#ifndef SERVER_APPLICATIONS_STATUS_SINK_H
#define SERVER_APPLICATIONS_STATUS_SINK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "server/figures.h"

struct scheduler_session;
struct seat_use;

/* Texts in all are lent for the call. */
struct status_application {
    const uint8_t *id; /* 16 bytes */
    const char *address, *label, *tenant, *user;
    uint64_t tenant_number;          /* in the store; 0: it is not there */
    uint32_t connections, processes; /* control connections; backend processes */
    uint64_t age_ns;                 /* since it has greeted */
    uint64_t wall_ns;                /* since its first session has begun; 0: it has had none */
    bool session;                    /* it has had one */
    const char *way;                 /* of its control connection: "tls", "tcp", "shm" */
    bool ending;                     /* an operator does not want it any more */
    const uint64_t *gpus;            /* bit n: it uses the GPU n of the list that clients see */
    const uint64_t *gpu_bytes;       /* device memory on each of these, CONF_GPUS_MAX */
    uint64_t figures[FIGURE_COUNT];  /* of all its processes together; see server/figures.h */
};

/* A GPU that an application has used in one of its processes. */
struct status_gpu {
    const uint8_t *uuid; /* 16 bytes */
    const struct seat_use *use;
    const struct scheduler_session *turns; /* NULL: it takes none */
};

/* A control connection that has greeted. */
struct status_client {
    const char *address, *label; /* the label is its application's */
    uint32_t opens;              /* devices that wait for a backend process */
};

struct status_process {
    pid_t pid;
    const char *client, *label; /* of its application, or its own */
    const char *state;          /* "starting", "ready", "ending", "spare", "spare, starting" */
    uint32_t tickets;           /* sent ever */
    uint32_t pending;           /* connections to it that have not shown one */
};

struct node_status {
    uint32_t application_count, session_count, client_count;
    uint32_t pending_count, pending_sources; /* connections that have not greeted; from how many */
    uint32_t idle_count;                     /* clients that use nothing */
    uint32_t process_count, spare_count;     /* the first without the second */
    uint64_t image_bytes;                    /* of the store, as they count there */
};

/* A tenant that has applications here. By kind (enum channel_lent): what has been lent to its
 * backend processes, and what they say that they have charged. */
struct status_tenant {
    const char *name;
    uint32_t application_count, session_count;
    const struct limits *limits;
    uint64_t lent[CHANNEL_LENT_KINDS], charged[CHANNEL_LENT_KINDS];
    const uint64_t *refusals; /* by limit (enum limit) */
    bool balanced;            /* no process has charged more than it was lent */
};

/* Takes the snapshot, piece by piece: the log, JSON, an admin socket. Any member may be NULL. */
struct status_sink {
    void *user;
    void (*application)(void *user, const struct status_application *application);
    /* Behind its application, for each GPU. */
    void (*gpu)(void *user, const struct status_application *application,
                const struct status_gpu *gpu);
    void (*client)(void *user, const struct status_client *client);
    void (*process)(void *user, const struct status_process *process);
    void (*tenant)(void *user, const struct status_tenant *tenant);
    void (*node)(void *user, const struct node_status *node); /* last */
};

#endif
