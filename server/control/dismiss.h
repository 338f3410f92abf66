/* SPDX-License-Identifier: Apache-2.0 */
/* Operator notices to an application, and its forced termination. */
#ifndef SERVER_CONTROL_DISMISS_H
#define SERVER_CONTROL_DISMISS_H

#include <stdint.h>

#include "server/control/closes.h"

struct applications;
struct control_application;

void dismiss_init(struct applications *room);
void dismiss_fini(struct applications *room);

/* One line on the program's stderr, of at most WIRE_NOTICE_MAX bytes, if it uses a device. */
void dismiss_note(struct control_application *application, const char *text);
/* Ends it: each later call of the program answers 719, and a line on its stderr says `why`. Its
 * requests to gpuaasd in this time are refused with `result` (CUresult). It is gone within three
 * seconds. */
void dismiss_application(struct control_application *application, enum application_closes closes,
                         int32_t result, const char *why);

#endif
