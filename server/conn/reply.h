/* SPDX-License-Identifier: Apache-2.0 */
/* Answers to calls: replies, late errors. Submit thread only, but where it says so. */
#ifndef SERVER_CONN_REPLY_H
#define SERVER_CONN_REPLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/cuda_names.h"
#include "base/cursor.h"
#include "server/conn/completer.h"

struct server_app;
struct wire_header;

/* Returned by the handler of a call (api/server_dispatch.h) instead of the call's result. */
#define SERVER_ANSWERED ((CUresult)-1) /* it has answered, or will */
#define SERVER_BROKEN   ((CUresult)-2) /* the frame makes no sense, or is lost: the end */

/* Answer a call with what its handler has returned. False: the connection ends. */
bool server_answer(struct server_app *app, const struct wire_header *header, CUresult rc);
bool server_answer_async(struct server_app *app, const struct wire_header *header, CUresult rc);

/* A reply: begin, write the results if rc is CUDA_SUCCESS, end. NULL: no memory, the connection
 * ends. The reply is sent behind answers to work that has finished before it. */
struct ga_writer *server_reply_begin(struct server_app *app, const struct wire_header *header,
                                     CUresult rc, size_t bound);
void server_reply_end(struct server_app *app);
/* A whole reply, where rc and results are known. */
#define SERVER_REPLY_RESULTS(app, header, name, rc, results)                                       \
    do {                                                                                           \
        struct ga_writer *writer_ =                                                                \
            server_reply_begin(app, header, rc, name##_results_bound(results));                    \
        if (writer_ != NULL && (rc) == CUDA_SUCCESS) {                                             \
            name##_results_write(writer_, results);                                                \
        }                                                                                          \
        server_reply_end(app);                                                                     \
    } while (0)
/* A reply without results. */
void server_reply(struct server_app *app, const struct wire_header *header, CUresult rc);
/* Reports that a call that no thread waits for has failed, in the current context (WIRE_ERROR). */
void server_async_error(struct server_app *app, const struct wire_header *header, CUresult rc);
/* An entry of the completion thread for the current call. NULL: no memory. */
struct completer_entry *server_entry_make(struct server_app *app, enum completer_kind kind);
/* A reply without results to the current call, once `ref` (taken over) has finished. Returns
 * SERVER_ANSWERED. */
CUresult server_reply_after(struct server_app *app, struct event_ref *ref, uint64_t lane);

/* Memory is gone or the protocol is broken: ends the connection with a log line. */
void server_fail(struct server_app *app, const char *why);
/* Tells the program one line for people, if its client takes notices. `app` is a struct
 * server_app; any thread. */
void server_notice(void *app, const char *text);
/* As server_notice: why the connection is about to end. A client reads this before the end, however
 * late. */
void server_end_notice(struct server_app *app, const char *text);

#endif
