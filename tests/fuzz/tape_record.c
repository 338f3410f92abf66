/* SPDX-License-Identifier: Apache-2.0 */
/* The transport that listens to the real one below it. */
#include "tests/fuzz/input.h"
#include "tests/fuzz/tape_conn.h"

struct tape *tape_recorded;

static void record_sent(struct tape_conn *conn, const struct iovec *pieces_sent, size_t sent)
{
    struct wire_header header;
    const uint8_t *values;
    if (conn->kind == TAPE_BULK) {
        return; /* no frames behind the greeting */
    }
    for (; sent != 0; pieces_sent++) {
        size_t part = pieces_sent->iov_len < sent ? pieces_sent->iov_len : sent;
        mutation_append(&conn->asked.bytes, pieces_sent->iov_base, part);
        sent -= part;
    }
    while ((values = tape_split(&conn->asked, &header)) != NULL) {
        tape_learn(conn, &header, values);
        tape_asked(tape_recorded, conn->number, conn->kind, &header);
    }
}

static enum ga_status record_send(struct transport_conn *conn, const struct iovec *from, int count,
                                  size_t *sent)
{
    struct tape_conn *state = tape_conn_of(conn);
    pthread_mutex_lock(&tape_lock);
    enum ga_status status = state->inner.ops->send(&state->inner, from, count, sent);
    if (status == GA_OK) {
        record_sent(state, from, *sent);
    }
    pthread_mutex_unlock(&tape_lock);
    return status;
}

static void record_came(struct tape_conn *conn, const uint8_t *bytes, size_t size)
{
    struct wire_header header;
    const uint8_t *values;
    if (conn->kind == TAPE_BULK && conn->greeted) {
        tape_bulk(tape_recorded, conn->bulk, bytes, size);
        return;
    }
    mutation_append(&conn->said.bytes, bytes, size);
    while ((values = tape_split(&conn->said, &header)) != NULL) {
        tape_answered(tape_recorded, conn->number, conn->kind, &header, values);
        conn->greeted = true;
    }
}

static enum ga_status record_receive(struct transport_conn *conn, void *to, size_t size,
                                     size_t *got)
{
    struct tape_conn *state = tape_conn_of(conn);
    pthread_mutex_lock(&tape_lock);
    enum ga_status status = state->inner.ops->receive(&state->inner, to, size, got);
    if (status == GA_OK) {
        record_came(state, to, *got);
    }
    pthread_mutex_unlock(&tape_lock);
    return status;
}

static enum ga_status record_connect_begin(const struct transport_address *address,
                                           struct transport_conn *out, char *why, size_t why_size);

static enum ga_status record_connect_end(struct transport_conn *conn, char *why, size_t why_size)
{
    struct tape_conn *state = tape_conn_of(conn);
    return state->inner.ops->connect_end(&state->inner, why, why_size);
}

static enum ga_status record_widen(struct transport_conn *conn, char *why, size_t why_size)
{
    struct tape_conn *state = tape_conn_of(conn);
    if (state->inner.ops->upgrade == NULL) {
        return GA_OK;
    }
    return state->inner.ops->upgrade(&state->inner, why, why_size);
}

static enum ga_status record_pass(struct transport_conn *conn, int fd)
{
    struct tape_conn *state = tape_conn_of(conn);
    return state->inner.ops->send_fd(&state->inner, fd);
}

static unsigned record_await(struct transport_conn *conn, short wanted, struct pollfd *fds)
{
    struct tape_conn *state = tape_conn_of(conn);
    return state->inner.ops->poll_prepare(&state->inner, wanted, fds);
}

static unsigned record_descriptors(const struct transport_conn *conn, int *fds)
{
    const struct tape_conn *state = tape_conn_of(conn);
    return state->inner.ops->descriptors(&state->inner, fds);
}

static enum ga_status record_set_dead_after(struct transport_conn *conn, unsigned timeout_ms)
{
    struct tape_conn *state = tape_conn_of(conn);
    return state->inner.ops->set_dead_after(&state->inner, timeout_ms);
}

static void record_close(struct transport_conn *conn)
{
    struct tape_conn *state = tape_conn_of(conn);
    state->inner.ops->close(&state->inner);
    conn->fd = -1;
}

#define RECORD_OPS                                                                                 \
    .connect_begin = record_connect_begin, .connect_end = record_connect_end,                      \
    .upgrade = record_widen, .send = record_send, .receive = record_receive,                       \
    .poll_prepare = record_await, .descriptors = record_descriptors,                               \
    .set_dead_after = record_set_dead_after, .close = record_close

const struct transport_ops tape_record_ops = {.scheme = "record", RECORD_OPS};
static const struct transport_ops record_near_ops = {
    .scheme = "record", .send_fd = record_pass, RECORD_OPS};

static enum ga_status record_connect_begin(const struct transport_address *address,
                                           struct transport_conn *out, char *why, size_t why_size)
{
    struct tape_conn *state = tape_conn_new();
    GA_TRY(address->inner->connect_begin(address, &state->inner, why, why_size));
    const struct transport_ops *ops =
        address->inner->send_fd != NULL ? &record_near_ops : &tape_record_ops;
    *out = (struct transport_conn){.ops = ops, .fd = state->inner.fd, .state = state};
    return GA_OK;
}

void tape_record(struct tape *tape)
{
    tape_recorded = tape;
}
