/* SPDX-License-Identifier: Apache-2.0 */
/* The servers that have answered, and the devices that they give. A field that says nothing else is
 * written under client_state_lock. */
#ifndef CLIENT_SESSION_SERVER_DEVICES_H
#define CLIENT_SESSION_SERVER_DEVICES_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "api/cuda_names.h"
#include "api/handshake.h"
#include "transport/transport.h"

struct client_context;
struct client_session;
struct handshake_welcome;

#define CLIENT_DEVICES_MAX 1024
#define CLIENT_ATTRIBUTES  256 /* CUdevice_attribute numbers that can be known */

/* One gpuaasd that answered. Its control connection stays open for the client's life, unless
 * gpuaasd closes that of a program that uses no device; it is made again when a device is opened.
 */
struct client_server {
    struct client_server *next;
    char address[300];
    char pool[128], node[128], build[64];
    int32_t driver_version;
    struct transport_conn control;
    bool observed; /* it has been told that no device will be used */
    bool tls;      /* its data must then be encrypted, too, except through shared memory */
    struct frame_reader reader;
    pthread_mutex_t control_lock; /* one question at a time */
    uint64_t control_sequence;
    uint64_t guessed_ns; /* when a ticket for its first device was asked for in advance; 0: not */
    atomic_bool lost;
    /* For the service thread, which knows by the second that the first is another one. */
    atomic_int watched_fd; /* of `control`; -1: none */
    atomic_uint connected; /* how often it has been */
};

struct client_device {
    int ordinal;
    struct client_server *server;
    uint32_t index; /* in the server's list */
    char name[256];
    uint8_t uuid[16];
    uint64_t memory_bytes, granularity_bytes;
    uint64_t peers; /* as handshake_device.peers */
    int32_t priority_least, priority_greatest;
    uint32_t traits;                        /* CUDA_DEVICE_* */
    int32_t attributes[CLIENT_ATTRIBUTES];  /* as programs see them */
    pthread_mutex_t open_lock;              /* opening the session, primary context life */
    struct client_session *_Atomic session; /* NULL: not opened; never closed */
    struct client_context *primary;
    char *refused; /* the cause why opening the session has failed; NULL: it has not */
};

extern struct client_device *client_devices[CLIENT_DEVICES_MAX];
extern int client_device_count;
extern struct client_server *client_servers;
/* CUDA_ERROR_INVALID_DEVICE: no such device. */
CUresult client_device_find(CUdevice ordinal, struct client_device **device);
/* Adds a server that has answered, and its devices. */
void client_servers_add(struct client_server *server, const struct handshake_welcome *welcome);
/* Whether a server that answers again is what it was: the same node with the same devices. */
bool client_servers_same(const struct client_server *server,
                         const struct handshake_welcome *welcome);
/* Whether the environment chooses devices, which may not be the first ones. */
bool client_servers_choose_device(void);
/* Leaves those that the environment chooses; then they have their numbers. */
void client_servers_choose(void);

#endif
