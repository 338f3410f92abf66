/* One body of tests over every transport: what each must do. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "transport/transport.h"

/* One line per transport. */
static const struct url {
    const char *scheme, *options;
} urls[] = {
    {"tcp", ""},
#if GPUAAS_FAULT
    {"fault+tcp", "?most=5000&again=3"},
#endif
};

struct pair {
    struct transport_listener listener;
    struct transport_conn client, server;
    char url[300]; /* to connect to */
};

static void wait_for(int fd, short events)
{
    struct pollfd p = {.fd = fd, .events = events};
    cr_assert_eq(poll(&p, 1, 5000), 1);
}

static struct pair pair_open(const struct url *url)
{
    char listen_at[100], bound[300];
    struct pair pair;
    struct transport_address address;
    char why[256] = "";
    snprintf(listen_at, sizeof listen_at, "%s://127.0.0.1:0%s", url->scheme, url->options);
    cr_assert_eq(transport_address_parse(listen_at, "1", &address, why, sizeof why), GA_OK);
    cr_assert_eq(address.ops->listen(&address, &pair.listener, why, sizeof why), GA_OK, "%s", why);
    cr_assert_eq(address.ops->local_address(pair.listener.fd, bound, sizeof bound), GA_OK);
    snprintf(pair.url, sizeof pair.url, "%s%s%s", url->scheme, strstr(bound, "://"), url->options);
    cr_assert_eq(address.ops->accept(&pair.listener, &pair.server), GA_AGAIN);
    cr_assert_eq(transport_address_parse(pair.url, "1", &address, why, sizeof why), GA_OK);
    cr_assert_eq(transport_connect(&address, 2000, &pair.client, why, sizeof why), GA_OK, "%s",
                 why);
    wait_for(pair.listener.fd, POLLIN);
    cr_assert_eq(address.ops->accept(&pair.listener, &pair.server), GA_OK);
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

#define each_transport(url)                                                                        \
    for (size_t i_ = 0; i_ < transport_count; i_++)                                                \
        for (const struct url *url = &urls[i_]; url != NULL; url = NULL)

Test(contract, every_transport_is_tested)
{
    cr_assert_eq(transport_count, sizeof urls / sizeof *urls);
}

Test(contract, bytes_arrive_in_order_and_a_full_stream_says_again)
{
    each_transport(url)
    {
        struct pair pair = pair_open(url);
        size_t total = 64u << 20, sent = 0, received = 0;
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
                struct pollfd either[2] = {{pair.server.fd, POLLIN, 0},
                                           {pair.client.fd, POLLOUT, 0}};
                cr_assert(poll(either, sent < total ? 2 : 1, 5000) > 0);
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
        wait_for(pair.server.fd, POLLIN);
        enum ga_status status;
        while ((status = pair.server.ops->receive(&pair.server, &byte, 1, &got)) == GA_AGAIN) {
            wait_for(pair.server.fd, POLLIN);
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

Test(contract, descriptors_do_not_leak_into_children)
{
    each_transport(url)
    {
        struct pair pair = pair_open(url);
        cr_assert(fcntl(pair.client.fd, F_GETFD) & FD_CLOEXEC);
        cr_assert(fcntl(pair.server.fd, F_GETFD) & FD_CLOEXEC);
        cr_assert(fcntl(pair.listener.fd, F_GETFD) & FD_CLOEXEC);
        pair_close(&pair);
    }
}
