/* SPDX-License-Identifier: Apache-2.0 */
/* Contexts and their settings. */
#include "api/driver_places.h"
#include "server/calls/context_end.h"
#include "server/objects/context_open.h"
#include "server/rebuild/rebuild_state.h"

/* The settings that the program may have changed. */
struct settings {
    uint32_t limits_set;
    size_t limits[CU_LIMIT_MAX], before[CU_LIMIT_MAX];
    CUfunc_cache cache;
    CUsharedconfig banks;
    bool printed; /* its kernels may have: the size of their FIFO is fixed */
};

static CUresult settings_read(const struct rebuild *rebuild, const struct server_context *context,
                              struct settings *settings)
{
    const struct cuda_driver *driver = rebuild->app->driver;
    struct cuda_context_state state;
    CU_TRY((CUresult)rebuild->places->context_state(context->real, &state));
    *settings = (struct settings){.limits_set = context->limits_set, .printed = state.printed != 0};
    for (unsigned limit = 0; limit < CU_LIMIT_MAX; limit++) {
        settings->before[limit] = context->limits[limit];
        if ((context->limits_set >> limit & 1) != 0) {
            CU_TRY(driver->cuCtxGetLimit(&settings->limits[limit], (CUlimit)limit));
        }
    }
    CU_TRY(driver->cuCtxGetCacheConfig(&settings->cache));
    return driver->cuCtxGetSharedMemConfig(&settings->banks);
}

static CUresult settings_write(const struct rebuild *rebuild, struct server_context *context,
                               const struct settings *settings)
{
    const struct cuda_driver *driver = rebuild->app->driver;
    context->limits_set = settings->limits_set;
    for (unsigned limit = 0; limit < CU_LIMIT_MAX; limit++) {
        context->limits[limit] = settings->before[limit];
        size_t now;
        if ((context->limits_set >> limit & 1) != 0 &&
            driver->cuCtxGetLimit(&now, (CUlimit)limit) == CUDA_SUCCESS &&
            now != settings->limits[limit]) { /* one that cannot be reset is as it was */
            CU_TRY(driver->cuCtxSetLimit((CUlimit)limit, settings->limits[limit]));
        }
    }
    if (settings->printed) {
        CU_TRY((CUresult)rebuild->places->context_prints(context->real));
    }
    CU_TRY(driver->cuCtxSetCacheConfig(settings->cache));
    return driver->cuCtxSetSharedMemConfig(settings->banks);
}

void rebuild_settings_down(struct rebuild *rebuild, struct server_context *context)
{
    struct server_app *app = rebuild->app;
    struct settings settings;
    CUresult rc = settings_read(rebuild, context, &settings);
    if (rc == CUDA_SUCCESS && !saved_put(&rebuild->contexts, &settings, sizeof settings)) {
        rc = CUDA_ERROR_OUT_OF_MEMORY;
    }
    (void)rebuild_check(rebuild, rc, "the settings of a context");
    context_settings_reset(app, context); /* the driver's primary one may stay */
}

void rebuild_context_down(struct rebuild *rebuild, struct server_context *context)
{
    struct server_app *app = rebuild->app;
    output_context_remove(app->host->output, &context->output);
    CUresult rc = context_unmake(app, context->session, context->primary, context->real);
    (void)rebuild_check(rebuild, rc, "a context");
}

void rebuild_context_up(struct rebuild *rebuild, struct server_context *context)
{
    struct server_app *app = rebuild->app;
    struct settings settings;
    uint32_t given;
    CUresult rc = context_real_make(app, context->session, context->primary, &context->made_from,
                                    &context->real, &given);
    if (!rebuild_check(rebuild, rc, "a context")) {
        return;
    }
    output_context_add(app->host->output, &app->output, &context->output, context->real);
    rc = app->driver->cuCtxSetCurrent(context->real);
    if (rc == CUDA_SUCCESS) {
        rc = saved_take(&rebuild->contexts, &settings, sizeof settings)
                 ? settings_write(rebuild, context, &settings)
                 : CUDA_ERROR_INVALID_VALUE;
    }
    (void)rebuild_check(rebuild, rc, "the settings of a context");
}
