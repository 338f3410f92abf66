/* SPDX-License-Identifier: Apache-2.0 */
/* TLS in a program that exits: its other threads still have connections, so OpenSSL must not end
 * then. It is a program of its own because criterion's libraries use OpenSSL in another way. */
#include <openssl/crypto.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "transport/transport.h"

/* Comes after what OpenSSL would do at exit. Once it has ended it never starts again. */
static void look(void)
{
    if (OPENSSL_init_crypto(0, NULL) != 1) {
        fputs("OpenSSL has ended at exit\n", stderr);
        _exit(1);
    }
}

int main(void)
{
    struct transport_address address;
    struct transport_listener listener;
    struct transport_conn conn;
    char bound[200], url[200], why[300] = "";
    bool ready =
        atexit(look) == 0 &&
        transport_address_parse("tcp://127.0.0.1:0", "1", &address, why, sizeof why) == GA_OK &&
        address.ops->listen(&address, &listener, why, sizeof why) == GA_OK &&
        address.ops->local_address(listener.fd, bound, sizeof bound) == GA_OK;
    if (ready) {
        snprintf(url, sizeof url, "tls%s", bound + strlen("tcp"));
        ready = transport_address_parse(url, "1", &address, why, sizeof why) == GA_OK &&
                address.ops->connect_begin(&address, &conn, why, sizeof why) == GA_OK;
    }
    if (!ready) {
        fprintf(stderr, "no connection: %s\n", why);
        return 1;
    }
    conn.ops->close(&conn);
    listener.ops->close_listener(&listener);
    return 0;
}
