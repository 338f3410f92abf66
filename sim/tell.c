/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/tell.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <string.h>

int sim_tell_wrong(int status, const char *format, ...)
{
    va_list args;
    fputs("gpuaas-sim: ", stderr);
    va_start(args, format);
    (void)vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
    return status;
}

/* A full disk must not look like an answer. */
int sim_tell_written(FILE *out, const char *name, int status)
{
    bool bad = fflush(out) != 0 || ferror(out);
    int error = errno;
    if (out != stdout) {
        bad |= fclose(out) != 0;
    }
    return bad ? sim_tell_wrong(SIM_WRONG_FILE, "cannot write %s: %s", name, strerror(error))
               : status;
}

FILE *sim_tell_open(const char *name)
{
    FILE *out = strcmp(name, "-") == 0 ? stdout : fopen(name, "we");
    if (out == NULL) {
        (void)sim_tell_wrong(SIM_WRONG_FILE, "cannot write %s: %s", name, strerror(errno));
    }
    return out;
}
