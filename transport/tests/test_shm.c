/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of shm alone: names, and clients that offer memory that could be taken away. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "transport/shm/shm.h"
#include "transport/shm/shm_setup.h"

#define MEMORY_BYTES sizeof(struct rings)

static struct transport_listener listen_somewhere(char url[300])
{
    struct transport_address address;
    struct transport_listener listener;
    char why[256] = "";
    cr_assert_eq(transport_address_parse("shm:0", "1", &address, why, sizeof why), GA_OK);
    cr_assert_eq(address.ops->listen(&address, &listener, why, sizeof why), GA_OK, "%s", why);
    cr_assert_eq(address.ops->local_address(listener.fd, url, 300), GA_OK);
    return listener;
}

Test(shm, two_listeners_have_two_names_and_one_name_one_listener)
{
    char first[300], second[300], why[256];
    struct transport_listener a = listen_somewhere(first), b = listen_somewhere(second), c;
    struct transport_address address;
    cr_assert_str_neq(first, second);
    cr_assert_eq(transport_address_parse(first, "1", &address, why, sizeof why), GA_OK);
    cr_assert_eq(address.ops->listen(&address, &c, why, sizeof why), GA_INVALID);
    cr_assert_not_null(strstr(why, "in use"), "%s", why);
    a.ops->close_listener(&a);
    b.ops->close_listener(&b);
}

static int socket_to(const char *url)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    int length = snprintf(at.sun_path + 1, sizeof at.sun_path - 1, "gpuaas/%s", url + 4);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
    cr_assert_eq(connect(fd, (struct sockaddr *)&at, size), 0);
    return fd;
}

static void offer(int fd, char mode, const int *fds, int count)
{
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(4 * sizeof(int))] = {0};
    struct iovec piece = {&mode, 1};
    struct msghdr message = {.msg_iov = &piece, .msg_iovlen = 1};
    if (count != 0) {
        message.msg_control = control;
        message.msg_controllen = CMSG_SPACE((size_t)count * sizeof(int));
        struct cmsghdr *header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN((size_t)count * sizeof(int));
        memcpy(CMSG_DATA(header), fds, (size_t)count * sizeof(int));
    }
    cr_assert_eq(sendmsg(fd, &message, 0), 1);
}

static int memory_of(size_t bytes, int seals)
{
    int memory = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    cr_assert_eq(ftruncate(memory, (off_t)bytes), 0);
    cr_assert(seals == 0 || fcntl(memory, F_ADD_SEALS, seals) == 0);
    return memory;
}

static int descriptors_open(void)
{
    int count = 0;
    for (int fd = 0; fd < 256; fd++) {
        count += fcntl(fd, F_GETFD) >= 0;
    }
    return count;
}

Test(shm, an_offer_that_could_hurt_is_the_end_and_leaves_nothing)
{
    char url[300];
    struct transport_listener listener = listen_somewhere(url);
    int pair[2], good = memory_of(MEMORY_BYTES, F_SEAL_SHRINK);
    int can_shrink = memory_of(MEMORY_BYTES, 0), small = memory_of(4096, F_SEAL_SHRINK);
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    const struct {
        char mode;
        int count, fds[4];
        enum ga_status status;
    } offers[] = {
        {'r', 2, {good, pair[1]}, GA_AGAIN}, /* this one is good: nothing is in the ring yet */
        {'r', 0, {0}, GA_LOST},
        {'r', 1, {good}, GA_LOST},
        {'r', 3, {good, pair[1], null}, GA_LOST},
        {'r', 2, {can_shrink, pair[1]}, GA_LOST},
        {'r', 2, {small, pair[1]}, GA_LOST},
        {'r', 2, {null, pair[1]}, GA_LOST},
        {'r', 2, {good, null}, GA_LOST},
        {'x', 0, {0}, GA_LOST},
        {'x', 2, {good, pair[1]}, GA_LOST},
        {'s', 2, {good, pair[1]}, GA_AGAIN}, /* a stream that gives away two descriptors */
    };
    int before = descriptors_open();
    for (size_t i = 0; i < sizeof offers / sizeof *offers; i++) {
        struct transport_conn conn;
        char byte;
        size_t got;
        int fd = socket_to(url);
        offer(fd, offers[i].mode, offers[i].fds, offers[i].count);
        cr_assert_eq(listener.ops->accept(&listener, &conn), GA_OK);
        cr_assert_eq(conn.ops->receive(&conn, &byte, 1, &got), offers[i].status, "offer %zu", i);
        conn.ops->close(&conn);
        close(fd);
        cr_assert_eq(descriptors_open(), before, "offer %zu", i);
    }
    listener.ops->close_listener(&listener);
}

/* Bytes sent before the end still arrive; then the connection is lost, even for a thread that
 * has not slept. */
Test(shm, what_was_said_before_the_end_arrives)
{
    char url[300], why[256] = "", bytes[8];
    struct transport_listener listener = listen_somewhere(url);
    struct transport_address address;
    struct transport_conn client, server;
    struct pollfd fds[TRANSPORT_POLL_MAX];
    size_t count;
    cr_assert_eq(transport_address_parse(url, "1", &address, why, sizeof why), GA_OK);
    cr_assert_eq(transport_connect(&address, 1000, &client, why, sizeof why), GA_OK);
    cr_assert_eq(client.ops->upgrade(&client, why, sizeof why), GA_OK);
    cr_assert_eq(listener.ops->accept(&listener, &server), GA_OK);
    cr_assert_eq(server.ops->receive(&server, bytes, sizeof bytes, &count), GA_AGAIN);
    cr_assert_eq(server.ops->poll_prepare(&server, POLLIN, fds), 1);
    struct iovec piece = {"words", 5};
    cr_assert_eq(client.ops->send(&client, &piece, 1, &count), GA_OK);
    client.ops->close(&client);
    cr_assert_eq(poll(fds, 1, 1000), 1);
    cr_assert_eq(server.ops->receive(&server, bytes, sizeof bytes, &count), GA_OK);
    cr_assert_eq(count, 5);
    enum ga_status status;
    for (int i = 0; i < 5; i++) {
        status = server.ops->receive(&server, bytes, sizeof bytes, &count);
        if (status == GA_AGAIN && server.ops->poll_prepare(&server, POLLIN, fds) != 0) {
            cr_assert_eq(poll(fds, 1, 1000), 1);
        }
    }
    cr_assert_eq(status, GA_LOST);
    server.ops->close(&server);
    listener.ops->close_listener(&listener);
}

static struct transport_conn connect_to(const char *url, bool upgraded)
{
    char why[256] = "";
    struct transport_address address;
    struct transport_conn conn;
    cr_assert_eq(transport_address_parse(url, "1", &address, why, sizeof why), GA_OK);
    cr_assert_eq(transport_connect(&address, 1000, &conn, why, sizeof why), GA_OK);
    cr_assert(!upgraded || conn.ops->upgrade(&conn, why, sizeof why) == GA_OK);
    return conn;
}

static struct transport_conn accept_from(struct transport_listener *listener)
{
    struct transport_conn conn;
    char byte;
    size_t got;
    cr_assert_eq(listener->ops->accept(listener, &conn), GA_OK);
    cr_assert_neq(conn.ops->receive(&conn, &byte, 1, &got), GA_LOST);
    return conn;
}

static bool is_same_file(int a, int b)
{
    struct stat one, two;
    cr_assert(fstat(a, &one) == 0 && fstat(b, &two) == 0);
    return one.st_ino == two.st_ino && one.st_dev == two.st_dev;
}

Test(shm, descriptors_come_in_their_order_and_doorbells_lose_none)
{
    char url[300];
    struct transport_listener listener = listen_somewhere(url);
    struct transport_conn client = connect_to(url, true), server = accept_from(&listener);
    struct pollfd fds[TRANSPORT_POLL_MAX];
    int files[3], got = -1;
    char bytes[8];
    size_t count;
    cr_assert_eq(server.ops->receive_fd(&server, &got), GA_AGAIN);
    cr_assert_eq(client.ops->receive_fd(&client, &got), GA_UNSUPPORTED,
                 "only servers are given any");
    cr_assert_eq(server.ops->send_fd(&server, 0), GA_UNSUPPORTED);
    for (int i = 0; i < 3; i++) {
        files[i] = memory_of(4096, 0);
        cr_assert_eq(client.ops->send_fd(&client, files[i]), GA_OK);
        /* The server sleeps, and wakes: the doorbells are taken away. */
        cr_assert_eq(server.ops->poll_prepare(&server, POLLIN, fds), 1);
        cr_assert_eq(poll(fds, 1, 1000), 1);
        cr_assert_eq(server.ops->receive(&server, bytes, sizeof bytes, &count), GA_AGAIN);
    }
    for (int i = 0; i < 3; i++) {
        cr_assert_eq(server.ops->receive_fd(&server, &got), GA_OK);
        cr_assert(is_same_file(got, files[i]), "descriptor %d", i);
        cr_assert(fcntl(got, F_GETFD) & FD_CLOEXEC);
        close(got);
        close(files[i]);
    }
    cr_assert_eq(server.ops->receive_fd(&server, &got), GA_AGAIN);
    /* Bytes that were sent before a descriptor is taken still arrive. */
    struct iovec piece = {"words", 5};
    cr_assert_eq(client.ops->send(&client, &piece, 1, &count), GA_OK);
    cr_assert_eq(server.ops->receive_fd(&server, &got), GA_AGAIN);
    cr_assert_eq(server.ops->receive(&server, bytes, sizeof bytes, &count), GA_OK);
    cr_assert_eq(count, 5);
    client.ops->close(&client);
    cr_assert_eq(server.ops->receive_fd(&server, &got), GA_LOST);
    server.ops->close(&server);
    listener.ops->close_listener(&listener);
}

Test(shm, descriptors_that_nobody_takes_are_closed)
{
    char url[300];
    struct transport_listener listener = listen_somewhere(url);
    int before = descriptors_open(), file = memory_of(4096, 0);
    struct transport_conn client = connect_to(url, true), server = accept_from(&listener);
    struct pollfd fds[TRANSPORT_POLL_MAX];
    char byte;
    size_t count;
    for (int i = 0; i < 20; i++) {
        cr_assert_eq(client.ops->send_fd(&client, file), GA_OK);
        if (i % 2 == 0) {
            cr_assert_eq(server.ops->poll_prepare(&server, POLLIN, fds), 1);
            cr_assert_eq(server.ops->receive(&server, &byte, 1, &count), GA_AGAIN);
        }
    }
    server.ops->close(&server);
    client.ops->close(&client);
    close(file);
    cr_assert_eq(descriptors_open(), before);
    listener.ops->close_listener(&listener);
}

Test(shm, a_stream_carries_no_descriptors)
{
    char url[300];
    int got;
    struct transport_listener listener = listen_somewhere(url);
    struct transport_conn client = connect_to(url, false), server;
    cr_assert_eq(client.ops->send_fd(&client, 0), GA_UNSUPPORTED);
    cr_assert_eq(listener.ops->accept(&listener, &server), GA_OK);
    cr_assert_eq(server.ops->receive_fd(&server, &got), GA_UNSUPPORTED);
    client.ops->close(&client);
    server.ops->close(&server);
    listener.ops->close_listener(&listener);
}

Test(shm, the_kernel_tells_whose_the_other_process_is)
{
    char url[300];
    struct transport_listener listener = listen_somewhere(url);
    struct transport_conn client = connect_to(url, true), server = accept_from(&listener);
    struct transport_identity found = transport_identify(&server);
    cr_expect_eq(found.proof, TRANSPORT_PROVES_USER);
    cr_expect_eq(found.uid, geteuid());
    cr_expect_eq(found.gid, getegid());
    cr_expect_eq(found.pid, getpid());
    cr_expect_eq(transport_identify(&client).proof, TRANSPORT_PROVES_NOTHING);
    client.ops->close(&client);
    server.ops->close(&server);
    listener.ops->close_listener(&listener);
}
