/* SPDX-License-Identifier: Apache-2.0 */
/* Launches. */
#ifndef CLIENT_MODULE_LAUNCH_H
#define CLIENT_MODULE_LAUNCH_H

#include "api/cuda_names.h"

struct client_context;

/* Whether such a launch would be made (launch.c); its stream is not looked at. */
CUresult client_launch_check(struct client_context *context, CUfunction f,
                             const CUlaunchConfig *config);

#endif
