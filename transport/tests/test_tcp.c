/* SPDX-License-Identifier: Apache-2.0 */
/* A host with several addresses: names are resolved here, in front of the C library. */
#include <criterion/criterion.h>
#include <dlfcn.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "transport/transport.h"

static char listening[8]; /* the port at 127.0.0.1; nobody listens at 127.0.0.2 and 127.0.0.3 */

typedef int resolve(const char *host, const char *port, const struct addrinfo *hints,
                    struct addrinfo **list);

/* "three.test": its first addresses have no listener. The C library's lists may be joined. */
int getaddrinfo(const char *host, const char *port, const struct addrinfo *hints,
                struct addrinfo **list)
{
    static const char *const hosts[] = {"127.0.0.2", "127.0.0.3", "127.0.0.1"};
    resolve *real = (resolve *)dlsym(RTLD_NEXT, "getaddrinfo");
    if (strcmp(host, "three.test") != 0) {
        return real(host, port, hints, list);
    }
    for (unsigned i = 0; i < sizeof hosts / sizeof *hosts; i++) {
        int rc = real(hosts[i], port, hints, list);
        if (rc != 0) {
            return rc;
        }
        list = &(*list)->ai_next;
    }
    return 0;
}

static struct transport_address three(const char *port)
{
    struct transport_address address;
    char text[64], why[200];
    snprintf(text, sizeof text, "three.test:%s", port);
    cr_assert_eq(transport_address_parse(text, "0", &address, why, sizeof why), GA_OK, "%s", why);
    return address;
}

static struct transport_listener listen_at_first(void)
{
    struct transport_address address;
    struct transport_listener listener;
    char why[200], url[128];
    cr_assert_eq(transport_address_parse("127.0.0.1:0", "0", &address, why, sizeof why), GA_OK);
    cr_assert_eq(address.ops->listen(&address, &listener, why, sizeof why), GA_OK, "%s", why);
    cr_assert_eq(listener.ops->local_address(listener.fd, url, sizeof url), GA_OK);
    snprintf(listening, sizeof listening, "%s", strrchr(url, ':') + 1);
    return listener;
}

static int option(int fd, int level, int name)
{
    int value = -1;
    socklen_t size = sizeof value;
    cr_assert_eq(getsockopt(fd, level, name, &value, &size), 0);
    return value;
}

/* Firewalls forget connections that say nothing for some minutes. */
static void expect_options(int fd)
{
    cr_expect_neq(option(fd, IPPROTO_TCP, TCP_NODELAY), 0);
    cr_expect_neq(option(fd, SOL_SOCKET, SO_KEEPALIVE), 0);
    cr_expect_leq(option(fd, IPPROTO_TCP, TCP_KEEPIDLE), 60);
    cr_expect_leq(option(fd, IPPROTO_TCP, TCP_KEEPINTVL), 30);
}

Test(tcp, every_address_of_a_host_is_tried)
{
    struct transport_listener listener = listen_at_first();
    struct transport_address address = three(listening);
    struct transport_conn ours, theirs;
    char why[200] = "";
    cr_assert_eq(transport_connect(&address, 10000, &ours, why, sizeof why), GA_OK, "%s", why);
    enum ga_status status;
    while ((status = listener.ops->accept(&listener, &theirs)) == GA_AGAIN) {
    }
    cr_assert_eq(status, GA_OK);
    expect_options(ours.fd);
    expect_options(theirs.fd);
    ours.ops->close(&ours);
    theirs.ops->close(&theirs);
    listener.ops->close_listener(&listener);
}

Test(tcp, a_host_that_answers_nowhere_is_refused_once)
{
    struct transport_listener listener = listen_at_first();
    struct transport_address address = three(listening);
    struct transport_conn conn;
    char why[200] = "";
    listener.ops->close_listener(&listener);
    cr_assert_eq(transport_connect(&address, 10000, &conn, why, sizeof why), GA_LOST);
    cr_assert(strstr(why, "refused") != NULL, "%s", why);
}

Test(tcp, a_port_that_is_taken_is_named)
{
    struct transport_listener listener = listen_at_first(), second;
    struct transport_address address;
    char url[64], why[200] = "";
    snprintf(url, sizeof url, "tcp://127.0.0.1:%s", listening);
    cr_assert_eq(transport_address_parse(url, "1", &address, why, sizeof why), GA_OK);
    cr_assert_eq(address.ops->listen(&address, &second, why, sizeof why), GA_INVALID);
    cr_assert(strstr(why, "cannot listen on 127.0.0.1:") != NULL && strstr(why, "in use") != NULL,
              "%s", why);
    listener.ops->close_listener(&listener);
}
