/* SPDX-License-Identifier: Apache-2.0 */
/* What the program's author must read: errors of the program itself. */
#ifndef SOFTGPU_PROCESS_REPORT_H
#define SOFTGPU_PROCESS_REPORT_H

#include "base/log.h"

/* An error line where the program has its stderr. Where this process has put something else in the
 * place of stderr (a backend process has: it sends on what is written there) the line goes there.
 */
#define sg_tell(...)                                                                               \
    do {                                                                                           \
        static struct ga_log_place sg_tell_here;                                                   \
        sg_tell_at(&sg_tell_here, __VA_ARGS__);                                                    \
    } while (0)
void sg_tell_at(struct ga_log_place *place, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
