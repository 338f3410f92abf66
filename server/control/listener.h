/* SPDX-License-Identifier: Apache-2.0 */
/* Where gpuaasd listens, and how many may come. */
#ifndef SERVER_CONTROL_LISTENER_H
#define SERVER_CONTROL_LISTENER_H

#include "server/control/control.h"

/* Raises the limit of descriptors to what clients may need; warns if that is not allowed. Sets how
 * many pending connections there may be. */
void control_descriptors(struct control *control);
/* GA_INVALID with a log line. */
GA_CHECKED enum ga_status control_listen(struct control *control);
/* Reads certificates and keys anew, for connections from now on. GA_INVALID with `why`: nothing has
 * changed. */
GA_CHECKED enum ga_status control_listeners_renew(struct control *control,
                                                  const struct conf_server *fresh, char *why,
                                                  size_t why_size);
void control_accept_start(struct control *control);
void control_listeners_close(struct control *control);

#endif
