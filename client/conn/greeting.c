/* SPDX-License-Identifier: Apache-2.0 */
/* One greeting in bounded time. */
#include "client/conn/greeting.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

const char *client_greeting_cause(const struct transport_conn *transport, enum ga_status status)
{
    const char *error_text = transport_error_text(transport);
    return status != GA_LOST    ? CLIENT_GREETING_FOREIGN
           : error_text != NULL ? error_text
                                : "it closed the connection";
}

enum ga_status client_frame_begin(struct client_frame *frame)
{
    frame->bytes = aligned_alloc(64, WIRE_HANDSHAKE_MAX);
    if (frame->bytes == NULL) {
        return GA_NO_MEMORY;
    }
    frame->writer = ga_writer_of(frame->bytes + sizeof(struct wire_header),
                                 WIRE_HANDSHAKE_MAX - sizeof(struct wire_header));
    return GA_OK;
}

void client_frame_end(struct client_frame *frame)
{
    free(frame->bytes);
    frame->bytes = NULL;
}

static enum ga_status wait_for(struct transport_conn *transport, short events, uint64_t deadline_ns,
                               char *why, size_t why_size)
{
    uint64_t now = ga_clock_ns();
    if (now >= deadline_ns) {
        snprintf(why, why_size, "no answer in time");
        return GA_TIMEOUT;
    }
    struct pollfd at[TRANSPORT_POLL_MAX];
    unsigned count = transport->ops->poll_prepare(transport, events, at);
    if (count != 0) {
        (void)poll(at, count, (int)((deadline_ns - now) / GA_NS_PER_MS) + 1);
    }
    return GA_OK;
}

enum ga_status client_frame_send(struct client_frame *frame, uint16_t opcode, uint16_t session,
                                 uint64_t sequence, struct transport_conn *transport,
                                 uint64_t deadline_ns, char *why, size_t why_size)
{
    ga_writer_finish(&frame->writer);
    if (frame->writer.failed) {
        snprintf(why, why_size, "a greeting is too long");
        return GA_INVALID;
    }
    struct wire_header header = {.length = (uint32_t)frame->writer.at,
                                 .opcode = opcode,
                                 .session = session,
                                 .sequence = sequence};
    memcpy(frame->bytes, &header, sizeof header);
    size_t size = sizeof header + frame->writer.at, done = 0;
    while (done < size) {
        struct iovec piece = {.iov_base = frame->bytes + done, .iov_len = size - done};
        size_t sent;
        enum ga_status status = transport->ops->send(transport, &piece, 1, &sent);
        if (status == GA_AGAIN) {
            GA_TRY(wait_for(transport, POLLOUT, deadline_ns, why, why_size));
            continue;
        }
        if (status != GA_OK && why == NULL) {
            return status;
        }
        if (status != GA_OK) {
            char byte; /* the other end may have said why before it closed */
            (void)!transport->ops->receive(transport, &byte, 1, &sent);
            snprintf(why, why_size, "%s", client_greeting_cause(transport, GA_LOST));
            return status;
        }
        done += sent;
    }
    return GA_OK;
}

enum ga_status client_frame_receive(struct frame_reader *reader, struct transport_conn *transport,
                                    uint64_t deadline_ns, struct wire_header *header,
                                    struct ga_reader *values, char *why, size_t why_size)
{
    for (;;) {
        const uint8_t *at;
        enum ga_status status = frame_next(reader, header, &at);
        if (status == GA_OK) {
            *values = ga_reader_of(at, header->length);
            return GA_OK;
        }
        if (status == GA_AGAIN) {
            status = frame_fill(reader, transport);
        }
        if (status == GA_AGAIN) {
            GA_TRY(wait_for(transport, POLLIN, deadline_ns, why, why_size));
        } else if (status != GA_OK) {
            snprintf(why, why_size, "%s", client_greeting_cause(transport, status));
            return status;
        }
    }
}
