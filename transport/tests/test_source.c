/* SPDX-License-Identifier: Apache-2.0 */
/* Which connections count as one source's. */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "transport/tcp.h"
#include "transport/transport.h"

/* The source of a connection from one address to another of this machine. False: it has no IPv6. */
static bool source_of(const char *from, const char *to, uint8_t source[TRANSPORT_SOURCE_BYTES])
{
    bool six = strchr(from, ':') != NULL;
    union {
        struct sockaddr any;
        struct sockaddr_in four;
        struct sockaddr_in6 six;
    } here = {.any.sa_family = six ? AF_INET6 : AF_INET}, there = here;
    socklen_t size = six ? sizeof here.six : sizeof here.four;
    (void)inet_pton(here.any.sa_family, to,
                    six ? (void *)&here.six.sin6_addr : (void *)&here.four.sin_addr);
    (void)inet_pton(here.any.sa_family, from,
                    six ? (void *)&there.six.sin6_addr : (void *)&there.four.sin_addr);
    int listener = socket(here.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int client = socket(here.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool there_is = listener >= 0 && bind(listener, &here.any, size) == 0;
    if (there_is) {
        cr_assert_eq(listen(listener, 1), 0);
        cr_assert_eq(getsockname(listener, &here.any, &size), 0);
        cr_assert_eq(bind(client, &there.any, size), 0);
        cr_assert_eq(connect(client, &here.any, size), 0);
        struct transport_conn conn = {.ops = &transport_tcp, .fd = accept(listener, NULL, NULL)};
        cr_assert(conn.fd >= 0);
        transport_source(&conn, source);
        close(conn.fd);
    }
    close(client);
    close(listener);
    return there_is;
}

Test(source, each_address_is_one)
{
    uint8_t one[TRANSPORT_SOURCE_BYTES], again[TRANSPORT_SOURCE_BYTES],
        other[TRANSPORT_SOURCE_BYTES];
    cr_assert(source_of("127.0.0.1", "127.0.0.1", one));
    cr_assert(
        source_of("127.0.0.1", "127.0.0.9", again)); /* from another port, to another address */
    cr_assert(source_of("127.0.0.2", "127.0.0.1", other));
    cr_expect_eq(memcmp(one, again, sizeof one), 0);
    cr_expect_neq(memcmp(one, other, sizeof one), 0);
}

Test(source, of_ipv6_the_network_counts)
{
    uint8_t source[TRANSPORT_SOURCE_BYTES], zeros[8] = {0};
    if (source_of("::1", "::1", source)) { /* the last bit is the machine's */
        cr_expect_eq(memcmp(source + 8, zeros, 8), 0);
    }
}

Test(source, of_this_machine_the_user_counts)
{
    uint8_t one[TRANSPORT_SOURCE_BYTES], other[TRANSPORT_SOURCE_BYTES];
    uint8_t none[TRANSPORT_SOURCE_BYTES] = {0};
    int fds[2];
    cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    const struct transport_conn ends[] = {{.ops = &transport_tcp, .fd = fds[0]},
                                          {.ops = &transport_tcp, .fd = fds[1]}};
    transport_source(&ends[0], one);
    transport_source(&ends[1], other);
    cr_expect_eq(memcmp(one, other, sizeof one), 0);
    cr_expect_neq(memcmp(one, none, sizeof one), 0);
    close(fds[0]);
    close(fds[1]);
}
