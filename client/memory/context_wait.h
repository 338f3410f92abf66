/* SPDX-License-Identifier: Apache-2.0 */
/* Waiting for all work of contexts. Data that devices have written is then seen in mirrors. */
#ifndef CLIENT_MEMORY_CONTEXT_WAIT_H
#define CLIENT_MEMORY_CONTEXT_WAIT_H

#include "api/cuda_names.h"

struct client_context;
struct client_session;

/* Waits for the context's work, without any other effect. */
CUresult client_context_synchronize(struct client_context *context);
/* Waits for the work of all contexts of the session; NULL: there is no session. */
CUresult client_session_wait(const struct client_session *session);

#endif
