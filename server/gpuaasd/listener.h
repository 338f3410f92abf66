/* SPDX-License-Identifier: Apache-2.0 */
/* Where gpuaasd listens, and how many may come. */
#ifndef SERVER_GPUAASD_LISTENER_H
#define SERVER_GPUAASD_LISTENER_H

#include "server/gpuaasd/gpuaasd.h"

/* Raises the limit of descriptors to what clients may need; warns if that is not allowed. Sets how
 * many pending connections there may be. */
void listener_descriptors(struct gpuaasd *gpuaasd);
/* GA_INVALID with a log line. */
GA_CHECKED enum ga_status listeners_open(struct gpuaasd *gpuaasd);
/* Reads certificates and keys anew, for connections from now on. GA_INVALID with `why`: nothing has
 * changed. */
GA_CHECKED enum ga_status listeners_renew(struct gpuaasd *gpuaasd, const struct conf_server *fresh,
                                          char *why, size_t why_size);
void listeners_start(struct gpuaasd *gpuaasd);
void listeners_close(struct gpuaasd *gpuaasd);

#endif
