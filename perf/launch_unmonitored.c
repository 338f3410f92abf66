/* SPDX-License-Identifier: Apache-2.0 */
/* server/calls/launch.c without the request monitor, for a gpuaasd with which it is compared. */
#include "server/figures.h"
#include "server/meter/monitor.h"

#define monitor_launch(conn, function, args) FIGURES_WHOLE
#include "server/calls/launch.c"
