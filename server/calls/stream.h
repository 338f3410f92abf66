/* SPDX-License-Identifier: Apache-2.0 */
/* Streams: their end. */
#ifndef SERVER_CALLS_STREAM_H
#define SERVER_CALLS_STREAM_H

struct server_conn;
struct server_stream;

/* Forgets a stream that the driver has destroyed. */
void stream_drop(struct server_conn *conn, struct server_stream *stream);

#endif
