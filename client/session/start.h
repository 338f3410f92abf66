/* SPDX-License-Identifier: Apache-2.0 */
/* The library's first use, and exit. */
#ifndef CLIENT_SESSION_START_H
#define CLIENT_SESSION_START_H

#include "api/cuda_names.h"

/* front_host.init: asks the servers, once; and sees to it that exit() ends quietly. */
CUresult client_start(void);

#endif
