/* SPDX-License-Identifier: Apache-2.0 */
/* The part of gpuaasd that tells others how it is: over HTTP, and in the log. */
#ifndef SERVER_MONITORING_MONITORING_H
#define SERVER_MONITORING_MONITORING_H

#include "server/control/control.h"

extern const struct control_part monitoring_part;

#endif
