/* SPDX-License-Identifier: Apache-2.0 */
/* The channels of test_lending_channel.c, in the place of channel.c: `room` packets each way. */
#ifndef SERVER_TESTS_LENT_CHANNEL_H
#define SERVER_TESTS_LENT_CHANNEL_H

#include <criterion/criterion.h>
#include <string.h>

#include "server/channel.h"
#include "server/tenants/tenant.h"

#define SEATS 3u

union lent_packet {
    uint32_t kind;
    struct channel_limits limits;
    struct channel_request request;
};

struct pipe {
    union lent_packet *packets;
    unsigned first, count;
};

struct case_ {
    unsigned room, gpus;
};

static struct case_ now;
static struct pipe to_gpuaasd[SEATS], to_backend[SEATS];
static struct tenant *tenant;
static bool awaited[SEATS]; /* gpuaasd has found the channel full, and is told when it is not */

/* The only descriptor that is passed, so packets need not carry it. */
static int tenant_fd(void)
{
    return tenant->lender.shared_fd;
}

/* gpuaasd's end of the process n is the descriptor n, the other one SEATS + n. */
static struct pipe *pipe_of(int fd)
{
    return (unsigned)fd < SEATS ? &to_backend[fd] : &to_gpuaasd[(unsigned)fd - SEATS];
}

enum ga_status channel_send_with(int fd, const void *packet, size_t size, int passed)
{
    struct pipe *pipe = pipe_of(fd);
    (void)passed; /* see tenant_fd() */
    cr_assert(size <= sizeof(union lent_packet));
    if (pipe->count == now.room) {
        awaited[(unsigned)fd % SEATS] |= (unsigned)fd < SEATS;
        return GA_AGAIN;
    }
    memcpy(&pipe->packets[(pipe->first + pipe->count++) % now.room], packet, size);
    return GA_OK;
}

enum ga_status channel_send(int fd, const void *packet, size_t size)
{
    return channel_send_with(fd, packet, size, -1);
}

enum ga_status channel_receive_with(int fd, union channel_packet *packet, int *passed)
{
    (void)fd, (void)packet, (void)passed;
    return GA_LOST;
}

enum ga_status channel_receive(int fd, union channel_packet *packet)
{
    (void)fd, (void)packet;
    return GA_LOST;
}

uint32_t channel_packet_seat(const union channel_packet *packet)
{
    (void)packet;
    return CHANNEL_SEATS;
}

static bool pipe_next(struct pipe *pipe, union lent_packet *packet)
{
    if (pipe->count == 0) {
        return false;
    }
    *packet = pipe->packets[pipe->first];
    pipe->first = (pipe->first + 1) % now.room;
    pipe->count--;
    return true;
}

#endif
