/* SPDX-License-Identifier: Apache-2.0 */
/* Packets of a backend process to gpuaasd. The channel may be full, with gpuaasd busy; then packets
 * wait (channel_queue.h), and the main thread sends them when there is room. Any thread may say
 * something, and none waits for room.
 *
 * | packet | when the channel is full |
 * |---|---|
 * | READY, FAILED of an application, ENDED, SERVED, BOUND, VOID; a REQUEST, but KEEP | waits |
 * | IDLE | is said again each second |
 * | KEEP | is lost: the client sends the image once more, should it need that again |
 * | WARM, FAILED of the process | are the first packets: there is room |
 * | FACTS, CHECKED | the probe, which does nothing else, waits (probe.c) |
 * | FORBIDDEN | is lost: gpuaasd does not name the system call (sandbox.c) */
#ifndef SERVER_BACKEND_OUTBOX_H
#define SERVER_BACKEND_OUTBOX_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"
#include "server/channel_queue.h"

struct backend;

struct outbox {
    pthread_mutex_t lock; /* of the queue; last */
    struct channel_queue queue;
};

void outbox_init(struct backend *backend);
/* Says it, at once or when there is room, with the descriptor `passed` (-1: none), which stays the
 * caller's. GA_LOST: gpuaasd is gone, or there is no memory for what must not be lost; then the
 * process ends, as it does when gpuaasd is gone. */
GA_CHECKED enum ga_status outbox_send(struct backend *backend, const void *packet, size_t size,
                                      int passed);
/* Says what may be lost: only if there is room. */
void outbox_offer(struct backend *backend, const void *packet, size_t size, int passed);
/* The main thread: says what there is room for; whether more waits, for room. */
bool outbox_turn(struct backend *backend);
/* The process leaves: what waits is said within a second, if gpuaasd reads. */
void outbox_finish(struct backend *backend);

#endif
