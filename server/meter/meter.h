/* SPDX-License-Identifier: Apache-2.0 */
/* The meter: for how long each engine of a GPU has worked for this application. Work of a stream
 * without a rest is a batch: an event with timing before its first work, and one behind the last. A
 * batch ends where the stream may stand still: before it waits for anything, before another engine
 * works for it, behind a large copy, and when no call is here (the next one may take its time). The
 * time of an engine is the union of its batches, so what runs side by side counts once.
 *
 * How much of the GPU kernels fill (their share) is known for each launch, but the time only of a
 * batch: so a batch fills what the largest of its works does, and one ends where another share
 * begins, as far as there are enough works between two such ends (meter_share.h). Small works can
 * therefore not make the time of large ones look small.
 *
 * A batch that takes long counts while it runs, but for the last moments. A captured call is no
 * work; the launch of a graph is, of the engine COMPUTE.
 *
 * Note: all of it belongs to the submit thread, which looks for the events that are done now and
 * then, and by a timeout when it waits. Between two of these a call costs two comparisons: no lock,
 * no memory, no call of the driver. docs/accounting.md says how exact it is. */
#ifndef SERVER_METER_METER_H
#define SERVER_METER_METER_H

#include <stdbool.h>
#include <stdint.h>

#include "api/call_info.h"
#include "server/app/meter_state.h"
#include "server/figures.h"

struct meter_gpu;
struct server_context;
struct server_app;
struct server_stream;

void meter_init(struct meter *meter, bool on, bool records);
/* Frees what needs no driver; contexts have ended before. */
void meter_fini(struct meter *meter);
void meter_context_init(struct meter_context *context);

/* Whether a call is counted thereby. If not, it is for meter_turn to do. */
static inline bool meter_counts(struct meter *meter, enum api_engine engine, uint64_t stream,
                                uint32_t share)
{
    if (meter->stream == stream && meter->engine == engine && share - meter->least <= meter->span &&
        meter->left != 0) {
        meter->left--;
        return true;
    }
    return !meter->on;
}

/* Before work for an engine is submitted to the stream of this client's handle. `share`: how much
 * of the GPU it fills, in millionths; it counts for kernels. */
void meter_turn(struct server_app *app, enum api_engine engine, uint64_t stream, uint32_t share);
static inline void meter_work_of(struct meter *meter, struct server_app *app,
                                 enum api_engine engine, uint64_t stream, uint32_t share)
{
    if (!meter_counts(meter, engine, stream, share)) {
        meter_turn(app, engine, stream, share);
    }
}
/* As meter_work_of, of work that may fill the GPU, as far as is known. */
static inline void meter_work(struct meter *meter, struct server_app *app, enum api_engine engine,
                              uint64_t stream)
{
    meter_work_of(meter, app, engine, stream, FIGURES_WHOLE);
}
/* Behind a copy of so many bytes by the engine H2D or D2H: what a stream does next may wait for the
 * client. */
void meter_copied(struct server_app *app, enum api_engine engine, uint64_t stream, uint64_t bytes);
/* Before a call by which the stream, or any stream, may come to wait. */
void meter_rest(struct server_app *app, uint64_t stream);
void meter_rest_all(struct server_app *app);
/* Before a call that may keep the thread for long (compiling): nobody looks meanwhile, so batches
 * end, and what is known of them is told. */
void meter_long_call(struct server_app *app);
/* No call comes any more. Finished work is reported; work that goes on is waited for, for a moment
 * only. */
void meter_end(struct server_app *app);
/* Another context becomes current. */
void meter_forget(struct meter *meter);
/* From now on it measures, if it has not. */
static inline void meter_start(struct meter *meter)
{
    meter_forget(meter);
    meter->on = true;
}
/* Looks which batches are done and tells the figures. */
void meter_look(struct server_app *app);
/* Whether some work on the GPU is known to have begun and not to be done. */
bool meter_runs(const struct server_app *app, const struct meter_gpu *gpu);
/* No call is here: ends all batches, and looks now and then, as the next call may come before the
 * thread sleeps, again and again. */
void meter_idle(struct server_app *app);
/* As meter_idle, and returns for how long the thread may sleep; -1: for ever. Look when that time
 * is over. */
int meter_sleep_ms(struct server_app *app);

/* The stream ends; and the context, which is current and has nothing to do any more. */
void meter_stream_end(struct server_app *app, struct server_stream *stream);
void meter_context_end(struct server_app *app, struct server_context *context);

#endif
