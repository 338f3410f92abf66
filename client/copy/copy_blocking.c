/* SPDX-License-Identifier: Apache-2.0 */
/* The wait that ends a blocking copy to the device. */
#include "client/call/deferred_copies.h"
#include "client/call/stream_call.h"
#include "client/context/context.h"
#include "client/copy/copy.h"
#include "client/memory/mirror.h"

CUresult client_copy_defer(struct client_call *call, uint64_t stream)
{
    struct client_context *context = call->context;
    if (client_copy_deferred(call, stream)) {
        front_output_write();
        return (CUresult)atomic_exchange(&context->late, 0);
    }
    uint64_t mirrors = client_mirrors_mark();
    CU_TRY(client_stream_wait(call, stream));
    return client_mirrors_after(context, stream, mirrors);
}
