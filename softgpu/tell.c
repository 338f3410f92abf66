/* Errors of the program itself, in words, where it will see them. */
#include "softgpu/tell.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"

void sg_tell(const char *format, ...)
{
    char line[960];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line - 1, format, arguments);
    va_end(arguments);
    if (fileno(stderr) >= 0) {
        ga_error("softgpu: %s", line);
        return;
    }
    for (char *c = line; *c != '\0'; c++) { /* as in the log: names may come from anywhere */
        *c = (unsigned char)*c < 0x20 || *c == 0x7f ? '?' : *c;
    }
    fprintf(stderr, "%s error: softgpu: %s\n", ga_log_name(), line);
}
