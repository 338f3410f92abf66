/* SPDX-License-Identifier: Apache-2.0 */
/* Values that streams write and wait for. */
#ifndef CLIENT_STREAM_STREAM_VALUE_H
#define CLIENT_STREAM_STREAM_VALUE_H

#include <stdbool.h>

#include "api/cuda_names.h"

struct client_call;
struct front_value;

CUresult client_stream_values(CUstream stream, const struct front_value *values, unsigned count);
CUresult client_stream_value_check(struct client_call *call, const struct front_value *value);
/* Whether the client writes or waits for the value (not the server). */
bool client_stream_value_host(const struct front_value *value);

#endif
