/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes of the connection, within the time of a request. */
#include "ctl/link.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

#define ROOM_BYTES 65536u /* of the buffer at first */

static struct {
    bool open;
    struct transport_conn conn;
    uint64_t deadline_ns;
    char *buffer;
    size_t used, size;
    size_t lent; /* bytes of the line that was received last, with its newline */
} link_to;

void ctl_link_end(void)
{
    if (link_to.open) {
        link_to.conn.ops->close(&link_to.conn);
        link_to.open = false;
        link_to.used = 0;
        link_to.lent = 0;
    }
}

enum admin_code ctl_link_begin(const struct ctl_line *line, char *why, size_t why_size)
{
    link_to.deadline_ns = ga_clock_ns() + line->timeout_s * GA_NS_PER_S;
    if (link_to.open) {
        return ADMIN_OK;
    }
    enum admin_code code =
        ctl_link_open(line, line->timeout_s * 1000, &link_to.conn, why, why_size);
    link_to.open = code == ADMIN_OK;
    return code;
}

static enum admin_code link_wait(short events, char *why, size_t why_size)
{
    struct pollfd at[TRANSPORT_POLL_MAX];
    uint64_t now = ga_clock_ns();
    unsigned count = link_to.conn.ops->poll_prepare(&link_to.conn, events, at);
    int left_ms =
        now >= link_to.deadline_ns ? 0 : (int)((link_to.deadline_ns - now) / GA_NS_PER_MS) + 1;
    if (count != 0 && poll(at, count, left_ms) == 0) {
        snprintf(why, why_size, "gpuaasd has not answered in time; --timeout SECONDS waits longer");
        return ADMIN_TIMEOUT;
    }
    return ADMIN_OK;
}

enum admin_code ctl_link_send(const char *bytes, size_t size, char *why, size_t why_size)
{
    while (size != 0) {
        struct iovec piece = {(void *)(uintptr_t)bytes, size};
        size_t sent;
        enum ga_status status = link_to.conn.ops->send(&link_to.conn, &piece, 1, &sent);
        if (status == GA_OK) {
            bytes += sent;
            size -= sent;
        } else if (status == GA_AGAIN) {
            enum admin_code code = link_wait(POLLOUT, why, why_size);
            if (code != ADMIN_OK) {
                return code;
            }
        } else {
            return ADMIN_OK; /* perhaps a reply says why */
        }
    }
    return ADMIN_OK;
}

static bool link_room_make(void)
{
    if (link_to.used < link_to.size) {
        return true;
    }
    size_t size = link_to.size == 0 ? ROOM_BYTES : 2 * link_to.size;
    char *buffer = size <= 2 * (size_t)ADMIN_REPLY_MAX ? realloc(link_to.buffer, size) : NULL;
    if (buffer != NULL) {
        link_to.buffer = buffer;
        link_to.size = size;
    }
    return buffer != NULL;
}

bool ctl_link_keep(const void *bytes, size_t size)
{
    bool room = link_room_make() && size <= link_to.size - link_to.used;
    if (room && size != 0) {
        memcpy(link_to.buffer + link_to.used, bytes, size);
        link_to.used += size;
    }
    return room;
}

static enum admin_code link_fill(char *why, size_t why_size)
{
    size_t got;
    if (!link_room_make()) {
        snprintf(why, why_size, "the answer of gpuaasd is too long, or there is no memory");
        return ADMIN_ERROR;
    }
    enum ga_status status = link_to.conn.ops->receive(&link_to.conn, link_to.buffer + link_to.used,
                                                      link_to.size - link_to.used, &got);
    if (status == GA_OK) {
        link_to.used += got;
        return ADMIN_OK;
    }
    if (status == GA_AGAIN) {
        return link_wait(POLLIN, why, why_size);
    }
    const char *text = transport_error_text(&link_to.conn);
    snprintf(why, why_size, "%s",
             text != NULL ? text
                          : "gpuaasd has closed the connection: has it ended? Its log says why");
    return ADMIN_UNREACHABLE;
}

enum admin_code ctl_link_receive_line(char **text, size_t *size, char *why, size_t why_size)
{
    if (link_to.lent != 0) {
        link_to.used -= link_to.lent;
        memmove(link_to.buffer, link_to.buffer + link_to.lent, link_to.used);
        link_to.lent = 0;
    }
    size_t looked = 0; /* there is no newline so far */
    for (;;) {
        size_t fresh = link_to.used - looked;
        const char *end = fresh != 0 ? memchr(link_to.buffer + looked, '\n', fresh) : NULL;
        looked = link_to.used;
        if (end != NULL) {
            *text = link_to.buffer;
            *size = (size_t)(end - link_to.buffer);
            link_to.lent = *size + 1;
            return ADMIN_OK;
        }
        enum admin_code code = link_fill(why, why_size);
        if (code != ADMIN_OK) {
            return code;
        }
    }
}
