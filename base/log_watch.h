/* SPDX-License-Identifier: Apache-2.0 */
/* For who keeps what is logged besides stderr. */
#ifndef BASE_LOG_WATCH_H
#define BASE_LOG_WATCH_H

#include "base/log.h"

/* Gets each error and warning as well, also where the level keeps it from stderr; in the thread
 * that logs, with whatever that has locked. NULL: nobody does. */
void ga_log_watch(void (*watch)(enum ga_log_level level, const char *text));

#endif
