/* SPDX-License-Identifier: Apache-2.0 */
/* Lookup of what a client names: handles of objects, devices, addresses. Submit thread only. */
#ifndef SERVER_OBJECTS_HANDLES_H
#define SERVER_OBJECTS_HANDLES_H

#include <stdint.h>

#include "api/cuda_names.h"
#include "base/handle.h"
#include "server/app/objects.h"

struct server_app;

/* As server_stream_here, or the one that is being made again in its place. */
struct server_stream *server_stream_find(struct server_app *app, uint64_t wire);
/* Handles to objects of the driver: CUDA_ERROR_INVALID_HANDLE (a context: INVALID_CONTEXT). */
CUresult server_handle_stream(struct server_app *app, uint64_t wire, CUstream *real);
CUresult server_handle_event(struct server_app *app, uint64_t wire, CUevent *real);
CUresult server_handle_context(struct server_app *app, uint64_t wire, CUcontext *real);
CUresult server_handle_module(struct server_app *app, uint64_t wire, CUmodule *real);
CUresult server_handle_function(struct server_app *app, uint64_t wire, CUfunction *real);
CUresult server_device(struct server_app *app, int32_t ordinal, CUdevice *real);
/* CUDA_ERROR_INVALID_VALUE unless the bytes lie in memory of the application. */
CUresult server_range_check(struct server_app *app, uint64_t address, uint64_t bytes);
/* Puts a new object of the driver under the client's handle, or destroys it. */
CUresult server_handle_put(struct server_app *app, enum ga_handle_type type, uint64_t wire,
                           void *real);
/* The facts that a stream of the driver was made from. */
struct made_stream stream_made_from(struct server_app *app, CUstream real);

#endif
