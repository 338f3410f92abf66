/* SPDX-License-Identifier: Apache-2.0 */
/* Messages to the person at the terminal. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ctl/ctl.h"

static void wrong_say(const char *kind, const char *format, va_list values)
{
    char text[1200];
    (void)vsnprintf(text, sizeof text, format, values);
    char *safe = ctl_text_safe(text);
    fprintf(stderr, "gpuaasctl: %s%s\n", kind, safe != NULL ? safe : "no memory");
    free(safe);
}

enum admin_code ctl_wrong(enum admin_code code, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    wrong_say("", format, values);
    va_end(values);
    return code;
}

void ctl_note(const struct ctl_line *line, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    if (!ctl_has(line, OPTION_QUIET)) {
        wrong_say("", format, values);
    }
    va_end(values);
}

enum admin_code ctl_confirm(const struct ctl_line *line, const char *format, ...)
{
    char text[600], answer[16] = "";
    va_list values;
    if (ctl_has(line, OPTION_YES) || ctl_has(line, OPTION_DRY_RUN)) {
        return ADMIN_OK;
    }
    va_start(values, format);
    (void)vsnprintf(text, sizeof text, format, values);
    va_end(values);
    if (!isatty(STDIN_FILENO)) {
        return ctl_wrong(ADMIN_USAGE, "%s: nobody is there to be asked; --yes does it unasked",
                         text);
    }
    char *safe = ctl_text_safe(text);
    fprintf(stderr, "%s? [y/N] ", safe != NULL ? safe : "");
    free(safe);
    if (fgets(answer, sizeof answer, stdin) == NULL || strchr("yY", answer[0]) == NULL ||
        answer[0] == 0) {
        return ctl_wrong(ADMIN_ERROR, "nothing is done");
    }
    return ADMIN_OK;
}
