/* SPDX-License-Identifier: Apache-2.0 */
#include "server/clients/client_application.h"

#include "base/log.h"
#include "server/clients/client_open.h"
#include "server/clients/client_state.h"

/* ---- what its application does with it */

static struct control_client *client_of_application(struct application_client *base)
{
    return ga_container(base, struct control_client, base);
}

static bool client_waits(const struct application_client *base, const struct seat *seat)
{
    return control_client_waits(ga_container(base, const struct control_client, base), seat);
}

static bool client_waits_for_claims(const struct application_client *base)
{
    return ga_container(base, const struct control_client, base)->place.application != NULL;
}

static void client_answer(struct application_client *base, struct seat *seat, int32_t result,
                          const char *reason)
{
    control_client_answer(client_of_application(base), seat, result, reason);
}

static void client_flush(struct application_client *base)
{
    (void)control_client_flush(client_of_application(base));
}

static void client_shut(struct application_client *base)
{
    control_client_close(client_of_application(base));
}

static const struct application_client_ops client_ops = {.waits = client_waits,
                                                         .waits_for_claims =
                                                             client_waits_for_claims,
                                                         .answer = client_answer,
                                                         .flush = client_flush,
                                                         .close = client_shut};

void client_application_init(struct control_client *client)
{
    client->base.ops = &client_ops;
    ga_list_init(&client->base.beside);
}

/* ---- what it does with its application */

void client_application_join(struct control_client *client, struct control_application *application)
{
    client->application = application;
    ga_list_append(&application->clients, &client->base.beside);
}

void client_application_leave(struct control_client *client)
{
    struct control_application *application = client->application;
    client->application = NULL;
    if (application != NULL) {
        ga_list_remove(&client->base.beside);
        if (ga_list_empty(&application->clients)) {
            control_application_left(application);
        }
        control_application_drop(application);
    }
}

bool client_application_rejoin(struct control_client *client, const struct tenant *tenant)
{
    struct control_application *made = client->application;
    struct control_application *known = control_application_rejoin(made, tenant);
    if (known == NULL) {
        return false;
    }
    ga_list_remove(&client->base.beside);
    control_application_drop(made);
    client_application_join(client, known);
    ga_info_of(control_client_address(client), "%s: connected again", known->label);
    return true;
}
