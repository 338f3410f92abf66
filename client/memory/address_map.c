/* SPDX-License-Identifier: Apache-2.0 */
/* The ranges stand in a treap in the order of their starts; each node knows where the last of its
 * subtree ends, so that ranges that hold an address are found although they overlap. Windows stand
 * in an array, because they never go and most addresses that are asked for lie in one.
 *
 * Asking takes no lock (a sequence lock): `turn` is odd while the treap changes, and who has walked
 * through a change walks again. That works because nodes are never given back, only used again, and
 * because a walk has an end even where links have changed on its way. */
#include "client/memory/address_map.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

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

typedef _Atomic uint64_t word;

struct node {
    struct node *_Atomic left, *_Atomic right; /* `right`: the next one that is unused, too */
    word start, end;
    word last; /* where the last range of the subtree ends */
    word serial, context, id;
    _Atomic unsigned kind, flags;
    struct client_session *_Atomic session;
    void *_Atomic record;
    uint32_t priority;
};

struct window {
    struct client_session *session;
    uint64_t base, bytes;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of all changes; comes last */
static atomic_uint turn;
static struct node *_Atomic root;
static atomic_uint present; /* the kinds of which there are ranges in the treap */
static struct node *unused;
static unsigned counts[CLIENT_ADDRESS_KINDS];
static uint64_t last_serial;
static struct window windows[CLIENT_DEVICES_MAX];
static atomic_uint window_count;

/* Who reads a value that was written in a change also reads that the turn is another. */
#define READ(at)         atomic_load_explicit(at, memory_order_acquire)
#define WRITE(at, value) atomic_store_explicit(at, value, memory_order_release)

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
    bool changed;      /* the treap, meanwhile */
    struct node *best; /* NULL: none so far */
    unsigned kind;     /* of `best` */
    uint64_t serial;
};

static bool turned(const struct walk *walk)
{
    return atomic_load_explicit(&turn, memory_order_relaxed) != walk->turn;
}

static void copy(const struct node *node, struct client_address *at)
{
    at->kind = READ(&node->kind);
    at->flags = READ(&node->flags);
    at->start = READ(&node->start);
    at->bytes = READ(&node->end) - at->start;
    at->session = READ(&node->session);
    at->context = READ(&node->context);
    at->id = READ(&node->id);
    at->record = READ(&node->record);
}

static bool is_wanted(const struct node *node, struct walk *walk)
{
    const struct question *q = walk->question;
    struct client_address at;
    if (q->fits == NULL) {
        return true;
    }
    copy(node, &at);
    walk->changed = turned(walk); /* else it is all of one range */
    return !walk->changed && q->fits(&at, q->user);
}

/* The node has one of the bytes. */
static void look(struct node *node, struct walk *walk)
{
    unsigned kind = READ(&node->kind);
    uint64_t serial = READ(&node->serial);
    bool better =
        walk->best == NULL || kind < walk->kind || (kind == walk->kind && serial > walk->serial);
    if ((walk->question->kinds >> kind & 1) != 0 && better && is_wanted(node, walk)) {
        walk->best = node;
        walk->kind = kind;
        walk->serial = serial;
    }
}

static bool reaches(const struct node *node, const struct walk *walk)
{
    return node != NULL && READ(&node->last) > walk->question->first;
}

static void descend(struct node *node, struct walk *walk)
{
    while (reaches(node, walk) && !walk->changed) {
        walk->changed = walk->steps_left-- == 0;
        struct node *left = READ(&node->left);
        if (READ(&node->start) > walk->question->last) {
            node = left;
            continue;
        }
        if (READ(&node->end) > walk->question->first) {
            look(node, walk);
        }
        if (reaches(left, walk)) {
            descend(left, walk);
        }
        node = READ(&node->right);
    }
}

static struct node *walk_locked(const struct question *q)
{
    struct walk walk = {.question = q, .turn = READ(&turn), .steps_left = UINT32_MAX};
    descend(READ(&root), &walk);
    return walk.best;
}

/* Without the lock. False: the treap has changed meanwhile. */
static bool walk_unlocked(const struct question *q, struct client_address *found, bool *any)
{
    struct walk walk = {.question = q, .turn = READ(&turn), .steps_left = STEPS_MAX};
    walk.changed = walk.turn % 2 != 0;
    descend(READ(&root), &walk);
    *any = walk.best != NULL;
    if (*any) {
        copy(walk.best, found);
    }
    return !walk.changed && !turned(&walk);
}

static bool ask(const struct question *q, struct client_address *found)
{
    bool any;
    for (unsigned i = 0; i < WALKS; i++) {
        if (walk_unlocked(q, found, &any)) {
            return any;
        }
    }
    pthread_mutex_lock(&lock);
    const struct node *node = walk_locked(q);
    if (node != NULL) {
        copy(node, found);
    }
    pthread_mutex_unlock(&lock);
    return node != NULL;
}

static const struct window *window_at(uint64_t address)
{
    unsigned count = READ(&window_count);
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
    if ((atomic_load_explicit(&present, memory_order_relaxed) & kinds) != 0 && ask(&q, found)) {
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
    return bytes != 0 && ask(&q, &found);
}

/* ---- changing; with the lock */

static void change_begin(void)
{
    atomic_store_explicit(&turn, atomic_load_explicit(&turn, memory_order_relaxed) + 1,
                          memory_order_relaxed);
}

static void change_end(void)
{
    WRITE(&turn, atomic_load_explicit(&turn, memory_order_relaxed) + 1);
}

/* The subtrees are right. */
static void last_set(struct node *node)
{
    uint64_t last = READ(&node->end);
    const struct node *below[2] = {READ(&node->left), READ(&node->right)};
    for (int i = 0; i < 2; i++) {
        if (below[i] != NULL && READ(&below[i]->last) > last) {
            last = READ(&below[i]->last);
        }
    }
    WRITE(&node->last, last);
}

static bool comes_before(const struct node *one, const struct node *other)
{
    uint64_t a = READ(&one->start), b = READ(&other->start);
    return a != b ? a < b : READ(&one->serial) < READ(&other->serial);
}

/* Everything that comes before `at` goes left. */
static void split(struct node *tree, const struct node *at, struct node *_Atomic *left,
                  struct node *_Atomic *right)
{
    if (tree == NULL) {
        WRITE(left, NULL);
        WRITE(right, NULL);
        return;
    }
    if (comes_before(tree, at)) {
        split(READ(&tree->right), at, &tree->right, right);
        WRITE(left, tree);
    } else {
        split(READ(&tree->left), at, left, &tree->left);
        WRITE(right, tree);
    }
    last_set(tree);
}

static struct node *merge(struct node *left, struct node *right)
{
    if (left == NULL || right == NULL) {
        return left != NULL ? left : right;
    }
    struct node *top = left->priority > right->priority ? left : right;
    if (top == left) {
        WRITE(&left->right, merge(READ(&left->right), right));
    } else {
        WRITE(&right->left, merge(left, READ(&right->left)));
    }
    last_set(top);
    return top;
}

static struct node *insert(struct node *tree, struct node *node)
{
    if (tree == NULL || node->priority > tree->priority) {
        split(tree, node, &node->left, &node->right);
        last_set(node);
        return node;
    }
    struct node *_Atomic *side = comes_before(node, tree) ? &tree->left : &tree->right;
    WRITE(side, insert(READ(side), node));
    last_set(tree);
    return tree;
}

static struct node *without(struct node *tree, const struct node *node)
{
    if (tree == node) {
        return merge(READ(&tree->left), READ(&tree->right));
    }
    struct node *_Atomic *side = comes_before(node, tree) ? &tree->left : &tree->right;
    WRITE(side, without(READ(side), node));
    last_set(tree);
    return tree;
}

static struct node *node_take(void)
{
    if (unused == NULL) {
        struct node *made = calloc(NODES, sizeof *made);
        for (unsigned i = 0; made != NULL && i < NODES; i++) {
            WRITE(&made[i].right, unused);
            unused = &made[i];
        }
    }
    struct node *node = unused;
    if (node != NULL) {
        unused = READ(&node->right);
    }
    return node;
}

static uint32_t next_random(void)
{
    static uint32_t x = 2463534242u;
    x ^= x << 13;
    x ^= x >> 17;
    x ^= x << 5;
    return x;
}

static void count_by(enum client_address_kind kind, int by)
{
    counts[kind] += (unsigned)by;
    unsigned others = atomic_load_explicit(&present, memory_order_relaxed) & ~(1u << kind);
    atomic_store(&present, others | (counts[kind] != 0 ? 1u << kind : 0));
}

static void fill(struct node *node, const struct client_address *what)
{
    WRITE(&node->start, what->start);
    WRITE(&node->end, what->start + what->bytes);
    WRITE(&node->serial, ++last_serial);
    WRITE(&node->context, what->context);
    WRITE(&node->id, what->id);
    WRITE(&node->kind, what->kind);
    WRITE(&node->flags, what->flags);
    WRITE(&node->session, what->session);
    WRITE(&node->record, what->record);
    node->priority = next_random();
}

static enum ga_status enter(const struct client_address *what)
{
    const struct question others = {.first = what->start,
                                    .last = what->start + what->bytes - 1,
                                    .kinds = (1u << what->kind) & ~OVERLAP};
    if (walk_locked(&others) != NULL) {
        return GA_INVALID;
    }
    struct node *node = node_take();
    if (node == NULL) {
        return GA_NO_MEMORY;
    }
    change_begin();
    fill(node, what);
    WRITE(&root, insert(READ(&root), node));
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
    enum ga_status status = enter(what);
    pthread_mutex_unlock(&lock);
    return status;
}

static bool is_it(const struct client_address *at, const void *user)
{
    const struct client_address *wanted = user;
    return at->start == wanted->start && at->record == wanted->record;
}

static struct node *node_of(enum client_address_kind kind, uint64_t start, const void *record)
{
    const struct client_address wanted = {.start = start, .record = (void *)(uintptr_t)record};
    const struct question q = {
        .first = start, .last = start, .kinds = 1u << kind, .fits = is_it, .user = &wanted};
    return walk_locked(&q);
}

void client_address_leave(enum client_address_kind kind, uint64_t start, const void *record)
{
    pthread_mutex_lock(&lock);
    struct node *node = node_of(kind, start, record);
    if (node != NULL) {
        change_begin();
        WRITE(&root, without(READ(&root), node));
        WRITE(&node->right, unused);
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
    struct node *node = node_of(kind, start, record);
    if (node != NULL) {
        WRITE(&node->flags, flags);
    }
    pthread_mutex_unlock(&lock);
}

void client_address_window(struct client_session *session, uint64_t base, uint64_t bytes)
{
    pthread_mutex_lock(&lock);
    unsigned count = atomic_load_explicit(&window_count, memory_order_relaxed);
    if (count < CLIENT_DEVICES_MAX) { /* each device has one session, for good */
        windows[count] = (struct window){.session = session, .base = base, .bytes = bytes};
        WRITE(&window_count, count + 1);
    }
    pthread_mutex_unlock(&lock);
}
