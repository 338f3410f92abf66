/* SPDX-License-Identifier: Apache-2.0 */
#include "server/backend/outbox.h"

#include <poll.h>
#include <sys/eventfd.h>

#include "base/clock.h"
#include "base/log.h"
#include "server/backend/backend.h"

/* More never wait: returns of a recall, one for each GPU and kind, of which one recall is under way
 * for each seat; one question; and what applications close, which they have opened before. */
#define OUTBOX_MAX     (2 * CHANNEL_SEATS * CHANNEL_OPENINGS_MAX)
#define FINISH_NS      GA_NS_PER_S
#define FINISH_POLL_MS 100

void outbox_init(struct backend *backend)
{
    pthread_mutex_init(&backend->outbox.lock, NULL);
    channel_queue_init(&backend->outbox.queue, OUTBOX_MAX, OUTBOX_MAX);
}

enum ga_status outbox_send(struct backend *backend, const void *packet, size_t size, int passed)
{
    struct outbox *outbox = &backend->outbox;
    pthread_mutex_lock(&outbox->lock);
    bool waited = channel_queue_waits(&outbox->queue);
    enum ga_status status = channel_queue_send(&outbox->queue, CHANNEL_FD, packet, size, passed);
    bool waits = channel_queue_waits(&outbox->queue);
    pthread_mutex_unlock(&outbox->lock);
    if (status != GA_OK && status != GA_LOST) {
        ga_error("gpuaasd does not read, and no memory is left for what it must hear: the backend "
                 "process ends");
        atomic_store(&backend->gpuaasd_gone, true);
    }
    if (status != GA_OK || (waits && !waited)) { /* the main thread watches for room */
        (void)!eventfd_write(backend->wake_fd, 1);
    }
    return status == GA_OK ? GA_OK : GA_LOST;
}

void outbox_offer(struct backend *backend, const void *packet, size_t size, int passed)
{
    struct outbox *outbox = &backend->outbox;
    pthread_mutex_lock(&outbox->lock);
    if (channel_queue_flush(&outbox->queue, CHANNEL_FD) == GA_OK) {
        (void)!channel_send_with(CHANNEL_FD, packet, size, passed);
    }
    pthread_mutex_unlock(&outbox->lock);
}

bool outbox_turn(struct backend *backend)
{
    struct outbox *outbox = &backend->outbox;
    pthread_mutex_lock(&outbox->lock);
    enum ga_status status = channel_queue_flush(&outbox->queue, CHANNEL_FD);
    pthread_mutex_unlock(&outbox->lock);
    return status == GA_AGAIN;
}

void outbox_finish(struct backend *backend)
{
    const uint64_t until_ns = ga_clock_ns() + FINISH_NS;
    struct pollfd channel = {.fd = CHANNEL_FD, .events = POLLOUT};
    while (!atomic_load(&backend->gpuaasd_gone) && outbox_turn(backend) &&
           ga_clock_ns() < until_ns) {
        (void)poll(&channel, 1, FINISH_POLL_MS);
    }
}
