/* SPDX-License-Identifier: Apache-2.0 */
/* Each fault happens as its option says, at that byte, and no other fault happens. */
#include <criterion/criterion.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "transport/transport.h"

struct broken {
    struct transport_conn ours, theirs; /* ours is broken, theirs is plain */
};

static void wait_for(int fd, short events)
{
    struct pollfd p = {.fd = fd, .events = events};
    cr_assert_eq(poll(&p, 1, 5000), 1);
}

static struct broken broken_open(const char *options)
{
    struct broken pair;
    struct transport_address address;
    struct transport_listener listener;
    char why[256] = "", bound[200], url[300];
    cr_assert_eq(transport_address_parse("127.0.0.1", "0", &address, why, sizeof why), GA_OK);
    cr_assert_eq(address.ops->listen(&address, &listener, why, sizeof why), GA_OK, "%s", why);
    cr_assert_eq(address.ops->local_address(listener.fd, bound, sizeof bound), GA_OK);
    snprintf(url, sizeof url, "fault+%s?%s", bound, options);
    cr_assert_eq(transport_address_parse(url, "0", &address, why, sizeof why), GA_OK, "%s", why);
    cr_assert_eq(transport_connect(&address, 5000, &pair.ours, why, sizeof why), GA_OK, "%s", why);
    wait_for(listener.fd, POLLIN);
    cr_assert_eq(listener.ops->accept(&listener, &pair.theirs), GA_OK);
    listener.ops->close_listener(&listener);
    return pair;
}

static void broken_close(struct broken *pair)
{
    pair->ours.ops->close(&pair->ours);
    pair->theirs.ops->close(&pair->theirs);
}

/* Sends up to `size` bytes 0, 1, 2, ...; how many left before the status that ended it. */
static size_t push(struct transport_conn *conn, size_t size, enum ga_status *end)
{
    uint8_t bytes[4096];
    size_t done = 0;
    *end = GA_OK;
    for (size_t i = 0; i < sizeof bytes; i++) {
        bytes[i] = (uint8_t)i;
    }
    while (done < size) {
        struct iovec pieces[2] = {{bytes + done, 1}, {bytes + done + 1, size - done - 1}};
        size_t sent;
        *end = conn->ops->send(conn, pieces, size - done > 1 ? 2 : 1, &sent);
        if (*end != GA_OK) {
            break;
        }
        done += sent;
    }
    return done;
}

/* Receives until `size` bytes or another status than GA_OK; waits up to a second for more. */
static size_t pull(struct transport_conn *conn, uint8_t *to, size_t size, enum ga_status *end)
{
    size_t done = 0;
    *end = GA_OK;
    while (done < size) {
        size_t got;
        struct pollfd p = {.fd = conn->fd, .events = POLLIN};
        (void)poll(&p, 1, 1000);
        *end = conn->ops->receive(conn, to + done, size - done, &got);
        if (*end != GA_OK) {
            break;
        }
        done += got;
    }
    return done;
}

Test(fault, unknown_options_are_refused)
{
    struct transport_address address;
    char why[256] = "";
    static const char *const urls[] = {"fault+tcp://a?x=1",     "fault+tcp://a?most",
                                       "fault+tcp://a?most=",   "fault+tcp://a?most=0",
                                       "fault+tcp://a?most=1x", "fault+ftp://a"};
    for (size_t i = 0; i < sizeof urls / sizeof *urls; i++) {
        cr_assert_eq(transport_address_parse(urls[i], "1", &address, why, sizeof why), GA_INVALID,
                     "%s", urls[i]);
    }
}

Test(fault, resets_reach_both_ends)
{
    uint8_t seen[4096];
    enum ga_status end;
    struct broken pair = broken_open("reset_out=1000");
    cr_assert_eq(push(&pair.ours, 4096, &end), 1000);
    cr_assert_eq(end, GA_LOST);
    (void)pull(&pair.theirs, seen, sizeof seen, &end); /* a reset may overtake bytes */
    cr_assert_eq(end, GA_LOST);
    broken_close(&pair);
    pair = broken_open("reset_in=1000");
    cr_assert_eq(push(&pair.theirs, 4096, &end), 4096);
    cr_assert_eq(pull(&pair.ours, seen, sizeof seen, &end), 1000);
    cr_assert_eq(end, GA_LOST);
    struct iovec piece = {"x", 1};
    size_t sent;
    cr_assert_eq(pair.ours.ops->send(&pair.ours, &piece, 1, &sent), GA_LOST);
    broken_close(&pair);
}

Test(fault, silence_tells_nobody)
{
    uint8_t seen[4096], block[65536] = {0};
    enum ga_status end;
    struct broken pair = broken_open("silent_out=100");
    struct iovec piece = {block, sizeof block};
    size_t sent;
    (void)push(&pair.ours, 4096, &end);
    cr_assert_eq(pull(&pair.theirs, seen, sizeof seen, &end), 100);
    cr_assert_eq(end, GA_AGAIN);
    cr_assert_eq(push(&pair.theirs, 50, &end), 50);
    cr_assert_eq(pull(&pair.ours, seen, sizeof seen, &end), 0);
    cr_assert_eq(end, GA_AGAIN);
    while ((end = pair.ours.ops->send(&pair.ours, &piece, 1, &sent)) == GA_OK) {
    }
    cr_assert_eq(end, GA_AGAIN, "like a send buffer that nobody empties");
    struct pollfd p = {.fd = pair.ours.fd, .events = POLLIN | POLLOUT};
    cr_assert_eq(poll(&p, 1, 0), 0);
    (void)shutdown(pair.ours.fd, SHUT_RDWR); /* wakes the poll, as on a true socket */
    cr_assert_eq(poll(&p, 1, 0), 1);
    broken_close(&pair);
}

Test(fault, one_byte_is_corrupt)
{
    static const char *const options[] = {"corrupt_out=300", "corrupt_in=300",
                                          "corrupt_in=300&most=7"};
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        uint8_t seen[4096];
        enum ga_status end;
        struct broken pair = broken_open(options[i]);
        bool out = strstr(options[i], "out") != NULL;
        cr_assert_eq(push(out ? &pair.ours : &pair.theirs, 4096, &end), 4096);
        cr_assert_eq(pull(out ? &pair.theirs : &pair.ours, seen, 4096, &end), 4096);
        for (size_t at = 0; at < 4096; at++) {
            cr_assert_eq(seen[at] == (uint8_t)at, at != 300, "%s: byte %zu", options[i], at);
        }
        broken_close(&pair);
    }
}

/* Five frames of 0, 16, 32, ... bytes behind their headers, each filled with its number; output
 * frames are shown as "number:bytes". */
static void expect_frames(const char *options, const char *expected)
{
    uint8_t stream[512] = {0}, seen[1024];
    char text[256] = "";
    size_t size = 0;
    enum ga_status end;
    for (uint32_t i = 0; i < 5; i++) {
        struct wire_header header = {.length = 16 * i, .opcode = WIRE_PING, .sequence = i + 1};
        memcpy(stream + size, &header, sizeof header);
        memset(stream + size + sizeof header, (int)i + 1, header.length);
        size += sizeof header + header.length;
    }
    struct broken pair = broken_open(options);
    bool out = strstr(options, "_out") != NULL;
    struct transport_conn *from = out ? &pair.ours : &pair.theirs;
    struct transport_conn *to = out ? &pair.theirs : &pair.ours;
    struct iovec pieces[2] = {{stream, 70}, {stream + 70, size - 70}};
    size_t sent;
    cr_assert_eq(from->ops->send(from, pieces, 2, &sent), GA_OK);
    cr_assert_eq(sent, size);
    cr_assert_eq(shutdown(from->fd, SHUT_WR), 0);
    size_t got = pull(to, seen, sizeof seen, &end);
    cr_assert_eq(end, GA_LOST);
    for (size_t at = 0; at + sizeof(struct wire_header) <= got;) {
        struct wire_header header;
        memcpy(&header, seen + at, sizeof header);
        at += sizeof header;
        size_t bytes = 0;
        while (at < got && bytes < header.length && seen[at] == header.sequence) {
            at++;
            bytes++;
        }
        size_t used = strlen(text);
        snprintf(text + used, sizeof text - used, "%s%u:%zu", used != 0 ? " " : "",
                 (unsigned)header.sequence, bytes);
        if (bytes != header.length) {
            snprintf(text + strlen(text), 4, header.length > 64 ? "!" : "?");
        }
    }
    cr_expect_str_eq(text, expected, "%s: %s", options, text);
    broken_close(&pair);
}

Test(fault, whole_frames_break)
{
    expect_frames("twice_out=3", "1:0 2:16 3:32 3:32 4:48 5:64");
    expect_frames("twice_in=1", "1:0 1:0 2:16 3:32 4:48 5:64");
    expect_frames("swap_out=2", "1:0 3:32 2:16 4:48 5:64");
    expect_frames("swap_in=4", "1:0 2:16 3:32 5:64 4:48");
    expect_frames("swap_out=5", "1:0 2:16 3:32 4:48 5:64"); /* nothing stands behind it */
    expect_frames("cut_out=3", "1:0 2:16 3:16?");
    expect_frames("cut_in=1", "");
    expect_frames("long_in=4", "1:0 2:16 3:32 4:48! 5:64");
    expect_frames("on=2&twice_out=3", "1:0 2:16 3:32 4:48 5:64"); /* it is none of data */
}

Test(fault, half_of_a_connection_may_end)
{
    uint8_t seen[4096];
    enum ga_status end;
    struct broken pair = broken_open("half_out=10");
    cr_assert_eq(push(&pair.ours, 4096, &end), 10);
    cr_assert_eq(end, GA_LOST);
    cr_assert_eq(pull(&pair.theirs, seen, sizeof seen, &end), 10);
    cr_assert_eq(end, GA_LOST);
    cr_assert_eq(push(&pair.theirs, 4096, &end), 4096);
    cr_assert_eq(pull(&pair.ours, seen, 4096, &end), 4096);
    broken_close(&pair);
}

Test(fault, only_the_chosen_kind_of_connection_breaks)
{
    struct {
        struct wire_header header;
        uint32_t words[4];
    } hello = {.header = {.opcode = WIRE_DATA_HELLO, .length = 16}, .words = {0, 0, 0, 1}};
    for (uint32_t kind = 0; kind < 2; kind++) { /* data, side */
        struct broken pair = broken_open("on=3&reset_out=40");
        struct iovec piece = {&hello, sizeof hello};
        size_t sent;
        enum ga_status end;
        hello.words[3] = kind;
        cr_assert_eq(pair.ours.ops->send(&pair.ours, &piece, 1, &sent), GA_OK);
        cr_assert_eq(sent, sizeof hello);
        cr_assert_eq(push(&pair.ours, 100, &end), kind == 1 ? 8 : 100);
        broken_close(&pair);
    }
}
