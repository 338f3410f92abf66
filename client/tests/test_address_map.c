/* SPDX-License-Identifier: Apache-2.0 */
/* The address map: edges of every kind, what lies in what, and against a plain list, also while
 * other threads ask. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "client/address/address_map.h"

#define ALL ((1u << CLIENT_ADDRESS_KINDS) - 1)

static struct client_session *session_of(uintptr_t number)
{
    return (struct client_session *)number; /* the map never looks into one */
}

static struct client_address range(enum client_address_kind kind, uint64_t start, uint64_t bytes,
                                   uintptr_t record)
{
    return (struct client_address){.kind = kind,
                                   .flags = (unsigned)record,
                                   .start = start,
                                   .bytes = bytes,
                                   .session = session_of(record + 1),
                                   .context = record + 2,
                                   .id = record + 3,
                                   .record = (void *)record};
}

static void enter(enum client_address_kind kind, uint64_t start, uint64_t bytes, uintptr_t record)
{
    const struct client_address what = range(kind, start, bytes, record);
    cr_assert_eq(client_address_enter(&what), GA_OK, "kind %d at %lx", (int)kind, (long)start);
}

static void leave(enum client_address_kind kind, uint64_t start, uintptr_t record)
{
    client_address_leave(kind, start, (const void *)record);
}

/* `record` 0: nobody's. */
static void expect(uint64_t address, unsigned kinds, uintptr_t record)
{
    struct client_address found = {.record = NULL};
    bool any = client_address_find(address, kinds, &found);
    cr_assert_eq(any, record != 0, "%lx", (long)address);
    cr_assert_eq(found.record, (void *)record, "%lx is of %p, not of %lx", (long)address,
                 found.record, (long)record);
}

Test(address_map, edges_of_every_kind)
{
    for (unsigned kind = 0; kind < CLIENT_ADDRESS_KINDS; kind++) {
        struct client_address found;
        expect(0x1000, ALL, 0);
        enter(kind, 0x1000, 0x10, 1); /* three side by side, and one of a byte far away */
        enter(kind, 0x1010, 0x1, 2);
        enter(kind, 0x1011, 0x1000, 3);
        enter(kind, 0x9000, 1, 4);
        expect(0xfff, ALL, 0);
        expect(0x1000, ALL, 1);
        expect(0x100f, ALL, 1);
        expect(0x1010, ALL, 2);
        expect(0x1011, ALL, 3);
        expect(0x2010, ALL, 3);
        expect(0x2011, ALL, 0);
        expect(0x8fff, ALL, 0);
        expect(0x9000, ALL, 4);
        expect(0x9001, ALL, 0);
        expect(0, ALL, 0);
        expect(UINT64_MAX, ALL, 0);
        expect(0x1000, ALL & ~(1u << kind), 0);
        cr_assert(client_address_find(0x1009, 1u << kind, &found));
        const struct client_address same = range(kind, 0x1000, 0x10, 1);
        cr_assert_eq(found.kind, same.kind);
        cr_assert_eq(found.flags, same.flags);
        cr_assert_eq(found.start, same.start);
        cr_assert_eq(found.bytes, same.bytes);
        cr_assert_eq(found.session, same.session);
        cr_assert_eq(found.context, same.context);
        cr_assert_eq(found.id, same.id);
        leave(kind, 0x1010, 2); /* its neighbours stay */
        expect(0x100f, ALL, 1);
        expect(0x1010, ALL, 0);
        expect(0x1011, ALL, 3);
        leave(kind, 0x1001, 1); /* begins elsewhere */
        leave(kind, 0x1000, 7); /* is another's */
        leave((kind + 1) % CLIENT_ADDRESS_KINDS, 0x1000, 1);
        expect(0x1000, ALL, 1);
        leave(kind, 0x1000, 1);
        leave(kind, 0x1011, 3);
        leave(kind, 0x9000, 4);
        expect(0x1000, ALL, 0);
        expect(0x2010, ALL, 0);
        expect(0x9000, ALL, 0);
    }
}

Test(address_map, ends_of_the_address_space)
{
    const struct client_address none = range(CLIENT_ADDRESS_PINNED, 0x1000, 0, 1);
    const struct client_address over = range(CLIENT_ADDRESS_PINNED, UINT64_MAX - 1, 3, 1);
    cr_assert_eq(client_address_enter(&none), GA_INVALID);
    cr_assert_eq(client_address_enter(&over), GA_INVALID);
    enter(CLIENT_ADDRESS_PINNED, UINT64_MAX - 2, 2, 1);
    enter(CLIENT_ADDRESS_PINNED, 0, 1, 2);
    expect(UINT64_MAX - 3, ALL, 0);
    expect(UINT64_MAX - 2, ALL, 1);
    expect(UINT64_MAX - 1, ALL, 1);
    expect(UINT64_MAX, ALL, 0);
    expect(0, ALL, 2);
    expect(1, ALL, 0);
}

/* A pool's chunk, another program's allocation, a mirror with its allocation around it, all in a
 * window; a mapping in a space of a graph; a variable with a mirror; pinned memory with both halves
 * of its mirror. */
Test(address_map, innermost_answers)
{
    const unsigned device = CLIENT_ADDRESS_DEVICE, host = CLIENT_ADDRESS(PINNED);
    client_address_window(session_of(9), 0x100000, 0x100000);
    enter(CLIENT_ADDRESS_CHUNK, 0x110000, 0x1000, 1);
    enter(CLIENT_ADDRESS_IMPORT, 0x120010, 0x100, 2);
    enter(CLIENT_ADDRESS_BACKING, 0x130200, 0x2000, 3);
    enter(CLIENT_ADDRESS_MIRROR, 0x131000, 0x1000, 3);
    enter(CLIENT_ADDRESS_MIRRORED, 0x131000, 0x1000, 3);
    const struct {
        uint64_t address;
        enum client_address_kind kind;
    } in_window[] = {{0x100000, CLIENT_ADDRESS_SESSION}, {0x10ffff, CLIENT_ADDRESS_SESSION},
                     {0x110000, CLIENT_ADDRESS_CHUNK},   {0x110fff, CLIENT_ADDRESS_CHUNK},
                     {0x111000, CLIENT_ADDRESS_SESSION}, {0x12000f, CLIENT_ADDRESS_SESSION},
                     {0x120010, CLIENT_ADDRESS_IMPORT},  {0x12010f, CLIENT_ADDRESS_IMPORT},
                     {0x120110, CLIENT_ADDRESS_SESSION}, {0x1301ff, CLIENT_ADDRESS_SESSION},
                     {0x130200, CLIENT_ADDRESS_BACKING}, {0x130fff, CLIENT_ADDRESS_BACKING},
                     {0x131000, CLIENT_ADDRESS_MIRROR},  {0x131fff, CLIENT_ADDRESS_MIRROR},
                     {0x132000, CLIENT_ADDRESS_BACKING}, {0x132200, CLIENT_ADDRESS_SESSION},
                     {0x1fffff, CLIENT_ADDRESS_SESSION}};
    for (size_t i = 0; i < sizeof in_window / sizeof in_window[0]; i++) {
        struct client_address found;
        cr_assert(client_address_find(in_window[i].address, device, &found));
        cr_assert_eq(found.kind, in_window[i].kind, "%lx", (long)in_window[i].address);
    }
    struct client_address found;
    cr_assert(client_address_find(0x150000, device, &found));
    cr_assert_eq(found.session, session_of(9));
    cr_assert_eq(found.start, 0x100000);
    cr_assert_eq(found.bytes, 0x100000);
    expect(0xfffff, device, 0);
    expect(0x200000, device, 0);

    enter(CLIENT_ADDRESS_SPACE, 0x400000, 0x3000, 4);
    enter(CLIENT_ADDRESS_GRAPH, 0x400000, 0x3000, 5);
    enter(CLIENT_ADDRESS_MAPPING, 0x401000, 0x1000, 6);
    expect(0x400fff, device, 4);
    expect(0x401000, device, 6);
    expect(0x402000, device, 4);
    expect(0x403000, device, 0);
    expect(0x401000, CLIENT_ADDRESS(GRAPH), 5);

    enter(CLIENT_ADDRESS_GLOBAL, 0x500000, 0x100, 7);
    enter(CLIENT_ADDRESS_MIRROR, 0x500000, 0x100, 8);
    expect(0x5000ff, device, 8);
    leave(CLIENT_ADDRESS_MIRROR, 0x500000, 8);
    expect(0x5000ff, device, 7);

    enter(CLIENT_ADDRESS_PINNED, 0x600000, 0x1000, 9);
    enter(CLIENT_ADDRESS_MIRRORED, 0x600000, 0x1000, 10);
    expect(0x600fff, host, 9);
    expect(0x600fff, host | CLIENT_ADDRESS(MIRRORED), 10);
    expect(0x600fff, device, 0); /* the device has it elsewhere */
}

/* A variable whose address a server says lies in a window is nobody's there. */
Test(address_map, no_variable_in_a_window)
{
    enter(CLIENT_ADDRESS_GLOBAL, 0x110000, 0x100, 1);
    expect(0x110000, CLIENT_ADDRESS_DEVICE, 1);
    client_address_window(session_of(9), 0x100000, 0x100000);
    struct client_address found;
    cr_assert(client_address_find(0x110000, CLIENT_ADDRESS_DEVICE, &found));
    cr_assert_eq(found.kind, CLIENT_ADDRESS_SESSION);
}

static bool is_of(const struct client_address *at, const void *user)
{
    return at->session == user;
}

/* Servers may have mirrors at one address: the newest answers, or the one that is wanted. A second
 * range of another kind is refused. */
Test(address_map, several_at_one_address)
{
    struct client_address found;
    enter(CLIENT_ADDRESS_MIRROR, 0x1000, 0x100, 1);
    enter(CLIENT_ADDRESS_MIRROR, 0x1000, 0x100, 2);
    enter(CLIENT_ADDRESS_MIRROR, 0x1080, 0x100, 3);
    expect(0x107f, ALL, 2);
    expect(0x1080, ALL, 3);
    expect(0x117f, ALL, 3);
    cr_assert(client_address_find_fit(0x1000, ALL, is_of, session_of(2), &found));
    cr_assert_eq(found.record, (void *)1);
    cr_assert_not(client_address_find_fit(0x1000, ALL, is_of, session_of(7), &found));
    leave(CLIENT_ADDRESS_MIRROR, 0x1000, 2);
    expect(0x1000, ALL, 1);
    for (unsigned kind = 0; kind < CLIENT_ADDRESS_KINDS; kind++) {
        if (kind == CLIENT_ADDRESS_MIRROR || kind == CLIENT_ADDRESS_MIRRORED) {
            continue;
        }
        enter(kind, 0x10000, 0x100, 4);
        for (uint64_t at = 0xff01; at < 0x10100; at += 0x7f) {
            const struct client_address what = range(kind, at, 0x100, 5);
            cr_assert_eq(client_address_enter(&what), GA_INVALID);
        }
        enter(kind, 0xff00, 0x100, 6);
        enter(kind, 0x10100, 0x100, 7);
    }
}

Test(address_map, flags_change)
{
    struct client_address found;
    enter(CLIENT_ADDRESS_MAPPING, 0x1000, 0x100, 1);
    enter(CLIENT_ADDRESS_MAPPING, 0x1100, 0x100, 2);
    client_address_flag(CLIENT_ADDRESS_MAPPING, 0x1100, (const void *)2, CLIENT_ADDRESS_BARRED);
    client_address_flag(CLIENT_ADDRESS_MAPPING, 0x1000, (const void *)2, 0); /* of nobody */
    cr_assert(client_address_find(0x11ff, ALL, &found));
    cr_assert_eq(found.flags, CLIENT_ADDRESS_BARRED);
    cr_assert(client_address_find(0x10ff, ALL, &found));
    cr_assert_eq(found.flags, 1);
}

Test(address_map, touches)
{
    enter(CLIENT_ADDRESS_SPACE, 0x1000, 0x1000, 1);
    enter(CLIENT_ADDRESS_MAPPING, 0x1400, 0x100, 2);
    const unsigned mapping = CLIENT_ADDRESS(MAPPING);
    cr_assert(client_address_touches(0x1000, 0x1000, mapping));
    cr_assert(client_address_touches(0x14ff, 1, mapping));
    cr_assert(client_address_touches(0x1400, 1, mapping));
    cr_assert_not(client_address_touches(0x1000, 0x400, mapping));
    cr_assert_not(client_address_touches(0x1500, 0x1000, mapping));
    cr_assert_not(client_address_touches(0x1400, 0, mapping));
    cr_assert_not(client_address_touches(0x1400, 1, CLIENT_ADDRESS(PINNED)));
}

/* ---- against a plain list */

#define PIECES 300u
#define PLACES 4000u

static struct client_address pieces[PIECES]; /* bytes 0: none */
static unsigned entered[PIECES];             /* when */

static const struct client_address *best_at(uint64_t address, unsigned kinds)
{
    const struct client_address *best = NULL;
    for (unsigned i = 0; i < PIECES; i++) {
        const struct client_address *at = &pieces[i];
        if (address - at->start < at->bytes && (kinds >> at->kind & 1) != 0 &&
            (best == NULL || at->kind < best->kind ||
             (at->kind == best->kind && entered[i] > entered[best - pieces]))) {
            best = at;
        }
    }
    return best;
}

static bool overlaps(const struct client_address *what)
{
    for (unsigned i = 0; i < PIECES; i++) {
        if (pieces[i].bytes != 0 && pieces[i].kind == what->kind &&
            pieces[i].start < what->start + what->bytes &&
            what->start < pieces[i].start + pieces[i].bytes) {
            return true;
        }
    }
    return false;
}

static void step(unsigned i, unsigned now, unsigned *seed)
{
    if (pieces[i].bytes != 0) {
        leave(pieces[i].kind, pieces[i].start, i + 1);
        pieces[i].bytes = 0;
        return;
    }
    enum client_address_kind kind = (unsigned)rand_r(seed) % CLIENT_ADDRESS_KINDS;
    unsigned scale = (unsigned)rand_r(seed) % 8 == 0 ? PLACES / 2 : 30;
    const struct client_address what =
        range(kind, (unsigned)rand_r(seed) % PLACES, 1 + (unsigned)rand_r(seed) % scale, i + 1);
    bool refused =
        kind != CLIENT_ADDRESS_MIRROR && kind != CLIENT_ADDRESS_MIRRORED && overlaps(&what);
    cr_assert_eq(client_address_enter(&what), refused ? GA_INVALID : GA_OK);
    if (!refused) {
        pieces[i] = what;
        entered[i] = now;
    }
}

Test(address_map, like_a_list)
{
    unsigned seed = 11;
    for (unsigned now = 0; now < 20000; now++) {
        step((unsigned)rand_r(&seed) % PIECES, now, &seed);
        uint64_t address = (unsigned)rand_r(&seed) % (PLACES * 2);
        unsigned kinds = (unsigned)rand_r(&seed) & ALL;
        struct client_address found;
        const struct client_address *right = best_at(address, kinds);
        cr_assert_eq(client_address_find(address, kinds, &found), right != NULL);
        cr_assert(right == NULL || (found.record == right->record && found.start == right->start &&
                                    found.bytes == right->bytes));
    }
}

/* ---- threads: what stays is found and what was never there is not, whatever comes and goes */

static atomic_bool over;

static void *asker(void *unused)
{
    unsigned seed = (unsigned)(uintptr_t)unused;
    while (!atomic_load(&over)) {
        struct client_address found;
        uint64_t place = (unsigned)rand_r(&seed) % 64;
        cr_assert(client_address_find(place * 0x1000 + 0x80, CLIENT_ADDRESS(PINNED), &found));
        cr_assert_eq(found.record, (void *)(uintptr_t)(place + 1));
        cr_assert_eq(found.start, place * 0x1000);
        cr_assert_not(client_address_find(place * 0x1000 + 0x100, ALL, &found));
        if (client_address_find(place * 0x1000 + 0x200, ALL, &found)) {
            uintptr_t record = (uintptr_t)found.record;
            cr_assert_eq(found.context, record + 2); /* all of one entry */
            cr_assert_eq(found.start, place * 0x1000 + 0x200);
            cr_assert_eq(record % 64, place);
        }
    }
    return NULL;
}

Test(address_map, asking_while_it_changes)
{
    pthread_t threads[3];
    unsigned seed = 5;
    for (uint64_t place = 0; place < 64; place++) {
        enter(CLIENT_ADDRESS_PINNED, place * 0x1000, 0x100, place + 1);
    }
    for (uintptr_t i = 0; i < 3; i++) {
        cr_assert_eq(pthread_create(&threads[i], NULL, asker, (void *)(i + 1)), 0);
    }
    static uintptr_t records[64]; /* 0: none */
    for (uintptr_t i = 1; i < 50000; i++) {
        uint64_t place = (unsigned)rand_r(&seed) % 64, at = place * 0x1000 + 0x200;
        if (records[place] != 0) {
            leave(CLIENT_ADDRESS_IMPORT, at, records[place]);
            records[place] = 0;
        } else {
            records[place] = i * 64 + place;
            enter(CLIENT_ADDRESS_IMPORT, at, 1 + i % 0x100, records[place]);
        }
    }
    atomic_store(&over, true);
    for (int i = 0; i < 3; i++) {
        cr_assert_eq(pthread_join(threads[i], NULL), 0);
    }
}
