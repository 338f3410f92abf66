/* SPDX-License-Identifier: Apache-2.0 */
/* One-sided operations: bytes arrive, in order with sent bytes, and an end that names memory
 * that is not shared loses the connection. Runs on a machine with a card (tests/rdma). */
#include <criterion/criterion.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "transport/tests/rdma_pair.h"

#define BYTES (1u << 20)

struct ends {
    struct rdma_pair pair;
    uint8_t *theirs, *own; /* the client's, which is shared; the server's */
    struct transport_memory shared, lent;
    uint64_t fetches, stores;
};

static uint8_t *pages(size_t bytes)
{
    uint8_t *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    cr_assert(at != MAP_FAILED);
    return at;
}

static struct ends ends_open(const char *before, const char *behind)
{
    struct ends ends = {.pair = rdma_pair_open(before, behind)};
    struct transport_conn *client = &ends.pair.client, *server = &ends.pair.server;
    ends.theirs = pages(BYTES);
    ends.own = pages(BYTES);
    cr_assert_eq(
        client->ops->one_sided->share(client, ends.theirs, BYTES, TRANSPORT_SHARED, &ends.shared),
        GA_OK);
    cr_assert_eq(server->ops->one_sided->share(server, ends.own, BYTES, TRANSPORT_OWN, &ends.lent),
                 GA_OK);
    return ends;
}

static void ends_close(struct ends *ends)
{
    struct rdma_pair *pair = &ends->pair;
    if (ends->shared.state != NULL) {
        pair->client.ops->one_sided->unshare(&pair->client, &ends->shared);
    }
    pair->server.ops->one_sided->unshare(&pair->server, &ends->lent);
    rdma_pair_close(pair);
    munmap(ends->theirs, BYTES);
    munmap(ends->own, BYTES);
}

static struct transport_one_sided_copy piece(const struct ends *ends, size_t here, size_t there,
                                             uint32_t bytes)
{
    return (struct transport_one_sided_copy){.own = &ends->lent,
                                             .here = ends->own + here,
                                             .there = ends->shared.address + there,
                                             .key = ends->shared.key,
                                             .bytes = bytes};
}

/* Sleeps until `count` have ended. */
static enum ga_status fetches_end(struct transport_conn *conn, uint64_t due)
{
    uint64_t count = 0;
    for (;;) {
        GA_TRY(conn->ops->one_sided->fetched(conn, &count));
        if (count >= due) {
            return GA_OK;
        }
        struct pollfd fds[TRANSPORT_POLL_MAX];
        unsigned polled = conn->ops->poll_prepare(conn, POLLPRI, fds);
        cr_assert(polled <= TRANSPORT_POLL_MAX);
        cr_assert(polled == 0 || poll(fds, polled, 10000) > 0, "nobody is woken");
    }
}

static enum ga_status fetch(struct ends *ends, struct transport_one_sided_copy copy)
{
    struct transport_conn *server = &ends->pair.server;
    cr_assert_eq(server->ops->one_sided->fetch(server, &copy), GA_OK);
    return fetches_end(server, ++ends->fetches);
}

static enum ga_status stores_end(struct transport_conn *conn, uint64_t due)
{
    uint64_t count = 0;
    for (int i = 0; i < 5000; i++) {
        GA_TRY(conn->ops->one_sided->stored(conn, &count));
        if (count >= due) {
            return GA_OK;
        }
        (void)poll(NULL, 0, 1);
    }
    return GA_AGAIN;
}

static void fill(uint8_t *at, size_t bytes, unsigned seed)
{
    for (size_t i = 0; i < bytes; i++) {
        at[i] = (uint8_t)(i * 7 + i / 251 + seed);
    }
}

/* The contract, of the transport and of one that wraps it. */
static void bytes_go_both_ways(const char *before, const char *behind)
{
    static const uint32_t sizes[] = {1, 4095, 4096, 65537, BYTES - 12};
    struct ends ends = ends_open(before, behind);
    struct transport_conn *server = &ends.pair.server;
    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        fill(ends.theirs, BYTES, i);
        memset(ends.own, 0xee, BYTES);
        cr_assert_eq(fetch(&ends, piece(&ends, 5, 3, sizes[i])), GA_OK);
        cr_assert_eq(memcmp(ends.own + 5, ends.theirs + 3, sizes[i]), 0, "%u", sizes[i]);
        cr_assert(ends.own[4] == 0xee && ends.own[5 + sizes[i]] == 0xee);
        fill(ends.own, BYTES, i + 100);
        memset(ends.theirs, 0xee, BYTES);
        const struct transport_one_sided_copy back = piece(&ends, 5, 3, sizes[i]);
        cr_assert_eq(server->ops->one_sided->store(server, &back), GA_OK);
        rdma_pair_say(server, &ends.pair.client, "it is there");
        cr_assert_eq(memcmp(ends.own + 5, ends.theirs + 3, sizes[i]), 0, "%u", sizes[i]);
        cr_assert(ends.theirs[2] == 0xee && ends.theirs[3 + sizes[i]] == 0xee);
        cr_assert_eq(stores_end(server, i + 1), GA_OK);
    }
    ends_close(&ends);
}

Test(one_sided, bytes_go_both_ways, .timeout = 120)
{
    if (rdma_pair_host() != NULL) {
        bytes_go_both_ways("", "");
#if GPUAAS_FAULT
        bytes_go_both_ways("fault+", "?most=5000&again=3");
#endif
    }
}

/* More than fit: nothing is lost, and who cannot go on hears it. */
Test(one_sided, many_are_on_their_way, .timeout = 120)
{
    const uint32_t each = BYTES / 512;
    if (rdma_pair_host() == NULL) {
        return;
    }
    struct ends ends = ends_open("", "");
    struct transport_conn *server = &ends.pair.server;
    uint64_t began = 0;
    fill(ends.theirs, BYTES, 3);
    for (unsigned i = 0; i < 512; i++) {
        const struct transport_one_sided_copy copy = piece(&ends, i * each, i * each, each);
        enum ga_status status;
        while ((status = server->ops->one_sided->fetch(server, &copy)) == GA_AGAIN) {
            cr_assert_gt(began, 100, "some must fit");
            cr_assert_eq(fetches_end(server, began - 100), GA_OK);
        }
        cr_assert_eq(status, GA_OK);
        began++;
    }
    cr_assert_eq(fetches_end(server, began), GA_OK);
    cr_assert_eq(memcmp(ends.own, ends.theirs, BYTES), 0);
    fill(ends.own, BYTES, 4);
    for (unsigned i = 0; i < 512; i++) {
        const struct transport_one_sided_copy copy = piece(&ends, i * each, i * each, each);
        enum ga_status status;
        while ((status = server->ops->one_sided->store(server, &copy)) == GA_AGAIN) {
            struct pollfd fds[TRANSPORT_POLL_MAX];
            unsigned polled = server->ops->poll_prepare(server, POLLOUT, fds);
            cr_assert(polled == 0 || poll(fds, polled, 10000) > 0, "nobody is woken");
        }
        cr_assert_eq(status, GA_OK);
    }
    rdma_pair_say(server, &ends.pair.client, "all are there");
    cr_assert_eq(memcmp(ends.own, ends.theirs, BYTES), 0);
    cr_assert_eq(stores_end(server, 512), GA_OK);
    ends_close(&ends);
}

/* Errors of the server or the client: both lose the connection, and no other memory changes. */
enum wrong { KEY, BEHIND_THE_END, BEFORE_IT, UNSHARED, WRONGS };

static struct transport_one_sided_copy wrong_piece(struct ends *ends, enum wrong wrong)
{
    struct transport_one_sided_copy copy = piece(ends, 0, 0, 4096);
    struct transport_conn *client = &ends->pair.client;
    switch (wrong) {
    case KEY:
        copy.key ^= 0x5a5a5a00;
        break;
    case BEHIND_THE_END:
        copy.there += BYTES - 4095;
        break;
    case BEFORE_IT:
        copy.there -= 1;
        break;
    default:
        client->ops->one_sided->unshare(client, &ends->shared);
    }
    return copy;
}

static void learns_the_end(struct transport_conn *conn)
{
    struct iovec word = {"word", 4};
    enum ga_status status = GA_OK;
    for (int i = 0; i < 3000 && status != GA_LOST; i++) {
        size_t sent;
        status = conn->ops->send(conn, &word, 1, &sent);
        (void)poll(NULL, 0, 1);
    }
    cr_assert_eq(status, GA_LOST);
}

Test(one_sided, what_is_not_shared_is_the_end, .timeout = 120)
{
    for (enum wrong wrong = 0; rdma_pair_host() != NULL && wrong < WRONGS; wrong++) {
        struct ends ends = ends_open("", "");
        cr_assert_eq(fetch(&ends, piece(&ends, 0, 0, 16)), GA_OK);
        memset(ends.own, 0x77, BYTES);
        cr_assert_eq(fetch(&ends, wrong_piece(&ends, wrong)), GA_LOST, "fetch %d", (int)wrong);
        cr_assert_eq(ends.own[0], 0x77);
        ends_close(&ends);

        ends = ends_open("", "");
        struct transport_conn *server = &ends.pair.server;
        const struct transport_one_sided_copy copy = wrong_piece(&ends, wrong);
        cr_assert_eq(server->ops->one_sided->store(server, &copy), GA_OK);
        learns_the_end(server);
        cr_assert_eq(stores_end(server, 1), GA_LOST);
        ends_close(&ends);
    }
}

/* Memory of the server's own cannot be reached by its key. */
Test(one_sided, own_memory_is_not_shared, .timeout = 120)
{
    if (rdma_pair_host() == NULL) {
        return;
    }
    struct ends ends = ends_open("", "");
    struct transport_conn *client = &ends.pair.client;
    const struct transport_one_sided_copy copy = {.own = &ends.shared,
                                                  .here = ends.theirs,
                                                  .there = ends.lent.address,
                                                  .key = ends.lent.key,
                                                  .bytes = 4096};
    struct transport_memory local;
    cr_assert_eq(client->ops->one_sided->share(client, ends.theirs, BYTES, TRANSPORT_OWN, &local),
                 GA_OK);
    memset(ends.own, 0x55, BYTES);
    memset(ends.theirs, 0x66, BYTES);
    struct transport_one_sided_copy attempt = copy;
    attempt.own = &local;
    cr_assert_eq(client->ops->one_sided->fetch(client, &attempt), GA_OK);
    cr_assert_eq(fetches_end(client, 1), GA_LOST);
    cr_assert_eq(client->ops->one_sided->store(client, &attempt), GA_OK);
    learns_the_end(client);
    cr_assert_eq(ends.theirs[0], 0x66);
    cr_assert_eq(ends.own[0], 0x55);
    client->ops->one_sided->unshare(client, &local);
    ends_close(&ends);
}

/* One that is gone in the middle answers nothing, and its TCP connection tells. */
Test(one_sided, who_fetches_hears_of_the_end, .timeout = 120)
{
    if (rdma_pair_host() == NULL) {
        return;
    }
    struct ends ends = ends_open("", "");
    struct transport_conn *server = &ends.pair.server;
    struct ibv_qp_attr reset = {.qp_state = IBV_QPS_RESET};
    const struct rdma_qp *silent = &ends.pair.client_state->endpoint->fetch;
    cr_assert_eq(silent->card->verbs->modify_qp(silent->qp, &reset, IBV_QP_STATE), 0);
    const struct transport_one_sided_copy copy = piece(&ends, 0, 0, 4096);
    cr_assert_eq(server->ops->one_sided->fetch(server, &copy), GA_OK);
    cr_assert_eq(shutdown(ends.pair.client.fd, SHUT_RDWR), 0);
    cr_assert_eq(fetches_end(server, 1), GA_LOST);
    ends_close(&ends);
}

Test(one_sided, memory_that_cannot_be_registered_is_said, .timeout = 60)
{
    if (rdma_pair_host() == NULL) {
        return;
    }
    struct rdma_pair pair = rdma_pair_open("", "");
    struct transport_memory memory;
    errno = 0;
    cr_assert_eq(pair.client.ops->one_sided->share(&pair.client, (void *)(uintptr_t)4096, 4096,
                                                   TRANSPORT_SHARED, &memory),
                 GA_NO_MEMORY);
    cr_assert_neq(errno, 0);
    rdma_pair_say(&pair.client, &pair.server, "and it goes on");
    rdma_pair_close(&pair);
}
