/* SPDX-License-Identifier: Apache-2.0 */
/* The format of log lines (inside base/), and what text they may have. */
#ifndef BASE_LOG_LINE_H
#define BASE_LOG_LINE_H

#include <stddef.h>
#include <time.h>

#include "base/log.h"

#define LOG_TEXT_BYTES 900u /* of a text, with its NUL; the rest is cut off */
#define LOG_LINE_BYTES (2 * LOG_TEXT_BYTES + 300u) /* JSON writes some characters as two */

struct log_record {
    struct timespec time;
    enum ga_log_level level;
    const char *name; /* of the program */
    int pid;
    const char *client; /* an address; NULL: none */
    const char *text;   /* cleaned by ga_text_clean */
};

/* By enum ga_log_level. As records have them: syslog(3)'s. */
extern const char *const log_level_names[];
extern const char log_level_priorities[];

/* Writes the line with its newline. Returns its length. */
size_t ga_log_line_write(enum ga_log_format format, const struct log_record *record,
                         char line[LOG_LINE_BYTES]);

#endif
