/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of tls alone: accepted and rejected certificates, the reasons of rejections, and bytes
 * that are not TLS. */
#include <criterion/criterion.h>
#include <dirent.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "transport/tcp.h"
#include "transport/tests/authority.h"
#include "transport/tls/tls.h"
#include "transport/transport.h"

#define HOUR_S 3600L

static char folder[] = "/tmp/gpuaas-tls-XXXXXX";
static struct authority ours, foreign;

static const char *in_folder(const char *name)
{
    static char paths[16][320];
    static unsigned used;
    char *path = paths[used++ % 16];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

static void start(void)
{
    cr_assert_not_null(mkdtemp(folder));
    authority_make(&ours, folder, "ours");
    authority_make(&foreign, folder, "foreign");
    authority_sign(&ours, folder, "server", "DNS:localhost,IP:127.0.0.1", -HOUR_S, HOUR_S);
    authority_sign(&ours, folder, "elsewhere", "DNS:elsewhere.example,IP:10.0.0.1", -HOUR_S,
                   HOUR_S);
    authority_sign(&ours, folder, "expired", "IP:127.0.0.1", -2 * HOUR_S, -HOUR_S);
    authority_sign(&ours, folder, "early", "IP:127.0.0.1", HOUR_S, 2 * HOUR_S);
    authority_sign(&ours, folder, "client", "DNS:client", -HOUR_S, HOUR_S);
    authority_sign(&foreign, folder, "stranger", "DNS:client", -HOUR_S, HOUR_S);
}

static void stop(void)
{
    authority_free(&ours);
    authority_free(&foreign);
    DIR *files = opendir(folder);
    cr_assert_not_null(files);
    for (struct dirent *at; (at = readdir(files)) != NULL;) {
        if (at->d_name[0] != '.') {
            cr_assert_eq(unlink(in_folder(at->d_name)), 0);
        }
    }
    cr_assert_eq(closedir(files), 0);
    cr_assert_eq(rmdir(folder), 0);
}

TestSuite(tls, .init = start, .fini = stop);

/* ---- two ends */

struct ends {
    struct transport_listener listener;
    struct transport_conn client, server;
    char url[200];
    enum ga_status client_status, server_status; /* of the handshake and a first byte each way */
    char client_why[300], server_why[300];
};

static void ends_listen(struct ends *ends, const struct transport_secret *secret)
{
    struct transport_address address;
    char why[300] = "";
    *ends = (struct ends){.client = {.fd = -1}, .server = {.fd = -1}};
    cr_assert_eq(transport_address_parse("tls://127.0.0.1:0", "1", &address, why, sizeof why),
                 GA_OK);
    address.secret = secret;
    cr_assert_eq(address.ops->listen(&address, &ends->listener, why, sizeof why), GA_OK, "%s", why);
    cr_assert_eq(address.ops->local_address(ends->listener.fd, ends->url, sizeof ends->url), GA_OK);
}

static void ends_accept(struct ends *ends)
{
    struct pollfd at = {.fd = ends->listener.fd, .events = POLLIN};
    cr_assert_eq(poll(&at, 1, 5000), 1);
    cr_assert_eq(ends->listener.ops->accept(&ends->listener, &ends->server), GA_OK);
}

static void keep(char *to, const struct transport_conn *conn)
{
    const char *error_text = transport_error_text(conn);
    snprintf(to, 300, "%s", error_text != NULL ? error_text : "");
}

/* Each end sends a byte and waits for the other's. */
static void ends_talk(struct ends *ends, bool *sent, struct transport_conn *conn,
                      enum ga_status *status, char *why)
{
    char byte = 'x';
    struct iovec piece = {&byte, 1};
    size_t moved;
    (void)ends;
    if (*status != GA_AGAIN) {
        return;
    }
    if (!*sent) {
        enum ga_status now = conn->ops->send(conn, &piece, 1, &moved);
        *sent = now == GA_OK;
        if (now == GA_LOST) {
            *status = now;
        }
    }
    if (*status == GA_AGAIN) {
        enum ga_status now = conn->ops->receive(conn, &byte, 1, &moved);
        *status = now == GA_OK && !*sent ? GA_AGAIN : now;
    }
    if (*status == GA_LOST) {
        keep(why, conn);
        conn->ops->close(conn);
    }
}

static void ends_meet(struct ends *ends, const char *host, const struct transport_secret *secret)
{
    struct transport_address address;
    char why[300] = "", url[300];
    snprintf(url, sizeof url, "tls://%s:%s", host, strrchr(ends->url, ':') + 1);
    cr_assert_eq(transport_address_parse(url, "1", &address, why, sizeof why), GA_OK);
    address.secret = secret;
    enum ga_status begun = address.ops->connect_begin(&address, &ends->client, why, sizeof why);
    cr_assert_eq(begun, GA_OK, "%s", why);
    bool connected = false, client_sent = false, server_sent = false;
    ends->client_status = GA_AGAIN;
    ends->server_status = GA_AGAIN;
    for (int i = 0; i < 10000; i++) {
        if (!connected && ends->client_status == GA_AGAIN) {
            enum ga_status status = ends->client.ops->connect_end(&ends->client, why, sizeof why);
            connected = status == GA_OK;
            if (status == GA_LOST) {
                ends->client_status = GA_LOST;
                snprintf(ends->client_why, sizeof ends->client_why, "%s", why);
                ends->client.ops->close(&ends->client);
            }
        }
        if (ends->server.fd < 0 && ends->server_status == GA_AGAIN) {
            ends_accept(ends);
        }
        if (connected) {
            ends_talk(ends, &client_sent, &ends->client, &ends->client_status, ends->client_why);
        }
        ends_talk(ends, &server_sent, &ends->server, &ends->server_status, ends->server_why);
        if (ends->client_status != GA_AGAIN && ends->server_status != GA_AGAIN) {
            return;
        }
        (void)poll(NULL, 0, 1);
    }
    cr_assert(false, "no end of the handshake");
}

static void ends_close(struct ends *ends)
{
    if (ends->client.fd >= 0) {
        ends->client.ops->close(&ends->client);
    }
    if (ends->server.fd >= 0) {
        ends->server.ops->close(&ends->server);
    }
    ends->listener.ops->close_listener(&ends->listener);
}

static void expect_good(const struct transport_secret *server, const char *host,
                        const struct transport_secret *client)
{
    struct ends ends;
    ends_listen(&ends, server);
    ends_meet(&ends, host, client);
    cr_assert_eq(ends.client_status, GA_OK, "%s", ends.client_why);
    cr_assert_eq(ends.server_status, GA_OK, "%s", ends.server_why);
    ends_close(&ends);
}

static void expect_refused(const struct transport_secret *server, const char *host,
                           const struct transport_secret *client, const char *client_why,
                           const char *server_why)
{
    struct ends ends;
    ends_listen(&ends, server);
    ends_meet(&ends, host, client);
    cr_assert_eq(ends.client_status, GA_LOST);
    cr_assert_eq(ends.server_status, GA_LOST);
    cr_assert_not_null(strstr(ends.client_why, client_why), "%s", ends.client_why);
    cr_assert_not_null(strstr(ends.server_why, server_why), "%s", ends.server_why);
    ends_close(&ends);
}

/* ---- certificates */

static struct transport_secret identity(const char *name, const char *ca)
{
    char cert[40], key[40];
    snprintf(cert, sizeof cert, "%s.pem", name);
    snprintf(key, sizeof key, "%s.key", name);
    return (struct transport_secret){
        .cert = in_folder(cert), .key = in_folder(key), .ca = ca != NULL ? in_folder(ca) : NULL};
}

Test(tls, a_certificate_of_the_authority_for_this_name_is_good)
{
    struct transport_secret server = identity("server", NULL);
    struct transport_secret client = {.ca = in_folder("ours.pem")};
    expect_good(&server, "127.0.0.1", &client);
    expect_good(&server, "localhost", &client);
}

Test(tls, other_certificates_are_refused_and_the_cure_is_said)
{
    struct transport_secret client = {.ca = in_folder("ours.pem")};
    struct transport_secret stranger = {.ca = in_folder("foreign.pem")}, nobody = {0};
    struct transport_secret server = identity("server", NULL);
    expect_refused(&server, "127.0.0.1", &stranger, "GPUAAS_CA", "does not know the authority");
    expect_refused(&server, "127.0.0.1", &nobody, "GPUAAS_CA", "does not know the authority");
    server = identity("elsewhere", NULL);
    expect_refused(&server, "127.0.0.1", &client, "not for the name \"127.0.0.1\"", "another");
    expect_refused(&server, "localhost", &client, "not for the name \"localhost\"", "another");
    server = identity("expired", NULL);
    expect_refused(&server, "127.0.0.1", &client, "has expired", "expired");
    server = identity("early", NULL);
    expect_refused(&server, "127.0.0.1", &client, "clocks", "");
}

Test(tls, clients_can_be_asked_for_certificates)
{
    struct transport_secret server = identity("server", "ours.pem");
    struct transport_secret client = identity("client", "ours.pem");
    expect_good(&server, "127.0.0.1", &client);
    client = (struct transport_secret){.ca = in_folder("ours.pem")};
    expect_refused(&server, "127.0.0.1", &client, "GPUAAS_CERT", "");
    client = identity("stranger", "ours.pem");
    expect_refused(&server, "127.0.0.1", &client, "authority of this client's certificate",
                   "tls_client_ca");
    client = identity("expired", "ours.pem");
    expect_refused(&server, "127.0.0.1", &client, "has expired",
                   "client's certificate has expired");
}

Test(tls, files_that_cannot_be_used_are_named)
{
    struct transport_address address;
    struct transport_listener listener;
    char why[300] = "";
    cr_assert_eq(transport_address_parse("tls://127.0.0.1:0", "1", &address, why, sizeof why),
                 GA_OK);
    cr_assert_eq(address.ops->listen(&address, &listener, why, sizeof why), GA_INVALID);
    cr_assert_not_null(strstr(why, "needs a certificate"), "%s", why);
    struct transport_secret secret = identity("missing", NULL);
    address.secret = &secret;
    cr_assert_eq(address.ops->listen(&address, &listener, why, sizeof why), GA_INVALID);
    cr_assert_not_null(strstr(why, "missing.pem: No such file"), "%s", why);
    secret = identity("server", NULL);
    secret.key = in_folder("client.key");
    cr_assert_eq(address.ops->listen(&address, &listener, why, sizeof why), GA_INVALID);
    cr_assert_not_null(strstr(why, "client.key: key values mismatch"), "%s", why);
    secret = (struct transport_secret){.cert = in_folder("server.pem")};
    cr_assert_eq(address.ops->listen(&address, &listener, why, sizeof why), GA_INVALID);
    cr_assert_not_null(strstr(why, "needs its key"), "%s", why);
    secret = identity("server", "server.key");
    cr_assert_eq(address.ops->listen(&address, &listener, why, sizeof why), GA_INVALID);
    cr_assert_not_null(strstr(why, "authorities in"), "%s", why);
}

/* ---- tickets */

static const uint8_t id[TRANSPORT_TICKET_ID] = {1, 2}, key[TRANSPORT_TICKET_KEY] = {3, 4};

static bool find(void *user, const uint8_t *wanted, uint8_t *out)
{
    bool *good = user;
    memcpy(out, key, sizeof key);
    return *good && memcmp(wanted, id, sizeof id) == 0;
}

Test(tls, tickets_are_keys)
{
    static const uint8_t wrong[TRANSPORT_TICKET_KEY] = {9};
    bool good = true;
    const struct transport_secret server = {.ticket = find, .user = &good};
    struct transport_secret client = {.ticket_id = id, .ticket_key = key};
    expect_good(&server, "127.0.0.1", &client);
    client.ticket_key = wrong;
    expect_refused(&server, "127.0.0.1", &client, "ticket is refused", "the key of its ticket");
    client = (struct transport_secret){.ticket_id = wrong, .ticket_key = key};
    expect_refused(&server, "127.0.0.1", &client, "ticket is refused", "no ticket that is good");
    client.ticket_id = id;
    good = false;
    expect_refused(&server, "127.0.0.1", &client, "ticket is refused", "no ticket that is good");
}

Test(tls, a_certificate_is_no_ticket)
{
    bool good = true;
    const struct transport_secret for_tickets = {.ticket = find, .user = &good};
    const struct transport_secret with_ticket = {.ticket_id = id, .ticket_key = key};
    struct transport_secret server = identity("server", NULL);
    struct transport_secret client = identity("client", "ours.pem");
    expect_refused(&server, "127.0.0.1", &with_ticket, "", "");
    expect_refused(&for_tickets, "127.0.0.1", &client, "", "no ticket that is good");
}

/* ---- key updates */

static void send_all(struct transport_conn *from, struct transport_conn *to, size_t bytes)
{
    static uint8_t out[50000], in[50000];
    size_t sent = 0, got = 0;
    for (size_t i = 0; i < sizeof out; i++) {
        out[i] = (uint8_t)(i * 7);
    }
    while (got < bytes) {
        size_t at = sent % sizeof out, part = sizeof out - at;
        struct iovec piece = {out + at, part < bytes - sent ? part : bytes - sent};
        if (sent < bytes) {
            enum ga_status status = from->ops->send(from, &piece, 1, &part);
            cr_assert(status == GA_OK || status == GA_AGAIN);
            sent += status == GA_OK ? part : 0;
        }
        enum ga_status status = to->ops->receive(to, in, sizeof in, &part);
        cr_assert(status == GA_OK || status == GA_AGAIN);
        for (size_t i = 0; status == GA_OK && i < part; i++) {
            cr_assert_eq(in[i], (uint8_t)((got + i) % sizeof out * 7));
        }
        got += status == GA_OK ? part : 0;
    }
}

Test(tls, keys_are_changed_in_time)
{
    struct ends ends;
    struct transport_secret server = identity("server", NULL);
    struct transport_secret client = {.ca = in_folder("ours.pem")};
    tls_key_records = 3;
    ends_listen(&ends, &server);
    ends_meet(&ends, "127.0.0.1", &client);
    cr_assert_eq(ends.client_status, GA_OK);
    send_all(&ends.client, &ends.server, 3u << 20);
    send_all(&ends.server, &ends.client, 3u << 20);
    /* The other end is asked to change its key as well; the receiver sends its message. */
    struct tls_conn *state = ends.client.state;
    for (int i = 0; i < 20; i++) {
        cr_assert_eq(SSL_key_update(state->ssl, SSL_KEY_UPDATE_REQUESTED), 1);
        send_all(&ends.client, &ends.server, 100);
        struct pollfd at[TRANSPORT_POLL_MAX];
        unsigned count = ends.server.ops->poll_prepare(&ends.server, POLLIN, at);
        cr_assert(count == 0 || (at[0].events & POLLOUT) == 0);
        send_all(&ends.server, &ends.client, 100);
    }
    size_t got; /* a receive would last as long as they come */
    for (int i = 0; i < 500; i++) {
        cr_assert_eq(SSL_key_update(state->ssl, SSL_KEY_UPDATE_NOT_REQUESTED), 1);
        cr_assert_eq(SSL_do_handshake(state->ssl), 1);
        cr_assert_eq(tls_flush(state, true), GA_OK);
    }
    cr_assert_eq(ends.server.ops->receive(&ends.server, &got, sizeof got, &got), GA_LOST);
    ends_close(&ends);
}

/* ---- bytes that are no TLS */

static int raw_connect(const struct ends *ends)
{
    struct transport_address address;
    struct transport_conn conn;
    char why[300], url[300];
    snprintf(url, sizeof url, "tcp://127.0.0.1:%s", strrchr(ends->url, ':') + 1);
    cr_assert_eq(transport_address_parse(url, "1", &address, why, sizeof why), GA_OK);
    cr_assert_eq(transport_tcp.connect_begin(&address, &conn, why, sizeof why), GA_OK);
    cr_assert_eq(transport_connected(&conn, 5000, why, sizeof why), GA_OK);
    return conn.fd;
}

static enum ga_status until_decided(struct transport_conn *conn)
{
    char bytes[64];
    size_t got;
    enum ga_status status;
    while ((status = conn->ops->receive(conn, bytes, sizeof bytes, &got)) == GA_AGAIN) {
        struct pollfd at[TRANSPORT_POLL_MAX];
        unsigned count = conn->ops->poll_prepare(conn, POLLIN, at);
        cr_assert(count == 0 || poll(at, count, 5000) > 0);
    }
    return status;
}

/* The server's reaction to a client that sends this and ends. */
static void expect_no_handshake(const void *bytes, size_t size, const char *why)
{
    struct ends ends;
    struct transport_secret server = identity("server", NULL);
    ends_listen(&ends, &server);
    int fd = raw_connect(&ends);
    ends_accept(&ends);
    cr_assert_eq(send(fd, bytes, size, MSG_NOSIGNAL), (ssize_t)size);
    cr_assert_eq(shutdown(fd, SHUT_WR), 0);
    cr_assert_eq(until_decided(&ends.server), GA_LOST);
    const char *error_text = transport_error_text(&ends.server);
    cr_assert(error_text != NULL && strstr(error_text, why) != NULL, "%s", error_text);
    cr_assert_eq(until_decided(&ends.server), GA_LOST); /* and so it stays */
    close(fd);
    ends_close(&ends);
}

Test(tls, greetings_that_are_none_end_the_connection)
{
    static const uint8_t endless[] = {0x16, 3, 1, 0xff, 0xff, 1, 0xff, 0xff, 0xff};
    static const uint8_t cut[] = {0x16, 3, 1, 0, 100, 1, 0, 0, 96, 3, 3};
    static const uint8_t empty[] = {0x16, 3, 1, 0, 0};
    static const uint8_t alert[] = {0x15, 3, 3, 0, 2, 2, 40};
    uint8_t zeros[5000] = {0x16, 3, 1, 0x10, 0};
    static const char http[] = "GET / HTTP/1.0\r\n\r\n";
    expect_no_handshake(endless, sizeof endless, "TLS");
    expect_no_handshake(cut, sizeof cut, "closed the connection");
    expect_no_handshake(empty, sizeof empty, "TLS");
    expect_no_handshake(alert, sizeof alert, "TLS");
    expect_no_handshake(zeros, sizeof zeros, "TLS");
    expect_no_handshake(http, sizeof http, "no TLS");
    expect_no_handshake("", 0, "closed the connection");
}

Test(tls, who_speaks_without_gets_an_answer_that_it_understands)
{
    struct ends ends;
    struct transport_secret server = identity("server", NULL);
    ends_listen(&ends, &server);
    int fd = raw_connect(&ends);
    ends_accept(&ends);
    const struct wire_header hello = {.length = 64, .opcode = WIRE_HELLO};
    char answer[1000];
    struct wire_header header;
    cr_assert_eq(send(fd, &hello, sizeof hello, MSG_NOSIGNAL), (ssize_t)sizeof hello);
    cr_assert_eq(until_decided(&ends.server), GA_LOST);
    ends.server.ops->close(&ends.server);
    struct pollfd at = {.fd = fd, .events = POLLIN};
    cr_assert_eq(poll(&at, 1, 5000), 1);
    ssize_t got = recv(fd, answer, sizeof answer, 0);
    cr_assert(got > (ssize_t)sizeof header);
    memcpy(&header, answer, sizeof header);
    cr_assert_eq(header.opcode, WIRE_REFUSED);
    cr_assert_eq(sizeof header + header.length, (size_t)got);
    cr_assert_not_null(memmem(answer, (size_t)got, "tls://", 6));
    close(fd);
    ends_close(&ends);
}

/* Somebody on the way changes, adds or takes away bytes of a connection that was good. */
static void expect_broken(const void *bytes, size_t size)
{
    struct ends ends;
    struct transport_secret server = identity("server", NULL);
    struct transport_secret client = {.ca = in_folder("ours.pem")};
    ends_listen(&ends, &server);
    ends_meet(&ends, "127.0.0.1", &client);
    cr_assert_eq(ends.client_status, GA_OK);
    cr_assert_eq(send(ends.client.fd, bytes, size, MSG_NOSIGNAL), (ssize_t)size);
    cr_assert_eq(until_decided(&ends.server), GA_LOST);
    const char *error_text = transport_error_text(&ends.server);
    cr_assert_not_null(error_text);
    cr_assert_eq(until_decided(&ends.client), GA_LOST); /* it has been told */
    ends_close(&ends);
}

Test(tls, records_of_a_stranger_end_a_connection)
{
    uint8_t record[16700] = {0x17, 3, 3, 0, 40};
    expect_broken(record, 45); /* no key that we know */
    record[3] = 0x41;
    record[4] = 0x20; /* longer than any record */
    expect_broken(record, sizeof record);
    static const uint8_t plain[] = {0x16, 3, 3, 0, 4, 24, 0, 0, 0};
    expect_broken(plain, sizeof plain);
    static const uint8_t noise[64] = {0xde, 0xad};
    expect_broken(noise, sizeof noise);
}

Test(tls, a_connection_that_is_cut_is_lost)
{
    struct ends ends;
    struct transport_secret server = identity("server", NULL);
    struct transport_secret client = {.ca = in_folder("ours.pem")};
    static const uint8_t half[] = {0x17, 3, 3, 0, 40, 1, 2, 3};
    ends_listen(&ends, &server);
    ends_meet(&ends, "127.0.0.1", &client);
    cr_assert_eq(send(ends.client.fd, half, sizeof half, MSG_NOSIGNAL), (ssize_t)sizeof half);
    cr_assert_eq(shutdown(ends.client.fd, SHUT_WR), 0);
    cr_assert_eq(until_decided(&ends.server), GA_LOST);
    ends_close(&ends);
}
