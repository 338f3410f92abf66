/* SPDX-License-Identifier: Apache-2.0 */
/* Which mirrors there are, and where they lie: each is in the list, and in the address map with
 * both of its halves. */
#include "client/memory/mirror_list.h"

#include "client/address/address_map.h"
#include "client/conn/conn.h"
#include "client/memory/mirror.h"

pthread_mutex_t client_mirror_lock = PTHREAD_MUTEX_INITIALIZER;
struct ga_list client_mirror_list = {&client_mirror_list, &client_mirror_list};

/* ---- where mirrors lie */

/* The program's half, the device's, and the allocation around that. */
static void ranges_of(struct client_mirror *mirror, struct client_address ranges[3])
{
    bool own = mirror->block != 0 || mirror->physical != NULL;
    const struct client_address half = {
        .kind = CLIENT_ADDRESS_MIRRORED,
        .flags = (mirror->attach != MIRROR_MAPPED ? CLIENT_ADDRESS_MANAGED : 0) |
                 (mirror->physical != NULL ? CLIENT_ADDRESS_PLACED : 0) |
                 (own ? CLIENT_ADDRESS_OWN : 0),
        .start = mirror->host,
        .bytes = mirror->bytes,
        .session = mirror->session,
        .context = mirror->context,
        .record = mirror};
    ranges[0] = ranges[1] = ranges[2] = half;
    ranges[1].kind = CLIENT_ADDRESS_MIRROR;
    ranges[1].start = mirror->device;
    ranges[2].kind = CLIENT_ADDRESS_BACKING;
    ranges[2].start = mirror->block;
    ranges[2].bytes = mirror->block_bytes;
}

void client_mirror_leave(struct client_mirror *mirror)
{
    struct client_address ranges[3];
    ranges_of(mirror, ranges);
    for (int i = 0; i < 3; i++) {
        client_address_leave(ranges[i].kind, ranges[i].start, mirror);
    }
    ga_list_remove(&mirror->in_list);
    atomic_fetch_sub(&client_mirror_count, 1);
}

bool client_mirror_enter(struct client_mirror *mirror)
{
    struct client_address ranges[3];
    bool entered = true;
    ranges_of(mirror, ranges);
    pthread_mutex_lock(&client_mirror_lock);
    ga_list_append(client_mirror_list.next, &mirror->in_list);
    atomic_fetch_add(&client_mirror_count, 1);
    for (int i = 0; i < 3; i++) {
        entered = entered && (ranges[i].bytes == 0 || client_address_enter(&ranges[i]) == GA_OK);
    }
    if (!entered) {
        client_mirror_leave(mirror);
    }
    pthread_mutex_unlock(&client_mirror_lock);
    return entered;
}

/* ---- finding */

/* Copies the fields that never change, or change only under client_mirror_lock. */
static void facts(const struct client_mirror *mirror, struct client_mirror *copy)
{
    *copy = (struct client_mirror){.session = mirror->session,
                                   .context = mirror->context,
                                   .host = mirror->host,
                                   .device = mirror->device,
                                   .bytes = mirror->bytes,
                                   .block = mirror->block,
                                   .physical = mirror->physical,
                                   .asked = mirror->asked,
                                   .attach = mirror->attach,
                                   .stream = mirror->stream};
}

static bool is_of(const struct client_address *at, const void *user)
{
    const struct client_session *session = user;
    return at->session == session ||
           ((at->flags & CLIENT_ADDRESS_PLACED) != 0 &&
            client_session_conn(at->session) == client_session_conn(session));
}

static bool facts_at(uint64_t address, unsigned kinds, const struct client_session *session,
                     struct client_mirror *copy)
{
    struct client_address at;
    if (!client_mirrors_some()) {
        return false;
    }
    pthread_mutex_lock(&client_mirror_lock);
    bool found =
        client_address_find_fit(address, kinds, session != NULL ? is_of : NULL, session, &at);
    if (found) {
        facts(at.record, copy);
    }
    pthread_mutex_unlock(&client_mirror_lock);
    return found;
}

bool client_mirror_at(uint64_t host, const struct client_session *session,
                      struct client_mirror *copy)
{
    return facts_at(host, CLIENT_ADDRESS(MIRRORED), session, copy);
}

bool client_mirror_on_device(uint64_t device, struct client_mirror *copy)
{
    return facts_at(device, CLIENT_ADDRESS(MIRROR), NULL, copy);
}

bool client_mirror_translate(uint64_t *address)
{
    struct client_mirror mirror;
    bool found = client_mirror_at(*address, NULL, &mirror);
    *address = found ? mirror.device + (*address - mirror.host) : *address;
    return found;
}

struct client_mirror *client_mirror_next(const struct client_session *session,
                                         const struct client_mirror *after)
{
    pthread_mutex_lock(&client_mirror_lock);
    struct ga_list *at = after != NULL ? after->in_list.next : client_mirror_list.next;
    while (at != &client_mirror_list && !client_mirror_of(client_mirror_in(at), session)) {
        at = at->next;
    }
    pthread_mutex_unlock(&client_mirror_lock);
    return at != &client_mirror_list ? client_mirror_in(at) : NULL;
}

/* ---- taking */

/* The choice of client_mirror_take. */
struct wanted {
    uint64_t host;
    bool managed;
    const struct client_conn *conn; /* NULL: any */
};

static bool mirror_is_wanted(const struct client_address *at, const void *user)
{
    const struct wanted *wanted = user;
    return at->start == wanted->host &&
           ((at->flags & CLIENT_ADDRESS_MANAGED) != 0) == wanted->managed &&
           (at->flags & CLIENT_ADDRESS_OWN) != 0 &&
           (wanted->conn == NULL || client_session_conn(at->session) == wanted->conn);
}

static bool mirror_find(const struct wanted *wanted, struct client_address *at)
{
    return client_address_find_fit(wanted->host, CLIENT_ADDRESS(MIRRORED), mirror_is_wanted, wanted,
                                   at);
}

/* NULL: it went meanwhile. */
static struct client_mirror *mirror_take_from(struct client_conn *conn, const struct wanted *wanted)
{
    const struct wanted there = {.host = wanted->host, .managed = wanted->managed, .conn = conn};
    struct client_address at;
    pthread_mutex_lock(client_conn_mirrors_lock(conn));
    pthread_mutex_lock(&client_mirror_lock);
    struct client_mirror *found = mirror_find(&there, &at) ? at.record : NULL;
    if (found != NULL) {
        client_mirror_leave(found);
    }
    pthread_mutex_unlock(&client_mirror_lock);
    pthread_mutex_unlock(client_conn_mirrors_lock(conn));
    return found;
}

struct client_mirror *client_mirror_take(uint64_t host, bool managed)
{
    const struct wanted wanted = {.host = host, .managed = managed};
    struct client_mirror *found = NULL;
    struct client_address at;
    while (found == NULL && mirror_find(&wanted, &at)) {
        found = mirror_take_from(client_session_conn(at.session), &wanted);
    }
    return found;
}
