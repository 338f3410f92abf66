/* SPDX-License-Identifier: Apache-2.0 */
/* Error messages of the command. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/nearest.h"
#include "cmd/gpuaas/cmd.h"

int cmd_wrong(int status, const char *format, ...)
{
    va_list args;
    fputs("gpuaas: ", stderr);
    va_start(args, format);
    (void)vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
    return status;
}

const char *cmd_meant(const char *text, const struct cmd_sub *sub)
{
    static char meant[80];
    struct ga_nearest nearest = ga_nearest_to(text, strcspn(text, "="));
    for (size_t i = 0; sub == NULL && i < cmd_sub_count; i++) {
        ga_nearest_offer(&nearest, cmd_subs[i].name);
    }
    for (size_t i = 0; sub != NULL && sub->options[i] != NULL; i++) {
        ga_nearest_offer(&nearest, sub->options[i]);
    }
    meant[0] = 0;
    if (nearest.word != NULL) {
        snprintf(meant, sizeof meant, ", did you mean %s?", nearest.word);
    }
    return meant;
}
