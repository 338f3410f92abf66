/* Launches. The client sends the parameter block as the kernel declares it; the driver is given a
 * pointer to each parameter, which every driver and every kind of launch understands. */
#include <stdio.h>

#include "api/calls.h"
#include "api/server_dispatch.h"
#include "server/conn.h"

#define LAUNCH_COOPERATIVE 1u
#define LAUNCH_FLAGS       LAUNCH_COOPERATIVE
#define POINTERS_MOST      4097

static CUresult launch(struct server_conn *conn, const struct ga_launch_args *args)
{
    static void *pointers[POINTERS_MOST]; /* submit thread only */
    const struct cuda_driver *driver = conn->driver;
    const struct server_function *function =
        ga_handle_table_find(&conn->objects.functions, args->function);
    CUstream stream;
    CUresult rc = server_handle_stream(conn, args->stream, &stream);
    if (function == NULL || rc != CUDA_SUCCESS) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    if (args->param_bytes < function->param_bytes || (args->flags & ~LAUNCH_FLAGS) != 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    for (uint32_t i = 0; i < function->param_count; i++) {
        pointers[i] = (uint8_t *)(uintptr_t)args->params + function->params[i].offset;
    }
    const uint32_t *grid = args->grid, *block = args->block;
    if ((args->flags & LAUNCH_COOPERATIVE) != 0) {
        return driver->cuLaunchCooperativeKernel(function->real, grid[0], grid[1], grid[2],
                                                 block[0], block[1], block[2], args->shared_bytes,
                                                 stream, pointers);
    }
    return driver->cuLaunchKernel(function->real, grid[0], grid[1], grid[2], block[0], block[1],
                                  block[2], args->shared_bytes, stream, pointers, NULL);
}

bool server_call_ga_launch(struct server_conn *conn, const struct wire_header *header,
                           struct ga_reader *reader)
{
    struct ga_launch_args args;
    ga_launch_args_read(reader, &args);
    if (!ga_reader_done(reader)) {
        return false;
    }
    CUresult rc = launch(conn, &args);
    if (rc != CUDA_SUCCESS) {
        server_async_error(conn, header, rc);
    }
    return true;
}
