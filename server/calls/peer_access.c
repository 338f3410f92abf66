/* SPDX-License-Identifier: Apache-2.0 */
/* The calls about peer access (objects/peers.h). */
#include "api/calls.h"
#include "api/server_dispatch.h"
#include "server/app/app.h"
#include "server/objects/peers.h"

/* The driver knows whether it is enabled already, and whether it can be. */
static CUresult enable(struct server_app *app, const struct server_context *owner, CUcontext real,
                       unsigned flags)
{
    CU_TRY(app->driver->cuCtxEnablePeerAccess(real, flags));
    CUresult rc = peer_add(app, owner);
    if (rc != CUDA_SUCCESS) {
        (void)app->driver->cuCtxDisablePeerAccess(real);
    }
    return rc;
}

CUresult server_do_cuCtxEnablePeerAccess(struct server_app *app,
                                         const struct cuCtxEnablePeerAccess_args *args)
{
    const struct server_context *owner =
        ga_handle_table_find(&app->objects.contexts, args->peerContext);
    return app->current != NULL && owner != NULL ? enable(app, owner, owner->real, args->Flags)
                                                 : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult server_do_cuCtxDisablePeerAccess(struct server_app *app,
                                          const struct cuCtxDisablePeerAccess_args *args)
{
    const struct server_context *owner =
        ga_handle_table_find(&app->objects.contexts, args->peerContext);
    CUresult rc = app->current != NULL && owner != NULL
                      ? app->driver->cuCtxDisablePeerAccess(owner->real)
                      : CUDA_ERROR_INVALID_CONTEXT;
    if (rc == CUDA_SUCCESS) {
        peer_remove(app, owner);
    }
    return rc;
}
