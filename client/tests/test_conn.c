/* SPDX-License-Identifier: Apache-2.0 */
/* The connection against a peer by script. A test that hangs ends by the time limit of ctest. */
#include <fcntl.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>

#include "client/tests/peer.h"

#define THREADS 8
#define WAITS   12500

/* ---- answers in any order */

struct shuffled {
    struct peer *peer;
    int calls;
};

static void *answer_in_random_order(void *at)
{
    struct shuffled *s = at;
    struct held {
        uint64_t sequence, number;
    } held[THREADS];
    int count = 0, left = s->calls;
    unsigned seed = 7;
    uint8_t content[256];
    while (left != 0) {
        struct wire_header header;
        if (!peer_call(s->peer, &header, content)) {
            return NULL;
        }
        held[count].sequence = header.sequence;
        memcpy(&held[count++].number, content, 8);
        left--;
        /* Some answers are kept back, as long as somebody is left to ask. */
        while (count != 0 && (count == THREADS || left < THREADS || rand_r(&seed) % 3 == 0)) {
            int i = rand_r(&seed) % count;
            if (!peer_reply(s->peer, WIRE_REPLY, held[i].sequence, 0, held[i].number * 3)) {
                return NULL;
            }
            held[i] = held[--count];
        }
        /* One may be alone: never leave everybody waiting. */
        while (count != 0) {
            char byte;
            if (recv(s->peer->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0) {
                break;
            }
            count--;
            if (!peer_reply(s->peer, WIRE_REPLY, held[count].sequence, 0, held[count].number * 3)) {
                return NULL;
            }
        }
    }
    return NULL;
}

struct asker {
    pthread_t thread;
    struct client_conn *conn;
    uint64_t first;
    int wrong;
};

static void *ask(void *at)
{
    struct asker *asker = at;
    for (uint64_t i = 0; i < WAITS; i++) {
        uint64_t number = 0;
        struct pending_reply *record = call_with(asker->conn, asker->first + i, true, NULL);
        if (record == NULL || finish(asker->conn, record, &number) != 0 ||
            number != (asker->first + i) * 3) {
            asker->wrong++;
        }
    }
    return NULL;
}

Test(conn, eight_threads_and_answers_in_random_order)
{
    struct peer peer = peer_connect();
    struct shuffled shuffled = {.peer = &peer, .calls = THREADS * WAITS};
    struct asker askers[THREADS];
    pthread_t server;
    pthread_create(&server, NULL, answer_in_random_order, &shuffled);
    for (int i = 0; i < THREADS; i++) {
        askers[i] = (struct asker){.conn = peer.conn, .first = (uint64_t)i << 32};
        pthread_create(&askers[i].thread, NULL, ask, &askers[i]);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(askers[i].thread, NULL);
        cr_assert_eq(askers[i].wrong, 0);
    }
    pthread_join(server, NULL);
}

/* ---- both directions full */

#define FULL_BYTES (UINT64_C(48) << 20)

static void *write_before_reading(void *at)
{
    struct peer *peer = at;
    struct wire_header header;
    static uint8_t content[WIRE_CHUNK + 4096];
    if (!peer_call(peer, &header, content)) {
        return NULL;
    }
    uint64_t copy = header.sequence;
    for (uint64_t done = 0; done < FULL_BYTES; done += WIRE_CHUNK) {
        if (!peer_chunk(peer, copy, done, WIRE_CHUNK)) {
            return NULL;
        }
    }
    if (!peer_reply(peer, WIRE_REPLY, copy, 0, 0)) {
        return NULL;
    }
    for (;;) {
        if (!peer_call(peer, &header, content)) {
            return NULL;
        }
        if (header.length == 16) { /* the question at the end */
            peer_reply(peer, WIRE_REPLY, header.sequence, 0, 5);
            return NULL;
        }
        for (uint32_t i = 16; i < header.length; i++) {
            if (content[i] != 0x5a) {
                return NULL;
            }
        }
    }
}

Test(conn, both_directions_full)
{
    struct peer peer = peer_connect();
    pthread_t server;
    uint8_t *in = calloc(1, FULL_BYTES), *out = malloc(WIRE_CHUNK);
    memset(out, 0x5a, WIRE_CHUNK);
    struct reply_action want = {
        .context = 1, .to = in, .bytes = FULL_BYTES, .width = FULL_BYTES, .pitch = FULL_BYTES};
    pthread_create(&server, NULL, write_before_reading, &peer);
    cr_assert_not_null(call_with(peer.conn, 0, false, &want));
    client_conn_flush(peer.conn);
    for (uint64_t done = 0; done < FULL_BYTES; done += WIRE_CHUNK) {
        cr_assert(send_bulk(peer.conn, out, WIRE_CHUNK));
    }
    uint64_t number = 0;
    struct pending_reply *record = call_with(peer.conn, 1, true, NULL);
    cr_assert_eq(finish(peer.conn, record, &number), 0);
    cr_assert_eq(number, 5);
    for (uint64_t i = 0; i < FULL_BYTES; i += 97) {
        cr_assert_eq(in[i], peer_byte(i), "byte %llu", (unsigned long long)i);
    }
    pthread_join(server, NULL);
    free(in);
    free(out);
}

/* ---- a peer that never stops */

#define ENDLESS (64u << 20)

/* One chunk after the other, faster than anybody can read. */
static enum ga_status receive_for_ever(struct transport_conn *transport, void *to, size_t size,
                                       size_t *got)
{
    static struct {
        struct wire_header header;
        uint64_t offset, bytes;
        uint8_t content[4096];
    } chunk = {.header = {.length = 16 + 4096, .opcode = WIRE_DATA, .sequence = 1}, .bytes = 4096};
    static size_t at;
    (void)transport;
    *got = sizeof chunk - at < size ? sizeof chunk - at : size;
    memcpy(to, (const uint8_t *)&chunk + at, *got);
    at = (at + *got) % sizeof chunk;
    chunk.offset += at == 0 ? sizeof chunk.content : 0;
    return GA_OK;
}

Test(conn, reading_in_passing_ends_whatever_comes, .timeout = 60)
{
    struct peer peer = peer_connect();
    static uint8_t to[ENDLESS];
    struct reply_action want = {
        .context = 1, .to = to, .bytes = ENDLESS, .width = ENDLESS, .pitch = ENDLESS};
    struct transport_ops endless = *peer.conn->data.ops;
    endless.receive = receive_for_ever;
    cr_assert_not_null(call_with(peer.conn, 0, false, &want));
    peer.conn->data.ops = &endless;
    client_conn_drain(peer.conn);
    client_conn_drain(peer.conn);
    cr_assert_eq(atomic_load(&peer.conn->facts.dead), 0);
    cr_assert_gt(atomic_load(&peer.conn->bytes_in), 8 << 20);
}

static const struct transport_ops *real;
static atomic_uint sends;

static enum ga_status send_counted(struct transport_conn *transport, const struct iovec *pieces,
                                   int count, size_t *sent)
{
    sends++;
    return real->send(transport, pieces, count, sent);
}

/* A call without a waiter; whether it is sent at once. No service thread is here. */
static bool leaves_at_once(struct peer *peer)
{
    struct reply_action want = {.context = 1};
    unsigned before = sends;
    cr_assert_not_null(call_with(peer->conn, 0, false, &want));
    return sends != before;
}

static void wait_for_one(struct peer *peer)
{
    struct pending_reply *record = call_with(peer->conn, 0, true, NULL);
    cr_assert(peer_reply(peer, WIRE_REPLY, record->sequence, 0, 0));
    cr_assert_eq(finish(peer->conn, record, NULL), 0);
}

Test(conn, the_first_call_after_an_answer_leaves_at_once_where_that_costs_nothing)
{
    struct peer peer = peer_connect();
    real = peer.conn->data.ops;
    struct transport_ops counted = *real;
    counted.send = send_counted;
    peer.conn->data.ops = &counted;
    wait_for_one(&peer);
    cr_expect(!leaves_at_once(&peer), "through a socket");
    counted.send_is_cheap = true;
    wait_for_one(&peer);
    cr_expect(leaves_at_once(&peer));
    cr_expect(!leaves_at_once(&peer), "it goes along with what follows");
}

static unsigned armed;

static void arm(void)
{
    armed++;
}

/* Nothing waits in the buffer then, so that alone would wake nobody. */
Test(conn, what_has_left_at_once_is_looked_for)
{
    struct peer peer = peer_connect();
    struct transport_ops light = *peer.conn->data.ops;
    light.send_is_cheap = true;
    peer.conn->data.ops = &light;
    wait_for_one(&peer);
    peer_hooks.armed = arm;
    cr_assert_not_null(call_with(peer.conn, 0, false, NULL));
    peer_hooks.armed = peer_armed;
    cr_expect_eq(armed, 1);
}

static int hole[2];
static atomic_bool full;

static enum ga_status send_unless_full(struct transport_conn *transport, const struct iovec *pieces,
                                       int count, size_t *sent)
{
    sends++;
    return atomic_load(&full) ? GA_AGAIN : real->send(transport, pieces, count, sent);
}

static unsigned await_hole(struct transport_conn *transport, short wanted, struct pollfd *fds)
{
    (void)transport, (void)wanted;
    fds[0] = (struct pollfd){.fd = hole[0], .events = POLLIN};
    return 1;
}

static void *want_all_room(void *at)
{
    struct peer *peer = at;
    cr_assert_eq(client_conn_lock(peer->conn, CONN_BUFFER), 0);
    client_conn_unlock(peer->conn, false);
    return NULL;
}

static bool somebody_pumps(struct client_conn *conn)
{
    pthread_mutex_lock(&conn->send_lock);
    bool pumps = conn->pumping;
    pthread_mutex_unlock(&conn->send_lock);
    return pumps;
}

static bool somebody_is_exclusive(struct client_conn *conn)
{
    pthread_mutex_lock(&conn->send_lock);
    bool exclusive = conn->exclusive;
    pthread_mutex_unlock(&conn->send_lock);
    return exclusive;
}

static void *send_some_bulk(void *at)
{
    static const uint8_t bytes[4096];
    struct peer *peer = at;
    cr_assert(send_bulk(peer->conn, bytes, sizeof bytes));
    return NULL;
}

/* Or the doorbell of a ring in shared memory would be taken away by a thread that cannot use it:
 * neither what is in the buffer nor bulk. */
Test(conn, nobody_sends_while_another_thread_waits_for_room, .timeout = 60)
{
    struct peer peer = peer_connect();
    struct reply_action want = {.context = 1};
    real = peer.conn->data.ops;
    struct transport_ops counted = *real;
    counted.send = send_unless_full;
    counted.poll_prepare = await_hole;
    peer.conn->data.ops = &counted;
    cr_assert_eq(pipe(hole), 0);
    atomic_store(&full, true);
    cr_assert_not_null(call_with(peer.conn, 0, false, &want));
    pthread_t waiter, sender;
    pthread_create(&waiter, NULL, want_all_room, &peer);
    while (!somebody_pumps(peer.conn)) {
        usleep(100);
    }
    unsigned before = sends;
    client_conn_flush(peer.conn);
    cr_expect_eq(sends, before);
    pthread_create(&sender, NULL, send_some_bulk, &peer);
    while (!somebody_is_exclusive(peer.conn)) {
        usleep(100);
    }
    usleep(20000);
    cr_expect_eq(sends, before);
    atomic_store(&full, false);
    cr_assert_eq(write(hole[1], "", 1), 1);
    pthread_join(waiter, NULL);
    pthread_join(sender, NULL);
    cr_expect_gt(sends, before);
    cr_expect_eq(atomic_load(&peer.conn->facts.dead), 0);
}

/* ---- rows, ranges, watches */

Test(conn, rows_go_where_they_belong)
{
    struct peer peer = peer_connect();
    enum { WIDTH = 37, PITCH = 64, ROWS = 5000 };
    uint8_t *to = calloc(ROWS, PITCH);
    struct reply_action want = {
        .context = 1, .to = to, .bytes = WIDTH * ROWS, .width = WIDTH, .pitch = PITCH};
    struct pending_reply *record = call_with(peer.conn, 0, true, &want);
    for (uint64_t at = 0; at < WIDTH * ROWS;) {
        uint64_t bytes = WIDTH * ROWS - at < 50001 ? WIDTH * ROWS - at : 50001;
        cr_assert(peer_chunk(&peer, record->sequence, at, bytes));
        at += bytes;
    }
    peer_reply(&peer, WIRE_REPLY, record->sequence, 0, 0);
    cr_assert_eq(finish(peer.conn, record, NULL), 0);
    for (uint64_t row = 0; row < ROWS; row++) {
        for (uint64_t i = 0; i < PITCH; i++) {
            uint8_t due = i < WIDTH ? peer_byte(row * WIDTH + i) : 0;
            cr_assert_eq(to[row * PITCH + i], due);
        }
    }
    free(to);
}

static void *reply_later(void *at)
{
    struct peer *peer = at;
    struct wire_header header;
    uint8_t content[4096];
    if (peer_call(peer, &header, content)) {
        usleep(50000);
        peer_chunk(peer, header.sequence, 0, 1000);
        peer_reply(peer, WIRE_REPLY, header.sequence, 0, 0);
    }
    return NULL;
}

Test(conn, a_range_is_waited_for)
{
    struct peer peer = peer_connect();
    static uint8_t to[1000];
    struct reply_action want = {
        .context = 1, .to = to, .bytes = 1000, .width = 1000, .pitch = 1000};
    pthread_t server;
    cr_assert_not_null(call_with(peer.conn, 0, false, &want));
    client_conn_wait_range(peer.conn, to + 1000, 10, true); /* next to it: nothing to wait for */
    pthread_create(&server, NULL, reply_later, &peer);
    client_conn_wait_range(peer.conn, to + 999, 1, false);
    cr_assert_eq(to[999], peer_byte(999));
    cr_assert_eq(atomic_load(&peer.conn->unwaited), 0);
    pthread_join(server, NULL);
}

Test(conn, a_watch_ends_without_anybody_waiting)
{
    struct peer peer = peer_connect();
    _Atomic uint64_t ready = 0;
    struct reply_action want = {.context = 1, .watched = &ready, .watch_value = 9};
    struct pending_reply *record = call_with(peer.conn, 0, true, &want);
    uint64_t sequence = record->sequence;
    peer_reply(&peer, WIRE_REPLY, sequence, 600, 0);
    cr_assert_eq(finish(peer.conn, record, NULL), 600);
    client_conn_drain(peer.conn);
    cr_assert_eq(atomic_load(&ready), 0);
    peer_reply(&peer, WIRE_DONE, sequence, 0, 0);
    while (atomic_load(&ready) == 0) {
        client_conn_drain(peer.conn);
    }
    cr_assert_eq(atomic_load(&ready), 9);
    cr_assert_eq(atomic_load(&peer.conn->facts.dead), 0);
}

Test(conn, an_older_watch_takes_nothing_back)
{
    struct peer peer = peer_connect();
    _Atomic uint64_t ready = 0;
    struct reply_action want = {.context = 1, .watched = &ready, .watch_value = 9};
    struct pending_reply *record = call_with(peer.conn, 0, true, &want);
    uint64_t sequence = record->sequence;
    peer_reply(&peer, WIRE_REPLY, sequence, 600, 0);
    cr_assert_eq(finish(peer.conn, record, NULL), 600);
    client_conn_raise(&ready, 12); /* another thread has waited for more */
    peer_reply(&peer, WIRE_DONE, sequence, 0, 0);
    while (atomic_load(&peer.conn->unwaited) != 0) {
        client_conn_drain(peer.conn);
    }
    cr_assert_eq(atomic_load(&ready), 12);
}

/* ---- late errors */

static uint64_t late_context;
static int late_result;
static uint16_t late_opcode;

static void note_late(uint64_t context, int result, uint16_t opcode)
{
    late_context = context;
    late_result = result;
    late_opcode = opcode;
}

static void say_error(struct peer *peer, uint64_t sequence, uint64_t context)
{
    const struct {
        struct wire_header header;
        int32_t result;
        uint32_t opcode;
        uint64_t context;
    } error = {.header = {.length = 16, .opcode = WIRE_ERROR, .sequence = sequence},
               .result = 1,
               .opcode = 620,
               .context = context};
    peer_write(peer, &error, sizeof error);
}

/* An older server does not say which it is. */
Test(conn, a_late_error_finds_its_context)
{
    struct peer peer = peer_connect();
    struct reply_action one = {.context = 11}, two = {.context = 22};
    peer_hooks.failed = note_late;
    struct pending_reply *first = call_with(peer.conn, 0, true, &one);
    uint64_t sequence = first->sequence;
    struct pending_reply *second = call_with(peer.conn, 0, true, &two);
    say_error(&peer, sequence, 0);
    peer_reply(&peer, WIRE_REPLY, second->sequence, 0, 0);
    peer_reply(&peer, WIRE_REPLY, sequence, 0, 0);
    cr_assert_eq(finish(peer.conn, second, NULL), 0);
    cr_assert_eq(finish(peer.conn, first, NULL), 0);
    cr_assert_eq(late_context, 11);
    cr_assert_eq(late_result, 1);
    cr_assert_eq(late_opcode, 620);
}

/* However many switches have come since. */
Test(conn, a_late_error_says_its_context)
{
    struct peer peer = peer_connect();
    struct reply_action wants[2] = {{.context = 11}, {.context = 22}};
    peer_hooks.failed = note_late;
    struct pending_reply *failed = call_with(peer.conn, 0, true, &wants[0]);
    for (unsigned i = 1; i <= 3 * CONN_SWITCHES; i++) {
        struct pending_reply *last = call_with(peer.conn, 0, true, &wants[i % 2]);
        peer_reply(&peer, WIRE_REPLY, last->sequence, 0, 0);
        cr_assert_eq(finish(peer.conn, last, NULL), 0);
    }
    say_error(&peer, failed->sequence, 11);
    peer_reply(&peer, WIRE_REPLY, failed->sequence, 0, 0);
    cr_assert_eq(finish(peer.conn, failed, NULL), 0);
    cr_assert_eq(late_context, 11);
}
