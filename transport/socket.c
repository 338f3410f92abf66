/* What the kernel says of a stream socket, in our words. */
#include "transport/socket.h"

#include <errno.h>
#include <stdint.h>
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
