/* The state of gpuaasd at a moment: a snapshot that the log prints, and that other outputs can. */
#ifndef SERVER_CONTROL_STATUS_H
#define SERVER_CONTROL_STATUS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/status.h"
#include "transport/transport.h"

struct control;

struct status_client {
    char address[TRANSPORT_PEER_BYTES], label[96];
    bool greeted;
    uint32_t opens; /* devices that wait for a backend process */
};

struct status_process {
    pid_t pid;
    char client[TRANSPORT_PEER_BYTES], label[96]; /* of its application, or its own */
    const char *state; /* "starting", "ready", "ending", "spare", "spare, starting" */
    uint32_t tickets;  /* sent ever */
};

struct node_status {
    struct status_client *clients; /* owned */
    uint32_t client_count;
    struct status_process *processes; /* owned; spare ones included */
    uint32_t process_count, spare_count;
};

/* Takes a snapshot; end it with status_free. GA_NO_MEMORY: there is nothing to free. */
GA_CHECKED enum ga_status status_collect(const struct control *control, struct node_status *out);
void status_free(struct node_status *status);
/* Logs a line for each client and process, and one with the counts. */
void status_log(const struct node_status *status);

#endif
