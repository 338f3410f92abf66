/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of rdma alone: offers of a wrong or hostile client, and failures of the card's part of a
 * connection. Tests that need a card run if GPUAAS_TEST_RDMA names its address (tests/rdma). */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "transport/rdma/rdma.h"
#include "transport/rdma/rdma_state.h"
#include "transport/tests/rdma_pair.h"

static int socket_to(const char *url)
{
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)atoi(strrchr(url, ':') + 1))};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    cr_assert_eq(inet_pton(AF_INET, rdma_pair_any_host(), &at.sin_addr), 1);
    cr_assert_eq(connect(fd, (struct sockaddr *)&at, sizeof at), 0);
    return fd;
}

static int descriptors_open(void)
{
    int count = 0;
    for (int fd = 0; fd < 256; fd++) {
        count += fcntl(fd, F_GETFD) >= 0;
    }
    return count;
}

/* A client that has not asked is one of tcp, whatever its bytes are and however they come. */
Test(rdma, plain_clients_are_served)
{
    const char *const texts[] = {"r", "rdm", "rdmX and more", "a frame", "rd"};
    char url[300];
    struct transport_listener listener = rdma_pair_listen(url);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char bytes[64] = "";
        size_t got = 0, length = strlen(texts[i]);
        int fd = socket_to(url);
        struct transport_conn conn = rdma_pair_accept(&listener);
        for (size_t k = 0; k < length; k++) {
            cr_assert_eq(send(fd, texts[i] + k, 1, MSG_NOSIGNAL), 1);
            (void)poll(NULL, 0, 1);
        }
        cr_assert_eq(send(fd, "....", 4, MSG_NOSIGNAL), 4);
        size_t at = 0;
        while (at < length + 4) {
            cr_assert_eq(rdma_pair_receive(&conn, bytes + at, sizeof bytes - at, &got), GA_OK);
            at += got;
        }
        cr_assert(memcmp(bytes, texts[i], length) == 0 && at == length + 4, "%s", texts[i]);
        cr_assert_str_eq(conn.ops->scheme, "tcp");
        close(fd);
        cr_assert_eq(rdma_pair_receive(&conn, bytes, sizeof bytes, &got), GA_LOST);
        conn.ops->close(&conn);
    }
    listener.ops->close_listener(&listener);
}

static struct rdma_offer some_offer(void)
{
    return (struct rdma_offer){.magic = RDMA_MAGIC,
                               .version = RDMA_VERSION,
                               .answer = RDMA_OFFER,
                               .ring_bytes = RDMA_RING,
                               .reads = 1,
                               .mtu = IBV_MTU_1024};
}

/* A refused offer is answered, the stream goes on, and nothing stays. */
Test(rdma, an_offer_that_does_not_fit_is_answered_no)
{
    char url[300], bytes[16];
    struct transport_listener listener = rdma_pair_listen(url);
    int before = descriptors_open();
    for (int i = 0; i < 6; i++) {
        struct rdma_offer offer = some_offer(), answer = {0};
        size_t got;
        offer.version = i == 0 ? 1 : RDMA_VERSION;
        offer.ring_bytes += i == 1;
        offer.mtu = i == 2 ? 0 : i == 3 ? 200 : offer.mtu;
        offer.reads = i == 4 ? 0 : offer.reads;
        offer.gid[0] = 0x20; /* and that of the last one is only not its own */
        int fd = socket_to(url);
        struct transport_conn conn = rdma_pair_accept(&listener);
        cr_assert_eq(send(fd, &offer, sizeof offer, MSG_NOSIGNAL), sizeof offer);
        cr_assert_eq(send(fd, "words", 5, MSG_NOSIGNAL), 5);
        cr_assert_eq(rdma_pair_receive(&conn, bytes, sizeof bytes, &got), GA_OK, "offer %d", i);
        cr_assert(got == 5 && memcmp(bytes, "words", 5) == 0);
        cr_assert_eq(recv(fd, &answer, sizeof answer, MSG_WAITALL), sizeof answer);
        cr_assert_eq(answer.magic, RDMA_MAGIC);
        cr_assert_eq(answer.answer, RDMA_NO, "offer %d", i);
        conn.ops->close(&conn);
        close(fd);
        cr_assert_eq(descriptors_open(), before, "offer %d", i);
    }
    listener.ops->close_listener(&listener);
}

Test(rdma, half_an_offer_or_nonsense_is_the_end)
{
    char url[300], bytes[16];
    struct transport_listener listener = rdma_pair_listen(url);
    int before = descriptors_open();
    for (int i = 0; i < 3; i++) {
        struct rdma_offer offer = some_offer();
        size_t got, size = i == 0 ? sizeof offer / 2 : sizeof offer;
        offer.answer = i == 1 ? RDMA_YES : i == 2 ? 99 : RDMA_OFFER;
        int fd = socket_to(url);
        struct transport_conn conn = rdma_pair_accept(&listener);
        cr_assert_eq(send(fd, &offer, size, MSG_NOSIGNAL), (ssize_t)size);
        if (i == 0) {
            cr_assert_eq(conn.ops->receive(&conn, bytes, sizeof bytes, &got), GA_AGAIN);
            close(fd);
        }
        cr_assert_eq(rdma_pair_receive(&conn, bytes, sizeof bytes, &got), GA_LOST, "offer %d", i);
        conn.ops->close(&conn);
        if (i != 0) {
            close(fd);
        }
        cr_assert_eq(descriptors_open(), before);
    }
    listener.ops->close_listener(&listener);
}

/* ---- with a card */

static enum ga_status send_until_not_ok(struct transport_conn *conn)
{
    static char bytes[4096];
    struct iovec piece = {bytes, sizeof bytes};
    enum ga_status status = GA_OK;
    for (int i = 0; i < 20000 && status != GA_LOST; i++) {
        size_t sent;
        status = conn->ops->send(conn, &piece, 1, &sent);
        if (status == GA_AGAIN) {
            (void)poll(NULL, 0, 1);
        }
    }
    return status;
}

/* Code that prints would write into them. */
Test(rdma, a_program_without_stdio_keeps_those_numbers)
{
    if (rdma_pair_host() == NULL) {
        return;
    }
    int input = dup(STDIN_FILENO);
    close(STDIN_FILENO);
    struct rdma_pair pair = rdma_pair_open("", "");
    int fds[TRANSPORT_FDS_MAX];
    unsigned count = pair.client.ops->descriptors(&pair.client, fds);
    cr_assert_eq(count, TRANSPORT_FDS_MAX);
    for (unsigned i = 0; i < count; i++) {
        cr_assert_gt(fds[i], STDERR_FILENO);
    }
    cr_assert_eq(fcntl(STDIN_FILENO, F_GETFD), -1);
    rdma_pair_close(&pair);
    cr_assert_eq(dup2(input, STDIN_FILENO), STDIN_FILENO);
}

/* Each case: an action of one end, after which both ends see a lost connection. */
static void break_key(struct rdma_pair *pair)
{
    pair->client_state->endpoint->remote_key ^= 0x5a5a5a00;
}

static void break_place(struct rdma_pair *pair)
{
    pair->client_state->endpoint->remote_ring += RDMA_RING;
}

static void break_qp(struct rdma_pair *pair)
{
    rdma_qp_halt(&pair->client_state->endpoint->out);
}

static void break_kind(struct rdma_pair *pair)
{
    cr_assert_eq(rdma_qp_post(&pair->client_state->endpoint->out, RDMA_QP_READ, 5, NULL), GA_OK);
}

static void break_length(struct rdma_pair *pair)
{
    cr_assert_eq(
        rdma_qp_post(&pair->client_state->endpoint->out, RDMA_QP_BYTES, RDMA_RING + 1, NULL),
        GA_OK);
}

Test(rdma, whatever_breaks_is_the_end_of_both)
{
    void (*const cases[])(struct rdma_pair *) = {break_key, break_place, break_qp, break_kind,
                                                 break_length};
    int before = descriptors_open();
    for (size_t i = 0; rdma_pair_host() != NULL && i < sizeof cases / sizeof *cases; i++) {
        struct rdma_pair pair = rdma_pair_open("", "");
        char byte;
        size_t got;
        cases[i](&pair);
        if (i >= 3) { /* the server reads the client's first bytes */
            cr_assert_eq(rdma_pair_receive(&pair.server, &byte, 1, &got), GA_LOST, "case %zu", i);
        } else {
            cr_assert_eq(send_until_not_ok(&pair.client), GA_LOST, "case %zu", i);
        }
        rdma_pair_close(&pair);
        cr_assert_eq(descriptors_open(), before, "case %zu", i);
    }
}

/* One that sleeps until something happens, for ten seconds at most. */
static enum ga_status receive_asleep(struct transport_conn *conn)
{
    char byte;
    size_t got;
    enum ga_status status = GA_AGAIN;
    for (int i = 0; i < 100 && status == GA_AGAIN; i++) {
        struct pollfd fds[TRANSPORT_POLL_MAX];
        unsigned count = conn->ops->poll_prepare(conn, POLLIN, fds);
        (void)poll(fds, count, count != 0 ? 100 : 0);
        conn->ops->idle(conn, 0);
        status = conn->ops->receive(conn, &byte, 1, &got);
    }
    return status;
}

/* A queue pair fails at either end, and nobody sends any more: a thread that waits for an answer
 * is told that there will be none, and so is the other end. */
Test(rdma, what_cannot_arrive_is_the_end_of_both, .timeout = 60)
{
    for (int there = 0; rdma_pair_host() != NULL && there < 2; there++) {
        struct rdma_pair pair = rdma_pair_open("", "");
        struct iovec piece = {"words", 5};
        size_t sent;
        rdma_qp_halt(there ? &pair.server_state->endpoint->in : &pair.client_state->endpoint->out);
        cr_assert_eq(pair.client.ops->send(&pair.client, &piece, 1, &sent), GA_OK);
        cr_assert_eq(receive_asleep(&pair.client), GA_LOST, "case %d", there);
        cr_assert_eq(receive_asleep(&pair.server), GA_LOST, "case %d", there);
        rdma_pair_close(&pair);
    }
}

/* Credits that were never earned. */
Test(rdma, a_reader_that_has_read_too_much_is_the_end)
{
    if (rdma_pair_host() == NULL) {
        return;
    }
    struct rdma_pair pair = rdma_pair_open("", "");
    cr_assert_eq(
        rdma_qp_post(&pair.server_state->endpoint->in, RDMA_QP_READ, RDMA_QP_NUMBER / 2, NULL),
        GA_OK);
    cr_assert_eq(send_until_not_ok(&pair.client), GA_LOST);
    rdma_pair_close(&pair);
}

/* A writer that goes at once, with data in flight: all of it arrives, then the end, without the
 * other one's help. */
Test(rdma, what_was_said_before_the_end_arrives)
{
    if (rdma_pair_host() == NULL) {
        return;
    }
    struct rdma_pair pair = rdma_pair_open("", "");
    static char bytes[300000];
    struct iovec piece = {bytes, sizeof bytes};
    size_t sent, got, all = 0;
    enum ga_status status;
    memset(bytes, 'x', sizeof bytes);
    cr_assert_eq(pair.client.ops->send(&pair.client, &piece, 1, &sent), GA_OK);
    pair.client.ops->close(&pair.client);
    while ((status = rdma_pair_receive(&pair.server, bytes, sizeof bytes, &got)) == GA_OK) {
        all += got;
    }
    cr_assert_eq(status, GA_LOST);
    cr_assert_eq(all, sent);
    pair.server.ops->close(&pair.server);
    pair.listener.ops->close_listener(&pair.listener);
}

/* One whose machine is gone answers nothing: closing is bounded all the same. */
Test(rdma, closing_does_not_wait_for_who_does_not_answer)
{
    if (rdma_pair_host() == NULL) {
        return;
    }
    struct rdma_pair pair = rdma_pair_open("", "");
    struct rdma_qp *silent = &pair.server_state->endpoint->in;
    struct ibv_qp_attr reset = {.qp_state = IBV_QPS_RESET};
    cr_assert_eq(silent->card->verbs->modify_qp(silent->qp, &reset, IBV_QP_STATE), 0);
    struct iovec piece = {"words", 5};
    size_t sent;
    cr_assert_eq(pair.client.ops->send(&pair.client, &piece, 1, &sent), GA_OK);
    struct timespec begin, end;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    pair.client.ops->close(&pair.client);
    clock_gettime(CLOCK_MONOTONIC, &end);
    cr_assert_lt(end.tv_sec - begin.tv_sec, 10);
    pair.server.ops->close(&pair.server);
    pair.listener.ops->close_listener(&pair.listener);
}
