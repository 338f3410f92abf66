/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions: an application's devices and their address windows. Both ends reserve the same range of
 * addresses, so that a device pointer is never a valid pointer of the program. Submit thread
 * only. */
#ifndef SERVER_OBJECTS_SESSION_H
#define SERVER_OBJECTS_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "api/cuda_names.h"
#include "api/handshake.h"

struct server_app;
struct server_session;

/* Whether a session has this device of the list that clients see. */
bool session_exists(const struct server_app *app, uint32_t device);
/* Makes the session of the device that the driver's GPU of this ordinal serves, without a window
 * yet. `ordinal` below 0: none does. */
CUresult session_make(struct server_app *app, uint32_t device, int ordinal,
                      struct server_session **made);
/* Reserves the range; the driver may choose another base, and then the window is not agreed. */
CUresult session_window_reserve(struct server_app *app, struct server_session *session,
                                const struct handshake_window *wanted);
/* Gives up the window, in which nothing is mapped, if there is one. */
CUresult session_window_release(struct server_app *app, struct server_session *session);
/* Gives up the window and frees the number. */
CUresult session_close(struct server_app *app, struct server_session *session);

#endif
