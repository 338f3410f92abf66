/* SPDX-License-Identifier: Apache-2.0 */
/* The identity that a connection over TLS or TCP proves; over shared memory: test_shm.c. */
#include <criterion/criterion.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "transport/tests/authority.h"
#include "transport/transport.h"

#define HOUR_S 3600

static char folder[] = "/tmp/gpuaas-identity-XXXXXX";
static struct authority authority;
static char paths[6][160];

static const char *in_folder(unsigned at, const char *name, const char *kind)
{
    snprintf(paths[at], sizeof paths[at], "%s/%s.%s", folder, name, kind);
    return paths[at];
}

static void start(void)
{
    cr_assert_not_null(mkdtemp(folder));
    authority_make(&authority, folder, "ca");
    authority_sign(&authority, folder, "server", "IP:127.0.0.1", -HOUR_S, HOUR_S);
    authority_sign(&authority, folder, "ann", "DNS:client", -HOUR_S, HOUR_S);
    authority_sign(&authority, folder, "ben", "DNS:client", -HOUR_S, HOUR_S);
}

static void stop(void)
{
    static const char *const files[] = {"ca.pem",  "server.pem", "server.key", "ann.pem",
                                        "ann.key", "ben.pem",    "ben.key"};
    authority_free(&authority);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char path[160];
        snprintf(path, sizeof path, "%s/%s", folder, files[i]);
        cr_assert_eq(unlink(path), 0);
    }
    cr_assert_eq(rmdir(folder), 0);
}

TestSuite(identity, .init = start, .fini = stop);

/* One byte from the client to the server. */
static void bring_byte(struct transport_conn *client, struct transport_conn *server)
{
    char byte = 'x', why[300];
    struct iovec piece = {&byte, 1};
    size_t moved;
    bool connected = false, sent = false;
    for (int i = 0; i < 10000; i++) {
        connected = connected || client->ops->connect_end(client, why, sizeof why) == GA_OK;
        sent = sent || (connected && client->ops->send(client, &piece, 1, &moved) == GA_OK);
        if (server->ops->receive(server, &byte, 1, &moved) == GA_OK) {
            return;
        }
        (void)poll(NULL, 0, 1);
    }
    cr_assert(false, "nothing arrives");
}

/* The identity of `client`; before its first byte it must have proved nothing. */
static struct transport_identity identity_of(const char *scheme, const char *demanded,
                                             const char *client)
{
    const struct transport_secret servers = {.cert = in_folder(0, "server", "pem"),
                                             .key = in_folder(1, "server", "key"),
                                             .ca = demanded};
    const struct transport_secret clients = {.cert = in_folder(2, client, "pem"),
                                             .key = in_folder(3, client, "key"),
                                             .ca = in_folder(4, "ca", "pem")};
    struct transport_address address;
    struct transport_listener listener;
    struct transport_conn out, in;
    char url[200], why[300];
    snprintf(url, sizeof url, "%s://127.0.0.1:0", scheme);
    cr_assert_eq(transport_address_parse(url, "1", &address, why, sizeof why), GA_OK);
    address.secret = &servers;
    cr_assert_eq(address.ops->listen(&address, &listener, why, sizeof why), GA_OK, "%s", why);
    cr_assert_eq(listener.ops->local_address(listener.fd, url, sizeof url), GA_OK);
    cr_assert_eq(transport_address_parse(url, "1", &address, why, sizeof why), GA_OK);
    address.secret = &clients;
    cr_assert_eq(address.ops->connect_begin(&address, &out, why, sizeof why), GA_OK, "%s", why);
    struct pollfd at = {.fd = listener.fd, .events = POLLIN};
    cr_assert_eq(poll(&at, 1, 5000), 1);
    cr_assert_eq(listener.ops->accept(&listener, &in), GA_OK);
    cr_expect_eq(transport_identify(&in).proof, TRANSPORT_PROVES_NOTHING, "nothing has come yet");
    bring_byte(&out, &in);
    struct transport_identity found = transport_identify(&in);
    cr_expect_eq(transport_identify(&out).proof, TRANSPORT_PROVES_NOTHING, "that is the server");
    out.ops->close(&out);
    in.ops->close(&in);
    listener.ops->close_listener(&listener);
    return found;
}

Test(identity, a_certificate_that_was_demanded_proves_a_key)
{
    const char *ca = in_folder(5, "ca", "pem");
    struct transport_identity first = identity_of("tls", ca, "ann"),
                              again = identity_of("tls", ca, "ann"),
                              another = identity_of("tls", ca, "ben");
    cr_expect_eq(first.proof, TRANSPORT_PROVES_KEY);
    cr_expect_eq(another.proof, TRANSPORT_PROVES_KEY);
    cr_expect_eq(memcmp(first.id, again.id, sizeof first.id), 0);
    cr_expect_neq(memcmp(first.id, another.id, sizeof first.id), 0, "only the name is the same");
}

Test(identity, nothing_is_proved_where_nobody_asks)
{
    cr_expect_eq(identity_of("tls", NULL, "ann").proof, TRANSPORT_PROVES_NOTHING);
    cr_expect_eq(identity_of("tcp", NULL, "ann").proof, TRANSPORT_PROVES_NOTHING);
}
