/* SPDX-License-Identifier: Apache-2.0 */
/* GPUAAS_TRACE: what the client did, counted. */
#ifndef CLIENT_PROCESS_TRACE_H
#define CLIENT_PROCESS_TRACE_H

#include <stddef.h>
#include <stdint.h>

enum client_trace { CLIENT_TRACE_NONE, CLIENT_TRACE_SUMMARY, CLIENT_TRACE_CALLS };
extern enum client_trace client_trace_mode;

void client_trace_call(uint16_t op, const uint8_t *values, size_t bytes);
/* An answer was waited for. */
void client_trace_wait(uint64_t waited_ns);
/* Round trips of connecting; and all of them up to now. */
void client_trace_setup(uint64_t round_trips);
unsigned long long client_trace_setups(void);
/* One line per call on stderr, the most frequent first; returns how many were made. */
unsigned long long client_trace_print_calls(int pid);

#endif
