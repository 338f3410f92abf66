/* SPDX-License-Identifier: Apache-2.0 */
/* Which context the driver has current, in the submit thread. */
#ifndef SERVER_APP_CURRENT_CONTEXT_H
#define SERVER_APP_CURRENT_CONTEXT_H

struct frame_record;
struct server_app;
struct server_context;
struct server_stream;

/* Makes the context (NULL: none) the driver's current one; app->current stays the application's. */
void context_apply(struct server_app *app, const struct server_context *context);
/* The current call is for this stream: makes its context current in the driver, where the stream's
 * handle does not imply it, and keeps the call, if it is captured. */
void stream_apply(struct server_app *app, const struct server_stream *stream);
/* Calls that are captured in the stream from now on are kept in the record, where there must be
 * room whenever a call comes; NULL: no more. */
void stream_record(struct server_stream *stream, struct frame_record *record);

#endif
