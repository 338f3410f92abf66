/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that copies with linear memory and with arrays share. */
#ifndef SERVER_CALLS_COPY_H
#define SERVER_CALLS_COPY_H

#include "api/calls.h"
#include "server/conn/conn.h"
#include "server/conn/copy_room.h"

/* Takes `bytes` bulk bytes of the current call, for a copy in `stream`: to room->at they will have
 * come when the stream does. On failure they are gone: there is no room, or SERVER_BROKEN. */
CUresult copy_bulk_take(struct server_app *app, uint64_t stream, uint64_t bytes,
                        struct conn_room *room);
/* The end of a copy into the GPU, which has been submitted, or `rc` says why not: the slot is given
 * back when the stream has got so far; at once when there is nothing to wait for. Returns `rc`. */
CUresult copy_in_end(struct server_app *app, struct staging_slot *slot, uint64_t stream,
                     CUresult rc);

/* A copy may be on its way and nobody can say when it is over: the host memory that it uses is
 * never used again. */
void copy_unwatched(struct server_app *app, CUresult rc);

/* A copy out in progress: pieces in order, each in a slot of its own. */
struct copy_out {
    struct server_app *app;
    uint64_t stream_wire;
    CUstream stream;
    uint64_t sent, total;        /* bytes submitted, and of the whole copy */
    struct shared_buffer *piece; /* they go there, and the last answer gives it up; else NULL */
    uint64_t piece_at;
};

/* Rows, a part of a slice of an array, or neither: linear memory from `src` on. */
struct copy_piece {
    const CUDA_MEMCPY2D *rows;
    const CUDA_MEMCPY3D *slice;
    uint64_t src;
    uint64_t bytes; /* of rows and slices: WIRE_CHUNK at most */
};

/* Finds the stream and sees to slots. */
CUresult copy_out_begin(struct copy_out *copy);
/* Submits one piece; of linear memory the first bytes, `copy->sent` says how many. The result of
 * the driver, or CUDA_ERROR_OUT_OF_MEMORY; a lost connection shows as conn->ended. */
CUresult copy_piece_submit(struct copy_out *copy, const struct copy_piece *piece);
/* Submits the bytes from `src` on, piece by piece. */
CUresult copy_out_linear(struct copy_out *copy, uint64_t src, uint64_t bytes);
/* The end of a copy, of which all pieces have been submitted, or `rc` says why not. The last piece
 * brings the reply; one that failed, or has no bytes, gets it after the pieces that did not.
 * Returns SERVER_ANSWERED. */
CUresult copy_out_end(struct copy_out *copy, CUresult rc);

#endif
