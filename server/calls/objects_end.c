/* SPDX-License-Identifier: Apache-2.0 */
/* The objects of an application end in this order: captures, which are no work; the work; contexts
 * with their objects; mappings that are no context's; physical memory; addresses. */
#include "server/calls/objects_end.h"

#include "base/log.h"
#include "server/app/app.h"
#include "server/app/current_context.h"
#include "server/calls/context_end.h"
#include "server/calls/graph.h"
#include "server/calls/memory.h"
#include "server/calls/physical.h"
#include "server/objects/contexts.h"
#include "server/objects/session.h"

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

static void captures_end(struct server_app *app)
{
    ga_list_each (at, next, &app->objects.context_list) {
        const struct server_context *context = ga_container(at, struct server_context, link);
        ga_list_each (of, after, &context->streams) {
            graph_build_end(app, ga_container(of, struct server_stream, link));
        }
    }
}

/* False: some work goes on, perhaps for ever. */
static bool work_end(struct server_app *app)
{
    ga_list_each (at, next, &app->objects.context_list) {
        struct server_context *context = ga_container(at, struct server_context, link);
        context_apply(app, context);
        enum ga_status status = context_quiesce(app, context);
        if (status != GA_OK) {
            ga_warn("the end of an application: its work %s",
                    status == GA_TIMEOUT ? "does not end" : "cannot be waited for");
            return false;
        }
    }
    return true;
}

static void contexts_end(struct server_app *app, struct end_errors *errors)
{
    ga_list_each (at, next, &app->objects.context_list) {
        struct server_context *context = ga_container(at, struct server_context, link);
        end_check(errors, context_clear(app, context, false), "a context");
    }
    if (!ga_list_empty(&app->objects.context_list)) {
        end_check(errors, CUDA_ERROR_NOT_READY, "a context");
    }
}

/* Ends the mappings of pools, and the program's own. */
static void mappings_end(struct server_app *app, struct end_errors *errors)
{
    while (app->ranges.count != 0) {
        const struct range *last = &app->ranges.items[app->ranges.count - 1];
        end_check(errors,
                  last->of != NULL ? physical_unmap(app, last->base) : memory_free(app, last->base),
                  "a mapping");
        if (errors->rc != CUDA_SUCCESS) {
            return;
        }
    }
}

static void physicals_end(struct server_app *app, struct end_errors *errors)
{
    uint32_t index = 0;
    uint64_t handle;
    struct server_physical *physical;
    while ((physical = ga_handle_table_next(&app->objects.physicals, &index, &handle)) != NULL) {
        end_check(errors, physical_free(app, physical), "physical memory");
    }
}

static void addresses_end(struct server_app *app, struct end_errors *errors)
{
    while (app->reserved.count != 0) {
        const struct range *last = &app->reserved.items[app->reserved.count - 1];
        end_check(errors, space_free(app, last->base, last->bytes), "reserved addresses");
    }
    for (unsigned i = 1; i <= CONF_GPUS_MAX && app->sessions[i] != NULL; i++) {
        end_check(errors, session_close(app, app->sessions[i]), "an address window");
    }
}

bool objects_end(struct server_app *app)
{
    struct end_errors errors = {.driver = app->driver};
    if (atomic_load(&app->fault) != 0) {
        return false; /* the driver does nothing more, which has been logged */
    }
    captures_end(app);
    if (!work_end(app)) {
        return false;
    }
    contexts_end(app, &errors);
    if (errors.rc == CUDA_SUCCESS) {
        mappings_end(app, &errors);
    }
    if (errors.rc == CUDA_SUCCESS) {
        physicals_end(app, &errors);
        addresses_end(app, &errors);
    }
    return errors.rc == CUDA_SUCCESS && atomic_load(&app->fault) == 0;
}
