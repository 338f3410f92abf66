/* SPDX-License-Identifier: Apache-2.0 */
/* Memory at addresses of a session's window that is no context's: what pools of the client are made
 * of. */
#include "api/calls.h"
#include "api/server_dispatch.h"
#include "server/app/app.h"
#include "server/calls/memory.h"
#include "server/objects/handles.h"
#include "server/objects/mapped_memory.h"

CUresult server_do_ga_space_map(struct server_app *app, const struct ga_space_map_args *args)
{
    return memory_make(app, app->call.session, NULL, args->address, args->bytes);
}

CUresult server_do_ga_space_unmap(struct server_app *app, const struct ga_space_unmap_args *args)
{
    const struct range *range = range_table_at(&app->ranges, args->address);
    bool whole = range != NULL && range->mapped && range->owner == NULL && range->of == NULL &&
                 range->bytes == args->bytes;
    return whole ? memory_free(app, args->address) : CUDA_ERROR_INVALID_VALUE;
}

CUresult server_do_ga_space_access(struct server_app *app, const struct ga_space_access_args *args)
{
    CUmemAccessDesc access = {.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE},
                              .flags = (CUmemAccess_flags)args->flags};
    if (args->bytes == 0 || !range_table_whole(&app->ranges, args->address, args->bytes)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    CU_TRY(server_device(app, args->device, &access.location.id));
    return app->driver->cuMemSetAccess(args->address, args->bytes, &access, 1);
}
