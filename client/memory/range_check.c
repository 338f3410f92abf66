/* SPDX-License-Identifier: Apache-2.0 */
#include "client/memory/range_check.h"

#include "client/alloc/window.h"
#include "client/call/call.h"
#include "client/context/context.h"
#include "client/memory/address.h"
#include "client/memory/mirror.h"
#include "client/session/session.h"

CUresult client_range_check(struct client_call *call, CUdeviceptr start, unsigned align,
                            uint64_t bytes)
{
    struct client_session *session = NULL;
    struct client_mirror mirror;
    CUresult rc = start % align == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    if (rc == CUDA_SUCCESS && client_window_other(start) && call->context != NULL) {
        rc = client_mirror_need(call->context, start);
        if (client_mirror_at(start, call->context->session, &mirror) &&
            bytes <= mirror.bytes - (start - mirror.host)) {
            session = call->context->session; /* other servers may have one at the same address */
        }
    }
    if (rc == CUDA_SUCCESS && session == NULL) {
        rc = client_memory_check(start, bytes, &session);
    }
    if (rc == CUDA_SUCCESS && bytes != 0 && client_session_conn(session) != call->conn) {
        rc = client_call_between_nodes("a copy");
    }
    return rc == CUDA_SUCCESS && bytes != 0 ? client_mirrors_before_range(call, start) : rc;
}
