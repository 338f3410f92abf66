/* SPDX-License-Identifier: Apache-2.0 */
/* Operator notices to an application, and its forced termination. */
#ifndef SERVER_APPLICATIONS_TERMINATE_H
#define SERVER_APPLICATIONS_TERMINATE_H

#include <stdint.h>

#include "server/applications/close_reason.h"

struct applications;
struct control_application;

void terminate_fini(struct applications *room);

/* One line on the program's stderr, of at most WIRE_NOTICE_MAX bytes, if it uses a device. */
void application_notice(struct control_application *application, const char *text);
/* Ends it: each later call of the program answers 719, and a line on its stderr says `why`. Its
 * requests to gpuaasd in this time are refused with `result` (CUresult). It is gone within three
 * seconds. One that seems gone has ended by itself, unless it is found to be there. */
void terminate_application(struct control_application *application, enum application_closes closes,
                           int32_t result, const char *why);
/* It seemed gone, and is there. */
void terminate_found(struct control_application *application);

#endif
