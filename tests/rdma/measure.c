/* SPDX-License-Identifier: Apache-2.0 */
/* The time of a stream over RDMA, to be compared with that of perftest on the same card:
 *
 *     rdma_measure HOST ROUNDS MEGABYTES
 *
 * Two processes at HOST's card, each on a processor of its own: 64 bytes there and back, each end
 * asleep until they come, half of the median in us (as ib_send_lat -e -s 64); and bytes one way in
 * pieces of 64 KiB, MB/s (as ib_write_bw -s 65536). A line of JSON. Not wide is an error. */
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "transport/transport.h"

#define SMALL 64u
#define LARGE (64u << 10)

_Noreturn static void fail(const char *what)
{
    fprintf(stderr, "rdma_measure: %s\n", what);
    exit(1);
}

static void wait_for(struct transport_conn *conn, short events)
{
    struct pollfd fds[TRANSPORT_POLL_MAX];
    unsigned count = conn->ops->poll_prepare(conn, events, fds);
    if (count != 0 && poll(fds, count, 30000) <= 0) {
        fail("nothing comes for 30 s");
    }
}

static void send_all(struct transport_conn *conn, void *from, size_t size)
{
    for (size_t done = 0; done < size;) {
        struct iovec piece = {(uint8_t *)from + done, size - done};
        size_t sent;
        enum ga_status status = conn->ops->send(conn, &piece, 1, &sent);
        if (status == GA_OK) {
            done += sent;
        } else if (status == GA_AGAIN) {
            wait_for(conn, POLLOUT);
        } else {
            fail("lost while sending");
        }
    }
}

static void receive_all(struct transport_conn *conn, void *to, size_t size)
{
    for (size_t done = 0; done < size;) {
        size_t got;
        enum ga_status status = conn->ops->receive(conn, (uint8_t *)to + done, size - done, &got);
        if (status == GA_OK) {
            done += got;
        } else if (status == GA_AGAIN) {
            wait_for(conn, POLLIN);
        } else {
            fail("lost while receiving");
        }
    }
}

static uint8_t bytes[LARGE];

static void serve(struct transport_conn *conn, unsigned rounds, unsigned pieces)
{
    for (unsigned i = 0; i < rounds; i++) {
        receive_all(conn, bytes, SMALL);
        send_all(conn, bytes, SMALL);
    }
    for (unsigned i = 0; i < pieces; i++) {
        receive_all(conn, bytes, LARGE);
    }
    send_all(conn, bytes, 1);
}

static int compare(const void *a, const void *b)
{
    uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
    return left < right ? -1 : left > right;
}

static void measure(struct transport_conn *conn, unsigned rounds, unsigned pieces)
{
    uint64_t *each = calloc(rounds, sizeof *each);
    for (unsigned i = 0; each != NULL && i < rounds; i++) {
        uint64_t begin = ga_clock_ns();
        send_all(conn, bytes, SMALL);
        receive_all(conn, bytes, SMALL);
        each[i] = ga_clock_ns() - begin;
    }
    uint64_t begin = ga_clock_ns();
    for (unsigned i = 0; i < pieces; i++) {
        send_all(conn, bytes, LARGE);
    }
    receive_all(conn, bytes, 1);
    double seconds = (double)(ga_clock_ns() - begin) / 1e9;
    if (each == NULL || strcmp(conn->ops->scheme, "rdma") != 0) {
        fail("the connection is not wide");
    }
    qsort(each, rounds, sizeof *each, compare);
    printf("{\"latency_us\": %.1f, \"bandwidth_mb_s\": %.2f}\n", (double)each[rounds >> 1] / 2000,
           (double)pieces * LARGE / seconds / 1e6);
    free(each);
}

/* The two ends would be two machines; without this they often wait for the same processor. */
static void run_on(unsigned processor)
{
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(processor, &one);
    (void)sched_setaffinity(0, sizeof one, &one);
}

int main(int argc, char **argv)
{
    struct transport_address address;
    struct transport_listener listener;
    struct transport_conn conn;
    char url[300], why[300] = "";
    unsigned rounds = argc == 4 ? (unsigned)atoi(argv[2]) : 0,
             pieces = argc == 4 ? (unsigned)atoi(argv[3]) * 16 : 0;
    if (rounds == 0 || pieces == 0) {
        fail("usage: rdma_measure HOST ROUNDS MEGABYTES");
    }
    snprintf(url, sizeof url, "rdma://%s:0", argv[1]);
    if (transport_address_parse(url, "0", &address, why, sizeof why) != GA_OK ||
        address.ops->listen(&address, &listener, why, sizeof why) != GA_OK ||
        listener.ops->local_address(listener.fd, url, sizeof url) != GA_OK) {
        fail(why);
    }
    pid_t child = fork();
    if (child == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        run_on(1);
        struct pollfd p = {.fd = listener.fd, .events = POLLIN};
        if (poll(&p, 1, 30000) != 1 || listener.ops->accept(&listener, &conn) != GA_OK) {
            fail("nobody comes");
        }
        serve(&conn, rounds, pieces);
        conn.ops->close(&conn);
        return 0;
    }
    run_on(0);
    listener.ops->close_listener(&listener);
    if (transport_address_parse(url, "0", &address, why, sizeof why) != GA_OK ||
        transport_connect(&address, 10000, &conn, why, sizeof why) != GA_OK ||
        conn.ops->upgrade(&conn, why, sizeof why) != GA_OK) {
        fail(why);
    }
    measure(&conn, rounds, pieces);
    conn.ops->close(&conn);
    int status = 1;
    (void)waitpid(child, &status, 0);
    return status == 0 ? 0 : 1;
}
