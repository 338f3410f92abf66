/* SPDX-License-Identifier: Apache-2.0 */
/* Packets for a full channel wait, in order, with their descriptors; so many and no more. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server/channel.h"
#include "server/channel_queue.h"

#define QUEUE_MAX  40u
#define PASSED_MAX 2u

static struct channel_queue queue;
static int ours, theirs;

static void start(void)
{
    int ends[2];
    cr_assert_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    ours = ends[0];
    theirs = ends[1];
    channel_queue_init(&queue, QUEUE_MAX, PASSED_MAX);
}

static void stop(void)
{
    channel_queue_fini(&queue);
    cr_assert_eq(queue.count + queue.passed, 0);
}

TestSuite(channel_queue, .init = start, .fini = stop);

static enum ga_status say(uint32_t number, int passed)
{
    const struct channel_request packet = {.kind = CHANNEL_REQUEST, .number = number};
    return channel_queue_send(&queue, ours, &packet, sizeof packet, passed);
}

/* How many until one waits. */
static uint32_t fill(void)
{
    uint32_t said = 0;
    while (!channel_queue_waits(&queue)) {
        cr_assert_eq(say(said++, -1), GA_OK);
    }
    return said;
}

Test(channel_queue, all_arrive_in_order)
{
    uint32_t said = fill(), heard = 0;
    union channel_packet packet;
    for (unsigned i = 1; i < QUEUE_MAX; i++) {
        cr_assert_eq(say(said++, -1), GA_OK);
    }
    cr_assert_eq(say(said, -1), GA_AGAIN, "no more wait");
    cr_assert_eq(channel_queue_flush(&queue, ours), GA_AGAIN);
    while (channel_receive(theirs, &packet) == GA_OK) {
        cr_assert_eq(packet.request.number, heard++);
        if (heard == 7) { /* there is room: what comes now goes behind those that wait */
            cr_assert_eq(say(said++, -1), GA_OK);
        }
        (void)!channel_queue_flush(&queue, ours);
    }
    cr_assert_eq(heard, said);
    cr_assert_not(channel_queue_waits(&queue));
}

Test(channel_queue, a_descriptor_waits_too_and_stays_the_callers)
{
    uint32_t said = fill();
    int given = open("/dev/null", O_RDONLY | O_CLOEXEC), passed;
    union channel_packet packet;
    for (unsigned i = 0; i < PASSED_MAX; i++) {
        cr_assert_eq(say(1000, given), GA_OK);
    }
    cr_assert_eq(say(1000, given), GA_AGAIN, "no more descriptors wait");
    cr_assert_eq(say(said, -1), GA_OK);
    cr_assert_eq(close(given), 0);
    unsigned came = 0;
    while (channel_receive_with(theirs, &packet, &passed) == GA_OK) {
        cr_assert_eq(passed >= 0, packet.request.number == 1000);
        came += passed >= 0;
        if (passed >= 0) {
            close(passed);
        }
        (void)!channel_queue_flush(&queue, ours);
    }
    cr_assert_eq(came, PASSED_MAX);
}

Test(channel_queue, what_waits_is_dropped_when_nobody_is_there)
{
    (void)fill();
    close(theirs);
    cr_assert_eq(channel_queue_flush(&queue, ours), GA_LOST);
    cr_assert_eq(say(0, -1), GA_LOST);
}
