/* SPDX-License-Identifier: Apache-2.0 */
/* A backend process by script: the other end of a connection, on a blocking socket, driven by a
 * test. */
#ifndef CLIENT_TESTS_PEER_H
#define CLIENT_TESTS_PEER_H

#include <criterion/criterion.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "api/wire.h"
#include "client/conn/conn_internal.h"

struct peer {
    int fd;
    struct client_conn *conn;
};

/* Connections are never taken down; this keeps the leak finder from wondering. */
static struct client_conn *peer_conns[64];
static unsigned peer_conn_count;

static inline void peer_failed(uint64_t context, int result, uint16_t opcode)
{
    (void)context;
    (void)result;
    (void)opcode;
}

static inline void peer_trim(struct client_conn *conn)
{
    (void)conn;
}

static inline void peer_rest(const struct client_conn *conn, uint64_t now_ns)
{
    (void)conn;
    (void)now_ns;
}

static inline void peer_armed(void)
{
}

/* The hooks of all connections; a test may put others there. */
static struct client_conn_hooks peer_hooks = {
    .failed = peer_failed, .trim = peer_trim, .rest = peer_rest, .armed = peer_armed};

/* A connection over loopback; the other end blocks. */
static inline struct transport_conn peer_pair(int *fd)
{
    struct transport_address address;
    struct transport_listener listener;
    struct transport_conn ours, theirs;
    char why[200], url[128];
    cr_assert_eq(transport_address_parse("127.0.0.1", "0", &address, why, sizeof why), GA_OK);
    cr_assert_eq(address.ops->listen(&address, &listener, why, sizeof why), GA_OK, "%s", why);
    cr_assert_eq(address.ops->local_address(listener.fd, url, sizeof url), GA_OK);
    cr_assert_eq(transport_address_parse(url, "0", &address, why, sizeof why), GA_OK);
    cr_assert_eq(transport_connect(&address, 5000, &ours, why, sizeof why), GA_OK, "%s", why);
    while (address.ops->accept(&listener, &theirs) == GA_AGAIN) {
    }
    address.ops->close_listener(&listener);
    int flags = fcntl(theirs.fd, F_GETFL);
    (void)fcntl(theirs.fd, F_SETFL, flags & ~O_NONBLOCK);
    *fd = theirs.fd;
    return ours;
}

/* A connection of ours and its peer. */
static inline struct peer peer_connect(void)
{
    struct peer peer;
    struct frame_reader reader;
    struct transport_conn ours = peer_pair(&peer.fd);
    struct client_conn *conn = calloc(1, sizeof *conn);
    cr_assert_eq(frame_reader_init(&reader, 512 << 10), GA_OK);
    cr_assert_eq(client_conn_init(conn, ours, reader, &peer_hooks), GA_OK);
    peer_conns[peer_conn_count++ % 64] = conn;
    snprintf(conn->name, sizeof conn->name, "the test's peer");
    peer.conn = conn;
    return peer;
}

static inline bool peer_read(struct peer *peer, void *to, size_t size)
{
    for (size_t done = 0; done < size;) {
        ssize_t got = recv(peer->fd, (uint8_t *)to + done, size - done, 0);
        if (got <= 0) {
            return false;
        }
        done += (size_t)got;
    }
    return true;
}

static inline bool peer_write(struct peer *peer, const void *from, size_t size)
{
    for (size_t done = 0; done < size;) {
        ssize_t sent = send(peer->fd, (const uint8_t *)from + done, size - done, MSG_NOSIGNAL);
        if (sent <= 0) {
            return false;
        }
        done += (size_t)sent;
    }
    return true;
}

/* The next frame that is a call; its content goes to `content`. */
static inline bool peer_call(struct peer *peer, struct wire_header *header, uint8_t *content)
{
    do {
        if (!peer_read(peer, header, sizeof *header) || !peer_read(peer, content, header->length)) {
            return false;
        }
    } while (header->opcode == WIRE_CONTEXT);
    return true;
}

/* REPLY with a result and one number. */
static inline bool peer_reply(struct peer *peer, uint16_t opcode, uint64_t sequence, int32_t result,
                              uint64_t number)
{
    struct {
        struct wire_header header;
        int32_t result;
        uint32_t zero;
        uint64_t number;
    } frame = {.header = {.length = 16, .opcode = opcode, .sequence = sequence},
               .result = result,
               .number = number};
    return peer_write(peer, &frame, sizeof frame);
}

/* A chunk of a copy: byte i of the copy is (uint8_t)(i * 7 + i / 251). */
static inline uint8_t peer_byte(uint64_t i)
{
    return (uint8_t)(i * 7 + i / 251);
}

static inline bool peer_chunk(struct peer *peer, uint64_t sequence, uint64_t offset, uint64_t bytes)
{
    uint32_t padded = wire_padded(bytes);
    struct wire_header header = {.length = 16 + padded, .opcode = WIRE_DATA, .sequence = sequence};
    uint8_t *content = calloc(1, 16 + padded);
    memcpy(content, &offset, 8);
    memcpy(content + 8, &bytes, 8);
    for (uint64_t i = 0; i < bytes; i++) {
        content[16 + i] = peer_byte(offset + i);
    }
    bool ok = peer_write(peer, &header, sizeof header) && peer_write(peer, content, header.length);
    free(content);
    return ok;
}

/* ---- our end */

/* Appends a call with one number; its record. */
static inline struct pending_reply *call_with(struct client_conn *conn, uint64_t number,
                                              bool waited, const struct reply_action *want)
{
    if (client_conn_lock(conn, 256) != 0) {
        return NULL;
    }
    client_conn_context(conn, 1, want != NULL ? want->context : 1);
    memcpy(client_conn_at(conn) + sizeof(struct wire_header), &number, sizeof number);
    uint64_t sequence = client_conn_frame(conn, 600, 1, sizeof number, 0, true);
    struct pending_reply *record = client_conn_expect(conn, sequence, waited, want);
    client_conn_unlock(conn, waited);
    return record;
}

/* A call with bulk out of the caller's memory. False: the connection is dead. */
static inline bool send_bulk(struct client_conn *conn, const uint8_t *from, uint64_t bytes)
{
    if (client_conn_lock(conn, 256) != 0) {
        return false;
    }
    memset(client_conn_at(conn) + sizeof(struct wire_header), 0, 16);
    (void)client_conn_frame(conn, 601, 1, 16, bytes, true);
    client_conn_bulk(conn, from, bytes);
    client_conn_unlock(conn, false);
    return true;
}

/* Waits; the result and the number of the reply. */
static inline int finish(struct client_conn *conn, struct pending_reply *record, uint64_t *number)
{
    cr_assert_not_null(record);
    client_conn_wait(conn, record);
    int result = record->result;
    if (number != NULL && record->results_size >= 16) {
        memcpy(number, record->small + 8, sizeof *number);
    }
    client_conn_release(conn, record);
    return result;
}

static inline void expect_lost(struct client_conn *conn, struct pending_reply *record)
{
    cr_assert_eq(finish(conn, record, NULL), CONN_LOST);
    cr_assert_eq(client_conn_lock(conn, 16), CONN_LOST);
}

#endif
