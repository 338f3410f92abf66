/* SPDX-License-Identifier: Apache-2.0 */
/* A pair of connections over RDMA. */
#include "transport/tests/rdma_pair.h"

#include <criterion/criterion.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "transport/fault/fault_passthrough.h"
#include "transport/rdma/rdma.h"

const char *rdma_pair_host(void)
{
    return getenv("GPUAAS_TEST_RDMA");
}

const char *rdma_pair_any_host(void)
{
    return rdma_pair_host() != NULL ? rdma_pair_host() : "127.0.0.1";
}

struct transport_listener rdma_pair_listen(char url[300])
{
    struct transport_address address;
    struct transport_listener listener;
    char at[100], why[256] = "";
    snprintf(at, sizeof at, "rdma://%s:0", rdma_pair_any_host());
    cr_assert_eq(transport_address_parse(at, "1", &address, why, sizeof why), GA_OK);
    cr_assert_eq(address.ops->listen(&address, &listener, why, sizeof why), GA_OK, "%s", why);
    cr_assert_eq(address.ops->local_address(listener.fd, url, 300), GA_OK);
    return listener;
}

struct transport_conn rdma_pair_accept(struct transport_listener *listener)
{
    struct transport_conn conn;
    struct pollfd p = {.fd = listener->fd, .events = POLLIN};
    cr_assert_eq(poll(&p, 1, 5000), 1);
    cr_assert_eq(listener->ops->accept(listener, &conn), GA_OK);
    return conn;
}

enum ga_status rdma_pair_receive(struct transport_conn *conn, void *to, size_t size, size_t *got)
{
    enum ga_status status = GA_AGAIN;
    for (int i = 0; i < 1000 && status == GA_AGAIN; i++) {
        status = conn->ops->receive(conn, to, size, got);
        if (status == GA_AGAIN) {
            (void)poll(NULL, 0, 1);
        }
    }
    return status;
}

void rdma_pair_say(struct transport_conn *from, struct transport_conn *to, const char *text)
{
    struct iovec piece = {(void *)(uintptr_t)text, strlen(text)};
    char bytes[64];
    size_t count;
    enum ga_status status;
    while ((status = from->ops->send(from, &piece, 1, &count)) == GA_AGAIN) {
    }
    cr_assert_eq(status, GA_OK);
    cr_assert_eq(rdma_pair_receive(to, bytes, sizeof bytes, &count), GA_OK);
    cr_assert(count == strlen(text) && memcmp(bytes, text, count) == 0);
}

struct rdma_pair rdma_pair_open(const char *before, const char *behind)
{
    struct rdma_pair pair;
    struct transport_address address;
    char url[300], whole[400], why[300] = "";
    pair.listener = rdma_pair_listen(url);
    snprintf(whole, sizeof whole, "%s%s%s", before, url, behind);
    cr_assert_eq(transport_address_parse(whole, "1", &address, why, sizeof why), GA_OK, "%s", why);
    cr_assert_eq(transport_connect(&address, 5000, &pair.client, why, sizeof why), GA_OK);
    cr_assert_eq(pair.client.ops->upgrade(&pair.client, why, sizeof why), GA_OK, "%s", why);
    pair.server = rdma_pair_accept(&pair.listener);
    for (int i = 0; i < 2; i++) {
        rdma_pair_say(&pair.client, &pair.server, "there");
        rdma_pair_say(&pair.server, &pair.client, "and back");
    }
    rdma_pair_say(&pair.client, &pair.server, "there");
    const struct transport_conn *client =
        pair.client.ops == &transport_rdma ? &pair.client : fault_inner(&pair.client);
    pair.client_state = client->state;
    pair.server_state = pair.server.state;
    cr_assert(pair.client_state->out.switched && pair.server_state->out.switched);
    return pair;
}

void rdma_pair_close(struct rdma_pair *pair)
{
    pair->client.ops->close(&pair->client);
    pair->server.ops->close(&pair->server);
    pair->listener.ops->close_listener(&pair->listener);
}
