/* Life and death of a link. Its descriptors stay open after its end (a thread may still be inside
 * poll); only the child after a fork closes them. */
#include "client/conn/conn.h"

#include <stdlib.h>
#include <sys/socket.h>

#include "base/log.h"

enum ga_status client_link_init(struct client_link *link, struct transport_conn data,
                                struct frame_reader reader)
{
    link->out = aligned_alloc(64, LINK_BUFFER);
    if (link->out == NULL) {
        return GA_NO_MEMORY;
    }
    link->data = data;
    link->reader = reader;
    uint64_t eighth_ns = transport_round_trip_ns(&data) / 8;
    link->flush_ns = eighth_ns > LINK_FLUSH_NS ? eighth_ns : LINK_FLUSH_NS;
    ga_list_init(&link->waiters);
    pthread_mutex_init(&link->end_lock, NULL);
    pthread_mutex_init(&link->twins_lock, NULL);
    pthread_mutex_init(&link->send_lock, NULL);
    pthread_mutex_init(&link->read_lock, NULL);
    pthread_cond_init(&link->room, NULL);
    return GA_OK;
}

/* What it says is said before anybody can see that the link is dead: a program that ends at its
 * first error has told why. */
static void die(struct client_link *link, int result, bool lost, const char *why)
{
    pthread_mutex_lock(&link->end_lock);
    bool first = atomic_load(&link->dead) == 0;
    if (first && !lost) {
        ga_warn("CUDA error %d on %s: %s", result, link->name, why);
    } else if (first && !atomic_load(&link->quiet)) {
        ga_error("the connection to %s is lost: %s; every further CUDA call answers error %d",
                 link->name, why, result);
    }
    if (first) {
        atomic_store(&link->dead, result);
    }
    pthread_mutex_unlock(&link->end_lock);
    if (first) {
        (void)shutdown(link->data.fd, SHUT_RDWR); /* wakes who reads or polls */
        for (unsigned i = 0; i < client_link_bulks(link); i++) {
            (void)shutdown(link->bulks[i].conn.fd, SHUT_RDWR);
        }
        link_read_try(link); /* completes everything outstanding, unless the reader does */
    }
}

void client_link_lose(struct client_link *link, const char *why)
{
    die(link, LINK_LOST, true, why);
}

void client_link_condemn(struct client_link *link, int result, const char *why)
{
    die(link, result, false, why);
}
