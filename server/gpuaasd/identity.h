/* SPDX-License-Identifier: Apache-2.0 */
/* As which user and with which groups backend processes run. */
#ifndef SERVER_GPUAASD_IDENTITY_H
#define SERVER_GPUAASD_IDENTITY_H

#include <stddef.h>

#include "conf/conf.h"
#include "server/channel.h"

#define IDENTITY_STANDARD "gpuaas" /* if gpuaasd is root, nothing is configured, and it exists */
#define IDENTITY_NOBODY   65534u   /* if it does not: user and group, which need no entry */

/* Looks the names up on this machine. If gpuaasd is not root, its backend processes can only be
 * what it is itself. GA_INVALID: `why` is for the operator, and `*key` the key that it is about. */
GA_CHECKED enum ga_status identity_find(const struct conf_server *server,
                                        struct channel_identity *identity, const char **key,
                                        char *why, size_t why_size);

#endif
