/* SPDX-License-Identifier: Apache-2.0 */
/* Two ends of a side connection, in one thread. */
#include <criterion/criterion.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "transport/tcp.h"
#include "transport/transport.h"

#define DEAD_MS 300u

static struct transport_side ours, theirs;

static void side_start(struct transport_side *side, int fd)
{
    const struct transport_conn conn = {.ops = &transport_tcp, .fd = fd};
    struct frame_reader reader;
    cr_assert_eq(frame_reader_init(&reader, SIDE_READ_BYTES), GA_OK);
    transport_side_init(side, &conn, &reader, DEAD_MS);
}

static void start(void)
{
    int fds[2];
    cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    side_start(&ours, fds[0]);
    side_start(&theirs, fds[1]);
}

static void stop(void)
{
    transport_side_fini(&ours);
    transport_side_fini(&theirs);
}

TestSuite(side, .init = start, .fini = stop);

static short events(struct transport_side *side)
{
    struct pollfd fds[TRANSPORT_POLL_MAX];
    cr_assert_eq(transport_side_poll_prepare(side, fds), 1);
    return fds[0].events;
}

static enum ga_status nothing_comes(struct transport_side *side)
{
    struct wire_header header;
    const uint8_t *values;
    return transport_side_receive(side, &header, &values);
}

Test(side, messages_arrive_between_pings)
{
    uint8_t values[16] = {1, 2, 3};
    struct wire_header header;
    const uint8_t *got;
    cr_assert_eq(transport_side_send(&ours, WIRE_PING, 5, NULL, 0), GA_OK);
    cr_assert_eq(transport_side_send(&ours, 660, 7, values, sizeof values), GA_OK);
    cr_assert_eq(transport_side_receive(&theirs, &header, &got), GA_OK);
    cr_assert_eq(header.opcode, 660);
    cr_assert_eq(header.sequence, 7);
    cr_assert_eq(got[2], 3);
    cr_assert_eq(transport_side_receive(&theirs, &header, &got), GA_AGAIN);
    struct frame_reader *raw = &ours.reader;
    cr_assert_eq(frame_fill(raw, &ours.conn), GA_OK);
    cr_assert_eq(frame_next(raw, &header, &got), GA_OK);
    cr_assert_eq(header.opcode, WIRE_PONG);
    cr_assert_eq(header.sequence, 5);
}

Test(side, two_ends_that_say_nothing_keep_each_other_alive)
{
    for (uint64_t until = ga_clock_ns() + 4 * DEAD_MS * GA_NS_PER_MS; ga_clock_ns() < until;) {
        cr_assert_eq(transport_side_heartbeat(&ours, ga_clock_ns()), GA_OK);
        cr_assert_eq(nothing_comes(&theirs), GA_AGAIN);
        cr_assert_eq(transport_side_heartbeat(&theirs, ga_clock_ns()), GA_OK);
        cr_assert_eq(nothing_comes(&ours), GA_AGAIN);
        usleep(2000);
    }
}

Test(side, silence_is_noticed)
{
    enum ga_status status;
    unsigned looks = 0;
    uint64_t now = ga_clock_ns();
    while ((status = transport_side_heartbeat(&ours, now)) == GA_OK) {
        cr_assert_eq(nothing_comes(&ours), GA_AGAIN);
        now += transport_side_interval_ns(&ours);
        looks++;
        cr_assert_lt(looks, 2 * GA_LIVENESS_INTERVALS);
    }
    cr_assert_eq(status, GA_TIMEOUT);
    cr_assert_geq(looks, GA_LIVENESS_INTERVALS - 2); /* the first look may count twice */
}

Test(side, what_waits_unread_is_a_sign_of_life)
{
    uint64_t now = ga_clock_ns();
    cr_assert_eq(transport_side_send(&theirs, WIRE_PING, 1, NULL, 0), GA_OK);
    for (int i = 0; i < 100; i++) { /* time passes, and nobody has read yet */
        now += transport_side_interval_ns(&ours);
        cr_assert_eq(transport_side_heartbeat(&ours, now), GA_OK);
    }
    cr_assert_eq(nothing_comes(&ours), GA_AGAIN);
    cr_assert_eq(transport_side_heartbeat(&ours, now), GA_OK);
    cr_assert_eq(ours.liveness.silent_ns, 0);
}

Test(side, messages_are_whole_or_refused_and_leave_later)
{
    static uint8_t values[1008];
    uint64_t sent = 0, received = 0;
    enum ga_status status;
    while ((status = transport_side_send(&ours, 661, sent, values, sizeof values)) == GA_OK) {
        sent++;
    }
    cr_assert_eq(status, GA_AGAIN);
    cr_assert(sent > 10);
    cr_assert(events(&ours) & POLLOUT);
    struct wire_header header;
    const uint8_t *got;
    while (received < sent) {
        cr_assert_eq(transport_side_heartbeat(&ours, ga_clock_ns()), GA_OK);
        while (transport_side_receive(&theirs, &header, &got) == GA_OK) {
            cr_assert_eq(header.sequence, received++);
            cr_assert_eq(header.length, sizeof values);
        }
    }
    cr_assert_eq(events(&ours), POLLIN);
}

/* A thread that polls for room must not be woken again and again without sending. */
Test(side, what_waits_leaves_when_the_socket_has_room)
{
    static uint8_t values[1008];
    struct wire_header header;
    const uint8_t *got;
    while (transport_side_send(&ours, 661, 0, values, sizeof values) == GA_OK) {
    }
    cr_assert_eq(events(&ours), POLLIN | POLLOUT);
    while (transport_side_receive(&theirs, &header, &got) == GA_OK) {
    }
    cr_assert_eq(nothing_comes(&ours), GA_AGAIN);
    cr_assert_eq(events(&ours), POLLIN);
}

Test(side, nonsense_and_the_end_are_told_apart)
{
    const struct wire_header odd = {.length = 17};
    cr_assert_eq(write(theirs.conn.fd, &odd, sizeof odd), (ssize_t)sizeof odd);
    cr_assert_eq(nothing_comes(&ours), GA_INVALID);
    (void)shutdown(ours.conn.fd, SHUT_WR);
    cr_assert_eq(nothing_comes(&theirs), GA_LOST);
}
