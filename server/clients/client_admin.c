/* SPDX-License-Identifier: Apache-2.0 */
#include "server/clients/client_admin.h"

#include <stdio.h>
#include <stdlib.h>

#include "api/cuda_names.h"
#include "server/access/audit.h"
#include "server/access/authentication.h"
#include "server/clients/client_state.h"

/* The cure is another one than a program's. */
static const char *client_admin_why(const struct auth_refusal *refusal)
{
    switch (refusal->reason) {
    case AUTH_NOTHING_SHOWN:
        return "administrators show a certificate (gpuaasctl cert issue-admin): name its files in "
               "GPUAAS_CERT and GPUAAS_KEY; gpuaasd asks for it if it has tls_client_ca";
    case AUTH_NOT_FOR_THIS:
        return "what you have shown is a tenant's: it may use GPUs, and administrate nothing";
    case AUTH_MALFORMED:
    case AUTH_UNKNOWN:
    case AUTH_WRONG:
    case AUTH_PENALTY:
        return "gpuaasd does not accept this certificate: gpuaasctl cert issue-admin has not made "
               "it here";
    default:
        return refusal->why;
    }
}

void client_admin_greet(struct control_client *client, const struct handshake_hello *hello,
                        uint64_t sequence)
{
    struct auth_refusal refusal;
    struct auth_grant grant;
    const char *address = control_client_address(client);
    if (!control_client_version(client, hello, sequence)) {
        return;
    }
    if (!client->tls || client->room->admins == NULL) {
        static const char why[] = "administration over the network needs tls://";
        audit_no_admin(&client->room->access->audit,
                       &(struct audit_change){.who = "unknown", .address = address, .error = why});
        control_client_refuse_as(client, sequence, REFUSAL_REQUEST, CUDA_ERROR_NOT_SUPPORTED, why);
        return;
    }
    if (authentication_ask_admin(client->room->access, &client->conn, address, hello->token, &grant,
                                 &refusal) != GA_OK) {
        control_client_refuse_as(client, sequence, REFUSAL_CREDENTIAL, CUDA_ERROR_NOT_PERMITTED,
                                 client_admin_why(&refusal));
        return;
    }
    client->admin = malloc(sizeof grant);
    if (client->admin == NULL) {
        control_client_refuse_as(client, sequence, REFUSAL_SERVER, CUDA_ERROR_OUT_OF_MEMORY,
                                 "no memory");
        return;
    }
    *client->admin = grant;
    (void)control_client_out_begin(&client->out);
    control_client_out_end(&client->out, WIRE_ADMIN, sequence);
}

void client_admin_leave(struct control_client *client)
{
    struct clients *clients = client->room;
    struct transport_conn conn = client->conn;
    struct auth_grant *grant = client->admin;
    char address[TRANSPORT_PEER_BYTES];
    if (client->reader.start != client->reader.end) { /* it has not waited for the answer */
        control_client_close(client);
        return;
    }
    snprintf(address, sizeof address, "%s", control_client_address(client));
    client->admin = NULL;
    client->taken = true;
    control_client_close(client); /* stops to look at the descriptor */
    clients->admins->take(clients, &conn, grant, address);
}
