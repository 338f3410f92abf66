/* Bulk connections of a link: bytes of large copies that leave beside the data connection, where
 * one connection cannot fill the wire (WIRE_BULK). Which frame they belong to, the data connection
 * says; so its order is that of all calls. A piece is given to a connection that has sent the one
 * before, in turns, and is the caller's memory, or the connection's own, until it has left: whoever
 * gives one waits in the end (client_link_apart_wait), and before that for nothing but room on the
 * link: the server reads on only when it has the piece. Who waits for room sends what is left of
 * all pieces. */
#include <stdlib.h>
#include <string.h>

#include "base/failpoint.h"
#include "client/conn/conn.h"

struct transport_conn *link_awaited(struct client_link *link)
{
    unsigned connection = atomic_load(&link->awaited);
    return connection != 0 ? &link->bulks[connection - 1].conn : &link->data;
}

unsigned client_link_bulks(const struct client_link *link)
{
    return atomic_load_explicit(&link->bulk_count, memory_order_acquire);
}

/* Under send_lock. */
static enum ga_status bulk_send(struct client_link *link, struct link_bulk *bulk)
{
    while (bulk->left != 0) {
        const struct iovec piece = {.iov_base = (uint8_t *)(uintptr_t)bulk->from,
                                    .iov_len = bulk->left};
        size_t sent;
        (void)GA_FAILPOINT("client: before sending bulk");
        GA_TRY(bulk->conn.ops->send(&bulk->conn, &piece, 1, &sent));
        client_link_count(&link->bytes_out, sent);
        pack_took(&link->pack, sent);
        bulk->from += sent;
        bulk->left -= sent;
    }
    return GA_OK;
}

/* A piece belongs to a call that returns when the link is lost: it is not looked at after that. */
enum ga_status link_bulk_push(struct client_link *link)
{
    enum ga_status all = GA_OK;
    for (unsigned i = 0; i < client_link_bulks(link) && atomic_load(&link->dead) == 0; i++) {
        enum ga_status status = bulk_send(link, &link->bulks[i]);
        if (status != GA_OK && status != GA_AGAIN) {
            client_link_lose(link, "a bulk connection ended while sending");
        }
        all = status != GA_OK ? status : all;
    }
    if (all == GA_OK) {
        pack_emptied(&link->pack);
    }
    return atomic_load(&link->dead) == 0 ? all : GA_LOST;
}

/* Under send_lock: one that has nothing to send is next. */
static bool choose(struct client_link *link)
{
    unsigned count = client_link_bulks(link);
    for (unsigned i = 1; i <= count; i++) {
        unsigned at = (link->bulk_last + i) % count;
        if (link->bulks[at].left == 0) {
            link->bulk_last = at;
            return true;
        }
    }
    return false;
}

int client_link_lock_apart(struct client_link *link, size_t room)
{
    int dead;
    while ((dead = client_link_lock(link, room + LINK_PREFIX)) == 0) {
        enum ga_status status = link_bulk_push(link);
        if (choose(link)) {
            return 0;
        }
        link_note_full(link);
        if (status == GA_AGAIN && link_push(link) != GA_LOST) {
            link_wait_for_room(link);
        }
        pthread_mutex_unlock(&link->send_lock);
    }
    return dead;
}

void client_link_prefix(struct client_link *link, uint32_t connection, uint32_t packed)
{
    const uint32_t values[2] = {connection, packed};
    memcpy(client_link_at(link) + sizeof(struct wire_header), values, sizeof values);
    (void)client_link_frame(link, WIRE_BULK, 0, sizeof values, 0, false);
}

uint8_t *client_link_apart_room(struct client_link *link)
{
    struct link_bulk *bulk = &link->bulks[link->bulk_last];
    if (bulk->room == NULL) {
        bulk->room = malloc(WIRE_CHUNK);
    }
    return bulk->room;
}

void client_link_apart(struct client_link *link, const void *from, uint64_t bytes,
                       struct link_apart *apart)
{
    struct link_bulk *bulk = &link->bulks[link->bulk_last];
    bulk->from = from;
    bulk->left = bytes;
    apart->pieces[link->bulk_last] = ++bulk->pieces;
    if (link_push(link) != GA_LOST) {
        (void)link_bulk_push(link);
    }
}

/* Under send_lock. */
static bool has_left(const struct client_link *link, const struct link_apart *apart)
{
    for (unsigned i = 0; i < client_link_bulks(link); i++) {
        const struct link_bulk *bulk = &link->bulks[i];
        if (bulk->left != 0 && bulk->pieces == apart->pieces[i]) {
            return false;
        }
    }
    return true;
}

void client_link_apart_wait(struct client_link *link, const struct link_apart *apart)
{
    pthread_mutex_lock(&link->send_lock);
    while (atomic_load(&link->dead) == 0 && !has_left(link, apart)) {
        enum ga_status status = link->exclusive ? GA_OK : link_push(link);
        if (status != GA_LOST && link_bulk_push(link) == GA_AGAIN && !has_left(link, apart)) {
            link_wait_for_room(link);
        }
    }
    pthread_mutex_unlock(&link->send_lock);
}
