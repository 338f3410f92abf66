/* SPDX-License-Identifier: Apache-2.0 */
/* A question of the submit thread to gpuaasd about what applications share. The main thread reads
 * the channel, so the answer comes from there. */
#include "server/backend/control_request.h"

#include <unistd.h>

#include "base/log.h"
#include "base/wait.h"
#include "server/backend/backend.h"
#include "server/backend/seats.h"

#define ANSWER_S 10 /* gpuaasd answers at once, or has other troubles */

void control_request_answered(struct backend *backend, const struct channel_request *packet, int fd)
{
    struct control_request *question = &backend->request;
    bool late = !question->waiting || packet->number != question->packet.number;
    struct quota *quota = seats_quota(backend, packet->seat);
    if (quota != NULL && (packet->verb == CHANNEL_LEND || packet->verb == CHANNEL_ROOM)) {
        quota_share(quota, packet->opening != 0, fd);
        fd = packet->opening != 0 ? -1 : fd;
    }
    if (packet->verb == CHANNEL_ROOM && quota != NULL) {
        quota_tell_room(quota, packet);
    }
    if (packet->verb == CHANNEL_LEND && quota != NULL) {
        quota_answered(quota, packet, late ? 0 : question->packet.bytes);
    }
    if (late) {
        if (packet->verb == CHANNEL_OPEN && packet->opening != 0) {
            struct channel_request back = *packet;
            back.verb = CHANNEL_CLOSE;
            (void)!outbox_send(backend, &back, sizeof back, -1); /* else it is gone */
        }
        if (fd >= 0) {
            close(fd);
        }
        return;
    }
    question->packet = *packet;
    question->fd = fd;
    question->waiting = false;
    pthread_cond_broadcast(&question->answered);
}

enum ga_status control_request_ask(struct backend *backend, struct channel_request *packet, int *fd)
{
    struct control_request *question = &backend->request;
    pthread_mutex_lock(&backend->ticket_lock);
    while (question->taken) { /* by another application's thread */
        (void)pthread_cond_wait(&question->answered, &backend->ticket_lock);
    }
    uint64_t until_ns = ga_clock_ns() + ANSWER_S * GA_NS_PER_S; /* its turn has come only now */
    question->taken = true;
    packet->kind = CHANNEL_REQUEST;
    packet->number = ++question->last;
    struct quota *quota = seats_quota(backend, packet->seat);
    if (packet->verb == CHANNEL_LEND && quota != NULL) {
        quota_asks(quota, packet);
    }
    question->packet = *packet;
    question->waiting = true;
    enum ga_status status = outbox_send(backend, packet, sizeof *packet, *fd);
    while (status == GA_OK && question->waiting) {
        if (atomic_load(&backend->gpuaasd_gone)) {
            status = GA_LOST;
        } else if (!ga_cond_wait_until(&question->answered, &backend->ticket_lock, until_ns)) {
            ga_warn("gpuaasd has not answered in %u s", ANSWER_S);
            status = GA_TIMEOUT;
        }
    }
    question->waiting = false;
    question->taken = false;
    pthread_cond_broadcast(&question->answered);
    if (status == GA_OK) {
        *packet = question->packet;
        *fd = question->fd;
    }
    pthread_mutex_unlock(&backend->ticket_lock);
    return status;
}
