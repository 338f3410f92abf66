/* SPDX-License-Identifier: Apache-2.0 */
/* Counters of what travelled, printed at exit. */
#include "client/process/trace.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "api/calls.h"
#include "client/conn/conn.h"
#include "client/session/server_devices.h"
#include "client/session/session.h"

#define OPS 4096u

enum client_trace client_trace_mode;

static atomic_ullong counts[OPS];
static atomic_ullong setup_round_trips;

void client_trace_setup(uint64_t round_trips)
{
    atomic_fetch_add(&setup_round_trips, round_trips);
}

void client_trace_call(uint16_t op, const uint8_t *values, size_t bytes)
{
    if (op < OPS) {
        atomic_fetch_add_explicit(&counts[op], 1, memory_order_relaxed);
    }
    if (client_trace_mode == CLIENT_TRACE_CALLS) {
        char text[512];
        struct ga_reader reader = ga_reader_of(values, bytes);
        (void)api_call_print(text, sizeof text, op, &reader);
        fprintf(stderr, "gpuaas[%d] call: %s\n", (int)getpid(), text);
    }
}

void client_trace_wait(uint64_t waited_ns)
{
    if (client_trace_mode == CLIENT_TRACE_CALLS) {
        fprintf(stderr, "gpuaas[%d] wait: %llu us\n", (int)getpid(),
                (unsigned long long)waited_ns / 1000);
    }
}

static int by_count(const void *a, const void *b)
{
    unsigned long long left = counts[*(const uint16_t *)a], right = counts[*(const uint16_t *)b];
    return left < right ? 1 : left > right ? -1 : 0;
}

static void print_calls(int pid)
{
    static uint16_t ops[OPS];
    size_t used = 0;
    for (unsigned op = 0; op < OPS; op++) {
        if (counts[op] != 0) {
            ops[used++] = (uint16_t)op;
        }
    }
    qsort(ops, used, sizeof ops[0], by_count);
    for (size_t i = 0; i < used; i++) {
        fprintf(stderr, "gpuaas[%d] trace: %12llu %s\n", pid, counts[ops[i]], api_op_name(ops[i]));
    }
}

static void print_devices(int pid)
{
    for (int i = 0; i < client_device_count; i++) {
        const struct client_device *device = client_devices[i];
        const struct client_session *session = atomic_load(&device->session);
        if (session != NULL) {
            unsigned bulks = client_conn_bulks(client_session_conn(session));
            char more[40] = "";
            if (bulks != 0) {
                snprintf(more, sizeof more, " and %u bulk connections", bulks);
            }
            fprintf(stderr, "gpuaas[%d] trace: device %d: %s, node %s (%s), over %s%s%s\n", pid, i,
                    device->name, device->server->node, device->server->address,
                    client_session_conn(session)->data.ops->scheme, more,
                    session->window_bytes == 0 ? ", unpinned (not migratable)" : "");
        }
    }
}

/* What packing has saved. */
static void print_packing(int pid)
{
    struct client_conn *conn;
    unsigned long long out = 0, out_packed = 0, in = 0, in_packed = 0;
    for (unsigned i = 0; (conn = client_conn_at_index(i)) != NULL; i++) {
        out += conn->compression.plain_bytes;
        out_packed += conn->compression.packed_bytes;
        in += conn->unpacked_bytes;
        in_packed += conn->unpacked_from;
    }
    if (out != 0 || in != 0) {
        fprintf(stderr,
                "gpuaas[%d] trace: compressed: out %llu bytes to %llu, in %llu bytes to %llu\n",
                pid, out, out_packed, in, in_packed);
    }
}

void client_trace_summary(void)
{
    static atomic_bool once;
    if (client_trace_mode == CLIENT_TRACE_NONE || atomic_exchange(&once, true)) {
        return;
    }
    int pid = (int)getpid();
    unsigned long long calls = 0, waits = 0, waited_ns = 0, out = 0, in = 0;
    struct client_conn *conn;
    for (unsigned op = 0; op < OPS; op++) {
        calls += counts[op];
    }
    for (unsigned i = 0; (conn = client_conn_at_index(i)) != NULL; i++) {
        waits += conn->waits;
        waited_ns += conn->waited_ns;
        out += conn->bytes_out + conn->shared_out;
        in += conn->bytes_in + conn->shared_in;
    }
    print_devices(pid);
    print_calls(pid);
    print_packing(pid);
    fprintf(stderr,
            "gpuaas[%d] trace: calls %llu, round trips %llu (and %llu to connect), "
            "bytes out %llu, bytes in %llu, waited %llu.%03llu ms\n",
            pid, calls, waits, atomic_load(&setup_round_trips), out, in, waited_ns / 1000000,
            waited_ns / 1000 % 1000);
}
