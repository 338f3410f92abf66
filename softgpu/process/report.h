/* SPDX-License-Identifier: Apache-2.0 */
/* Reports to the program's author: errors of the program itself. */
#ifndef SOFTGPU_PROCESS_REPORT_H
#define SOFTGPU_PROCESS_REPORT_H

#include "base/log.h"

/* Writes an error line to the program's stderr. If this process has replaced its stderr (a backend
 * process has, to send it to the application) the line goes there. */
#define sg_tell(...)                                                                               \
    do {                                                                                           \
        static struct ga_log_place sg_tell_here;                                                   \
        sg_tell_at(&sg_tell_here, __VA_ARGS__);                                                    \
    } while (0)
void sg_tell_at(struct ga_log_place *place, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
