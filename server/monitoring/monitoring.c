/* SPDX-License-Identifier: Apache-2.0 */
#include "server/monitoring/monitoring.h"

#include "server/monitoring/http.h"
#include "server/monitoring/status.h"

/* It answers until the loop has ended: programs may go on for a while. */
const struct control_part monitoring_part = {
    .start = http_start, .end = http_stop, .log = status_log};
