/* SPDX-License-Identifier: Apache-2.0 */
/* The ranges stand in a treap (address_treap.h). Windows stand in an array, because they never go
 * and most addresses that are asked for lie in one.
 *
 * Asking takes no lock (a sequence lock): `turn` is odd while the treap changes, and a lookup that
 * has walked through a change walks again. That works because nodes are never given back, only used
 * again, and because a walk has an end even where links have changed on its way. */
#include "client/address/address_map.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "client/address/address_treap.h"
#include "client/session/server_devices.h"

#define WALKS     4u    /* without the lock, before one with it */
#define STEPS_MAX 1000u /* of one of them: many times what the treap needs */
#define NODES     64u   /* are made at once */

/* May lie in a window. */
#define IN_WINDOWS                                                                                 \
    (CLIENT_ADDRESS(MIRROR) | CLIENT_ADDRESS(BACKING) | CLIENT_ADDRESS(CHUNK) |                    \
     CLIENT_ADDRESS(IMPORT) | CLIENT_ADDRESS(MIRRORED) | CLIENT_ADDRESS(PINNED))
/* Ranges of these may have bytes in common with others of their kind. */
#define OVERLAP (CLIENT_ADDRESS(MIRROR) | CLIENT_ADDRESS(MIRRORED))

struct window {
    struct client_session *session;
    uint64_t base, bytes;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of all changes; comes last */
static atomic_uint turn;
static client_address_link root;
static atomic_uint present; /* the kinds of which there are ranges in the treap */
static struct client_address_node *unused;
static unsigned counts[CLIENT_ADDRESS_KINDS];
static uint64_t last_serial;
static struct window windows[CLIENT_DEVICES_MAX];
static atomic_uint window_count;

/* ---- asking */

struct question {
    uint64_t first, last; /* bytes, the last one included */
    unsigned kinds;
    client_address_fits *fits; /* NULL: all do */
    const void *user;
};

/* One look through the treap for an answer. */
struct walk {
    const struct question *question;
    unsigned turn, steps_left;
    bool changed;                     /* the treap, meanwhile */
    struct client_address_node *best; /* NULL: none so far */
    unsigned kind;                    /* of `best` */
    uint64_t serial;
};

static bool turned(const struct walk *walk)
{
    return atomic_load_explicit(&turn, memory_order_relaxed) != walk->turn;
}

static void address_map_copy(const struct client_address_node *node, struct client_address *at)
{
    at->kind = ADDRESS_READ(&node->kind);
    at->flags = ADDRESS_READ(&node->flags);
    at->start = ADDRESS_READ(&node->start);
    at->bytes = ADDRESS_READ(&node->end) - at->start;
    at->session = ADDRESS_READ(&node->session);
    at->context = ADDRESS_READ(&node->context);
    at->id = ADDRESS_READ(&node->id);
    at->record = ADDRESS_READ(&node->record);
}

static bool address_map_is_wanted(const struct client_address_node *node, struct walk *walk)
{
    const struct question *q = walk->question;
    struct client_address at;
    if (q->fits == NULL) {
        return true;
    }
    address_map_copy(node, &at);
    walk->changed = turned(walk); /* else it is all of one range */
    return !walk->changed && q->fits(&at, q->user);
}

/* The node has one of the bytes. */
static void address_map_look(struct client_address_node *node, struct walk *walk)
{
    unsigned kind = ADDRESS_READ(&node->kind);
    uint64_t serial = ADDRESS_READ(&node->serial);
    bool better =
        walk->best == NULL || kind < walk->kind || (kind == walk->kind && serial > walk->serial);
    if ((walk->question->kinds >> kind & 1) != 0 && better && address_map_is_wanted(node, walk)) {
        walk->best = node;
        walk->kind = kind;
        walk->serial = serial;
    }
}

static bool reaches(const struct client_address_node *node, const struct walk *walk)
{
    return node != NULL && ADDRESS_READ(&node->last) > walk->question->first;
}

static void descend(struct client_address_node *node, struct walk *walk)
{
    while (reaches(node, walk) && !walk->changed) {
        walk->changed = walk->steps_left-- == 0;
        struct client_address_node *left = ADDRESS_READ(&node->left);
        if (ADDRESS_READ(&node->start) > walk->question->last) {
            node = left;
            continue;
        }
        if (ADDRESS_READ(&node->end) > walk->question->first) {
            address_map_look(node, walk);
        }
        if (reaches(left, walk)) {
            descend(left, walk);
        }
        node = ADDRESS_READ(&node->right);
    }
}

static struct client_address_node *walk_locked(const struct question *q)
{
    struct walk walk = {.question = q, .turn = ADDRESS_READ(&turn), .steps_left = UINT32_MAX};
    descend(ADDRESS_READ(&root), &walk);
    return walk.best;
}

/* Without the lock. False: the treap has changed meanwhile. */
static bool walk_unlocked(const struct question *q, struct client_address *found, bool *any)
{
    struct walk walk = {.question = q, .turn = ADDRESS_READ(&turn), .steps_left = STEPS_MAX};
    walk.changed = walk.turn % 2 != 0;
    descend(ADDRESS_READ(&root), &walk);
    *any = walk.best != NULL;
    if (*any) {
        address_map_copy(walk.best, found);
    }
    return !walk.changed && !turned(&walk);
}

static bool address_map_ask(const struct question *q, struct client_address *found)
{
    bool any;
    for (unsigned i = 0; i < WALKS; i++) {
        if (walk_unlocked(q, found, &any)) {
            return any;
        }
    }
    pthread_mutex_lock(&lock);
    const struct client_address_node *node = walk_locked(q);
    if (node != NULL) {
        address_map_copy(node, found);
    }
    pthread_mutex_unlock(&lock);
    return node != NULL;
}

static const struct window *window_at(uint64_t address)
{
    unsigned count = ADDRESS_READ(&window_count);
    for (unsigned i = 0; i < count; i++) {
        if (address - windows[i].base < windows[i].bytes) {
            return &windows[i];
        }
    }
    return NULL;
}

bool client_address_find_fit(uint64_t address, unsigned kinds, client_address_fits *fits,
                             const void *user, struct client_address *found)
{
    const struct window *in = (kinds & CLIENT_ADDRESS(SESSION)) != 0 ? window_at(address) : NULL;
    kinds &= in != NULL ? IN_WINDOWS : ~0u;
    const struct question q = {
        .first = address, .last = address, .kinds = kinds, .fits = fits, .user = user};
    if ((atomic_load_explicit(&present, memory_order_relaxed) & kinds) != 0 &&
        address_map_ask(&q, found)) {
        return true;
    }
    if (in == NULL) {
        return false;
    }
    *found = (struct client_address){.kind = CLIENT_ADDRESS_SESSION,
                                     .start = in->base,
                                     .bytes = in->bytes,
                                     .session = in->session};
    return fits == NULL || fits(found, user);
}

bool client_address_find(uint64_t address, unsigned kinds, struct client_address *found)
{
    return client_address_find_fit(address, kinds, NULL, NULL, found);
}

bool client_address_touches(uint64_t start, uint64_t bytes, unsigned kinds)
{
    struct client_address found;
    const struct question q = {.first = start, .last = start + bytes - 1, .kinds = kinds};
    return bytes != 0 && address_map_ask(&q, &found);
}

/* ---- changing; with the lock */

static void change_begin(void)
{
    atomic_store_explicit(&turn, atomic_load_explicit(&turn, memory_order_relaxed) + 1,
                          memory_order_relaxed);
}

static void change_end(void)
{
    ADDRESS_WRITE(&turn, atomic_load_explicit(&turn, memory_order_relaxed) + 1);
}

static struct client_address_node *node_take(void)
{
    if (unused == NULL) {
        struct client_address_node *made = calloc(NODES, sizeof *made);
        for (unsigned i = 0; made != NULL && i < NODES; i++) {
            ADDRESS_WRITE(&made[i].right, unused);
            unused = &made[i];
        }
    }
    struct client_address_node *node = unused;
    if (node != NULL) {
        unused = ADDRESS_READ(&node->right);
    }
    return node;
}

static void count_by(enum client_address_kind kind, int by)
{
    counts[kind] += (unsigned)by;
    unsigned others = atomic_load_explicit(&present, memory_order_relaxed) & ~(1u << kind);
    atomic_store(&present, others | (counts[kind] != 0 ? 1u << kind : 0));
}

static void fill(struct client_address_node *node, const struct client_address *what)
{
    ADDRESS_WRITE(&node->start, what->start);
    ADDRESS_WRITE(&node->end, what->start + what->bytes);
    ADDRESS_WRITE(&node->serial, ++last_serial);
    ADDRESS_WRITE(&node->context, what->context);
    ADDRESS_WRITE(&node->id, what->id);
    ADDRESS_WRITE(&node->kind, what->kind);
    ADDRESS_WRITE(&node->flags, what->flags);
    ADDRESS_WRITE(&node->session, what->session);
    ADDRESS_WRITE(&node->record, what->record);
}

static enum ga_status address_map_enter(const struct client_address *what)
{
    const struct question others = {.first = what->start,
                                    .last = what->start + what->bytes - 1,
                                    .kinds = (1u << what->kind) & ~OVERLAP};
    if (walk_locked(&others) != NULL) {
        return GA_INVALID;
    }
    struct client_address_node *node = node_take();
    if (node == NULL) {
        return GA_NO_MEMORY;
    }
    change_begin();
    fill(node, what);
    client_address_treap_insert(&root, node);
    count_by(what->kind, 1);
    change_end();
    return GA_OK;
}

enum ga_status client_address_enter(const struct client_address *what)
{
    if (what->bytes == 0 || what->start + what->bytes < what->start) {
        return GA_INVALID;
    }
    pthread_mutex_lock(&lock);
    enum ga_status status = address_map_enter(what);
    pthread_mutex_unlock(&lock);
    return status;
}

static bool is_it(const struct client_address *at, const void *user)
{
    const struct client_address *wanted = user;
    return at->start == wanted->start && at->record == wanted->record;
}

static struct client_address_node *node_of(enum client_address_kind kind, uint64_t start,
                                           const void *record)
{
    const struct client_address wanted = {.start = start, .record = (void *)(uintptr_t)record};
    const struct question q = {
        .first = start, .last = start, .kinds = 1u << kind, .fits = is_it, .user = &wanted};
    return walk_locked(&q);
}

void client_address_leave(enum client_address_kind kind, uint64_t start, const void *record)
{
    pthread_mutex_lock(&lock);
    struct client_address_node *node = node_of(kind, start, record);
    if (node != NULL) {
        change_begin();
        client_address_treap_remove(&root, node);
        ADDRESS_WRITE(&node->right, unused);
        unused = node;
        count_by(kind, -1);
        change_end();
    }
    pthread_mutex_unlock(&lock);
}

void client_address_flag(enum client_address_kind kind, uint64_t start, const void *record,
                         unsigned flags)
{
    pthread_mutex_lock(&lock);
    struct client_address_node *node = node_of(kind, start, record);
    if (node != NULL) {
        ADDRESS_WRITE(&node->flags, flags);
    }
    pthread_mutex_unlock(&lock);
}

void client_address_window(struct client_session *session, uint64_t base, uint64_t bytes)
{
    pthread_mutex_lock(&lock);
    unsigned count = atomic_load_explicit(&window_count, memory_order_relaxed);
    if (count < CLIENT_DEVICES_MAX) { /* each device has one session, for good */
        windows[count] = (struct window){.session = session, .base = base, .bytes = bytes};
        ADDRESS_WRITE(&window_count, count + 1);
    }
    pthread_mutex_unlock(&lock);
}
