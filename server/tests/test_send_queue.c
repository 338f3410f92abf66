/* SPDX-License-Identifier: Apache-2.0 */
/* The output queue and the staging slots, over a socketpair that fills up. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "server/pipeline/send_queue.h"
#include "server/pipeline/staging.h"
#include "server/tests/fake_context.h"
#include "server/tests/fake_ledger.h"
#include "transport/transport.h"

static uint8_t shared_buffers[8 * WIRE_CHUNK] __attribute__((aligned(4096)));

static CUresult fake_alloc(void **memory, size_t bytes, unsigned flags)
{
    cr_assert_leq(bytes, sizeof shared_buffers);
    cr_assert_eq(flags, CU_MEMHOSTALLOC_PORTABLE);
    *memory = shared_buffers;
    return CUDA_SUCCESS;
}

static const struct cuda_driver driver = {FAKE_CONTEXT, .cuMemHostAlloc = fake_alloc};

static struct staging staging;
static struct send_queue out;
static struct ga_pool frames;
static struct transport_conn conn;
static int peer;

static void start(void)
{
    int ends[2];
    cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    peer = ends[0];
    conn = (struct transport_conn){.ops = transport_all[0], .fd = ends[1]};
    staging_init(&staging, &driver, &fake_ledger, 8 * WIRE_CHUNK, 0);
    cr_assert_eq(staging_make(&staging, 0), CUDA_SUCCESS);
    send_queue_init(&out, &conn, &staging);
    send_queue_pool_init(&frames);
}

static void stop(void)
{
    send_queue_end(&out);
    ga_pool_fini(&frames);
    free(staging.slots);
    close(peer);
    close(conn.fd);
}

TestSuite(send_queue, .init = start, .fini = stop, .timeout = 30);

static void append(uint64_t sequence, bool bulk)
{
    struct send_queue_frame *frame = send_queue_frame_make(&frames, 8, WIRE_REPLY, 1, sequence);
    ga_write_u64(&frame->writer, ~sequence);
    if (bulk) {
        frame->slot = staging_try(&staging);
        frame->bulk = frame->slot->bytes;
        frame->bulk_bytes = WIRE_CHUNK;
        memset(frame->slot->bytes, (int)sequence, WIRE_CHUNK);
    }
    send_queue_append(&out, frame);
}

static void read_all(void *to, size_t size)
{
    uint8_t *at = to;
    while (size != 0) {
        ssize_t got = recv(peer, at, size, MSG_DONTWAIT);
        if (got > 0) {
            at += got;
            size -= (size_t)got;
        } else {
            cr_assert_neq(send_queue_flush(&out), GA_LOST);
        }
    }
}

Test(send_queue, frames_arrive_whole_and_in_order)
{
    enum { FRAMES = 1000 };
    static uint8_t bulk[WIRE_CHUNK];
    uint64_t next = 0, got = 0;
    while (got < FRAMES) {
        while (next < FRAMES && staging.free != NULL) {
            append(next, next % 3 == 0);
            next++;
        }
        enum ga_status status = send_queue_flush(&out);
        cr_assert_eq(status == GA_OK, send_queue_is_empty(&out));
        struct wire_header header;
        uint64_t value[2];
        read_all(&header, sizeof header);
        cr_assert_eq(header.sequence, got);
        cr_assert_eq(header.length, 16 + (got % 3 == 0 ? WIRE_CHUNK : 0));
        read_all(value, 16);
        cr_assert_eq(value[0], ~got);
        cr_assert_eq(value[1], 0, "padding is zero");
        if (got % 3 == 0) {
            read_all(bulk, sizeof bulk);
            cr_assert_eq(bulk[0], (uint8_t)got);
            cr_assert_eq(bulk[WIRE_CHUNK - 1], (uint8_t)got);
        }
        got++;
    }
    cr_assert_eq(out.bytes, 0);
}

static void *wait_for_room(void *argument)
{
    enum ga_status *status = argument;
    *status = send_queue_wait_room(&out, 1, 20 * GA_NS_PER_S);
    return NULL;
}

static void *wait_for_slot(void *argument)
{
    const struct staging_moves seen = staging_moves(&staging);
    *(bool *)argument = staging_wait(&staging, seen, 20 * GA_NS_PER_S);
    return NULL;
}

Test(send_queue, who_waits_is_woken_by_the_end)
{
    pthread_t room, slot;
    enum ga_status status = GA_OK;
    bool woken = false;
    for (uint64_t i = 0; i < 8; i++) {
        append(i, true);
    }
    pthread_create(&room, NULL, wait_for_room, &status);
    pthread_create(&slot, NULL, wait_for_slot, &woken);
    usleep(20000);
    staging_end(&staging);
    send_queue_end(&out);
    pthread_join(room, NULL);
    pthread_join(slot, NULL);
    cr_expect_eq(status, GA_LOST);
    cr_expect(woken);
    cr_expect_null(staging_try(&staging));
}

Test(send_queue, peer_that_is_gone_loses_and_frees)
{
    append(1, true);
    append(2, false);
    close(peer);
    cr_expect_eq(send_queue_flush(&out), GA_LOST);
    append(3, true);
    send_queue_end(&out);
    cr_expect(send_queue_is_empty(&out));
    unsigned free_slots = 0;
    while (staging_try(&staging) != NULL) {
        free_slots++;
    }
    cr_expect_eq(free_slots, 8);
    peer = dup(conn.fd);
}

/* ---- bytes that a network card stores: one that lets some pass, and says that some have ended */

static struct transport_ops card_ops;
static unsigned card_room, card_stored;
static uint64_t card_begun, card_ended;

static enum ga_status card_store(struct transport_conn *on,
                                 const struct transport_one_sided_copy *copy)
{
    cr_assert_eq(on, &conn);
    if (card_begun == card_room) {
        return GA_AGAIN;
    }
    uint64_t word = copy->there;
    cr_assert_eq(copy->key, 7);
    cr_assert_eq(copy->bytes, WIRE_CHUNK - 1);
    cr_assert_eq(*(uint8_t *)copy->here, (uint8_t)card_begun);
    cr_assert_eq(send(conn.fd, &word, sizeof word, 0), sizeof word); /* in order with the frames */
    card_begun++;
    return GA_OK;
}

static enum ga_status card_say(struct transport_conn *on, uint64_t *count)
{
    (void)on;
    *count = card_ended;
    card_stored++;
    return GA_OK;
}

static const struct transport_one_sided card = {.store = card_store, .stored = card_say};

static void append_store(uint64_t number)
{
    struct send_queue_frame *store = send_queue_frame_make(&frames, 0, 0, 1, number);
    store->slot = staging_try(&staging);
    store->bulk = store->slot->bytes;
    store->bulk_bytes = WIRE_CHUNK - 1;
    store->address = 1000 + number;
    store->key = 7;
    memset(store->bulk, (int)number, WIRE_CHUNK);
    send_queue_store(&out, store);
}

static unsigned slots_free(void)
{
    unsigned count = 0;
    for (struct staging_slot *slot = staging.free; slot != NULL; slot = slot->next) {
        count++;
    }
    return count;
}

static void expect_frame(uint64_t sequence)
{
    uint8_t frame[32];
    struct wire_header header;
    read_all(frame, sizeof frame);
    memcpy(&header, frame, sizeof header);
    cr_assert_eq(header.sequence, sequence);
}

static void expect_store(uint64_t number)
{
    uint64_t word;
    read_all(&word, sizeof word);
    cr_assert_eq(word, 1000 + number);
}

Test(send_queue, what_is_stored_stays_in_order_and_keeps_its_slot)
{
    card_ops = *conn.ops;
    card_ops.one_sided = &card;
    conn.ops = &card_ops;
    card_room = 2;
    append(10, false);
    append_store(0);
    append_store(1);
    append(11, false);
    append_store(2);
    append(12, false);
    cr_expect_not(send_queue_is_storing(&out));
    cr_assert_eq(send_queue_flush(&out), GA_AGAIN, "there is no room for the third");
    expect_frame(10);
    expect_store(0);
    expect_store(1);
    expect_frame(11);
    cr_expect(send_queue_is_storing(&out));
    cr_expect_eq(slots_free(), 8 - 3, "nothing has ended");
    card_room = 3;
    card_ended = 1;
    cr_assert_eq(send_queue_flush(&out), GA_OK);
    expect_store(2);
    expect_frame(12);
    cr_expect(send_queue_is_empty(&out));
    cr_expect_eq(slots_free(), 8 - 2);
    card_ended = 3;
    cr_assert_eq(send_queue_flush(&out), GA_OK);
    cr_expect_eq(slots_free(), 8);
    cr_expect_not(send_queue_is_storing(&out));
    unsigned asked = card_stored;
    cr_assert_eq(send_queue_flush(&out), GA_OK);
    cr_expect_eq(card_stored, asked, "nobody is asked when nothing is on its way");
    /* After the end: what has not begun gives its slot back, what has begun never does. */
    card_room = 4;
    append_store(3);
    append_store(4);
    cr_assert_eq(send_queue_flush(&out), GA_AGAIN);
    send_queue_end(&out);
    append_store(5);
    cr_expect_eq(slots_free(), 8 - 1);
}

/* ---- the bound */

static atomic_bool has_room;

static void *wait_below(void *argument)
{
    cr_expect_eq(send_queue_wait_room(&out, *(const uint64_t *)argument, 20 * GA_NS_PER_S), GA_OK);
    atomic_store(&has_room, true);
    return NULL;
}

Test(send_queue, who_waits_for_room_waits_for_fewer_bytes_than_the_bound)
{
    pthread_t waiter;
    append(0, false);
    append(1, true);
    uint64_t queued = out.own_bytes, less = queued - 1;
    cr_assert_eq(out.bytes, 2 * 32 + WIRE_CHUNK);
    cr_assert_eq(queued, 2 * 32, "bytes in slots are bounded by the slots");
    cr_expect(send_queue_is_full(&out, less));
    cr_expect(send_queue_is_full(&out, queued));
    cr_expect_not(send_queue_is_full(&out, queued + 1));
    cr_assert_eq(send_queue_wait_room(&out, queued + 1, 0), GA_OK, "it does not wait");
    cr_assert_eq(send_queue_wait_room(&out, queued, 1), GA_TIMEOUT);
    for (unsigned i = 0; i < 2; i++) {
        atomic_store(&has_room, false);
        pthread_create(&waiter, NULL, wait_below, i == 0 ? &queued : &less);
        usleep(20000);
        cr_expect_not(atomic_load(&has_room));
        if (i == 0) {
            expect_frame(0);
        } else {
            static uint8_t rest[32 + WIRE_CHUNK];
            read_all(rest, sizeof rest);
        }
        pthread_join(waiter, NULL);
        append(2, false);
        append(3, true);
        queued = out.own_bytes;
        less = queued - 1;
    }
}

/* ---- the limit */

static uint64_t read_what_came(void)
{
    static uint8_t bytes[WIRE_CHUNK];
    uint64_t came = 0;
    for (ssize_t got; (got = recv(peer, bytes, sizeof bytes, MSG_DONTWAIT)) > 0;) {
        came += (uint64_t)got;
    }
    return came;
}

Test(send_queue, what_is_over_the_limit_waits_until_it_is_lifted)
{
    static struct quota quota = {.turn = 1};
    static struct figures figures;
    static struct ledger ledger = {.figures = &figures, .quota = &quota};
    const uint64_t all = 4 * (32 + WIRE_CHUNK);
    for (unsigned i = 0; i < LIMIT_COUNT; i++) {
        quota.limits[i] = LIMIT_NONE;
    }
    quota.limits[LIMIT_BANDWIDTH_OUT] = 1; /* the first byte is a second */
    staging.ledger = &ledger;
    for (uint64_t i = 0; i < 4; i++) {
        append(i, true);
    }
    cr_assert_eq(send_queue_flush(&out), GA_AGAIN);
    cr_assert_eq(atomic_load(&figures.rate_waits), 1, "gpuaasd can tell that it waits");
    cr_assert_neq(send_queue_held_ns(&out), 0, "not by the socket");
    cr_assert_neq(send_queue_early_ns(&out), 0, "nor does anything else go");
    uint64_t came = read_what_came();
    cr_assert(came != 0 && came < 1000, "%llu bytes", (unsigned long long)came);
    quota.limits[LIMIT_BANDWIDTH_OUT] = 2;
    quota.turn++;
    cr_assert_eq(send_queue_flush(&out), GA_AGAIN, "another limit forgives nothing");
    cr_assert_lt(came += read_what_came(), all / 2);
    send_queue_lift(&out);
    while (came < all) {
        cr_assert_neq(send_queue_flush(&out), GA_LOST);
        cr_assert_eq(send_queue_held_ns(&out), 0);
        came += read_what_came();
    }
    cr_assert_eq(came, all);
    cr_assert_eq(atomic_load(&figures.of[FIGURE_FRAMES_OUT]), all);
    cr_assert_eq(send_queue_early_ns(&out), 0);
    cr_assert(send_queue_is_empty(&out));
}

/* A nanosecond is a byte, so a look at the clock would show. */
Test(send_queue, bytes_far_below_the_limit_need_no_look_at_the_clock)
{
    static struct quota quota = {.turn = 1};
    static struct figures figures;
    struct ledger ledger = {.figures = &figures, .quota = &quota};
    struct send_rate limit = {0};
    quota.limits[LIMIT_BANDWIDTH_OUT] = UINT64_C(1000000000);
    const uint64_t room = send_rate_room(&limit, &ledger);
    cr_assert(room > 40000000 && room <= 50000000, "%llu bytes", (unsigned long long)room);
    for (uint64_t sent = 1000; sent <= 10000; sent += 1000) {
        ledger_moved(&ledger, FIGURE_FRAMES_OUT, 1000);
        cr_assert_eq(send_rate_room(&limit, &ledger), room - sent);
    }
    for (unsigned part = 0; part < 10; part++) {
        ledger_moved(&ledger, FIGURE_FRAMES_OUT, 12000000);
        cr_assert_neq(send_rate_room(&limit, &ledger), 0, "part %u", part);
        limit.rate.due_ns = 0; /* as if the time for them had passed */
    }
    ledger_moved(&ledger, FIGURE_FRAMES_OUT, UINT64_C(10000000000));
    cr_assert_eq(send_rate_room(&limit, &ledger), 0, "that is ten seconds' worth");
    cr_assert_neq(send_rate_held_ns(&limit), 0);
}

/* ---- bulk connections */

/* Queues bulk of so many KiB; which of the connections gets it. */
static unsigned chosen_for(uint32_t kib)
{
    struct send_queue_frame *frame = send_queue_frame_make(&frames, 8, WIRE_REPLY, 1, 0);
    frame->slot = staging_try(&staging);
    frame->bulk = frame->slot->bytes;
    frame->bulk_bytes = kib << 10;
    send_queue_append(&out, frame);
    cr_assert(frame->out_of_band);
    uint32_t connection;
    memcpy(&connection, frame->prefix + sizeof(struct wire_header), sizeof connection);
    return connection;
}

Test(send_queue, bulk_goes_where_the_least_waits)
{
    struct transport_conn beside[3];
    int others[3];
    for (unsigned i = 0; i < 3; i++) {
        int ends[2];
        cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
        others[i] = ends[0];
        beside[i] = (struct transport_conn){.ops = transport_all[0], .fd = ends[1]};
        send_queue_bulk_use(&out, &beside[i]);
    }
    /* In turns, as long as all have the same: the first turn is the second one's. */
    cr_expect_eq(chosen_for(128), 2);
    cr_expect_eq(chosen_for(64), 3);
    cr_expect_eq(chosen_for(192), 1);
    cr_expect_eq(chosen_for(80), 3, "64 KiB wait there, elsewhere 128 and 192");
    cr_expect_eq(chosen_for(80), 2, "128 KiB: fewer than 144 and 192");
    cr_expect_eq(chosen_for(64), 3, "144 KiB: fewer than 192 and 208");
    cr_expect_eq(chosen_for(64), 1, "192 KiB: fewer than 208 and 208");
    for (unsigned i = 0; i < 3; i++) {
        close(others[i]);
        close(beside[i].fd);
    }
}
