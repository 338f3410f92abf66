/* SPDX-License-Identifier: Apache-2.0 */
/* The configuration as gpuaasd can use it on this machine. */
#ifndef SERVER_GPUAASD_CHECK_H
#define SERVER_GPUAASD_CHECK_H

#include <stdbool.h>

#include "conf/conf.h"
#include "transport/transport.h"

/* Checks what conf/ cannot: the addresses to listen on, files, users. Complains like
 * conf_read_file. */
GA_CHECKED enum ga_status check_configuration(const char *file, const struct conf *conf,
                                              conf_complain *complain, void *user);
/* Whether only this machine can reach such a listener. */
bool check_is_here(const struct transport_address *address);

#endif
