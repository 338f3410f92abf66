/* SPDX-License-Identifier: Apache-2.0 */
/* See conn.h. The table has only the functions of an established connection. */
#include "tests/fuzz/conn.h"

#include <sys/eventfd.h>
#include <unistd.h>

static struct {
    struct fuzz_input input;
    uint64_t random; /* 0: no pieces */
    bool closed;
    int fd;
} peer = {.fd = -1};

static enum ga_status peer_send(struct transport_conn *conn, const struct iovec *pieces, int count,
                                size_t *sent)
{
    (void)conn;
    size_t bytes = 0;
    for (int i = 0; i < count; i++) {
        bytes += pieces[i].iov_len;
    }
    if (peer.random != 0 && bytes > 1) {
        bytes = 1 + fuzz_random(&peer.random) % bytes;
    }
    *sent = bytes;
    return GA_OK;
}

static enum ga_status peer_receive(struct transport_conn *conn, void *to, size_t size, size_t *got)
{
    (void)conn;
    if (peer.closed || peer.input.left == 0) {
        return GA_LOST;
    }
    size_t part = size < peer.input.left ? size : peer.input.left;
    if (peer.random != 0) {
        uint64_t random = fuzz_random(&peer.random);
        size_t most = (random & 1) != 0 ? 7 : 300;
        if ((random & 6) == 6) {
            return GA_AGAIN;
        }
        part = part < most ? part : 1 + (random >> 8) % most;
    }
    memcpy(to, fuzz_take(&peer.input, part), part);
    *got = part;
    return GA_OK;
}

static unsigned peer_await(struct transport_conn *conn, short wanted, struct pollfd *fds)
{
    fds[0] = (struct pollfd){.fd = conn->fd, .events = wanted};
    return 1;
}

static enum ga_status peer_set_dead_after(struct transport_conn *conn, unsigned timeout_ms)
{
    (void)conn;
    (void)timeout_ms;
    return GA_OK;
}

static enum ga_status peer_local_address(int fd, char *url, size_t size)
{
    (void)fd;
    snprintf(url, size, "tcp://127.0.0.1:1");
    return GA_OK;
}

static void peer_close(struct transport_conn *conn)
{
    (void)conn;
    peer.closed = true;
}

static const struct transport_ops peer_ops = {
    .scheme = "fuzz",
    .send = peer_send,
    .receive = peer_receive,
    .poll_prepare = peer_await,
    .set_dead_after = peer_set_dead_after,
    .local_address = peer_local_address,
    .close = peer_close,
};

struct transport_conn fuzz_conn_open(const uint8_t *bytes, size_t size, uint64_t seed)
{
    peer.input = (struct fuzz_input){bytes, size};
    peer.random = seed;
    peer.closed = false;
    peer.fd = eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK);
    FUZZ_CHECK(peer.fd >= 0);
    return (struct transport_conn){.ops = &peer_ops, .fd = peer.fd};
}

size_t fuzz_conn_left(void)
{
    return peer.input.left;
}

void fuzz_conn_close(void)
{
    close(peer.fd);
    peer.fd = -1;
}
