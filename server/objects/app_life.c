/* SPDX-License-Identifier: Apache-2.0 */
#include "server/objects/app_life.h"

#include <stdlib.h>

#include "base/clock.h"
#include "server/app/app.h"
#include "server/app/carrier.h"
#include "server/meter/meter.h"

struct server_app *app_make(const struct cuda_driver *driver, const struct server_host *host,
                            bool meters, bool records)
{
    struct server_app *app = calloc(1, sizeof *app);
    if (app == NULL) {
        return NULL;
    }
    app->carrier = &carrier_none;
    app->driver = driver;
    app->host = host;
    app->ledger = host->ledger;
    output_init(&app->output, app);
    objects_init(&app->objects, app->ledger);
    image_table_init(&app->objects.images, app->ledger);
    meter_init(&app->meter, meters, records);
    return app;
}

void app_end_begin(struct server_app *app)
{
    app->end_by_ns = app->end_by_ns != 0 ? app->end_by_ns : ga_clock_ns() + app->host->end_ns;
}

bool app_end(struct server_app *app)
{
    app_end_begin(app);
    return app->host->objects_free(app);
}

void app_free(struct server_app *app)
{
    for (unsigned i = 1; i <= CONF_GPUS_MAX; i++) {
        free(app->sessions[i]);
    }
    meter_fini(&app->meter);
    objects_fini(&app->objects);
    range_table_fini(&app->ranges);
    range_table_fini(&app->reserved);
    free(app);
}
