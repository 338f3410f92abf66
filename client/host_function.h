/* Functions of the program that streams call. The server says when the turn of one has come; they
 * run on a thread of their own, one after the other, and may take as long as they like. */
#ifndef CLIENT_HOST_FUNCTION_H
#define CLIENT_HOST_FUNCTION_H

#include <stdint.h>

#include "api/cuda_names.h"

struct client_host_call;
struct front_host_call;

/* front_host.host_call. */
CUresult client_host_submit(CUstream stream, const struct front_host_call *what);

/* Its turn has come; `ticket` goes back to the server when it has returned. Any thread. */
void client_host_call_due(struct client_host_call *call, int status, uint32_t ticket);
/* Its turn never comes: the link has ended, with `status`. Any thread. */
void client_host_call_lost(struct client_host_call *call, int status);

#endif
