/* SPDX-License-Identifier: Apache-2.0 */
/* The objects of an application end in this order: captures, which are no work; the work; contexts
 * with their objects; mappings that are no context's; physical memory; addresses. */
#include "server/calls/objects_end.h"

#include "base/log.h"
#include "server/calls/context_end.h"
#include "server/calls/graph.h"
#include "server/calls/memory.h"
#include "server/calls/physical.h"
#include "server/session/conn.h"
#include "server/session/contexts.h"
#include "server/session/session.h"

/* The first error that a driver has answered, and what it has been asked for. */
struct end_errors {
    const struct cuda_driver *driver;
    CUresult rc;
};

static void end_check(struct end_errors *errors, CUresult rc, const char *what)
{
    char room[16];
    if (rc != CUDA_SUCCESS && errors->rc == CUDA_SUCCESS) {
        errors->rc = rc;
        ga_warn("the end of an application: %s: %s", what,
                driver_result_name(errors->driver, rc, room));
    }
}

static void captures_end(struct server_conn *conn)
{
    ga_list_each (at, next, &conn->objects.context_list) {
        const struct server_context *context = ga_container(at, struct server_context, link);
        ga_list_each (of, after, &context->streams) {
            graph_build_end(conn, ga_container(of, struct server_stream, link));
        }
    }
}

/* False: some work goes on, perhaps for ever. */
static bool work_end(struct server_conn *conn)
{
    ga_list_each (at, next, &conn->objects.context_list) {
        struct server_context *context = ga_container(at, struct server_context, link);
        context_apply(conn, context);
        enum ga_status status = context_quiesce(conn, context);
        if (status != GA_OK) {
            ga_warn("the end of an application: its work %s",
                    status == GA_TIMEOUT ? "does not end" : "cannot be waited for");
            return false;
        }
    }
    return true;
}

static void contexts_end(struct server_conn *conn, struct end_errors *errors)
{
    ga_list_each (at, next, &conn->objects.context_list) {
        struct server_context *context = ga_container(at, struct server_context, link);
        end_check(errors, context_clear(conn, context, false), "a context");
    }
    if (!ga_list_empty(&conn->objects.context_list)) {
        end_check(errors, CUDA_ERROR_NOT_READY, "a context");
    }
}

/* Ends the mappings of pools, and the program's own. */
static void mappings_end(struct server_conn *conn, struct end_errors *errors)
{
    while (conn->ranges.count != 0) {
        const struct range *last = &conn->ranges.items[conn->ranges.count - 1];
        end_check(errors,
                  last->of != NULL ? physical_unmap(conn, last->base)
                                   : memory_free(conn, last->base),
                  "a mapping");
        if (errors->rc != CUDA_SUCCESS) {
            return;
        }
    }
}

static void physicals_end(struct server_conn *conn, struct end_errors *errors)
{
    uint32_t index = 0;
    uint64_t handle;
    struct server_physical *physical;
    while ((physical = ga_handle_table_next(&conn->objects.physicals, &index, &handle)) != NULL) {
        end_check(errors, physical_free(conn, physical), "physical memory");
    }
}

static void addresses_end(struct server_conn *conn, struct end_errors *errors)
{
    while (conn->reserved.count != 0) {
        const struct range *last = &conn->reserved.items[conn->reserved.count - 1];
        end_check(errors, space_free(conn, last->base, last->bytes), "reserved addresses");
    }
    for (unsigned i = 1; i <= CONF_GPUS_MAX && conn->sessions[i] != NULL; i++) {
        end_check(errors, session_close(conn, conn->sessions[i]), "an address window");
    }
}

bool objects_end(struct server_conn *conn)
{
    struct end_errors errors = {.driver = conn->driver};
    if (atomic_load(&conn->fault) != 0) {
        return false; /* the driver does nothing more, which has been logged */
    }
    captures_end(conn);
    if (!work_end(conn)) {
        return false;
    }
    contexts_end(conn, &errors);
    if (errors.rc == CUDA_SUCCESS) {
        mappings_end(conn, &errors);
    }
    if (errors.rc == CUDA_SUCCESS) {
        physicals_end(conn, &errors);
        addresses_end(conn, &errors);
    }
    return errors.rc == CUDA_SUCCESS && atomic_load(&conn->fault) == 0;
}
