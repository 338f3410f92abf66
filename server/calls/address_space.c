/* SPDX-License-Identifier: Apache-2.0 */
/* Memory at addresses of a session's window that is no context's: what pools of the client are made
 * of. */
#include "api/calls.h"
#include "api/server_dispatch.h"
#include "server/session/conn.h"

bool server_call_ga_space_map(struct server_conn *conn, const struct wire_header *header,
                              struct ga_reader *reader)
{
    struct ga_space_map_args args;
    ga_space_map_args_read(reader, &args);
    if (!ga_reader_done(reader)) {
        return false;
    }
    const struct server_session *session = conn_session(conn, header);
    server_reply(conn, header, memory_make(conn, session, NULL, args.address, args.bytes));
    return true;
}

bool server_call_ga_space_unmap(struct server_conn *conn, const struct wire_header *header,
                                struct ga_reader *reader)
{
    struct ga_space_unmap_args args;
    ga_space_unmap_args_read(reader, &args);
    if (!ga_reader_done(reader)) {
        return false;
    }
    const struct range *range = range_table_at(&conn->ranges, args.address);
    CUresult rc = CUDA_ERROR_INVALID_VALUE;
    if (range != NULL && range->mapped && range->owner == NULL && range->of == NULL &&
        range->bytes == args.bytes) {
        rc = memory_free(conn, args.address);
    }
    if (rc != CUDA_SUCCESS) {
        server_async_error(conn, header, rc);
    }
    return true;
}

bool memory_whole(const struct range_table *ranges, uint64_t address, uint64_t bytes)
{
    while (bytes != 0) {
        const struct range *range = range_table_at(ranges, address);
        if (range == NULL || !range->mapped || range->allocated || range->bytes > bytes) {
            return false;
        }
        address += range->bytes;
        bytes -= range->bytes;
    }
    return true;
}

bool server_call_ga_space_access(struct server_conn *conn, const struct wire_header *header,
                                 struct ga_reader *reader)
{
    struct ga_space_access_args args;
    CUmemAccessDesc access = {.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}};
    ga_space_access_args_read(reader, &args);
    if (!ga_reader_done(reader)) {
        return false;
    }
    CUresult rc = args.bytes != 0 && memory_whole(&conn->ranges, args.address, args.bytes)
                      ? server_device(conn, args.device, &access.location.id)
                      : CUDA_ERROR_INVALID_VALUE;
    if (rc == CUDA_SUCCESS) {
        access.flags = (CUmemAccess_flags)args.flags;
        rc = conn->driver->cuMemSetAccess(args.address, args.bytes, &access, 1);
    }
    server_reply(conn, header, rc);
    return true;
}
