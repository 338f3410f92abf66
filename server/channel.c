/* Packets on the socketpair. Texts are cut off by a NUL on arrival: the other end is our own
 * program, but it may be one that a tenant has taken over. */
#include "server/channel.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

enum ga_status channel_send(int fd, const void *packet, size_t size)
{
    for (;;) {
        ssize_t sent = send(fd, packet, size, MSG_NOSIGNAL | MSG_DONTWAIT);
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
        return sizeof(struct channel_warm);
    case CHANNEL_APPLICATION:
        return sizeof(struct channel_application);
    case CHANNEL_READY:
        return sizeof(struct channel_ready);
    case CHANNEL_FAILED:
        return sizeof(struct channel_failed);
    case CHANNEL_TICKET:
        return sizeof(struct channel_ticket);
    case CHANNEL_IDLE:
        return sizeof(struct channel_idle);
    case CHANNEL_FACTS:
        return sizeof(struct channel_facts);
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
        break;
    case CHANNEL_FAILED:
        packet->failed.reason[sizeof packet->failed.reason - 1] = 0;
        break;
    case CHANNEL_FACTS:
        packet->facts.name[sizeof packet->facts.name - 1] = 0;
        if (packet->facts.attribute_count > HANDSHAKE_ATTRIBUTES_MOST) {
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
    for (;;) {
        ssize_t got = recv(fd, packet, sizeof *packet, MSG_DONTWAIT | MSG_TRUNC);
        if (got > 0) {
            return packet_check(packet, (size_t)got);
        }
        if (got == 0) {
            return GA_LOST;
        }
        if (errno != EINTR) {
            return errno == EAGAIN ? GA_AGAIN : GA_LOST;
        }
    }
}
