/* SPDX-License-Identifier: Apache-2.0 */
/* Setting up shared memory: the client makes it and offers it over the socket; the server takes it
 * if it is harmless.
 *
 * Note: every descriptor that arrives must be closed, even if the rest of the offer is invalid. */
#include "transport/shm/shm_setup.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "base/shared_memory.h"

/* The first byte that the client sends. */
enum { MODE_STREAM = 's', MODE_RINGS = 'r' };

static struct rings *rings_map(int memory)
{
    void *at = mmap(NULL, sizeof(struct rings), PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
    if (at == MAP_FAILED) {
        return NULL;
    }
    (void)madvise(at, sizeof(struct rings), MADV_DONTFORK);
    return at;
}

static bool rings_send(int fd, int memory, int room)
{
    char mode = MODE_RINGS;
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(2 * sizeof(int))];
    } control = {.header = {.cmsg_len = CMSG_LEN(2 * sizeof(int)),
                            .cmsg_level = SOL_SOCKET,
                            .cmsg_type = SCM_RIGHTS}};
    struct iovec piece = {&mode, 1};
    struct msghdr message = {.msg_iov = &piece,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof control.bytes};
    memcpy(CMSG_DATA(&control.header), (int[]){memory, room}, 2 * sizeof(int));
    return sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT) == 1;
}

struct rings *shm_offer_make(int fd, int *room)
{
    int ends[2];
    int memory = ga_shared_memory_make("gpuaas", sizeof(struct rings));
    if (memory < 0 ||
        socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) != 0) {
        if (memory >= 0) {
            close(memory);
        }
        return NULL;
    }
    struct rings *rings = rings_map(memory);
    ends[0] = ga_descriptor_above_stdio(ends[0]);
    bool offered = rings != NULL && ends[0] >= 0 && rings_send(fd, memory, ends[1]);
    close(memory);
    close(ends[1]);
    if (offered) {
        *room = ends[0];
        return rings;
    }
    if (rings != NULL) {
        shm_rings_unmap(rings);
    }
    if (ends[0] >= 0) {
        close(ends[0]);
    }
    return NULL;
}

void shm_rings_unmap(struct rings *rings)
{
    (void)munmap(rings, sizeof *rings);
}

enum ga_status shm_offer_none(int fd)
{
    const char mode = MODE_STREAM;
    ssize_t sent;
    do {
        sent = send(fd, &mode, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
    } while (sent < 0 && errno == EINTR);
    return sent == 1 ? GA_OK : sent < 0 && errno == EAGAIN ? GA_AGAIN : GA_LOST;
}

/* Takes the descriptors that came with the first byte, and closes all others that came. */
static bool descriptors_take(struct msghdr *message, int out[2])
{
    int count = 0;
    for (struct cmsghdr *at = CMSG_FIRSTHDR(message); at != NULL; at = CMSG_NXTHDR(message, at)) {
        if (at->cmsg_level != SOL_SOCKET || at->cmsg_type != SCM_RIGHTS) {
            continue;
        }
        for (size_t i = 0; CMSG_LEN((i + 1) * sizeof(int)) <= at->cmsg_len; i++) {
            int fd;
            memcpy(&fd, CMSG_DATA(at) + i * sizeof fd, sizeof fd);
            if (count < 2) {
                out[count] = fd;
            } else {
                close(fd);
            }
            count++;
        }
    }
    for (int i = 0; i < count && i < 2 && count != 2; i++) {
        close(out[i]);
    }
    return count == 2;
}

static bool is_stream_socket(int fd)
{
    int type = 0, domain = 0;
    socklen_t size = sizeof type;
    bool known = getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0;
    size = sizeof domain;
    return known && getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0 &&
           type == SOCK_STREAM && domain == AF_UNIX;
}

static enum ga_status rings_accept(const int fds[2], struct rings **out, int *room)
{
    struct rings *rings =
        ga_shared_memory_is(fds[0], sizeof(struct rings)) ? rings_map(fds[0]) : NULL;
    close(fds[0]);
    if (rings == NULL || !is_stream_socket(fds[1])) {
        if (rings != NULL) {
            shm_rings_unmap(rings);
        }
        close(fds[1]);
        return GA_LOST;
    }
    *out = rings;
    *room = fds[1];
    return GA_OK;
}

enum ga_status shm_offer_take(int fd, struct rings **out, int *room)
{
    char mode = 0;
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(8 * sizeof(int))];
    struct iovec piece = {&mode, 1};
    struct msghdr message = {.msg_iov = &piece,
                             .msg_iovlen = 1,
                             .msg_control = control,
                             .msg_controllen = sizeof control};
    ssize_t got = recvmsg(fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (got <= 0) {
        return got < 0 && (errno == EAGAIN || errno == EINTR) ? GA_AGAIN : GA_LOST;
    }
    int fds[2];
    bool two = descriptors_take(&message, fds);
    if (mode == MODE_RINGS && two) {
        return rings_accept(fds, out, room);
    }
    if (two) {
        close(fds[0]);
        close(fds[1]);
    }
    *out = NULL;
    *room = -1;
    return mode == MODE_STREAM ? GA_OK : GA_LOST;
}
