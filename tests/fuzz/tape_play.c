/* SPDX-License-Identifier: Apache-2.0 */
/* The transport that replays a tape, with nothing below it. */
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "tests/fuzz/input.h"
#include "tests/fuzz/tape_conn.h"

#define SILENCE_US 50000 /* nothing has moved twice: nobody will say more */

static const struct tape *played;
static const struct mutation *mutations;
static size_t mutation_count;
static uint64_t pieces; /* 0: none; else random */
static uint64_t bulk_taken[TAPE_BULKS];
static uint32_t asked_before[TAPE_UNKNOWN][UINT16_MAX + 1];
static uint64_t moved;

/* ---- under the lock */

static void conn_ring(const struct tape_conn *conn)
{
    const uint64_t one = 1;
    (void)!write(conn->fd, &one, sizeof one);
}

static void conn_end(struct tape_conn *conn)
{
    conn->ended = true;
    conn_ring(conn);
}

static void say(struct tape_conn *conn, const void *bytes, size_t size)
{
    if (!conn->ended) {
        mutation_append(&conn->out, bytes, size);
        conn_ring(conn);
    }
}

/* Bytes that a frame of the data connection announces for a bulk connection. */
static void say_apart(const uint32_t *prefix, const uint8_t *values)
{
    uint64_t bytes = prefix[1];
    if (bytes == 0) {
        memcpy(&bytes, values + 8, sizeof bytes);
    }
    for (unsigned i = 0; i < tape_conn_count; i++) {
        struct tape_conn *conn = tape_conns[i];
        if (conn->kind == TAPE_BULK && conn->bulk + 1 == prefix[0]) {
            uint64_t *at = &bulk_taken[conn->bulk];
            bool there = *at + bytes <= TAPE_BULK_BYTES;
            say(conn, there ? played->bulk[conn->bulk] + *at : NULL, bytes);
            *at += there ? bytes : 0;
        }
    }
}

static void say_frame(struct tape_conn *conn, const struct wire_header *asked, uint32_t nth,
                      const struct tape_frame *frame, unsigned number)
{
    struct wire_header header = frame->header;
    struct mutation_bytes bytes = {0};
    bool goes_on = true;
    header.sequence = frame->follows ? asked->sequence : header.sequence;
    mutation_append(&bytes, &header, sizeof header);
    mutation_append(&bytes, played->bytes + frame->at, header.length);
    for (size_t i = 0; goes_on && i < mutation_count; i++) {
        const struct mutation *m = &mutations[i];
        if (m->kind == conn->kind && m->opcode == asked->opcode && m->nth == (uint8_t)nth &&
            m->frame == (uint8_t)number) {
            goes_on = mutation_apply(m, &bytes);
        }
    }
    if (goes_on && bytes.size != 0) {
        say(conn, bytes.at, bytes.size);
    }
    free(bytes.at);
    if (!goes_on) {
        conn_end(conn);
    }
}

static void answer(struct tape_conn *conn, const struct wire_header *asked)
{
    uint32_t nth = asked_before[conn->kind][asked->opcode]++;
    const struct tape_answer *found = tape_find(played, conn->kind, asked->opcode, nth);
    uint32_t prefix[2] = {0};
    unsigned number = 0;
    if (conn->kind == TAPE_SIDE && asked->opcode == WIRE_PING) {
        const struct wire_header pong = {.opcode = WIRE_PONG, .sequence = asked->sequence};
        say(conn, &pong, sizeof pong);
    } else if (found == NULL) { /* it was not called then */
        const struct wire_header reply = {
            .length = 16, .opcode = WIRE_REPLY, .sequence = asked->sequence};
        const uint32_t values[4] = {801};
        say(conn, &reply, sizeof reply);
        say(conn, values, sizeof values);
    } else {
        for (uint32_t i = found->first; i != TAPE_NONE; i = played->frames[i].next) {
            const struct tape_frame *frame = &played->frames[i];
            say_frame(conn, asked, nth, frame, number++);
            if (prefix[0] != 0) {
                say_apart(prefix, played->bytes + frame->at);
            }
            memset(prefix, 0, sizeof prefix);
            if (frame->header.opcode == WIRE_BULK) {
                memcpy(prefix, played->bytes + frame->at, sizeof prefix);
            }
        }
    }
}

static enum ga_status play_send(struct transport_conn *conn, const struct iovec *from, int count,
                                size_t *sent)
{
    struct tape_conn *state = tape_conn_of(conn);
    struct wire_header header;
    const uint8_t *values;
    pthread_mutex_lock(&tape_lock);
    moved++;
    *sent = 0;
    for (int i = 0; i < count; i++) {
        *sent += from[i].iov_len;
        if (state->kind != TAPE_BULK) {
            mutation_append(&state->asked.bytes, from[i].iov_base, from[i].iov_len);
        }
    }
    while (state->kind != TAPE_BULK && (values = tape_split(&state->asked, &header)) != NULL) {
        tape_learn(state, &header, values);
        answer(state, &header);
    }
    bool ended = state->ended;
    pthread_mutex_unlock(&tape_lock);
    return ended ? GA_LOST : GA_OK;
}

static enum ga_status play_receive(struct transport_conn *conn, void *to, size_t size, size_t *got)
{
    struct tape_conn *state = tape_conn_of(conn);
    enum ga_status status = GA_OK;
    pthread_mutex_lock(&tape_lock);
    size_t left = state->out.size - state->taken;
    if (left == 0) {
        uint64_t count;
        (void)!read(state->fd, &count, sizeof count);
        status = state->ended ? GA_LOST : GA_AGAIN;
    } else {
        left = left < size ? left : size;
        if (pieces != 0 && left > 7 && (fuzz_random(&pieces) & 1) != 0) {
            left = 1 + fuzz_random(&pieces) % 7;
        }
        memcpy(to, state->out.at + state->taken, left);
        state->taken += left;
        *got = left;
        moved++;
        if (state->taken == state->out.size) {
            state->taken = state->out.size = 0;
        }
    }
    pthread_mutex_unlock(&tape_lock);
    return status;
}

static unsigned play_await(struct transport_conn *conn, short wanted, struct pollfd *fds)
{
    struct tape_conn *state = tape_conn_of(conn);
    pthread_mutex_lock(&tape_lock);
    bool now = (wanted & POLLIN) != 0 && (state->taken != state->out.size || state->ended);
    pthread_mutex_unlock(&tape_lock);
    fds[0] = (struct pollfd){.fd = conn->fd, .events = wanted};
    return now ? 0 : 1;
}

static enum ga_status play_connect_begin(const struct transport_address *address,
                                         struct transport_conn *out, char *why, size_t why_size);

static enum ga_status play_connect_end(struct transport_conn *conn, char *why, size_t why_size)
{
    (void)conn;
    (void)why;
    (void)why_size;
    return GA_OK;
}

static enum ga_status play_pass(struct transport_conn *conn, int fd)
{
    (void)conn;
    (void)fd;
    return GA_OK;
}

static unsigned play_descriptors(const struct transport_conn *conn, int *fds)
{
    fds[0] = conn->fd;
    return 1;
}

static enum ga_status play_set_dead_after(struct transport_conn *conn, unsigned timeout_ms)
{
    (void)conn;
    (void)timeout_ms;
    return GA_OK;
}

/* Other threads may be in it. */
static void play_close(struct transport_conn *conn)
{
    struct tape_conn *state = tape_conn_of(conn);
    pthread_mutex_lock(&tape_lock);
    conn_end(state);
    pthread_mutex_unlock(&tape_lock);
    conn->fd = -1;
}

#define PLAY_OPS                                                                                   \
    .connect_begin = play_connect_begin, .connect_end = play_connect_end, .send = play_send,       \
    .receive = play_receive, .poll_prepare = play_await, .descriptors = play_descriptors,          \
    .set_dead_after = play_set_dead_after, .close = play_close

const struct transport_ops tape_play_ops = {.scheme = "play", PLAY_OPS};
static const struct transport_ops play_near_ops = {
    .scheme = "play", .send_is_cheap = true, .send_fd = play_pass, PLAY_OPS};

static enum ga_status play_connect_begin(const struct transport_address *address,
                                         struct transport_conn *out, char *why, size_t why_size)
{
    (void)why;
    (void)why_size;
    struct tape_conn *state = tape_conn_new();
    state->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    FUZZ_CHECK(state->fd >= 0);
    const struct transport_ops *ops =
        address->inner->send_fd != NULL ? &play_near_ops : &tape_play_ops;
    *out = (struct transport_conn){.ops = ops, .fd = state->fd, .state = state};
    return GA_OK;
}

static void *watch(void *unused)
{
    (void)unused;
    uint64_t before = UINT64_MAX;
    for (;;) {
        (void)usleep(SILENCE_US);
        pthread_mutex_lock(&tape_lock);
        for (unsigned i = 0; moved == before && i < tape_conn_count; i++) {
            conn_end(tape_conns[i]);
        }
        before = moved;
        pthread_mutex_unlock(&tape_lock);
    }
    return NULL;
}

void tape_play(const struct tape *tape, const struct mutation *wanted, size_t count, bool in_pieces,
               bool ends)
{
    pthread_t thread;
    played = tape;
    mutations = wanted;
    mutation_count = count;
    pieces = in_pieces ? 1 : 0;
    FUZZ_CHECK(!ends || pthread_create(&thread, NULL, watch, NULL) == 0);
}
