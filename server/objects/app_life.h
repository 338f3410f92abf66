/* SPDX-License-Identifier: Apache-2.0 */
/* The life of an application, whatever carries its calls: until a connection does, and when none
 * does any more, nobody is told of anything, and its work is waited for here. */
#ifndef SERVER_OBJECTS_APP_LIFE_H
#define SERVER_OBJECTS_APP_LIFE_H

#include <stdbool.h>

struct app_carrier;
struct cuda_driver;
struct server_app;
struct server_host;

/* Nothing carries the application. It has no call under way. */
extern const struct app_carrier carrier_none;

/* Makes an application that has nothing yet. `meters`, `records`: as meter_init has them. NULL: no
 * memory. */
struct server_app *app_make(const struct cuda_driver *driver, const struct server_host *host,
                            bool meters, bool records);
/* Its end begins: from now on its work is waited for as long as the host says. May be repeated. */
void app_end_begin(struct server_app *app);
/* Waits for its work and frees its objects. False: something cannot be ended (it is logged); the
 * process must end instead. Submit thread, or the only one. */
bool app_end(struct server_app *app);
/* Frees an application that has no objects any more, or whose process ends. Nothing carries it. */
void app_free(struct server_app *app);

#endif
