/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CTL_MONITOR_H
#define CTL_MONITOR_H

#include "ctl/ctl.h"

/* Prints for each GPU of a session (its member "use") what it has done there, as tables. */
enum admin_code ctl_monitor_print(const struct ctl_line *line, json_t *uses);

#endif
