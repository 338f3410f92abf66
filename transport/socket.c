/* SPDX-License-Identifier: Apache-2.0 */
/* Stream sockets: results of the kernel as our status codes. */
#include "transport/socket.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

#include "base/descriptor.h"

enum ga_status socket_accept(int listener, int *out)
{
    int fd = ga_descriptor_above_stdio(accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (fd >= 0) {
        *out = fd;
        return GA_OK;
    }
    switch (errno) {
    case EAGAIN:
    case EINTR:
    case ECONNABORTED:
        return GA_AGAIN;
    case EMFILE:
    case ENFILE:
    case ENOBUFS:
    case ENOMEM:
        return GA_NO_MEMORY;
    default:
        return GA_LOST;
    }
}

enum ga_status socket_send(int fd, const struct iovec *pieces, int count, size_t *sent)
{
    struct msghdr message = {.msg_iov = (struct iovec *)(uintptr_t)pieces,
                             .msg_iovlen = (size_t)count};
    for (;;) {
        ssize_t rc = sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (rc > 0) {
            *sent = (size_t)rc;
            return GA_OK;
        }
        if (rc < 0 && errno == EINTR) {
            continue;
        }
        return rc < 0 && (errno == EAGAIN || errno == ENOBUFS) ? GA_AGAIN : GA_LOST;
    }
}

enum ga_status socket_receive(int fd, void *to, size_t size, size_t *got)
{
    for (;;) {
        ssize_t rc = recv(fd, to, size, MSG_DONTWAIT);
        if (rc > 0) {
            *got = (size_t)rc;
            return GA_OK;
        }
        if (rc < 0 && errno == EINTR) {
            continue;
        }
        return rc < 0 && errno == EAGAIN ? GA_AGAIN : GA_LOST;
    }
}

static enum ga_status address_of(const struct sockaddr_storage *end, struct in6_addr *out)
{
    if (end->ss_family == AF_INET6) {
        *out = ((const struct sockaddr_in6 *)end)->sin6_addr;
        return GA_OK;
    }
    if (end->ss_family != AF_INET) {
        return GA_UNSUPPORTED;
    }
    *out = (struct in6_addr){.s6_addr = {[10] = 0xff, [11] = 0xff}};
    memcpy(out->s6_addr + 12, &((const struct sockaddr_in *)end)->sin_addr, 4);
    return GA_OK;
}

enum ga_status socket_ends(int fd, struct in6_addr *here, struct in6_addr *there)
{
    struct sockaddr_storage ours = {0}, theirs = {0};
    socklen_t ours_size = sizeof ours, theirs_size = sizeof theirs;
    if (getsockname(fd, (struct sockaddr *)&ours, &ours_size) != 0 ||
        getpeername(fd, (struct sockaddr *)&theirs, &theirs_size) != 0) {
        return GA_LOST;
    }
    GA_TRY(address_of(&ours, here));
    return address_of(&theirs, there);
}

enum ga_status socket_is_here(int fd, bool *is_here)
{
    struct in6_addr here, there;
    enum ga_status status = socket_ends(fd, &here, &there);
    *is_here =
        status == GA_UNSUPPORTED ||
        (status == GA_OK && (IN6_ARE_ADDR_EQUAL(&here, &there) || IN6_IS_ADDR_LOOPBACK(&there) ||
                             (IN6_IS_ADDR_V4MAPPED(&there) && there.s6_addr[12] == 127)));
    return status == GA_UNSUPPORTED ? GA_OK : status;
}
