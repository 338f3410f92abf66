/* SPDX-License-Identifier: Apache-2.0 */
/* Streams that wait for a value in memory or write one: in device memory the server's driver does
 * it, in pinned memory the client. */
#include "client/stream/stream_value.h"

#include "api/calls.h"
#include "api/client_calls.h"
#include "client/call/call.h"
#include "client/call/stream_call.h"
#include "client/memory/mirror.h"
#include "client/memory/range_check.h"
#include "client/stream/host_function.h"
#include "client/transfer/pinned.h"
#include "front/front.h"

/* Its address as the program's, if it is of pinned memory; else 0. */
static uint64_t host_address(const struct front_value *value)
{
    struct client_mirror mirror;
    if (client_host_pinned((const void *)(uintptr_t)value->address, value->bytes)) {
        return value->address;
    }
    bool mapped = client_mirror_on_device(value->address, &mirror) &&
                  mirror.attach == MIRROR_MAPPED &&
                  value->bytes <= mirror.bytes - (value->address - mirror.device);
    return mapped ? mirror.host + (value->address - mirror.device) : 0;
}

bool client_stream_value_host(const struct front_value *value)
{
    return host_address(value) != 0;
}

CUresult client_stream_value_check(struct client_call *call, const struct front_value *value)
{
    if (host_address(value) != 0) {
        return value->address % value->bytes == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    }
    return client_range_check(call, value->address, value->bytes, value->bytes);
}

static CUresult stream_value_post(struct client_call *call, uint64_t stream,
                                  const struct front_value *value)
{
    CUresult rc;
    unsigned flags = value->write ? 0 : (unsigned)value->wait;
    if (value->bytes == 4) {
        struct cuStreamWaitValue32_v2_args wait = {stream, value->address, (uint32_t)value->value,
                                                   flags};
        struct cuStreamWriteValue32_v2_args write = {stream, value->address, (uint32_t)value->value,
                                                     flags};
        if (value->write) {
            call->op = API_OP_cuStreamWriteValue32_v2;
            rc = client_post_cuStreamWriteValue32_v2(call, &write);
        } else {
            call->op = API_OP_cuStreamWaitValue32_v2;
            rc = client_post_cuStreamWaitValue32_v2(call, &wait);
        }
    } else {
        struct cuStreamWaitValue64_v2_args wait = {stream, value->address, value->value, flags};
        struct cuStreamWriteValue64_v2_args write = {stream, value->address, value->value, flags};
        if (value->write) {
            call->op = API_OP_cuStreamWriteValue64_v2;
            rc = client_post_cuStreamWriteValue64_v2(call, &write);
        } else {
            call->op = API_OP_cuStreamWaitValue64_v2;
            rc = client_post_cuStreamWaitValue64_v2(call, &wait);
        }
    }
    return rc;
}

CUresult client_stream_values(CUstream handle, const struct front_value *values, unsigned count)
{
    struct client_call call;
    uint64_t stream;
    CUresult rc = client_call_enter_handle(&call, API_OP_cuStreamWaitValue32_v2);
    if (rc == CUDA_SUCCESS) {
        rc = client_stream_check(&call, handle, &stream);
    }
    for (unsigned i = 0; rc == CUDA_SUCCESS && i < count; i++) {
        rc = client_stream_value_check(&call, &values[i]);
    }
    for (unsigned i = 0; rc == CUDA_SUCCESS && i < count; i++) {
        struct front_value value = values[i];
        uint64_t host = host_address(&value);
        if (host == 0) {
            rc = stream_value_post(&call, stream, &value);
        } else {
            value.address = host;
            rc = client_host_submit_value(handle, &value);
        }
    }
    return rc;
}
