/* SPDX-License-Identifier: Apache-2.0 */
/* Reports of the program's errors to its user. */
#include "softgpu/process/report.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "api/driver_open.h"
#include "base/text.h"

void sg_tell_at(struct ga_log_place *place, const char *format, ...)
{
    char line[960];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line - 1, format, arguments);
    va_end(arguments);
    if (fileno(stderr) >= 0) {
        ga_log_write(place, GA_LOG_ERROR, NULL, "softgpu: %s", line);
        return;
    }
    ga_text_clean(line); /* as in the log: names may contain any character */
    fprintf(stderr, CUDA_DRIVER_SAYS "%s\n", line);
}
