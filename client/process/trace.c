/* SPDX-License-Identifier: Apache-2.0 */
/* Counters of calls, and lines of those that are traced one by one. */
#include "client/process/trace.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "api/calls.h"
#include "base/cursor.h"

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

unsigned long long client_trace_print_calls(int pid)
{
    static uint16_t ops[OPS];
    size_t used = 0;
    unsigned long long calls = 0;
    for (unsigned op = 0; op < OPS; op++) {
        if (counts[op] != 0) {
            ops[used++] = (uint16_t)op;
            calls += counts[op];
        }
    }
    qsort(ops, used, sizeof ops[0], by_count);
    for (size_t i = 0; i < used; i++) {
        fprintf(stderr, "gpuaas[%d] trace: %12llu %s\n", pid, counts[ops[i]], api_op_name(ops[i]));
    }
    return calls;
}

unsigned long long client_trace_setups(void)
{
    return atomic_load(&setup_round_trips);
}
