/* SPDX-License-Identifier: Apache-2.0 */
#include "client/memory/context_wait.h"

#include "client/call/call.h"
#include "client/context/context.h"
#include "client/memory/mirror.h"

static CUresult synchronize(struct client_call *call)
{
    struct ga_reader reader;
    if (client_context_idle(call->context)) {
        return client_context_told(call->context);
    }
    CU_TRY(client_call_begin(call, 0));
    CUresult rc = client_call_wait(call, &reader);
    client_call_end(call);
    if (rc == CUDA_SUCCESS) {
        client_context_quiet(call->context, call->sequence);
    }
    return rc;
}

CUresult client_context_synchronize(struct client_context *context)
{
    struct client_call call;
    uint64_t mark = client_mirrors_mark();
    CU_TRY(client_call_enter_in(&call, API_OP_ga_context_synchronize, context));
    CU_TRY(synchronize(&call));
    return client_mirrors_after(context, MIRROR_ALL, mark);
}

CUresult client_session_wait(const struct client_session *session)
{
    CUresult rc = CUDA_SUCCESS;
    uint32_t index = 0;
    struct client_context *context;
    while (rc == CUDA_SUCCESS && (context = client_context_next_of(session, &index)) != NULL) {
        rc = client_context_synchronize(context);
    }
    return rc;
}
