/* SPDX-License-Identifier: Apache-2.0 */
/* The contract of transports: one body of tests, run over each of them. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "transport/transport.h"

/* One line per transport, and one more where it can be upgraded. Where there is no card for RDMA,
 * those lines prove that the bytes go over TCP. RDMA_HOST names an address that has one, in a
 * machine that is emulated (tests/rdma): then they must not, the others have been tested elsewhere,
 * and fewer bytes will do. */
#define RDMA_HOST  "GPUAAS_TEST_RDMA"
#define FEWER(all) (getenv(RDMA_HOST) != NULL ? (all) / 8 : (all))

static const struct url {
    const char *scheme, *address, *options;
    bool upgraded;
} urls[] = {
    {"tcp", "tcp://127.0.0.1:0", "", false},
    {"tls", "tls://127.0.0.1:0", "", false},
    {"shm", "shm:0", "", false},
    {"shm", "shm:0", "", true},
#if GPUAAS_RDMA
    {"rdma", "rdma://HOST:0", "", false},
    {"rdma", "rdma://HOST:0", "", true},
#endif
#if GPUAAS_FAULT
    {"fault", "fault+tcp://127.0.0.1:0", "?most=5000&again=3", false},
    {"fault", "fault+tls://127.0.0.1:0", "?most=5000&again=3", false},
    {"fault", "fault+shm:0", "?most=5000&again=3", false},
    {"fault", "fault+shm:0", "?most=5000&again=3", true},
#if GPUAAS_RDMA
    {"fault", "fault+rdma://HOST:0", "?most=5000&again=3", true},
#endif
#endif
};

struct pair {
    struct transport_listener listener;
    struct transport_conn client, server;
    char url[300]; /* to connect to */
};

static void wait_accept(const struct transport_listener *listener)
{
    struct pollfd p = {.fd = listener->fd, .events = POLLIN};
    cr_assert_eq(poll(&p, 1, 5000), 1);
}

static void wait_for(struct transport_conn *conn, short events)
{
    struct pollfd fds[TRANSPORT_POLL_MAX];
    unsigned count = conn->ops->poll_prepare(conn, events, fds);
    cr_assert(count <= TRANSPORT_POLL_MAX);
    cr_assert(count == 0 || poll(fds, count, 5000) > 0);
}

static void listen_url(const struct url *url, char *out, size_t size)
{
    const char *host = strstr(url->address, "HOST"), *card = getenv(RDMA_HOST);
    int before = host != NULL ? (int)(host - url->address) : (int)strlen(url->address);
    snprintf(out, size, "%.*s%s%s%s", before, url->address,
             host == NULL   ? ""
             : card != NULL ? card
                            : "127.0.0.1",
             host != NULL ? host + 4 : "", url->options);
}

/* How to reach what listens there. */
static void connect_url(const struct url *url, const char *bound, char *out, size_t size)
{
    bool rdma = strstr(url->address, "rdma://") != NULL;
    const char *rest = rdma ? strstr(bound, "://") : "";
    snprintf(out, size, "%s%s%s%s", strncmp(url->address, "fault+", 6) == 0 ? "fault+" : "",
             rdma ? "rdma" : bound, rest, url->options);
}

static void upgrade(const struct url *url, struct transport_conn *conn)
{
    char why[300] = "";
    enum ga_status status = conn->ops->upgrade(conn, why, sizeof why);
    if (strstr(url->address, "rdma://") == NULL || getenv(RDMA_HOST) != NULL) {
        cr_assert_eq(status, GA_OK, "%s", why);
    } else {
        cr_assert(status != GA_OK && strlen(why) > 0);
    }
}

/* Whom to believe, for those that ask: both ends know one ticket. */
static const uint8_t ticket[TRANSPORT_TICKET_ID + TRANSPORT_TICKET_KEY] = {1, 2, 3};

static bool ticket_find(void *user, const uint8_t *id, uint8_t *key)
{
    (void)user;
    memcpy(key, ticket + TRANSPORT_TICKET_ID, TRANSPORT_TICKET_KEY);
    return memcmp(id, ticket, TRANSPORT_TICKET_ID) == 0;
}

static const struct transport_secret secret = {
    .ticket_id = ticket, .ticket_key = ticket + TRANSPORT_TICKET_ID, .ticket = ticket_find};

/* Both ends have their part in it; nothing is sent yet. */
static void pair_connect(struct pair *pair)
{
    char why[256] = "";
    enum ga_status status;
    unsigned turns = 0;
    while ((status = pair->client.ops->connect_end(&pair->client, why, sizeof why)) == GA_AGAIN) {
        char byte;
        size_t got;
        cr_assert_eq(pair->server.ops->receive(&pair->server, &byte, 1, &got), GA_AGAIN);
        (void)poll(NULL, 0, 1);
        cr_assert(++turns < 5000);
    }
    cr_assert_eq(status, GA_OK, "%s", why);
}

static struct pair pair_open(const struct url *url)
{
    char listen_at[200], bound[200];
    struct pair pair;
    struct transport_address address;
    char why[256] = "";
    listen_url(url, listen_at, sizeof listen_at);
    cr_assert_eq(transport_address_parse(listen_at, "1", &address, why, sizeof why), GA_OK);
    address.secret = &secret;
    cr_assert_eq(address.ops->listen(&address, &pair.listener, why, sizeof why), GA_OK, "%s", why);
    cr_assert_eq(address.ops->local_address(pair.listener.fd, bound, sizeof bound), GA_OK);
    connect_url(url, bound, pair.url, sizeof pair.url);
    cr_assert_eq(address.ops->accept(&pair.listener, &pair.server), GA_AGAIN);
    cr_assert_eq(transport_address_parse(pair.url, "1", &address, why, sizeof why), GA_OK);
    address.secret = &secret;
    cr_assert_eq(address.ops->connect_begin(&address, &pair.client, why, sizeof why), GA_OK, "%s",
                 why);
    wait_accept(&pair.listener);
    cr_assert_eq(address.ops->accept(&pair.listener, &pair.server), GA_OK);
    pair_connect(&pair);
    if (url->upgraded) {
        upgrade(url, &pair.client);
    }
    return pair;
}

static void pair_close(struct pair *pair)
{
    pair->listener.ops->close_listener(&pair->listener);
    if (pair->client.fd >= 0) {
        pair->client.ops->close(&pair->client);
    }
    pair->server.ops->close(&pair->server);
}

static bool is_due(const struct url *url)
{
    return getenv(RDMA_HOST) == NULL || strstr(url->address, "rdma://") != NULL;
}

#define URLS (sizeof urls / sizeof *urls)
#define each_transport(url)                                                                        \
    for (size_t i_ = 0; i_ < URLS; i_++)                                                           \
        for (const struct url *url = is_due(&urls[i_]) ? &urls[i_] : NULL; url != NULL; url = NULL)

Test(contract, every_transport_is_tested)
{
    for (size_t i = 0; i < transport_count; i++) {
        bool tested = false, tested_upgraded = false;
        for (const struct url *url = urls; url < urls + URLS; url++) {
            bool same = strcmp(url->scheme, transport_all[i]->scheme) == 0;
            tested |= same && !url->upgraded;
            tested_upgraded |= same && url->upgraded;
        }
        cr_assert(tested, "%s", transport_all[i]->scheme);
        cr_assert(tested_upgraded == (transport_all[i]->upgrade != NULL), "%s",
                  transport_all[i]->scheme);
    }
}

Test(contract, bytes_arrive_in_order_and_a_full_stream_says_again)
{
    each_transport(url)
    {
        struct pair pair = pair_open(url);
        size_t total = 16u << 20, sent = 0, received = 0;
        uint32_t next_out = 0;
        uint8_t *out = malloc(65536), *in = malloc(100000);
        bool was_full = false;
        size_t offset = 65536;
        while (received < total) {
            while (sent < total) {
                if (offset == 65536) {
                    for (size_t i = 0; i < 65536; i += 4) {
                        memcpy(out + i, &next_out, 4);
                        next_out++;
                    }
                    offset = 0;
                }
                struct iovec pieces[2] = {{out + offset, (65536 - offset) / 2}, {NULL, 0}};
                pieces[1].iov_base = out + offset + pieces[0].iov_len;
                pieces[1].iov_len = 65536 - offset - pieces[0].iov_len;
                size_t part;
                enum ga_status status = pair.client.ops->send(&pair.client, pieces, 2, &part);
                if (status == GA_AGAIN) {
                    was_full = true;
                    break;
                }
                cr_assert_eq(status, GA_OK);
                sent += part;
                offset += part;
            }
            size_t got;
            enum ga_status status = pair.server.ops->receive(&pair.server, in, 100000, &got);
            if (status == GA_AGAIN) {
                struct pollfd either[2 * TRANSPORT_POLL_MAX];
                unsigned to_read = pair.server.ops->poll_prepare(&pair.server, POLLIN, either);
                unsigned to_write =
                    sent < total
                        ? pair.client.ops->poll_prepare(&pair.client, POLLOUT, either + to_read)
                        : 1;
                if (to_read != 0 && to_write != 0) {
                    unsigned count = sent < total ? to_read + to_write : to_read;
                    cr_assert(poll(either, count, 5000) > 0);
                }
                continue;
            }
            cr_assert_eq(status, GA_OK);
            for (size_t i = 0; i < got; i++) {
                uint32_t word = (uint32_t)((received + i) / 4);
                cr_assert_eq(in[i], (uint8_t)(word >> (8 * ((received + i) % 4))));
            }
            received += got;
        }
        cr_assert(was_full);
        free(out);
        free(in);
        pair_close(&pair);
    }
}

Test(contract, the_end_of_the_peer_is_lost)
{
    each_transport(url)
    {
        struct pair pair = pair_open(url);
        char byte;
        size_t got;
        cr_assert_eq(pair.server.ops->receive(&pair.server, &byte, 1, &got), GA_AGAIN);
        pair.client.ops->close(&pair.client);
        wait_for(&pair.server, POLLIN);
        enum ga_status status;
        while ((status = pair.server.ops->receive(&pair.server, &byte, 1, &got)) == GA_AGAIN) {
            wait_for(&pair.server, POLLIN);
        }
        cr_assert_eq(status, GA_LOST);
        struct iovec piece = {"x", 1};
        status = GA_OK;
        for (int i = 0; i < 100 && status != GA_LOST; i++) {
            status = pair.server.ops->send(&pair.server, &piece, 1, &got);
            (void)poll(NULL, 0, 1);
        }
        cr_assert_eq(status, GA_LOST);
        pair_close(&pair);
    }
}

Test(contract, nobody_listening_is_said_with_its_cause)
{
    each_transport(url)
    {
        struct pair pair = pair_open(url);
        struct transport_address address;
        char why[256] = "";
        cr_assert_eq(transport_address_parse(pair.url, "1", &address, why, sizeof why), GA_OK);
        pair_close(&pair);
        struct transport_conn conn;
        cr_assert_eq(transport_connect(&address, 2000, &conn, why, sizeof why), GA_LOST);
        cr_assert_not_null(strstr(why, "refused"), "%s", why);
    }
}

/* The other end exists but is silent: if connecting needs an answer, the wait for it is bounded. */
Test(contract, nobody_answers, .timeout = 60)
{
    each_transport(url)
    {
        struct pair pair = pair_open(url);
        struct transport_address address;
        struct transport_conn conn;
        char why[256] = "";
        cr_assert_eq(transport_address_parse(pair.url, "1", &address, why, sizeof why), GA_OK);
        address.secret = &secret;
        enum ga_status status = transport_connect(&address, 100, &conn, why, sizeof why);
        if (strstr(url->address, "tls://") != NULL || status != GA_OK) {
            cr_expect_eq(status, GA_TIMEOUT, "%s", url->address);
            cr_expect_str_eq(why, "no answer within 100 ms");
        }
        if (status == GA_OK) {
            conn.ops->close(&conn);
        }
        pair_close(&pair);
    }
}

static void send_byte(struct transport_conn *conn, uint8_t byte)
{
    struct iovec piece = {&byte, 1};
    size_t part;
    enum ga_status status;
    while ((status = conn->ops->send(conn, &piece, 1, &part)) == GA_AGAIN) {
        wait_for(conn, POLLOUT);
    }
    cr_assert_eq(status, GA_OK);
}

static uint8_t receive_byte(struct transport_conn *conn)
{
    uint8_t byte = 0;
    size_t part;
    enum ga_status status;
    while ((status = conn->ops->receive(conn, &byte, 1, &part)) == GA_AGAIN) {
        wait_for(conn, POLLIN);
    }
    cr_assert_eq(status, GA_OK);
    return byte;
}

static void exchange(struct pair *pair)
{
    send_byte(&pair->client, 7);
    cr_assert_eq(receive_byte(&pair->server), 7);
    send_byte(&pair->server, 9);
    cr_assert_eq(receive_byte(&pair->client), 9);
}

#define ROUNDS FEWER(2000)

static void *echo(void *argument)
{
    struct transport_conn *conn = argument;
    for (int i = 0; i < ROUNDS; i++) {
        send_byte(conn, (uint8_t)(receive_byte(conn) + 1));
    }
    return NULL;
}

/* Both ends sleep for every byte: a doorbell that is lost would be a sleep of five seconds. */
Test(contract, whoever_sleeps_is_woken)
{
    each_transport(url)
    {
        struct pair pair = pair_open(url);
        pthread_t thread;
        cr_assert_eq(pthread_create(&thread, NULL, echo, &pair.server), 0);
        for (int i = 0; i < ROUNDS; i++) {
            send_byte(&pair.client, (uint8_t)i);
            cr_assert_eq(receive_byte(&pair.client), (uint8_t)(i + 1));
        }
        pthread_join(thread, NULL);
        pair_close(&pair);
    }
}

/* One thread fills, the other empties: each sleeps now and then until the other has finished. */
static size_t flood_most = 8u << 20; /* each test is a process of its own */
#define FLOOD FEWER(flood_most)

static void *flood(void *argument)
{
    struct transport_conn *conn = argument;
    uint8_t *out = malloc(90000);
    for (size_t done = 0; done < FLOOD;) {
        size_t size = FLOOD - done < 90000 ? FLOOD - done : 90000, part;
        for (size_t i = 0; i < size; i++) {
            out[i] = (uint8_t)((done + i) * 7 >> 3);
        }
        struct iovec piece = {out, size};
        enum ga_status status = conn->ops->send(conn, &piece, 1, &part);
        cr_assert(status == GA_OK || status == GA_AGAIN);
        if (status == GA_AGAIN) {
            wait_for(conn, POLLOUT);
        } else {
            done += part;
        }
    }
    free(out);
    return NULL;
}

static void *swallow(void *argument)
{
    struct transport_conn *conn = argument;
    uint8_t *in = malloc(70000);
    for (size_t done = 0; done < FLOOD;) {
        size_t part;
        enum ga_status status = conn->ops->receive(conn, in, 70000, &part);
        cr_assert(status == GA_OK || status == GA_AGAIN);
        if (status == GA_AGAIN) {
            wait_for(conn, POLLIN);
            continue;
        }
        for (size_t i = 0; i < part; i++) {
            cr_assert_eq(in[i], (uint8_t)((done + i) * 7 >> 3));
        }
        done += part;
    }
    free(in);
    return NULL;
}

Test(contract, a_flood_passes)
{
    each_transport(url)
    {
        struct pair pair = pair_open(url);
        pthread_t thread;
        cr_assert_eq(pthread_create(&thread, NULL, flood, &pair.client), 0);
        (void)swallow(&pair.server);
        pthread_join(thread, NULL);
        pair_close(&pair);
    }
}

/* Each end has a thread that sends and one that receives, at the same time. */
Test(contract, floods_pass_each_other)
{
    flood_most = 1u << 20;
    each_transport(url)
    {
        struct pair pair = pair_open(url);
        pthread_t threads[4];
        exchange(&pair); /* the server's end knows then what it is */
        cr_assert_eq(pthread_create(&threads[0], NULL, flood, &pair.client), 0);
        cr_assert_eq(pthread_create(&threads[1], NULL, flood, &pair.server), 0);
        cr_assert_eq(pthread_create(&threads[2], NULL, swallow, &pair.client), 0);
        cr_assert_eq(pthread_create(&threads[3], NULL, swallow, &pair.server), 0);
        for (int i = 0; i < 4; i++) {
            pthread_join(threads[i], NULL);
        }
        pair_close(&pair);
    }
}

Test(contract, descriptors_do_not_leak_into_children)
{
    each_transport(url)
    {
        struct pair pair = pair_open(url);
        const struct transport_conn *ends[2] = {&pair.client, &pair.server};
        exchange(&pair); /* the server's end knows then what it is */
        for (int i = 0; i < 2; i++) {
            int fds[TRANSPORT_FDS_MAX];
            unsigned count = ends[i]->ops->descriptors(ends[i], fds);
            cr_assert(count >= 1 && count <= TRANSPORT_FDS_MAX);
            for (unsigned k = 0; k < count; k++) {
                cr_assert(fcntl(fds[k], F_GETFD) & FD_CLOEXEC);
            }
        }
        cr_assert(fcntl(pair.listener.fd, F_GETFD) & FD_CLOEXEC);
        pair_close(&pair);
    }
}
