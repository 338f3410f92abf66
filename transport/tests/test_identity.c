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
#define URI    "gpuaas://tenant/lab/1"

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
    authority_sign(&authority, folder, "ben", "DNS:client,URI:https://a.b/c,URI:" URI, -HOUR_S,
                   HOUR_S);
    authority_sign(&authority, folder, "two", "URI:" URI ",URI:gpuaas://tenant/x/2", -HOUR_S,
                   HOUR_S);
}

static void stop(void)
{
    static const char *const files[] = {"ca.pem",  "server.pem", "server.key", "ann.pem", "ann.key",
                                        "ben.pem", "ben.key",    "two.pem",    "two.key"};
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

static struct transport_listener listen_at(const char *scheme,
                                           const struct transport_secret *secret)
{
    struct transport_address address;
    struct transport_listener listener;
    char url[200], why[300];
    snprintf(url, sizeof url, "%s://127.0.0.1:0", scheme);
    cr_assert_eq(transport_address_parse(url, "1", &address, why, sizeof why), GA_OK);
    address.secret = secret;
    cr_assert_eq(address.ops->listen(&address, &listener, why, sizeof why), GA_OK, "%s", why);
    return listener;
}

static void pair_make(struct transport_listener *listener, const struct transport_secret *secret,
                      struct transport_conn *out, struct transport_conn *in)
{
    struct transport_address address;
    char url[200], why[300];
    cr_assert_eq(listener->ops->local_address(listener->fd, url, sizeof url), GA_OK);
    cr_assert_eq(transport_address_parse(url, "1", &address, why, sizeof why), GA_OK);
    address.secret = secret;
    cr_assert_eq(address.ops->connect_begin(&address, out, why, sizeof why), GA_OK, "%s", why);
    struct pollfd at = {.fd = listener->fd, .events = POLLIN};
    cr_assert_eq(poll(&at, 1, 5000), 1);
    cr_assert_eq(listener->ops->accept(listener, in), GA_OK);
}

/* The identity of `client`, NULL: one without a certificate; before its first byte it must have
 * proved nothing. */
static struct transport_identity identity_with(const char *scheme, const char *ca, bool optional,
                                               const char *client)
{
    const struct transport_secret servers = {.cert = in_folder(0, "server", "pem"),
                                             .key = in_folder(1, "server", "key"),
                                             .ca = ca,
                                             .optional = optional};
    const struct transport_secret clients = {
        .cert = client != NULL ? in_folder(2, client, "pem") : NULL,
        .key = client != NULL ? in_folder(3, client, "key") : NULL,
        .ca = in_folder(4, "ca", "pem")};
    struct transport_listener listener = listen_at(scheme, &servers);
    struct transport_conn out, in;
    pair_make(&listener, &clients, &out, &in);
    cr_expect_eq(transport_identify(&in).proof, TRANSPORT_PROVES_NOTHING, "nothing has come yet");
    cr_expect_not(transport_is_begun(&in));
    bring_byte(&out, &in);
    cr_expect_eq(transport_is_begun(&in), strcmp(scheme, "tcp") != 0, "its signature is made");
    cr_expect_not(transport_is_begun(&out), "that is the client");
    struct transport_identity found = transport_identify(&in);
    cr_expect_eq(transport_identify(&out).proof, TRANSPORT_PROVES_NOTHING, "that is the server");
    out.ops->close(&out);
    in.ops->close(&in);
    listener.ops->close_listener(&listener);
    return found;
}

static struct transport_identity identity_of(const char *scheme, const char *demanded,
                                             const char *client)
{
    return identity_with(scheme, demanded, false, client);
}

Test(identity, a_certificate_that_was_demanded_proves_a_key)
{
    const char *ca = in_folder(5, "ca", "pem");
    struct transport_identity first = identity_of("tls", ca, "ann"),
                              again = identity_of("tls", ca, "ann"),
                              another = identity_of("tls", ca, "ben");
    cr_expect_eq(first.proof, TRANSPORT_PROVES_KEY);
    cr_expect_eq(another.proof, TRANSPORT_PROVES_KEY);
    cr_expect_eq(memcmp(first.key, again.key, sizeof first.key), 0);
    cr_expect_eq(memcmp(first.certificate, again.certificate, sizeof first.key), 0);
    cr_expect_neq(memcmp(first.key, another.key, sizeof first.key), 0, "only the name is the same");
    cr_expect_neq(memcmp(first.certificate, another.certificate, sizeof first.key), 0);
    cr_expect_neq(memcmp(first.certificate, first.key, sizeof first.key), 0);
    cr_expect_str_eq(first.uri, "");
    cr_expect_str_eq(another.uri, URI, "of its names the one that is ours");
    cr_expect_str_eq(identity_of("tls", ca, "two").uri, "", "two are no answer");
}

Test(identity, nothing_is_proved_where_nobody_asks)
{
    cr_expect_eq(identity_of("tls", NULL, "ann").proof, TRANSPORT_PROVES_NOTHING);
    cr_expect_eq(identity_of("tcp", NULL, "ann").proof, TRANSPORT_PROVES_NOTHING);
}

Test(identity, a_certificate_may_be_optional)
{
    const char *ca = in_folder(5, "ca", "pem");
    cr_expect_eq(identity_with("tls", ca, true, "ann").proof, TRANSPORT_PROVES_KEY);
    cr_expect_eq(identity_with("tls", ca, true, NULL).proof, TRANSPORT_PROVES_NOTHING);
}

Test(identity, new_files_are_for_new_connections)
{
    char why[300], byte = 'x';
    size_t moved;
    struct iovec piece = {&byte, 1};
    struct transport_secret servers = {.cert = in_folder(0, "server", "pem"),
                                       .key = in_folder(1, "server", "key")};
    const struct transport_secret clients = {
        .cert = in_folder(2, "ben", "pem"),
        .key = in_folder(3, "ben", "key"),
        .ca = authority.path,
    };
    struct transport_listener listener = listen_at("tls", &servers);
    struct transport_conn old[2], new[2];
    pair_make(&listener, &clients, &old[0], &old[1]);
    bring_byte(&old[0], &old[1]);
    struct transport_secret wrong = {.cert = servers.cert, .key = clients.key};
    cr_expect_eq(listener.ops->renew(&listener, &wrong, why, sizeof why), GA_INVALID);
    servers.ca = authority.path;
    cr_assert_eq(listener.ops->renew(&listener, &servers, why, sizeof why), GA_OK, "%s", why);
    pair_make(&listener, &clients, &new[0], &new[1]);
    bring_byte(&new[0], &new[1]);
    cr_expect_eq(transport_identify(&new[1]).proof, TRANSPORT_PROVES_KEY);
    cr_expect_eq(transport_identify(&old[1]).proof, TRANSPORT_PROVES_NOTHING);
    cr_expect_eq(old[0].ops->send(&old[0], &piece, 1, &moved), GA_OK, "it goes on");
    for (unsigned i = 0; i < 2; i++) {
        old[i].ops->close(&old[i]);
        new[i].ops->close(&new[i]);
    }
    listener.ops->close_listener(&listener);
}
