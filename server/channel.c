/* SPDX-License-Identifier: Apache-2.0 */
/* Packets on the socketpair. Texts are cut off by a NUL on arrival: the other end is our own
 * program, but it may be one that a tenant has taken over. */
#include "server/channel.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum ga_status channel_send(int fd, const void *packet, size_t size)
{
    return channel_send_with(fd, packet, size, -1);
}

#define PASSED_MAX 4u /* more are not even received */

union control {
    struct cmsghdr header;
    uint8_t room[CMSG_SPACE(PASSED_MAX * sizeof(int))];
};

enum ga_status channel_send_with(int fd, const void *packet, size_t size, int passed)
{
    union control control = {.room = {0}};
    struct iovec piece = {(void *)(uintptr_t)packet, size};
    struct msghdr message = {.msg_iov = &piece, .msg_iovlen = 1};
    if (passed >= 0) {
        message.msg_control = &control;
        message.msg_controllen = CMSG_SPACE(sizeof passed);
        control.header = (struct cmsghdr){
            .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(sizeof passed)};
        memcpy(CMSG_DATA(&control.header), &passed, sizeof passed);
    }
    for (;;) {
        ssize_t sent = sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent >= 0) {
            return GA_OK;
        }
        if (errno != EINTR) {
            return errno == EAGAIN ? GA_AGAIN : GA_LOST;
        }
    }
}

static size_t packet_size(uint32_t kind)
{
    switch (kind) {
    case CHANNEL_SETUP:
        return sizeof(struct channel_setup);
    case CHANNEL_WARM:
    case CHANNEL_TURNS:
        return sizeof(struct channel_bare);
    case CHANNEL_APPLICATION:
        return sizeof(struct channel_application);
    case CHANNEL_READY:
        return sizeof(struct channel_ready);
    case CHANNEL_FAILED:
        return sizeof(struct channel_failed);
    case CHANNEL_TICKET:
        return sizeof(struct channel_ticket);
    case CHANNEL_LEAVE:
    case CHANNEL_ENDED:
    case CHANNEL_SERVED:
    case CHANNEL_ALONE:
        return sizeof(struct channel_seat);
    case CHANNEL_BOUND:
    case CHANNEL_VOID:
        return sizeof(struct channel_claim);
    case CHANNEL_FORBIDDEN:
        return sizeof(struct channel_forbidden);
    case CHANNEL_NOTICE:
        return sizeof(struct channel_notice);
    case CHANNEL_LIMITS:
        return sizeof(struct channel_limits);
    case CHANNEL_IDLE:
        return sizeof(struct channel_idle);
    case CHANNEL_FACTS:
        return sizeof(struct channel_facts);
    case CHANNEL_CHECKED:
        return sizeof(struct channel_checked);
    case CHANNEL_REQUEST:
        return sizeof(struct channel_request);
    default:
        return 0;
    }
}

static enum ga_status packet_check(union channel_packet *packet, size_t size)
{
    if (size < sizeof packet->kind || size != packet_size(packet->kind)) {
        return GA_LOST;
    }
    switch (packet->kind) {
    case CHANNEL_READY:
        packet->ready.url[sizeof packet->ready.url - 1] = 0;
        packet->ready.local[sizeof packet->ready.local - 1] = 0;
        break;
    case CHANNEL_FAILED:
        packet->failed.reason[sizeof packet->failed.reason - 1] = 0;
        break;
    case CHANNEL_NOTICE:
        packet->notice.text[sizeof packet->notice.text - 1] = 0;
        break;
    case CHANNEL_CHECKED:
        packet->checked.reason[sizeof packet->checked.reason - 1] = 0;
        break;
    case CHANNEL_FACTS:
        packet->facts.name[sizeof packet->facts.name - 1] = 0;
        if (packet->facts.attribute_count > HANDSHAKE_ATTRIBUTES_MAX) {
            return GA_LOST;
        }
        break;
    default:
        break;
    }
    return GA_OK;
}

enum ga_status channel_receive(int fd, union channel_packet *packet)
{
    int passed;
    enum ga_status status = channel_receive_with(fd, packet, &passed);
    if (status == GA_OK && passed >= 0) {
        close(passed);
    }
    return status;
}

/* The first descriptor that came; the others are closed. */
static int passed_take(struct msghdr *message)
{
    int first = -1;
    for (struct cmsghdr *at = CMSG_FIRSTHDR(message); at != NULL; at = CMSG_NXTHDR(message, at)) {
        bool rights = at->cmsg_level == SOL_SOCKET && at->cmsg_type == SCM_RIGHTS;
        size_t count = rights ? (at->cmsg_len - CMSG_LEN(0)) / sizeof(int) : 0;
        for (size_t i = 0; i < count; i++) {
            int fd;
            memcpy(&fd, CMSG_DATA(at) + i * sizeof fd, sizeof fd);
            if (first < 0) {
                first = fd;
            } else {
                close(fd);
            }
        }
    }
    return first;
}

enum ga_status channel_receive_with(int fd, union channel_packet *packet, int *passed)
{
    for (;;) {
        union control control;
        struct iovec piece = {packet, sizeof *packet};
        struct msghdr message = {.msg_iov = &piece,
                                 .msg_iovlen = 1,
                                 .msg_control = &control,
                                 .msg_controllen = sizeof control};
        ssize_t got = recvmsg(fd, &message, MSG_DONTWAIT | MSG_TRUNC | MSG_CMSG_CLOEXEC);
        if (got > 0) {
            int first = passed_take(&message);
            enum ga_status status = packet_check(packet, (size_t)got);
            if (first >= 0 && (status != GA_OK || packet->kind != CHANNEL_REQUEST)) {
                close(first);
                first = -1;
            }
            *passed = first;
            return status;
        }
        if (got == 0) {
            return GA_LOST;
        }
        if (errno != EINTR) {
            return errno == EAGAIN ? GA_AGAIN : GA_LOST;
        }
    }
}

uint32_t channel_packet_seat(const union channel_packet *packet)
{
    switch (packet->kind) {
    case CHANNEL_READY:
        return packet->ready.seat;
    case CHANNEL_FAILED:
        return packet->failed.seat;
    case CHANNEL_IDLE:
        return packet->idle.seat;
    case CHANNEL_ENDED:
    case CHANNEL_SERVED:
        return packet->seat.seat;
    case CHANNEL_BOUND:
    case CHANNEL_VOID:
        return packet->claim.seat;
    default:
        return CHANNEL_SEATS;
    }
}
