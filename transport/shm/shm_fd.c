/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptors that are passed along with doorbells. */
#include "transport/shm/shm_fd.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum ga_status shm_pass_send(int socket, int fd)
{
    const char byte = 0;
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = {.header = {.cmsg_len = CMSG_LEN(sizeof(int)),
                            .cmsg_level = SOL_SOCKET,
                            .cmsg_type = SCM_RIGHTS}};
    struct iovec piece = {(void *)(uintptr_t)&byte, 1};
    struct msghdr message = {.msg_iov = &piece,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof control.bytes};
    memcpy(CMSG_DATA(&control.header), &fd, sizeof fd);
    ssize_t sent;
    do {
        sent = sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    } while (sent < 0 && errno == EINTR);
    if (sent == 1) {
        return GA_OK;
    }
    /* ETOOMANYREFS: too many descriptors are on their way. */
    return errno == EAGAIN || errno == ENOBUFS || errno == ETOOMANYREFS ? GA_AGAIN : GA_LOST;
}

static void shm_fd_keep(struct shm_passed *passed, const struct cmsghdr *header)
{
    for (size_t i = 0; CMSG_LEN((i + 1) * sizeof(int)) <= header->cmsg_len; i++) {
        int fd;
        memcpy(&fd, CMSG_DATA(header) + i * sizeof fd, sizeof fd);
        if (passed->count < SHM_PASSED_MAX) {
            passed->fds[passed->count++] = fd;
        } else {
            close(fd);
        }
    }
}

enum ga_status shm_pass_receive(int socket, struct shm_passed *passed)
{
    char bytes[64];
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(8 * sizeof(int))];
    struct iovec piece = {bytes, sizeof bytes};
    struct msghdr message = {.msg_iov = &piece,
                             .msg_iovlen = 1,
                             .msg_control = control,
                             .msg_controllen = sizeof control};
    ssize_t got;
    do {
        got = recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    } while (got < 0 && errno == EINTR);
    if (got <= 0) {
        return got < 0 && errno == EAGAIN ? GA_AGAIN : GA_LOST;
    }
    for (struct cmsghdr *at = CMSG_FIRSTHDR(&message); at != NULL; at = CMSG_NXTHDR(&message, at)) {
        if (at->cmsg_level == SOL_SOCKET && at->cmsg_type == SCM_RIGHTS) {
            shm_fd_keep(passed, at);
        }
    }
    return GA_OK;
}

int shm_passed_first(struct shm_passed *passed)
{
    int first = passed->fds[0];
    passed->count--;
    memmove(passed->fds, passed->fds + 1, passed->count * sizeof first);
    return first;
}
