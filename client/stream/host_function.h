/* SPDX-License-Identifier: Apache-2.0 */
/* Host calls: functions of the program that streams call. The server says when the turn of one has
 * come; they run on a thread of their own, one after the other, and may take as long as they like.
 * Values in the program's memory, which streams write or wait for, are handled in the same way on
 * another thread, so no function delays them. */
#ifndef CLIENT_STREAM_HOST_FUNCTION_H
#define CLIENT_STREAM_HOST_FUNCTION_H

#include <stdint.h>

#include "api/cuda_names.h"

struct client_host_call;
struct front_host_call;
struct front_value;

/* front_host.host_call. */
CUresult client_host_submit(CUstream stream, const struct front_host_call *what);
/* As client_host_submit, for a function of this library, which no function of the program delays:
 * it does not wait. */
CUresult client_host_submit_own(CUstream stream, const struct front_host_call *what);
/* Puts a write of, or a wait for, a value in pinned memory into a stream. */
CUresult client_host_submit_value(CUstream stream, const struct front_value *value);

/* The turn of a host call has come; its id goes back to the server when it has returned.
 * Any thread. */
void client_host_call_due(struct client_host_call *call, int status, uint32_t id);
/* The turn of a host call never comes: the connection has ended with `status`. Any thread. */
void client_host_call_lost(struct client_host_call *call, int status);

#endif
