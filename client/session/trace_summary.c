/* SPDX-License-Identifier: Apache-2.0 */
#include "client/session/trace_summary.h"

#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#include "base/text.h"
#include "client/conn/conn.h"
#include "client/conn/conn_list.h"
#include "client/process/trace.h"
#include "client/session/server_devices.h"
#include "client/session/session.h"

static void print_devices(int pid)
{
    for (int i = 0; i < client_device_count; i++) {
        const struct client_device *device = client_devices[i];
        const struct client_session *session = atomic_load(&device->session);
        if (session != NULL) {
            unsigned bulks = client_conn_bulks(client_session_conn(session));
            char more[40] = "", line[900];
            if (bulks != 0) {
                snprintf(more, sizeof more, " and %u bulk connections", bulks);
            }
            snprintf(line, sizeof line, "device %d: %s, node %s (%s), over %s%s%s", i, device->name,
                     device->server->node, device->server->address,
                     client_conn_scheme(client_session_conn(session)), more,
                     session->window_bytes == 0 ? ", unpinned (not migratable)" : "");
            ga_text_clean(line); /* names come from a server */
            fprintf(stderr, "gpuaas[%d] trace: %s\n", pid, line);
        }
    }
}

/* The bytes that packing has saved. */
static void print_packing(int pid)
{
    struct client_conn *conn;
    unsigned long long out = 0, out_compressed = 0, in = 0, in_compressed = 0;
    for (unsigned i = 0; (conn = client_conn_at_index(i)) != NULL; i++) {
        const struct client_conn_counts counts = client_conn_counts(conn);
        out += counts.plain_out;
        out_compressed += counts.compressed_out;
        in += counts.plain_in;
        in_compressed += counts.compressed_in;
    }
    if (out != 0 || in != 0) {
        fprintf(stderr,
                "gpuaas[%d] trace: compressed: out %llu bytes to %llu, in %llu bytes to %llu\n",
                pid, out, out_compressed, in, in_compressed);
    }
}

void client_trace_summary(void)
{
    static atomic_bool once;
    if (client_trace_mode == CLIENT_TRACE_NONE || atomic_exchange(&once, true)) {
        return;
    }
    int pid = (int)getpid();
    unsigned long long waits = 0, waited_ns = 0, out = 0, in = 0;
    struct client_conn *conn;
    for (unsigned i = 0; (conn = client_conn_at_index(i)) != NULL; i++) {
        const struct client_conn_counts counts = client_conn_counts(conn);
        waits += counts.waits;
        waited_ns += counts.waited_ns;
        out += counts.bytes_out;
        in += counts.bytes_in;
    }
    print_devices(pid);
    unsigned long long calls = client_trace_print_calls(pid);
    print_packing(pid);
    fprintf(stderr,
            "gpuaas[%d] trace: calls %llu, round trips %llu (and %llu to connect), "
            "bytes out %llu, bytes in %llu, waited %llu.%03llu ms\n",
            pid, calls, waits, client_trace_setups(), out, in, waited_ns / 1000000,
            waited_ns / 1000 % 1000);
}
