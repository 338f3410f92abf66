/* SPDX-License-Identifier: Apache-2.0 */
/* A second receiver of log lines besides stderr. */
#ifndef BASE_LOG_WATCH_H
#define BASE_LOG_WATCH_H

#include "base/log.h"

/* Passes each error and warning to `watch` as well, even those that the level keeps from stderr.
 * It is called in the thread that logs, with whatever that thread has locked. NULL: none. */
void ga_log_watch(void (*watch)(enum ga_log_level level, const char *text));

#endif
