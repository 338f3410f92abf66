/* SPDX-License-Identifier: Apache-2.0 */
/* Copies between the GPU and memory that the application shares with this process. */
#include <unistd.h>

#include "api/calls.h"
#include "api/server_dispatch.h"
#include "server/calls/copy.h"
#include "server/session/conn.h"

bool server_call_ga_shared_buffer_open(struct server_conn *conn, const struct wire_header *header,
                                       struct ga_reader *reader)
{
    struct ga_shared_buffer_open_args args;
    ga_shared_buffer_open_args_read(reader, &args);
    if (!ga_reader_done(reader)) {
        return false;
    }
    int fd;
    CUresult rc = CUDA_ERROR_INVALID_VALUE;
    if (conn->transport.ops->receive_fd != NULL &&
        conn->transport.ops->receive_fd(&conn->transport, &fd) == GA_OK) {
        rc = shared_buffer_open(&conn->shared_buffers, conn->driver,
                                conn_session(conn, header)->real, args.piece, fd, args.bytes,
                                args.inode);
        close(fd);
    }
    server_check_fault(conn, rc);
    server_reply(conn, header, rc);
    return true;
}

bool server_call_ga_shared_buffer_reach(struct server_conn *conn, const struct wire_header *header,
                                        struct ga_reader *reader)
{
    struct ga_shared_buffer_reach_args args;
    ga_shared_buffer_reach_args_read(reader, &args);
    if (!ga_reader_done(reader)) {
        return false;
    }
    CUresult rc = reach_prepare(conn, conn_session(conn, header)->real);
    if (rc == CUDA_SUCCESS) {
        rc = shared_buffer_reach(&conn->shared_buffers, args.piece, args.bytes, args.address,
                                 args.key);
    }
    server_check_fault(conn, rc);
    server_reply(conn, header, rc);
    return true;
}

/* False, which ends the connection: what a copy uses is given up. */
bool server_call_ga_shared_buffer_close(struct server_conn *conn, const struct wire_header *header,
                                        struct ga_reader *reader)
{
    struct ga_shared_buffer_close_args args;
    ga_shared_buffer_close_args_read(reader, &args);
    if (!ga_reader_done(reader)) {
        return false;
    }
    CUresult rc = shared_buffer_close(&conn->shared_buffers, conn->driver, args.piece);
    if (rc != CUDA_SUCCESS && rc != CUDA_ERROR_ILLEGAL_STATE) {
        server_async_error(conn, header, rc);
    }
    return rc != CUDA_ERROR_ILLEGAL_STATE;
}

/* The copy has been submitted, or `rc` says why not: the answer comes when the stream has got so
 * far. */
static void answer_after(struct server_conn *conn, const struct wire_header *header,
                         uint64_t stream, struct shared_buffer *piece, CUresult rc)
{
    struct completer_entry *entry =
        completer_entry_make(&conn->completer, COMPLETER_REPLY, header->session, header->sequence);
    if (entry == NULL) {
        server_fail(conn, "no memory for a reply");
        return; /* the piece stays in use: whatever writes there may go on */
    }
    if (rc == CUDA_SUCCESS) {
        rc = stream_mark(conn, stream, &entry->event, &entry->base.lane);
        if (rc != CUDA_SUCCESS) {
            completer_entry_free(&conn->completer, entry);
            copy_unwatched(conn, rc);
            return;
        }
    } else {
        server_check_fault(conn, rc);
    }
    entry->piece = piece;
    entry->rc = rc;
    completer_add(&conn->completer, entry);
}

static CUresult stream_and_range(struct server_conn *conn, uint64_t wire, uint64_t device,
                                 uint64_t bytes, CUstream *stream)
{
    CUresult rc = server_handle_stream(conn, wire, stream);
    if (rc == CUDA_SUCCESS && conn->current == NULL) {
        rc = CUDA_ERROR_INVALID_CONTEXT;
    }
    return rc == CUDA_SUCCESS ? server_range_check(conn, device, bytes) : rc;
}

/* Finds the bytes of a copy, which keeps its piece. */
static CUresult piece_keep(struct server_conn *conn, uint32_t number, uint64_t offset,
                           uint64_t bytes, struct shared_buffer **piece)
{
    *piece = shared_buffer_find(&conn->shared_buffers, number, offset, bytes);
    if (*piece == NULL) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    shared_buffer_keep(*piece);
    return CUDA_SUCCESS;
}

bool server_call_ga_shared_buffer_in(struct server_conn *conn, const struct wire_header *header,
                                     struct ga_reader *reader)
{
    struct ga_shared_buffer_in_args args;
    ga_shared_buffer_in_args_read(reader, &args);
    if (!ga_reader_done(reader)) {
        return false;
    }
    CUstream stream;
    struct shared_buffer *piece = NULL;
    CUresult rc = stream_and_range(conn, args.stream, args.dst, args.bytes, &stream);
    if (rc == CUDA_SUCCESS) {
        rc = piece_keep(conn, args.piece, args.offset, args.bytes, &piece);
    }
    if (rc == CUDA_SUCCESS && piece->memory == NULL) {
        rc = reach_in(conn, header, &args, piece, stream);
        if (atomic_load(&conn->ended)) {
            return false;
        }
    } else if (rc == CUDA_SUCCESS && args.bytes != 0) {
        rc = conn->driver->cuMemcpyHtoDAsync_v2(args.dst, piece->memory + args.offset, args.bytes,
                                                stream);
        ledger_moved(conn->ledger, FIGURE_SHARED_IN, rc == CUDA_SUCCESS ? args.bytes : 0);
    }
    answer_after(conn, header, args.stream, piece, rc);
    if (args.waits != 0) {
        conn_flush(conn); /* the calls behind it may take long */
    }
    return true;
}

bool server_call_ga_shared_buffer_out(struct server_conn *conn, const struct wire_header *header,
                                      struct ga_reader *reader)
{
    struct ga_shared_buffer_out_args args;
    ga_shared_buffer_out_args_read(reader, &args);
    if (!ga_reader_done(reader)) {
        return false;
    }
    CUstream stream;
    struct shared_buffer *piece = NULL;
    CUresult rc = stream_and_range(conn, args.stream, args.src, args.bytes, &stream);
    if (rc == CUDA_SUCCESS) {
        rc = piece_keep(conn, args.piece, args.offset, args.bytes, &piece);
    }
    if (rc == CUDA_SUCCESS && piece->memory == NULL) {
        reach_out(conn, header, &args, piece, stream);
        return true;
    }
    if (rc == CUDA_SUCCESS && args.bytes != 0) {
        rc = conn->driver->cuMemcpyDtoHAsync_v2(piece->memory + args.offset, args.src, args.bytes,
                                                stream);
        ledger_moved(conn->ledger, FIGURE_SHARED_OUT, rc == CUDA_SUCCESS ? args.bytes : 0);
    }
    answer_after(conn, header, args.stream, piece, rc);
    if (args.waits != 0) {
        conn_flush(conn); /* the calls behind it may take long */
    }
    return true;
}
